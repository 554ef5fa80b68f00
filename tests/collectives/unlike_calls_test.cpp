// Members that call different collectives: nobody waits for ever, and the errors say who calls what.
#include <boost/test/unit_test.hpp>

#include "core/job/window.h"
#include "core/transport/forwarding_transport.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/lists.h"
#include "tests/harness/sim_fabric.h"

using namespace tutti;
using namespace tutti::test;

namespace {

struct kind {
  const char* name;
  const char* said;
  std::function<status(communicator&)> call;
};

// A call that moves data, of so many bytes (of each block); lists, where the name has them, say the same.
struct moving {
  collective of;
  std::uint64_t bytes = 8;
  std::uint32_t root = 0;
  datatype type = datatype::uint64;
  operation op = operation::sum;
  call_kind as = call_kind::none;
  bool lists = false;

  status operator()(communicator& c) const {
    const std::uint32_t n = c.group().size(), me = c.group().index();
    std::vector<std::byte> in(n * bytes), out(n * bytes);
    collective_call call{.of = of, .root = root, .bytes = bytes, .in = in.data(), .out = out.data(), .as = as};
    if (reduces(of)) call.op = *find_reduction(type, op);
    if (lists || of == collective::alltoallv) {
      block_lists l;
      for (std::uint32_t i = 0; i < n; ++i) {
        const bool gives = as == kind_of_gatherv ? i == root : as == kind_of_scatterv ? me == root : true;
        const bool takes = as == kind_of_gatherv ? me == root : as == kind_of_scatterv ? i == root : true;
        l.in_lengths.push_back(gives ? bytes : 0), l.in_begins.push_back(i * bytes);
        l.out_lengths.push_back(takes ? bytes : 0), l.out_begins.push_back(i * bytes);
      }
      if (of == collective::allgather) l.in_lengths.clear(), l.in_begins.clear();
      if (of == collective::reduce_scatter) l.out_lengths.clear(), l.out_begins.clear();
      call.lists = std::make_shared<const block_lists>(std::move(l));
    }
    return c.run(call);
  }
};

const kind kinds[] = {
    {"barrier", "a barrier", [](communicator& c) { return c.barrier().enter(); }},
    {"barrier", "a barrier", [](communicator& c) { return c.barrier().wait(c.barrier().start()); }},
    {"broadcast", "a broadcast of 64 bytes with root 0", moving{collective::broadcast, 64}},
    {"broadcast, another root", "a broadcast of 64 bytes with root 3", moving{collective::broadcast, 64, 3}},
    {"broadcast of nothing", "a broadcast of 0 bytes with root 0", moving{collective::broadcast, 0}},
    {"reduce", "a reduce of 8 bytes with root 0 (sum of uint64)", moving{collective::reduce}},
    {"reduce, another root", "a reduce of 8 bytes with root 1 (sum of uint64)", moving{collective::reduce, 8, 1}},
    {"allreduce", "an allreduce of 8 bytes (sum of uint64)", moving{collective::allreduce}},
    {"allreduce, longer", "an allreduce of 80000 bytes (sum of uint64)", moving{collective::allreduce, 80000}},
    {"allreduce, another operation", "an allreduce of 8 bytes (max of uint64)",
     moving{.of = collective::allreduce, .op = operation::max}},
    {"allreduce, another type", "an allreduce of 8 bytes (sum of float64)", moving{.of = collective::allreduce, .type = datatype::float64}},
    {"reduce_scatter", "a reduce_scatter of 8 bytes (sum of uint64)", moving{collective::reduce_scatter}},
    {"reduce_scatter, longer", "a reduce_scatter of 800 bytes (sum of uint64)", moving{collective::reduce_scatter, 800}},
    {"scan", "a scan of 8 bytes (sum of uint64)", moving{collective::scan}},
    {"exscan", "an exscan of 8 bytes (sum of uint64)", moving{collective::exscan}},
    {"exscan, another operation", "an exscan of 8 bytes (min of uint64)", moving{.of = collective::exscan, .op = operation::min}},
    {"gather", "a gather of 8 bytes with root 0", moving{collective::gather}},
    {"gather, another root", "a gather of 8 bytes with root 2", moving{collective::gather, 8, 2}},
    {"scatter", "a scatter of 8 bytes with root 0", moving{collective::scatter}},
    {"scatter, longer", "a scatter of 8000 bytes with root 0", moving{collective::scatter, 8000}},
    {"allgather", "an allgather of 8 bytes", moving{collective::allgather}},
    {"allgather, longer", "an allgather of 16 bytes", moving{collective::allgather, 16}},
    {"allgatherv", "an allgatherv whose counts", moving{.of = collective::allgather, .as = kind_of_allgatherv, .lists = true}},
    {"alltoall", "an alltoall of 8 bytes", moving{collective::alltoall}},
    {"alltoall, longer", "an alltoall of 30000 bytes", moving{collective::alltoall, 30000}},
    {"alltoallv", "an alltoallv", moving{collective::alltoallv}},
    {"alltoallv, longer", "an alltoallv", moving{collective::alltoallv, 900}},
    {"gatherv", "a gatherv", moving{.of = collective::alltoallv, .as = kind_of_gatherv}},
    {"gatherv, another root", "a gatherv with root 1", moving{.of = collective::alltoallv, .root = 1, .as = kind_of_gatherv}},
    {"gatherv, longer", "a gatherv",
     moving{.of = collective::alltoallv, .bytes = 30, .as = kind_of_gatherv}},
    {"scatterv", "a scatterv", moving{.of = collective::alltoallv, .as = kind_of_scatterv}},
    {"scatterv, longer", "a scatterv",
     moving{.of = collective::alltoallv, .bytes = 30, .as = kind_of_scatterv}},
    {"neighbor_alltoall", "a neighbor_alltoall", moving{.of = collective::alltoallv, .as = kind_of_neighbor_alltoall}},
    {"split", "tutti_team_split",
     [](communicator& c) {
       auto made = c.split(0, 0, {});
       return made.error();
     }},
    {"window", "tutti_window_create",
     [](communicator& c) {
       (void)c.enter(call_kind::window_create);
       return window::open(c.group(), {nullptr, 100}).error();
     }},
    {"leave", "tutti_finalize",
     [](communicator& c) {
       (void)c.enter(call_kind::leave);
       return c.group().settle();
     }},
};

}  // namespace

