// A router whose network's atomics agree with no CPU's: what goes by which child, and what waits for what.
#include <boost/test/unit_test.hpp>

#include "tests/core/router_fixture.h"

using namespace tutti;
using namespace tutti::test;

namespace {

struct apart : router_fixture {
  region_id region{};
  segment_id segment{};
  std::uint64_t number = 0;

  apart() : router_fixture{-1, -1, {0, 2}, false} { std::tie(region, segment) = memory(); }

  rma_op op(op_kind kind, rank_t rank, signal_how how = signal_how::set, not_before order = not_before::payload) {
    rma_op o = numbered_put(rank, region, segment, ++number);
    o.kind = kind, o.how = how, o.order = order;
    return o;
  }
  bool takes(const rma_op& o) { return both->submit({&o, 1}) == 1; }
  static bool has_last(const fake_transport& t, const rma_op& o) { return !t.taken.empty() && t.taken.back().operand == o.operand; }
};

constexpr auto set = signal_how::set, add = signal_how::add;
constexpr auto payload = not_before::payload, everything = not_before::everything;

}  // namespace

BOOST_AUTO_TEST_CASE(the_network_has_everyone_s_keys) {
  apart f;
  for (const std::string& k : f.far->keys) BOOST_TEST(!k.empty());
  BOOST_TEST(f.near->keys[1].empty());
}

BOOST_AUTO_TEST_CASE(atomics_and_added_signals_go_by_the_network) {
  apart f;
  f.near->finish_at_once = f.far->finish_at_once = true;
  for (const rank_t rank : {0u, 1u, 2u, 3u}) BOOST_TEST_CONTEXT("rank " << rank) {
    const bool near = rank % 2 == 0;
    for (const op_kind k : {op_kind::put, op_kind::get}) {
      const rma_op o = f.op(k, rank);
      BOOST_TEST(f.takes(o));
      BOOST_TEST(apart::has_last(near ? *f.near : *f.far, o));
    }
    for (const op_kind k : {op_kind::fetch_add, op_kind::compare_swap, op_kind::swap}) {
      const rma_op o = f.op(k, rank);
      BOOST_TEST(f.takes(o));
      BOOST_TEST(apart::has_last(*f.far, o));
      BOOST_TEST((f.far->taken.back().local == region_id{far_base}));
      BOOST_TEST((f.far->taken.back().remote == segment_id{far_base}));
    }
    for (const op_kind k : {op_kind::signal, op_kind::put_signal})
      for (const signal_how how : {set, add}) {
        const rma_op o = f.op(k, rank, how);
        BOOST_TEST(f.takes(o));
        BOOST_TEST(apart::has_last(near && how == set ? *f.near : *f.far, o));
      }
  }
}

// Every pair of a first and a second operation towards a rank of this node, the first of which is not visible yet: the
// second waits for a flush of the other path exactly if the contract puts it behind the first.
BOOST_AUTO_TEST_CASE(a_signal_waits_for_the_other_path_where_the_contract_wants_it) {
  struct kind { op_kind k; signal_how how; not_before order; };
  const kind kinds[] = {{op_kind::put, set, payload},          {op_kind::get, set, payload},
                        {op_kind::fetch_add, set, payload},    {op_kind::signal, set, payload},
                        {op_kind::signal, add, payload},       {op_kind::signal, set, everything},
                        {op_kind::signal, add, everything},    {op_kind::put_signal, set, payload},
                        {op_kind::put_signal, add, everything}};
  const auto signals = [](const kind& k) { return k.k == op_kind::signal || k.k == op_kind::put_signal; };
  const auto by_network = [&](const kind& k) { return k.k == op_kind::fetch_add || (signals(k) && k.how == add); };
  for (const kind& a : kinds)
    for (const kind& b : kinds)
      for (const rank_t rank : {0u, 2u, 1u}) {
        apart f;
        BOOST_TEST(f.takes(f.op(a.k, rank, a.how, a.order)));
        f.near->flushed.clear(), f.far->flushed.clear();
        const rma_op second = f.op(b.k, rank, b.how, b.order);
        const bool crosses = rank != 1 && by_network(a) != by_network(b);
        const bool waits = crosses && signals(b) && (signals(a) || b.order == everything);
        const bool taken = f.takes(second);
        fake_transport& other = by_network(a) ? *f.far : *f.near;
        if (taken == waits || (other.flushed == std::vector<rank_t>{rank}) != waits)
          BOOST_ERROR("kinds " << &a - kinds << ", " << &b - kinds << " to " << rank << ": taken " << taken);
        if (!waits) continue;
        BOOST_TEST(!f.takes(second));  // one flush suffices
        BOOST_TEST(other.flushed.size() == 1u);
        BOOST_TEST(f.takes(f.op(b.k, rank == 0 ? 2 : 0, b.how, b.order)));  // another rank has nothing of it
        other.finish_all();
        BOOST_TEST(f.takes(second));
        BOOST_TEST(f.takes(f.op(b.k, rank, b.how, b.order)));
        BOOST_TEST(other.flushed.size() == 1u);
      }
}

