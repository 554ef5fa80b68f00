// An exchange is Put, Commit, Fence with collected data, then a Get from every rank. Each exchange of the process uses
// keys of its own, since a key that is put twice may be read with its old value; all ranks make the same exchanges in
// the same order, and publish something in each, so they agree on the numbers. Another copy of this library in the process,
// or one that was unloaded, counts by itself: a number under which this process has published already is passed over.
// Data is always fenced before it is read: a key put after a fence and read without another races with its arrival.
//
// No wait is left to the library alone. When a rank has died, one launcher never ends the fence, another ends it with
// success among the living, after which a Get of the dead rank's key waits for ever; PMIX_TIMEOUT helps with neither.
// So both are begun without blocking and waited for here with the caller's deadline; the callback owns a share of the
// state it writes to, since it may come at any later time, or never. A Get is PMIX_IMMEDIATE: a fence that collected
// the data has brought it to this node's server, and what is not there then was never published.
//
// Each Get is a round trip to the launcher, which serves one at a time: n^2 of them take 128 ranks on two cores seconds. So
// in larger jobs rank 0 alone gets what all have published and publishes it as one, in a second round: 2n of them. A rank 0
// that could not get it all publishes nothing, and all find out by themselves who is missing.
#include "core/job/bootstrap_pmix.h"

#include <dlfcn.h>
#include <pmix.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "core/base/another_version.h"
#include "core/base/blob_stream.h"
#include "core/job/ended_ranks.h"
#include "core/base/headroom.h"
#include "core/base/unique_fd.h"

namespace tutti {
namespace {

constexpr char did_not_end[] = "the exchange with the other ranks did not end in time: ";

std::atomic<std::uint64_t> exchanges_begun{0};

status failed(const char* what, pmix_status_t code) {
  const std::string text = std::string{what} + " failed: PMIx says " + PMIx_Error_string(code);
  switch (code) {
    case PMIX_ERR_TIMEOUT: return {errc::timed_out, text, no_rank, code};
    case PMIX_ERR_NOMEM:
    case PMIX_ERR_OUT_OF_RESOURCE: return {errc::no_resource, text, no_rank, code};
    case PMIX_ERR_UNREACH:
    case PMIX_ERR_LOST_CONNECTION: return {errc::unavailable, worded(text, " (the launcher is gone)"), no_rank, code};
    case PMIX_ERR_PARTIAL_SUCCESS:
    case PMIX_ERR_PROC_ABORTED:
    case PMIX_ERR_PROC_TERM_WO_SYNC: return {errc::peer_dead, worded(text, " (a rank died)"), no_rank, code};
    default: return {errc::fabric, text, no_rank, code};
  }
}

// PMIx counts in whole seconds and takes 0 as "for ever".
int seconds_until(time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::seconds>(deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 1, 1'000'000));
}

// What an operation begun without blocking leaves behind, whenever it ends.
struct pending {
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  pmix_status_t code = PMIX_SUCCESS;
  std::vector<std::byte> bytes;  // a Get's

  bool wait(time_point deadline) {
    std::unique_lock lock{mutex};
    return ended.wait_until(lock, deadline, [&] { return done; });
  }
  void end(pmix_status_t how) {
    const std::lock_guard lock{mutex};
    done = true, code = how;
    ended.notify_all();
  }
};

using share = std::shared_ptr<pending>;

void fence_ended(pmix_status_t code, void* context) {
  const std::unique_ptr<share> own{static_cast<share*>(context)};
  (*own)->end(code);
}

void get_ended(pmix_status_t code, pmix_value_t* value, void* context) {
  const std::unique_ptr<share> own{static_cast<share*>(context)};
  if (code == PMIX_SUCCESS && value && value->type == PMIX_BYTE_OBJECT) {
    const auto* bytes = reinterpret_cast<const std::byte*>(value->data.bo.bytes);
    (*own)->bytes.assign(bytes, bytes + value->data.bo.size);
  }
  (*own)->end(code);
}

// Without a barrier, which would wait for the dead. If others still use libpmix here, this only drops our use.
void finalize() {
  pmix_info_t no_barrier;
  const bool no = false;
  PMIX_INFO_LOAD(&no_barrier, PMIX_EMBED_BARRIER, &no, PMIX_BOOL);
  PMIx_Finalize(&no_barrier, 1);
  PMIX_INFO_DESTRUCT(&no_barrier);
}

// The daemons of a job over several nodes lose what others publish for a process that left PMIx and comes back (Open
// MPI 4.1: a Get after a fence then says NOT_FOUND, in every other job). So whoever joined stays in until it ends: one
// use of libpmix is kept for the life of the process, and dropped at its exit, since a launcher takes a process that
// ends without for one that failed. The library that this is part of is not unloaded any more, or its end would take
// libpmix away, whose thread runs.
class stay {
 public:
  static void begin() {
    static stay s;
  }