BOOST_AUTO_TEST_CASE(nobody_waits_for_ever) {
  const auto alike = [](const kind& many, const kind& one) {
    const std::string_view a = many.name, b = one.name;
    return a != b && a.substr(0, a.find(',')) == b.substr(0, b.find(','));
  };
  std::size_t all_alike = 0;
  for (const kind& many : kinds)
    for (const kind& one : kinds) all_alike += alike(many, one);
  one_in pairs(2, {all_alike, 2}), others(7);
  for (const char* algorithm : {"dissemination", "counter"})
    for (const bool warm : {false, true})
      for (const kind& many : kinds)
        for (const kind& one : kinds) {
          if (std::string_view(many.name) == one.name || !(alike(many, one) ? pairs() : others())) continue;
          const auto report = try_ranks_simulated(sim_parameters({"sim"}, 4, 1), [&](rank_env& env) {
            auto j = open_job(env);
            auto team = take(communicator::world(*j, {.barrier = algorithm}), "world");
            if (warm) {
              std::byte data[64]{};
              require(team->broadcast(1, data), "while all agree");
              require(team->barrier().enter(), "while all agree");
            }
            const time_point before = env.net().now();
            status s = (env.rank == 2 ? one : many).call(*team);
            if (const moving* const usual = many.call.target<moving>()) {  // who needed nobody goes on so far
              if (s.ok()) s = team->barrier().enter();
              for (int i = 0; i < 40 && s.ok() && usual->bytes > 0; ++i) s = many.call(*team);
            }
            require(env.net().now() - before < std::chrono::seconds(5), "soon");
            // Whoever came through needed nobody that calls another; who did not says why, and one of them names both calls.
            const std::string mine = s.ok() ? "" : s.text();
            const auto said = env.exchange(std::as_bytes(std::span(mine)));
            bool named = false;
            std::string all;
            for (std::size_t r = 0; r < said->size(); ++r) {
              const std::string text(reinterpret_cast<const char*>((*said)[r].data()), (*said)[r].size());
              named = named || (text.find(many.said) != text.npos && text.find(one.said) != text.npos) ||
                      text.find("called something else; all members must make the same") != text.npos;  // both by an exchange
              all += " | " + text;
            }
            require(named, "one of them names both:" + all);
          }, {});
          BOOST_TEST(report.passed(), many.name << " against " << one.name << ", " << algorithm << ": " << report.text());
        }
}

// Whoever gives and takes nothing waits for nobody, and may be any number of calls ahead when it does wait.
BOOST_AUTO_TEST_CASE(who_is_many_calls_ahead_is_told) {
  const auto report = try_ranks_simulated(sim_parameters({"sim"}, 4, 1), [&](rank_env& env) {
    auto j = open_job(env);
    auto team = take(communicator::world(*j, {}), "world");
    const moving of_nothing{collective::broadcast, 0, 2}, of_some{collective::broadcast, 64, 2};
    for (int i = 0; i < 30; ++i) require(of_some(*team), "while all agree");
    const time_point before = env.net().now();
    for (int i = 0; i < 300 && env.rank == 2; ++i) require(of_nothing(*team), "of nothing");
    const status s = env.rank == 2 ? team->barrier().enter() : of_some(*team);
    const bool soon = env.net().now() - before < std::chrono::seconds(2);
    env.barrier();  // nobody leaves before
    require(s.code() == errc::protocol && soon, "told: " + std::string(s.text()));
    for (const char* part : {"a broadcast of 0 bytes with root 2", "a broadcast of 64 bytes with root 2"})
      require(std::string_view(s.text()).find(part) != std::string_view::npos, s.text());
  }, {});
  BOOST_TEST(report.passed(), report.text());
}

