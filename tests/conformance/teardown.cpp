// Clause 11: whatever is dropped in whatever order, nothing breaks, nothing stays behind, and peers learn who left.
#include <sys/mman.h>
#include <unistd.h>

#include <array>

#include "tests/conformance/clause.h"
#include "tests/conformance/patterns.h"
#include "tests/harness/resources.h"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

void talk(rank_env& e, const area& a) {
  completion done;
  for (rank_t r = 0; r < e.size; ++r) {
    e.submit(put(a.mine(1024), a.at(r, 2048), 512, &done));
    e.submit(fetch_add(a.mine(512), a.at(r, 64), 1, &done));
    e.submit(signal(a.at(r, 0), 1, signal_how::add, not_before::payload, &done));
  }
  e.wait_word(a.word(0), e.size);
  e.wait(done);
  e.flush();
  e.barrier();
}

void a_rank_that_left_is_known_to_have_left(rank_env& e) {
  const area a = e.allocate(4096);
  talk(e, a);
  constexpr rank_t leaver = 1;
  if (e.rank == leaver) e.close();
  else {
    const auto left = [&] {
      const status s = e.net().health(leaver);
      return s.failed() && s.code() == errc::peer_dead && s.native() == peer_left && s.peer() == leaver;
    };
    e.until("health() to tell that rank 1 left", left);
    completion done;
    e.submit(put(a.mine(), a.at(leaver), 8, &done));
    e.wait_idle(done);
    require(done.outcome().code() == errc::peer_dead, "an operation towards a rank that left");
    for (rank_t r = 0; r < e.size; ++r)
      if (r != leaver) {
        require(e.net().health(r), "health of a rank that stays");
        e.run(fetch_add(a.mine(512), a.at(r, 64), 1, nullptr));
        e.flush(r);
      }
  }
}

// Two areas, each with a second segment: drop the six things in every order that a seed gives.
void dropped_in_any_order(rank_env& e) {
  std::mt19937_64 same{e.seed};
  for (int round = 0; round < 12; ++round) {
    const std::array areas{e.allocate(4096), e.allocate(4096)};
    for (const area& a : areas) talk(e, a);
    std::vector<std::function<void()>> drops;
    for (const area& a : areas) {
      const segment_id second = e.attach(rank_map::strided(0, e.size), a.region);
      drops.push_back([&e, s = a.segment] { e.net().drop(s); });
      drops.push_back([&e, second] { e.net().drop(second); });
      drops.push_back([&e, r = a.region] { e.net().drop(r); });
    }
    e.barrier();
    std::shuffle(drops.begin(), drops.end(), round % 2 ? e.random : same);  // in the same order, or each in its own
    for (const auto& drop : drops) drop();
    e.barrier();
  }
}

// Ranks drop at different times: a peer still has the segment attached while the owner's memory is gone already.
void owners_drop_before_their_peers(rank_env& e) {
  for (int round = 0; round < 6; ++round) {
    area a = e.allocate(1 << 16);
    talk(e, a);
    if (e.rank == static_cast<rank_t>(round) % e.size) e.drop(a);
    e.barrier();
    if (!a.memory.empty()) e.drop(a);
    const area next = e.allocate(1 << 16);
    check_painted(next.memory, 0, "allocated memory, after other memory was dropped");
    e.barrier();
    area again = next;
    e.drop(again);
  }
}

void dropped_with_operations_in_flight(rank_env& e) {
  for (int round = 0; round < 8; ++round) {
    area in = e.allocate(1 << 20), out = e.allocate(1 << 20);
    completion done;
    for (int i = 0; i < 8; ++i) {
      e.submit(put(out.mine(), in.at(right_of(e)), 1 << 19, &done));
      e.submit(get(out.mine(1 << 19), in.at(left_of(e)), 1 << 19, &done));
      e.submit(fetch_add(out.mine(), in.at(right_of(e), 64), 1, &done));
    }
    switch (round % 4) {
      case 0: e.net().drop(in.segment), e.net().drop(out.segment), e.net().drop(out.region); break;
      case 1: e.net().drop(out.region), e.net().drop(in.segment), e.net().drop(out.segment); break;
      case 2: e.net().drop(in.segment); break;
      default: e.net().drop(out.region); break;
    }
    e.wait_idle(done);  // with success or an error, but it completes
    e.barrier();
    e.net().drop(in.region);
    e.barrier();
  }
}