 private:
  stay() {
    if (Dl_info here; dladdr(reinterpret_cast<void*>(&finalize), &here) && here.dli_fname)
      (void)dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);  // null in a program that has all of it linked in
    pmix_proc_t me;
    joined_ = PMIx_Init(&me, nullptr, 0) == PMIX_SUCCESS;
    if (::fstat(mark_.get(), &marked_)) mark_.close();
  }
  ~stay() {
    if (joined_ && getpid() == pid_ && !lost_descriptors()) finalize();  // a child of fork() that ends is no rank
  }
  // A program may close all descriptors from 3 on, as daemons do. libpmix then waits for ever for an answer of the launcher, which
  // has seen the connection end.
  bool lost_descriptors() const {
    struct stat now {};
    return mark_ && (::fstat(mark_.get(), &now) || now.st_ino != marked_.st_ino || now.st_dev != marked_.st_dev);
  }
  unique_fd mark_{::memfd_create("tutti-mark", MFD_CLOEXEC)};
  struct stat marked_ {};
  bool joined_ = false;
  pid_t pid_ = getpid();
};

class pmix_bootstrap final : public bootstrap {
 public:
  ~pmix_bootstrap() override {
    if (begun_) finalize();
  }

  status begin(time_point deadline, const std::string& ended) {
    // Where it gets none, libpmix 4.2 says "ERROR", or libevent prints and ends the process.
    if (status s = headroom("libpmix", 8, {.address_space = 16 << 20, .data = 10 << 20}); s.failed()) return s;
    if (const pmix_status_t code = PMIx_Init(&me_, nullptr, 0); code != PMIX_SUCCESS)
      return failed("joining the job of the launcher", code);
    begun_ = true;
    stay::begin();
    PMIX_LOAD_PROCID(&all_, me_.nspace, PMIX_RANK_WILDCARD);
    pmix_value_t* value = nullptr;
    if (const pmix_status_t code = PMIx_Get(&all_, PMIX_JOB_SIZE, nullptr, 0, &value); code != PMIX_SUCCESS)
      return failed("asking the launcher for the job's size", code);
    size_ = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    if (size_ == 0 || me_.rank >= size_)
      return {errc::protocol, worded("the launcher says rank ", me_.rank, " of ", size_)};
    ended_ = ended_ranks::look(ended, size_);
    return agree_on_id(deadline);
  }

  rank_t rank() const noexcept override { return me_.rank; }
  std::uint32_t size() const noexcept override { return size_; }
  const std::string& job_id() const noexcept override { return job_id_; }

  result<shared_blobs> allgather(std::span<const std::byte> mine, time_point deadline) override {
    const std::string key = next_key();
    if (status s = bring(key, mine, deadline); s.failed()) return s;
    if (size_ <= most_that_get_all) return get_all(key, mine, deadline);
    result<shared_blobs> all = shared_blobs{};
    std::vector<std::byte> bundle;
    if (me_.rank == 0) {
      all = get_all(key, mine, deadline);
      for (rank_t r = 0; all && r < size_; ++r) add_blob(bundle, (**all)[r]);
    }
    const std::string second = next_key();
    if (status s = bring(second, bundle, deadline); s.failed()) return s;
    if (me_.rank == 0) return all;
    auto blob = collected(0, second, deadline);
    if (!blob) return blob.error();
    if (blob->empty()) return get_all(key, mine, deadline);
    auto unpacked = blobs_in(*blob, size_);
    if (!unpacked) return another_version(0);
    return shared_blobs{std::move(unpacked)};
  }

  void end_job(int status, const std::string& why) noexcept override { PMIx_Abort(status, why.c_str(), nullptr, 0); }

 private:
  static constexpr std::uint32_t most_that_get_all = 8;

  // To where all can get it, with what the others bring.
  status bring(const std::string& key, std::span<const std::byte> mine, time_point deadline) {
    if (status s = publish(key, mine); s.failed()) return s;
    const status s = fence(deadline);
    return s.ok() || s.peer() != no_rank ? s : name_the_missing(s, key);
  }

  result<shared_blobs> get_all(const std::string& key, std::span<const std::byte> mine, time_point deadline) {
    auto blobs = std::make_shared<blob_table>();
    for (rank_t r = 0; r < size_; ++r) {
      if (r == me_.rank) {
        blobs->push_back(mine);
        continue;
      }
      auto blob = collected(r, key, deadline);
      if (!blob) return blob.error();
      blobs->push_back(*blob);
    }
    return shared_blobs{std::move(blobs)};
  }