BOOST_AUTO_TEST_CASE(late_is_not_wrong) {
  const auto report = try_ranks_simulated(sim_parameters({"sim"}, 4, 1), [&](rank_env& env) {
    auto j = open_job(env);
    auto team = take(communicator::world(*j, {}), "world");
    std::byte data[64]{};
    for (int i = 0; i < 6; ++i) {
      if (env.rank == static_cast<std::uint32_t>(i) % 4) env.pause(std::chrono::seconds(2));
      require(team->barrier().enter(), "barrier");
      require(team->broadcast(0, data), "broadcast");
      require(take(team->split(0, 0, {}), "split")->barrier().enter(), "barrier of the half");
    }
    require(team->group().settle(), "leaving");
  }, {});
  BOOST_TEST(report.passed(), report.text());
}

// After 5 s: who is waited for, and where that one is. Who waits for a rank that waits itself is told of the late one all the same.
BOOST_AUTO_TEST_CASE(who_is_waited_for_is_told) {
  const auto report = try_ranks_simulated(sim_parameters({"sim"}, 3, 1), [&](rank_env& env) {
    std::vector<std::string> notices;
    job_options o;
    o.notice = [&](const std::string& line) { notices.push_back(line); };
    auto j = open_job(env, o);
    auto team = take(communicator::world(*j, {.barrier = "dissemination", .bcast = "binomial"}), "world");
    std::byte data[64]{};
    const auto late = [&](auto&& call, std::string_view waits, std::string_view there) {
      notices.clear();
      if (env.rank == 1) env.pause(std::chrono::seconds(8));
      require(call(), "call");
      if (env.rank == 1) return;
      require(notices.size() == 1, std::to_string(notices.size()) + " notices");
      const bool directly = notices[0].find("for rank 1") != std::string::npos;
      for (const std::string_view part : {std::string_view("waited 5 s in "), waits, std::string_view("of a team of 3"),
                                          directly ? there : std::string_view("; rank 1 waits in no call of tutti")})
        require(notices[0].find(part) != std::string::npos, "notice: " + notices[0]);
    };
    late([&] { return team->barrier().enter(); }, "a barrier, call 1 ", "which has made ");
    require(team->broadcast(1, data), "while what it needs is made, ranks wait for each other");
    late([&] { return team->broadcast(1, data); }, "a broadcast of 64 bytes with root 1, call 3 ", "which has made 2 there, the last one a broadcast");
    require(team->group().settle(), "leaving");
  }, {});
  BOOST_TEST(report.passed(), report.text());
}

namespace {

class starving_transport final : public forwarding_transport {
 public:
  using forwarding_transport::forwarding_transport;
  result<segment_id> attach(const rank_map& members, shared_blobs keys) override {
    if (starves) return status{errc::no_resource, "cannot open the memory of rank 0: too many open files", 0};
    return inner().attach(members, std::move(keys));
  }
  bool starves = false;
};

}  // namespace

// One member has no descriptors left for the memory of the others: all learn that it is this one.
BOOST_AUTO_TEST_CASE(who_cannot_make_a_team_of_survivors_is_named) {
  for (const rank_t starving : {0u, 2u}) {
    const auto report = try_ranks_simulated(sim_parameters({"sim"}, 3, 1), [&](rank_env& env) {
      starving_transport* net = nullptr;
      env.wrap([&](auto inner) {
        auto made = std::make_unique<starving_transport>(std::move(inner));
        return net = made.get(), std::move(made);
      });
      auto j = open_job(env);
      auto team = take(communicator::world(*j, {}), "world");
      net->starves = env.rank == starving;
      const status s = team->shrink({}).error();
      net->starves = false;
      const std::string wanted = env.rank == starving ? "too many open files" : "rank " + std::to_string(starving) + " could not make a team";
      require(s.code() == errc::no_resource && std::string_view(s.text()).find(wanted) != std::string::npos, s.text());
      require(take(team->shrink({}), "the next one")->group().size() == 3, "of all");
      env.barrier();
    }, {});
    BOOST_TEST(report.passed(), starving << ": " << report.text());
  }
}