// The caller's own memory, which is gone for good right behind drop(), while the peer that it is put to takes nothing: more
// than any socket holds.
void dropped_memory_is_the_callers_again(rank_env& e) {
  constexpr std::size_t each = 1 << 20, puts = 16;
  const area in = e.allocate(each);
  void* const own = ::mmap(nullptr, each, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(own != MAP_FAILED, "memory");
  const area out = e.add({static_cast<std::byte*>(own), each});
  talk(e, in);
  e.barrier();
  completion done;
  if (e.rank == 0)
    for (std::size_t i = 0; i < puts; ++i) e.submit(put(out.mine(), in.at(1), each, &done));
  else
    ::usleep(600'000);
  e.net().drop(out.segment), e.net().drop(out.region);
  ::munmap(own, each);
  e.wait_idle(done);
  e.barrier();
  require(e.net().health(1 - e.rank), "nothing has come of it");
  e.barrier();
}

void the_transport_goes_first(rank_env& e) {
  const area a = e.allocate(1 << 20), b = e.allocate(4096);
  std::vector<std::byte> own(100'000);
  const area c = e.add(own);
  talk(e, b);
  (void)a, (void)c;
  e.barrier();
  e.close();  // regions and segments are still there
}

// Nobody waits for these.
void the_transport_goes_with_operations_in_flight(rank_env& e) {
  const area a = e.allocate(1 << 20);
  talk(e, a);
  completion done;  // outlives the transport, as it must
  for (int i = 0; i < 16; ++i) {
    e.submit(put(a.mine(), a.at(right_of(e)), 1 << 20, &done));
    e.submit(get(a.mine(), a.at(left_of(e)), 1 << 20, &done));
    e.submit(signal(a.at(right_of(e)), 1, signal_how::add, not_before::everything, &done));
  }
  e.close();
}

void destroyed_right_after_connecting(rank_env& e) {
  if (e.rank % 2) e.pause(2ms);
  e.close();
}

// Before anything was opened, and after it was closed: descriptors, shared files, mappings and threads.
void nothing_stays_behind(rank_env& e) {
  {
    const area a = e.allocate(1 << 20);
    std::vector<std::byte> own(100'000);
    area b = e.add(own);
    talk(e, a);
    for (int i = 0; i < 20; ++i) {
      area c = e.allocate(1 << 16);
      talk(e, c);
      e.drop(c);
    }
    e.barrier();
    e.drop(b);
    e.barrier();
  }
  const auto files = shared_files(e.place().name());
  e.close();
  e.barrier();
  if (e.own_process) {
    require_equal(open_descriptors(), e.before.descriptors, "open descriptors");
    // A thread that was joined stands in /proc until the kernel has cleared it away.
    for (int i = 0; i < 200 && running_threads() > e.before.threads; ++i) ::usleep(5000);
    require_equal(running_threads(), e.before.threads, "threads");
    std::string left;
    for (const auto& f : shared_files(e.place().name())) left += " " + f;
    require(left.empty(), "shared memory stayed mapped or in /dev/shm:" + left);
  }
  for (const auto& f : files)
    require(access(f.c_str(), F_OK) != 0, "a file of shared memory stayed behind: " + f);
}

// Regions that come and go do not gather descriptors or mappings in the process that goes on.
void regions_leave_nothing_behind(rank_env& e) {
  const auto once = [&] {
    area a = e.allocate(1 << 16);
    std::vector<std::byte> own(70'000);
    area b = e.add(own);
    talk(e, a);
    talk(e, b);
    e.drop(a);
    e.barrier();
    e.drop(b);
    e.barrier();
  };
  for (int i = 0; i < 3; ++i) once();  // connections and caches have come into being
  const int before = open_descriptors();
  for (int i = 0; i < 40; ++i) once();
  if (e.own_process) require(open_descriptors() <= before + 2, "descriptors gather with regions");
}

constexpr std::array cases{
    conformance_case{"a_rank_that_left_is_known_to_have_left", 3, a_rank_that_left_is_known_to_have_left},
    conformance_case{"dropped_in_any_order", 3, dropped_in_any_order},
    conformance_case{"owners_drop_before_their_peers", 3, owners_drop_before_their_peers},
    conformance_case{"dropped_with_operations_in_flight", 3, dropped_with_operations_in_flight},
    conformance_case{"dropped_memory_is_the_callers_again", 2, dropped_memory_is_the_callers_again},
    conformance_case{"the_transport_goes_first", 3, the_transport_goes_first},
    conformance_case{"the_transport_goes_with_operations_in_flight", 3, the_transport_goes_with_operations_in_flight},
    conformance_case{"destroyed_right_after_connecting", 4, destroyed_right_after_connecting},
    conformance_case{"nothing_stays_behind", 3, nothing_stays_behind},
    conformance_case{"regions_leave_nothing_behind", 2, regions_leave_nothing_behind},
};

}  // namespace

clause teardown_clause() { return {"teardown", cases}; }

}  // namespace tutti::test