  std::string next_key() const {
    for (;;) {
      std::string key = "tutti." + std::to_string(exchanges_begun.fetch_add(1));
      pmix_info_t here;
      const bool yes = true;
      PMIX_INFO_LOAD(&here, PMIX_OPTIONAL, &yes, PMIX_BOOL);  // does not ask the launcher
      pmix_value_t* published = nullptr;
      const pmix_status_t code = PMIx_Get(&me_, key.c_str(), &here, 1, &published);
      PMIX_INFO_DESTRUCT(&here);
      if (published) PMIX_VALUE_RELEASE(published);
      if (code != PMIX_SUCCESS) return key;
    }
  }

  // A namespace may recur: launchers make it of a pid, or of a job number that another cluster has as well. So rank 0
  // adds chance to it.
  status agree_on_id(time_point deadline) {
    const std::string key = next_key();
    std::uint64_t nonce = 0;
    if (me_.rank == 0) {
      std::random_device dice;
      nonce = std::uint64_t{dice()} << 32 | dice();
    }
    if (status s = publish(key, std::as_bytes(std::span{&nonce, 1})); s.failed()) return s;
    if (size_ > 1)
      if (status s = fence(deadline); s.failed()) return s;
    if (me_.rank != 0) {
      auto blob = collected(0, key, deadline);
      if (!blob) return blob.error();
      if (blob->size() != sizeof nonce) return another_version(0);
      std::memcpy(&nonce, blob->data(), sizeof nonce);
    }
    char text[20];
    snprintf(text, sizeof text, ".%016llx", static_cast<unsigned long long>(nonce));
    job_id_ = std::string{me_.nspace} + text;
    return {};
  }

  // A byte object of its own even when empty, since some stores refuse to keep nothing: one byte goes ahead.
  status publish(const std::string& key, std::span<const std::byte> blob) {
    std::vector<std::byte> framed(1 + blob.size());
    std::copy(blob.begin(), blob.end(), framed.begin() + 1);
    pmix_value_t value;
    PMIX_VALUE_CONSTRUCT(&value);
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = reinterpret_cast<char*>(framed.data());
    value.data.bo.size = framed.size();
    if (const pmix_status_t code = PMIx_Put(PMIX_GLOBAL, key.c_str(), &value); code != PMIX_SUCCESS)  // copies
      return failed("publishing this rank's data", code);
    if (const pmix_status_t code = PMIx_Commit(); code != PMIX_SUCCESS)
      return failed("publishing this rank's data", code);
    return {};
  }

