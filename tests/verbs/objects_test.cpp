// The objects that the verbs transport is made of, over a queue pair that only notes what is posted to it.
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "providers/verbs/announcements.h"
#include "providers/verbs/backlogs.h"
#include "providers/verbs/swaps.h"
#include "tests/verbs/fake/world.h"
#include "tests/verbs/fake_party.h"

using namespace tutti;
using namespace tutti::test;
using namespace tutti::verbs;

namespace {

std::vector<ibv_send_wr> noted;
ibv_sge last_place{};  // of the last that has one
int post_error = 0;

int note(ibv_qp*, ibv_send_wr* wr, ibv_send_wr** bad) {
  if (post_error) return *bad = wr, post_error;
  for (; wr; wr = wr->next) {
    noted.push_back(*wr);
    if (wr->num_sge) last_place = wr->sg_list[0];
  }
  return 0;
}

struct objects {
  fake::adapter nowhere;
  fake::opened context;
  fake::qp qp;
  region_table regions;
  sleeper sleep;
  endpoint end{regions};
  bounce_buffers bounce;
  swap_table swaps{out, bounce};
  requests out{regions, bounce, swaps, two_sided};
  packets two_sided{end, out};
  backlogs waiting{regions};
  announcements announced{out};
  peer p;

  objects() {
    noted.clear(), post_error = 0;
    fake::install(roce(1));
    BOOST_TEST_REQUIRE(end.open("fake0", 0, 2, sleep).ok());
    BOOST_TEST_REQUIRE(bounce.open(end.pd(), end.device(), regions).ok());
    swaps.open(0), out.open(0);
    context.of = &nowhere;
    context.ops.post_send = note;
    qp.ibv_qp::context = &context, qp.qp_type = IBV_QPT_RC;
    p.rank = 1;
    p.out.open(&qp, 16, 0);
    p.confirmed = true;
    p.look_again();
  }
  ~objects() { bounce.close(), regions.close(); }
  void write(unsigned times, completion* done = nullptr) {
    for (unsigned i = 0; i < times; ++i) {
      ibv_send_wr wr{};
      wr.opcode = IBV_WR_RDMA_WRITE;
      posted what;
      what.done = done;
      out.post(p, {&wr, 1}, {&what, 1});
    }
  }
  void complete_all(const status& outcome = {}) {
    p.out.retire(p.out.head() - 1, [&](const posted& what) { out.finish(p, what, outcome); });
  }
};

rma_op put_of(const std::uint64_t& from, completion& done) {
  rma_op op{.kind = op_kind::put};
  op.rank = 1, op.bytes = 8, op.local = unregistered_memory, op.local_offset = reinterpret_cast<std::uint64_t>(&from), op.done = &done;
  return op;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(what_waits_is_begun_in_its_order_from_copies, objects) {
  completion done;
  for (std::uint64_t i = 0; i < backlog::most; ++i) {
    const std::uint64_t source = i;  // gone when it is begun
    BOOST_TEST(waiting.keep(put_of(source, done), p));
  }
  const std::uint64_t one_more = 0;
  BOOST_TEST(!waiting.keep(put_of(one_more, done), p));
  BOOST_TEST(!p.ready);
  BOOST_TEST(done.pending() == backlog::most);
  std::uint64_t begun = 0;
  const auto start = [&](std::uint64_t most) {
    return [&begun, most](const rma_op& op, peer&) {
      if (begun == most) return false;
      std::uint64_t value;
      std::memcpy(&value, reinterpret_cast<const void*>(op.local_offset), sizeof value);
      BOOST_TEST(value == begun);
      return ++begun, true;
    };
  };
  waiting.pump(p, start(5));
  BOOST_TEST(begun == 5u);
  BOOST_TEST(waiting.any());
  p.failing = true;
  waiting.pump(p, start(16));
  BOOST_TEST(begun == 5u);
  p.failing = false;
  waiting.pump(p, start(16));
  BOOST_TEST(begun == backlog::most);
  BOOST_TEST(done.idle());
  BOOST_TEST(p.ready);
  BOOST_TEST(waiting.keep(put_of(one_more, done), p));
  waiting.end(p, {errc::fabric, "no connection"});
  BOOST_TEST((done.outcome().code() == errc::fabric));
  BOOST_TEST(!waiting.any());
}

BOOST_FIXTURE_TEST_CASE(a_rank_sleeps_long_when_all_peers_have_confirmed, objects) {
  peer* all[] = {&p};
  BOOST_TEST(announced.all_ring());
  announced.connected(p, false);
  BOOST_TEST(!announced.all_ring());
  const auto first = announced.next_nap();
  BOOST_TEST((first.count() > 0 && announced.next_nap() == 2 * first));
  announced.announce(all);
  announced.announce(all);  // it knows already
  BOOST_TEST(noted.size() == 1u);
  BOOST_TEST(!announced.all_ring());
  announced.heard_confirm(p);
  announced.heard_confirm(p);
  BOOST_TEST(announced.all_ring());
  BOOST_TEST(announced.next_nap().count() == 0);
  announced.dropped(p);
  announced.connected(p, true);  // the manager has told it
  BOOST_TEST(announced.all_ring());
}

BOOST_FIXTURE_TEST_CASE(a_confirmation_waits_for_room, objects) {
  peer* all[] = {&p};
  write(16);
  announced.heard_announce(p);
  BOOST_TEST(p.rings);
  announced.confirm_all(all);
  BOOST_TEST(noted.size() == 16u);
  complete_all();
  announced.confirm_all(all);
  announced.confirm_all(all);
  BOOST_TEST(noted.size() == 17u);
  BOOST_TEST((noted.back().opcode == IBV_WR_RDMA_WRITE_WITH_IMM));
}

BOOST_FIXTURE_TEST_CASE(a_queue_keeps_room_for_rings_and_ends_what_it_has, objects) {
  completion done;
  write(16 - kept_for_rings, &done);
  BOOST_TEST(!out.has_room(p, 1));
  BOOST_TEST(out.ring(p, ring_kind::bell));
  out.fail(p, {errc::fabric, "broken"});
  out.fail(p, {errc::fabric, "again"});
  BOOST_TEST(out.draining() == 1u);
  BOOST_TEST(!done.idle());
  out.drained(p);
  BOOST_TEST(out.draining() == 0u);
  BOOST_TEST(std::string_view{done.outcome().text()} == "broken");
  BOOST_TEST(done.idle());
  BOOST_TEST(std::string_view{p.unreported.text()} == "broken");  // the bell's, that nobody awaits
  BOOST_TEST(p.losing);
}

BOOST_FIXTURE_TEST_CASE(what_cannot_be_posted_ends_like_what_fails_later, objects) {
  completion done;
  post_error = EIO;
  write(1, &done);
  BOOST_TEST(done.idle());
  BOOST_TEST(done.outcome().failed());
  BOOST_TEST(p.failing);
}

BOOST_FIXTURE_TEST_CASE(a_swap_is_tried_until_its_guess_is_right, objects) {
  std::uint64_t word = 40, old = 0;
  const auto execute = [&] {  // as the adapter at the peer, whose word others change meanwhile
    const ibv_send_wr& wr = noted.back();
    BOOST_REQUIRE((wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP));
    std::memcpy(reinterpret_cast<void*>(last_place.addr), &word, sizeof word);
    if (word == wr.wr.atomic.compare_add) word = wr.wr.atomic.swap;
  };
  rma_op op{.kind = op_kind::swap};
  completion done;
  op.rank = 1, op.local = unregistered_memory, op.local_offset = reinterpret_cast<std::uint64_t>(&old), op.operand = 7, op.done = &done;
  status why;
  BOOST_TEST_REQUIRE(swaps.take(op, p, 0x1000, 1, why));
  execute();
  complete_all();
  BOOST_TEST(p.swaps == 1u);
  word = 41;
  execute();
  write(13);  // so that there is no room for the next try
  complete_all();
  BOOST_TEST(swaps.any_waits());
  BOOST_TEST(word == 41u);
  swaps.retry();
  BOOST_TEST(!swaps.any_waits());
  execute();
  complete_all();
  BOOST_TEST(word == 7u);
  BOOST_TEST(old == 41u);
  BOOST_TEST(done.idle());
  BOOST_TEST(p.swaps == 0u);
}
