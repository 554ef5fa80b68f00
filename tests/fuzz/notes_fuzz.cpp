// Connection notes of the verbs provider (wire.h), over adapters that exist in this process alone. An input is a row of
// notes that say they are rank 1's, sent to rank 0 by a third adapter which knows the key of the job. What they make rank 0 believe of
// rank 1 is open; but it must not crash, break no rule of libibverbs, and keep its connection with rank 2.
#include <cstdio>
#include <cstdlib>

#include "providers/verbs/transport.h"
#include "tests/harness/expect.h"
#include "tests/harness/ops.h"
#include "tests/verbs/fake/fake.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr std::uint32_t ranks = 3;
constexpr std::size_t window_bytes = 4096;
constexpr std::size_t most_notes = 16;

std::vector<fake::adapter_plan> adapters() {
  return {{.name = "rank0"}, {.name = "rank1"}, {.name = "rank2"}, {.name = "outside"}};
}

struct scene {
  struct member {
    std::unique_ptr<transport> net;
    std::span<std::byte> memory;
    region_id region{};
    segment_id segment{};
  } members[ranks];
  verbs::address_blob target;

  scene() {
    auto addresses = std::make_shared<blob_table>(), keys = std::make_shared<blob_table>();
    for (rank_t r = 0; r < ranks; ++r) {
      const std::string device = "rank" + std::to_string(r);
      open_params p;
      p.device = device, p.job_id = "fuzz", p.rank = r, p.size = ranks;
      members[r].net = take(verbs::verbs_transport::open(p), "open");
      addresses->push_back(take(members[r].net->address(), "address"));
    }
    target = *verbs::blob_as<verbs::address_blob>((*addresses)[0]);
    for (member& m : members) {
      require(m.net->connect(addresses, m.net->now() + std::chrono::seconds(5)), "connect");
      m.region = take(m.net->allocate(window_bytes, m.memory), "allocate");
      keys->push_back(take(m.net->key(m.region), "key"));
    }
    for (member& m : members) m.segment = take(m.net->attach(rank_map::strided(0, ranks), keys), "attach");
  }

  void drive() {
    for (member& m : members) m.net->progress();
  }
  // False: it ended with an error.
  bool put_and_flush(rank_t from, rank_t to) {
    member& m = members[from];
    completion done, flushed;
    const rma_op op = put({m.region, 0}, {to, m.segment, 0}, 64, &done);
    while (m.net->submit({&op, 1}) == 0) drive();
    while (!done.idle()) drive();
    while (!m.net->flush(to, &flushed)) drive();
    while (!flushed.idle()) drive();
    return done.outcome().ok() && flushed.outcome().ok();
  }
};

// An adapter that is nobody's rank.
class outsider {
 public:
  explicit outsider(const verbs::address_blob& target, std::uint32_t qkey) : qpn_(target.manager_qpn), qkey_(qkey) {
    int count = 0;
    ibv_device** all = ibv_get_device_list(&count);
    for (int i = 0; i < count; ++i)
      if (std::string_view{ibv_get_device_name(all[i])} == "outside") context_ = ibv_open_device(all[i]);
    ibv_free_device_list(all);
    pd_ = ibv_alloc_pd(context_);
    cq_ = ibv_create_cq(context_, 64, nullptr, nullptr, 0);
    ibv_qp_init_attr init{};
    init.qp_type = IBV_QPT_UD, init.send_cq = init.recv_cq = cq_;
    init.cap.max_send_wr = 32, init.cap.max_recv_wr = 1, init.cap.max_send_sge = init.cap.max_recv_sge = 1;
    init.cap.max_inline_data = 64;
    qp_ = ibv_create_qp(pd_, &init);
    ibv_qp_attr q{};
    q.qp_state = IBV_QPS_INIT, q.port_num = 1, q.qkey = qkey_;
    ibv_modify_qp(qp_, &q, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
    q.qp_state = IBV_QPS_RTR;
    ibv_modify_qp(qp_, &q, IBV_QP_STATE);
    q.qp_state = IBV_QPS_RTS;
    ibv_modify_qp(qp_, &q, IBV_QP_STATE | IBV_QP_SQ_PSN);
    ibv_ah_attr way{};
    way.is_global = 1, way.port_num = 1, way.grh.hop_limit = 64;
    std::memcpy(way.grh.dgid.raw, target.gid.data(), target.gid.size());
    ah_ = ibv_create_ah(pd_, &way);
    require(ah_ && qp_, "an adapter for the outsider");
  }
  ~outsider() {
    ibv_destroy_ah(ah_);
    ibv_destroy_qp(qp_);
    ibv_destroy_cq(cq_);
    ibv_dealloc_pd(pd_);
    ibv_close_device(context_);
  }
  void send(std::span<const std::byte> note) {
    ibv_sge sge{reinterpret_cast<std::uint64_t>(note.data()), static_cast<std::uint32_t>(note.size()), 0};
    ibv_send_wr wr{}, *bad = nullptr;
    wr.sg_list = &sge, wr.num_sge = 1, wr.opcode = IBV_WR_SEND, wr.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
    wr.wr.ud.ah = ah_, wr.wr.ud.remote_qpn = qpn_, wr.wr.ud.remote_qkey = qkey_;
    ibv_post_send(qp_, &wr, &bad);
    ibv_wc done;
    while (ibv_poll_cq(cq_, 1, &done) > 0) {}
  }

 private:
  std::uint32_t qpn_, qkey_;
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_qp* qp_ = nullptr;
  ibv_ah* ah_ = nullptr;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fake::install(adapters());
  {
    scene s;
    require(s.put_and_flush(0, 1) && s.put_and_flush(0, 2), "the first operations");
    outsider from{s.target, verbs::qkey_of({})};
    auto rest = std::as_bytes(std::span{data, size});
    for (std::size_t sent = 0; !rest.empty() && sent < most_notes; ++sent) {
      verbs::note n;
      const std::size_t bytes = std::min(rest.size(), sizeof n);
      std::memcpy(&n, rest.data(), bytes);
      rest = rest.subspan(bytes);
      n.version = verbs::wire_version;
      if (n.origin != 1) n.origin |= ~std::uint32_t{3};  // rank 2 is not spoken for
      n.check = verbs::check_for(0, n, {});
      from.send(std::as_bytes(std::span{&n, 1}).first(std::max<std::size_t>(bytes, 1)));
      while (fake::datagrams_unread("rank0")) s.drive();
      s.drive();
    }
    require(s.put_and_flush(0, 2), "an operation towards a rank that nobody spoke for");
    const rma_op op = put({s.members[0].region, 0}, {1, s.members[0].segment, 0}, 64);
    (void)!s.members[0].net->submit({&op, 1});  // and leaves with it under way
  }
  for (const std::string& rule : fake::breaches()) {
    std::fprintf(stderr, "breach: %s\n", rule.c_str());
    std::abort();
  }
  return 0;
}
