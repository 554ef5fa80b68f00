#include "tests/verbs/fake_party.h"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <thread>

namespace tutti::test {

using namespace std::chrono_literals;

std::vector<std::string> names(unsigned n) {
  std::vector<std::string> all;
  for (const auto& p : roce(n)) all.push_back(p.name);
  return all;
}

no_breach::~no_breach() {
  for (const std::string& b : fake::breaches()) BOOST_ERROR(b);
}

namespace {

// What rank `mine` gets of everyone's addresses. All say the host of this process: those of other hosts get another.
shared_blobs as_seen(const std::vector<std::vector<std::byte>>& blobs, const std::vector<int>& hosts, bool calls, rank_t mine) {
  auto all = std::make_shared<blob_table>();
  for (rank_t r = 0; r < blobs.size(); ++r) {
    auto a = *verbs::blob_as<verbs::address_blob>(blobs[r]);
    if (!hosts.empty() && hosts[r] != hosts[mine]) a.host[0] ^= static_cast<std::byte>(1 + hosts[r]);
    if (!calls) a.line.port = 0;
    all->push_back(verbs::as_blob(a));
  }
  return all;
}

}  // namespace

party::party(const std::vector<std::string>& devices, const std::vector<int>& hosts, bool calls) : ranks_(devices.size()) {
  static int made = 0;
  const std::string job = "party " + std::to_string(++made);
  auto keys = std::make_shared<blob_table>();
  std::vector<std::vector<std::byte>> addresses, blobs;
  for (rank_t r = 0; r < size(); ++r) {
    open_params p;
    p.device = devices[r], p.job_id = job, p.rank = r, p.size = size();
    auto net = verbs::verbs_transport::open(p);
    BOOST_REQUIRE_MESSAGE(net.ok(), net.error().text());
    ranks_[r].net = std::move(*net);
    addresses.push_back(*ranks_[r].net->address());
  }
  for (rank_t r = 0; r < size(); ++r) {
    member& m = ranks_[r];
    BOOST_REQUIRE(m.net->connect(as_seen(addresses, hosts, calls, r), m.net->now() + 5s).ok());
    m.region = *m.net->allocate(bytes, m.memory);
    blobs.push_back(*m.net->key(m.region));
  }
  for (const auto& b : blobs) keys->push_back(b);
  for (auto& m : ranks_) m.segment = *m.net->attach(rank_map::strided(0, size()), keys);
}

std::uint64_t party::word(rank_t r, std::size_t offset) const noexcept {
  return std::atomic_ref{*reinterpret_cast<std::uint64_t*>(ranks_[r].memory.data() + offset)}.load();
}

void party::drive() noexcept {
  for (auto& m : ranks_)
    if (m.net) m.net->progress();
}

bool party::until(const std::function<bool()>& holds, std::vector<rank_t> only) {
  for (const auto end = std::chrono::steady_clock::now() + 5s; !holds();) {
    if (std::chrono::steady_clock::now() > end) return false;
    if (only.empty()) drive();
    for (const rank_t r : only) (*this)[r].progress();
    std::this_thread::yield();
  }
  return true;
}

bool party::submit(rank_t from, const rma_op& op) { return (*this)[from].submit({&op, 1}) == 1; }

status party::run(rank_t from, rma_op op) {
  completion done;
  op.done = &done;
  BOOST_REQUIRE(until([&] { return submit(from, op); }));
  BOOST_REQUIRE(until([&] { return done.idle(); }));
  return done.outcome();
}

status party::flush(rank_t from, rank_t to) {
  completion done;
  BOOST_REQUIRE(until([&] { return (*this)[from].flush(to, &done); }));
  BOOST_REQUIRE(until([&] { return done.idle(); }));
  return done.outcome();
}

void party::meet() {
  for (rank_t from = 0; from < size(); ++from)
    for (rank_t to = 0; to < size(); ++to)
      if (from != to) BOOST_REQUIRE(run(from, get(mine(from), at(from, to), 8)).ok());
}

}  // namespace tutti::test
