// What ranks tell each other when they join: host and key of the job, which networks they have, their offers with address and
// key, and the pairs of both that a router makes. Rank 0 of three is here alone: its runtime answers each allgather with its own
// words for everyone, in which the input then changes some of what is said to be its peers'. It joins, or is told what is wrong.
//
// The first byte of an input says how the rank joins, the others which bytes change in the allgathers, one after the other: a
// number of changes, and for each two bytes for where and one for what.
#include <array>
#include <cstdlib>
#include <cstring>

#include "core/base/blob_stream.h"
#include "core/job/bootstrap_callbacks.h"
#include "core/job/config.h"
#include "core/job/job.h"
#include "core/job/network_choice.h"
#include "core/job/team.h"

using namespace tutti;

namespace {

constexpr std::uint32_t ranks = 3;
enum class way : std::uint8_t { shm, checked_shm, router, checked_router, network, blobs, count };

void require(bool good) {
  if (!good) std::abort();
}

struct runtime {
  std::span<const std::uint8_t> changes;

  std::size_t next() noexcept {
    if (changes.empty()) return 0;
    const std::size_t b = changes.front();
    changes = changes.subspan(1);
    return b;
  }
  void allgather(const void* mine, std::size_t bytes, std::byte* all) {
    for (rank_t r = 0; r < ranks; ++r) std::memcpy(all + r * bytes, mine, bytes);
    for (std::size_t n = next() % 32; bytes && n > 0; --n) {
      const std::size_t high = next(), at = (high << 8 | next()) % ((ranks - 1) * bytes);
      all[bytes + at] = static_cast<std::byte>(next());
    }
  }
  std::unique_ptr<bootstrap> boot() {
    bootstrap_callbacks to;
    to.context = this, to.size = ranks, to.job_id = "fuzz";
    to.allgather = [](void* self, const void* mine, std::size_t bytes, void* all, double) {
      static_cast<runtime*>(self)->allgather(mine, bytes, static_cast<std::byte*>(all));
      return 0;
    };
    return std::move(*make_callback_bootstrap(to));
  }
};

void join(runtime& r, const char* provider, const char* check) {
  const environment settings{{"TUTTI_PROVIDER", provider}, {"TUTTI_CHECK", check}, {"TUTTI_TIMEOUT_S", "5"}};
  const auto opened = job::open(r.boot(), *config::load({}, settings, settings), {});
  if (!opened) return require(*opened.error().text());
  job& j = **opened;
  require(j.size() == ranks && j.where().node_of.size() == ranks && j.where().nodes() == j.where().population.size());
  for (rank_t peer = 0; peer < ranks; ++peer) {
    (void)j.net().map(j.world().segment(), peer);
    (void)j.net().health(peer);
  }
  j.progress();
}

void choose_network(runtime& r) {
  const auto boot = r.boot();
  const auto chosen = agree_on_network(*boot, time_point::max(), [](bool all, std::string&) {
    return all ? networks{"ucx:rc", "ofi:tcp"} : networks{"verbs:mlx5_0"};
  });
  require(chosen ? *chosen == "ucx:rc" || *chosen == "ofi:tcp" || *chosen == "verbs:mlx5_0" : *chosen.error().text());
}

// Whatever can be taken apart is put together again as it was.
void take_apart(std::span<const std::byte> bytes) {
  for (std::size_t count = 0; count < 5; ++count) {
    const auto blobs = blobs_in(bytes, count);
    std::vector<std::byte> again;
    for (std::size_t i = 0; blobs && i < count; ++i) add_blob(again, (*blobs)[i]);
    require(!blobs || std::ranges::equal(again, bytes));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  runtime r{{data + 1, size - 1}};
  switch (static_cast<way>(data[0] % static_cast<std::uint8_t>(way::count))) {
    case way::shm: join(r, "shm", "0"); break;
    case way::checked_shm: join(r, "shm", "1"); break;
    case way::router: join(r, "shm+shm", "0"); break;
    case way::checked_router: join(r, "shm+shm", "1"); break;
    case way::network: choose_network(r); break;
    case way::blobs: take_apart(std::as_bytes(r.changes)); break;
    case way::count: break;
  }
  return 0;
}