  status fence(time_point deadline) {
    pmix_info_t info[2];
    const bool yes = true;
    const int seconds = seconds_until(deadline);
    PMIX_INFO_LOAD(&info[0], PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
    auto state = std::make_shared<pending>();
    auto context = std::make_unique<share>(state);
    const pmix_status_t code = PMIx_Fence_nb(&all_, 1, info, 2, fence_ended, context.get());
    for (pmix_info_t& i : info) PMIX_INFO_DESTRUCT(&i);
    if (code == PMIX_OPERATION_SUCCEEDED) return {};  // ended already: no callback will come
    if (code != PMIX_SUCCESS) return failed("the exchange with the other ranks", code);
    context.release();  // the callback's now
    bool done = false;
    const status named = wait_with_a_look(*state, deadline, done);
    if (named.failed()) return named;
    if (!done || state->code == PMIX_ERR_TIMEOUT)
      return {errc::timed_out, worded(did_not_end, "not all of the ", size_, " ranks took part")};
    return state->code == PMIX_SUCCESS ? status{} : failed("the exchange with the other ranks", state->code);
  }

  // A rank that has ended takes part in nothing that it has not taken part in. But its last fence may have ended for it and
  // its end been seen before the same news, which libpmix's thread brings, has come here: so the fence is given a moment to
  // end by itself, and a longer one where nobody died. A fence that a death has broken ends before the launcher has seen
  // that death, and it needs a core to: then that is given the longer one. Success, with or without the fence's end, or who
  // ended.
  status wait_with_a_look(pending& fence, time_point deadline, bool& done) {
    constexpr std::chrono::milliseconds between_looks{20}, after_a_death{300}, after_an_end{5000};
    if (!ended_.known()) return done = fence.wait(deadline), status{};
    std::optional<time_point> ended_since, broken_since;
    for (;;) {
      const time_point t = std::chrono::steady_clock::now();
      done = fence.wait(broken_since ? std::min(deadline, t) : std::min(deadline, t + between_looks));
      if (done && (fence.code == PMIX_SUCCESS || fence.code == PMIX_ERR_TIMEOUT)) return {};
      if (const auto gone = ended_.first_but(me_.rank)) {
        if (!ended_since) ended_since = t;
        const bool died = gone->ended == ended_ranks::how::died;
        if (done || t - *ended_since >= (died ? after_a_death : after_an_end))
          return {errc::peer_dead, worded("rank ", gone->rank, " ended before it had joined the job by tutti_init"), gone->rank};
      }
      if (t >= deadline) return {};
      if (!done) continue;
      if (!broken_since) broken_since = t;
      if (t - *broken_since >= after_an_end) return {};
      std::this_thread::sleep_for(between_looks);
    }
  }

  result<std::vector<std::byte>> fetch(rank_t from, const std::string& key, time_point deadline) {
    pmix_proc_t peer;
    PMIX_LOAD_PROCID(&peer, me_.nspace, from);
    pmix_info_t immediate;
    const bool yes = true;
    PMIX_INFO_LOAD(&immediate, PMIX_IMMEDIATE, &yes, PMIX_BOOL);
    auto state = std::make_shared<pending>();
    auto context = std::make_unique<share>(state);
    const pmix_status_t code = PMIx_Get_nb(&peer, key.c_str(), &immediate, 1, get_ended, context.get());
    PMIX_INFO_DESTRUCT(&immediate);
    if (code != PMIX_SUCCESS) return failed("reading what another rank published", code);
    context.release();
    const std::string name = "rank " + std::to_string(from);
    if (!state->wait(deadline))
      return status{errc::timed_out, worded("what ", name, " published did not arrive in time"), from};
    if (state->code == PMIX_ERR_NOT_FOUND)
      return status{errc::peer_dead, worded(name, " died before it had joined the job by tutti_init"), from, state->code};
    if (state->code != PMIX_SUCCESS) return failed(("reading what " + name + " published").c_str(), state->code);
    if (state->bytes.empty()) return status{errc::protocol, worded(name, " published something else than tutti does"), from};
    state->bytes.erase(state->bytes.begin());
    return std::move(state->bytes);
  }

  // Of what a fence has collected. A fence may succeed among the living, and what a dead rank has not published is not there. But
  // libpmix 4.2 says so too, once in some 60 jobs of 128 ranks, of what every rank has published, and has it a moment later: so
  // it is asked again, unless it is known that a rank has ended.
  result<std::vector<std::byte>> collected(rank_t from, const std::string& key, time_point deadline) {
    constexpr std::chrono::milliseconds between{20}, longest{1000};
    const time_point end = std::min(deadline, std::chrono::steady_clock::now() + longest);
    for (;;) {
      auto blob = fetch(from, key, deadline);
      if (blob || blob.error().code() != errc::peer_dead || ended_.first_but(me_.rank) || std::chrono::steady_clock::now() >= end)
        return blob;
      std::this_thread::sleep_for(between);
    }
  }

  // libpmix says that a rank died, not which, or nothing at all until the deadline. If all others have published, it
  // is the one that has not; if more are missing, the fence may have been broken off before the living one's data came,
  // and nobody is accused.
  status name_the_missing(const status& unnamed, const std::string& key) {
    if (unnamed.code() != errc::peer_dead && unnamed.code() != errc::timed_out) return unnamed;
    const time_point soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    status named;
    for (rank_t r = 0; r < size_; ++r) {
      if (r == me_.rank) continue;
      if (const auto blob = fetch(r, key, soon); !blob) {
        if (named.failed() || blob.error().code() != errc::peer_dead) return unnamed;
        named = blob.error();
      }
    }
    if (named.ok() || unnamed.code() == errc::peer_dead) return named.ok() ? unnamed : named;
    return {errc::timed_out, worded(did_not_end, "rank ", named.peer(), " did not take part"),
            named.peer()};
  }

  pmix_proc_t me_{}, all_{};
  std::uint32_t size_ = 1;
  std::string job_id_;
  bool begun_ = false;
  ended_ranks ended_;
};

}  // namespace

result<std::unique_ptr<bootstrap>> make_pmix_bootstrap(time_point deadline, const std::string& ended) {
  auto b = std::make_unique<pmix_bootstrap>();
  if (status s = b->begin(deadline, ended); s.failed()) return s;
  return std::unique_ptr<bootstrap>{std::move(b)};
}

// "OpenPMIx 4.2.2, repo rev: ..." or the like.
std::string pmix_version() {
  const std::string text = PMIx_Get_version();
  const auto first = text.find_first_of("0123456789");
  return first == text.npos ? text : text.substr(first, text.find_first_not_of("0123456789.", first) - first);
}

}  // namespace tutti