BOOST_AUTO_TEST_CASE(what_was_taken_during_such_a_flush_needs_another) {
  apart f;
  BOOST_TEST(f.takes(f.op(op_kind::signal, 2, add)));
  const rma_op waiting = f.op(op_kind::signal, 2, set);
  BOOST_TEST(!f.takes(waiting));
  BOOST_TEST(f.takes(f.op(op_kind::signal, 2, add)));  // the caller has changed its mind
  f.far->finish_all();
  BOOST_TEST(!f.takes(waiting));
  BOOST_TEST(f.far->flushed.size() == 2u);
  f.far->finish_all();
  BOOST_TEST(f.takes(waiting));
}

BOOST_AUTO_TEST_CASE(a_list_of_both_is_taken_as_a_prefix) {
  apart f;
  const rma_op ops[] = {f.op(op_kind::put, 2), f.op(op_kind::fetch_add, 2), f.op(op_kind::signal, 2, set),
                        f.op(op_kind::signal, 2, add), f.op(op_kind::put, 2), f.op(op_kind::signal, 2, add)};
  f.near->finish_at_once = true;  // as shared memory does
  BOOST_TEST(f.both->submit(ops) == 6u);
  BOOST_TEST(f.near->taken.size() == 3u);
  BOOST_TEST(f.far->taken.size() == 3u);
  const rma_op more[] = {f.op(op_kind::put, 2), f.op(op_kind::signal, 2, set), f.op(op_kind::put, 2)};
  BOOST_TEST(f.both->submit(more) == 1u);  // the set signal is behind the added ones
  BOOST_TEST(f.both->submit(std::span{more}.subspan(1)) == 0u);
  f.far->finish_all();
  BOOST_TEST(f.both->submit(std::span{more}.subspan(1)) == 2u);
}

BOOST_AUTO_TEST_CASE(a_refused_flush_of_the_other_path_refuses_the_signal) {
  apart f;
  BOOST_TEST(f.takes(f.op(op_kind::signal, 0, add)));
  f.far->flush_room = 0;
  const rma_op waiting = f.op(op_kind::signal, 0, set);
  BOOST_TEST(!f.takes(waiting));
  f.far->flush_room = fake_transport::all;
  BOOST_TEST(!f.takes(waiting));
  f.far->finish_all();
  BOOST_TEST(f.takes(waiting));
}

BOOST_AUTO_TEST_CASE(a_flush_of_a_rank_of_the_node_is_both_paths_once_both_were_used) {
  apart f;
  completion done;
  BOOST_TEST(f.takes(f.op(op_kind::put, 2)));
  BOOST_TEST(f.both->flush(2, &done));
  BOOST_TEST(f.near->flushed.size() == 1u);
  BOOST_TEST(f.far->flushed.empty());
  BOOST_TEST(f.takes(f.op(op_kind::signal, 2, add)));
  f.far->flush_room = 0;
  BOOST_TEST(!f.both->flush(2, &done));
  BOOST_TEST(f.near->flushed.size() == 1u);
  f.far->flush_room = 1, f.near->flush_room = 0;
  BOOST_TEST(f.both->flush(2, &done));  // the node's is owed
  f.far->finish_all();
  BOOST_TEST(!done.idle());
  f.near->flush_room = fake_transport::all;
  f.both->progress();
  BOOST_TEST((f.near->flushed == std::vector<rank_t>{2, 2}));
  BOOST_TEST(!done.idle());
  f.near->finish_all();
  BOOST_TEST(done.idle());
  BOOST_TEST(f.both->flush(0, &done));  // another rank's path was not used
  BOOST_TEST(f.far->flushed == std::vector<rank_t>{2}, boost::test_tools::per_element());
  f.near->finish_all();
}

// Both children must learn of a death, since both take operations towards it.
BOOST_AUTO_TEST_CASE(health_asks_both) {
  apart f;
  BOOST_TEST(std::string{f.both->health(2).text()} == "near says so");
  BOOST_TEST(f.far->asked == std::vector<rank_t>{2}, boost::test_tools::per_element());
  BOOST_TEST(std::string{f.both->health(1).text()} == "far says so");
  BOOST_TEST(f.near->asked == std::vector<rank_t>{2}, boost::test_tools::per_element());
}

// Clause 3: such a flush is not the caller's, so what it reports is kept for one that is.
BOOST_AUTO_TEST_CASE(what_such_a_flush_reports_is_told_by_the_caller_s_next) {
  for (const bool all : {false, true}) {
    apart f;
    BOOST_TEST(f.takes(f.op(op_kind::signal, 2, add)));
    const rma_op waiting = f.op(op_kind::signal, 2, set);
    BOOST_TEST(!f.takes(waiting));
    f.far->finish_all({errc::fabric, "lost", 2});
    BOOST_TEST(f.takes(waiting));
    completion other, mine, later;
    f.near->finish_at_once = f.far->finish_at_once = true;
    BOOST_TEST(f.both->flush(0, &other));
    BOOST_TEST(other.outcome().ok());
    BOOST_TEST(f.both->flush(all ? no_rank : 2, &mine));
    BOOST_TEST(std::string{mine.outcome().text()} == "lost");
    BOOST_TEST(f.both->flush(2, &later));
    BOOST_TEST((later.idle() && later.outcome().ok()));
  }
}
