#include "tools/sim/program.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <stdexcept>

#include "core/base/round_up.h"
#include "core/base/unique_fd.h"
#include "core/job/config.h"
#include "core/job/simulated_link.h"
#include "core/transport/multicast.h"
#include "core/transport/two_sided.h"
#include "tools/sim/joined.h"

namespace tutti::tools {
namespace {

namespace link = tutti::simulated;

constexpr std::uint64_t most_request = std::uint64_t{1} << 32;  // bytes of one question's lists

std::string last_error() { return std::strerror(errno); }

// What all ranks have in common.
struct shared_line {
  unique_fd fd;
  link::header* header = nullptr;
  std::size_t bytes = 0;

  shared_line() = default;
  shared_line(const shared_line&) = delete;
  shared_line& operator=(const shared_line&) = delete;
  ~shared_line() {
    if (header) munmap(header, bytes);
  }
  status make(const sim::parameters& p, const std::string& job) {
    bytes = link::bytes_for(p.ranks);
    fd = unique_fd(memfd_create("tutti-sim", 0));  // inherited
    if (!fd || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return {errc::no_resource, "no memory for the ranks' lines: " + last_error()};
    void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (at == MAP_FAILED) return {errc::no_resource, "no memory for the ranks' lines: " + last_error()};
    header = static_cast<link::header*>(at);
    *header = {.magic = link::magic, .version = link::version, .ranks = p.ranks, .ranks_per_node = p.ranks_per_node,
               .slot_bytes = sizeof(link::slot), .world = getpid(), .job = {}};
    std::strncpy(header->job, job.c_str(), sizeof header->job - 1);
    for (rank_t r = 0; r < p.ranks; ++r) {
      link::slot& s = link::slot_of(*header, r);
      sem_init(&s.asked, 1, 0), sem_init(&s.answered, 1, 0);
    }
    return {};
  }
};

// One rank's process, served by the rank's function.
class rank_server final : public sim::far_memory {
 public:
  rank_server(sim::world& w, shared_line& l, rank_t r, double compute) : world_(w), slot_(link::slot_of(*l.header, r)), rank_(r), compute_(compute) {}

  // An errno.
  int start(const program_plan& p, const std::vector<std::string>& environment, int line) {
    std::vector<std::string> all = environment;
    all.push_back(std::string(link::variable) + "=" + std::to_string(line) + ":" + std::to_string(rank_));
    std::vector<char*> words, variables;
    for (const std::string& w : p.words) words.push_back(const_cast<char*>(w.c_str()));
    for (const std::string& v : all) variables.push_back(const_cast<char*>(v.c_str()));
    words.push_back(nullptr), variables.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    if (rank_ > 0) posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    const int e = posix_spawnp(&pid_, words[0], &files, nullptr, words.data(), variables.data());
    posix_spawn_file_actions_destroy(&files);
    if (e != 0) pid_ = -1;
    return e;
  }

  // Until the process has ended. Where it dies within the job, so does the rank, and this does not return.
  void serve(const std::function<void()>& progress) {
    while (await_question()) {
      progress();
      if (compute_ > 0 && slot_.worked_ns >= link::least_work_ns) world_.compute(rank_, static_cast<double>(slot_.worked_ns) / 1000 * compute_);
      std::fill(std::begin(slot_.results), std::end(slot_.results), 0);
      status end;
      try {
        end = answer();
      } catch (const std::exception& e) {
        end = {errc::no_resource, worded("the simulated world: ", std::string_view(e.what()))};
      }
      slot_.code = static_cast<std::int32_t>(end.code()), slot_.peer = end.peer(), slot_.native = end.native();
      if (end.failed()) std::snprintf(slot_.text, sizeof slot_.text, "%s", end.text());
      slot_.clock_ns = world_.clock(rank_).time_since_epoch().count();
      sem_post(&slot_.answered);
    }
    if (net_) world_.kill(rank_);
  }

  // Where the world is stuck, or is given up.
  void kill() noexcept {
    if (pid_ > 0) ::kill(pid_, SIGKILL), waitpid(pid_, nullptr, 0), pid_ = -1;
  }
  bool ended_well() const noexcept { return ended_ && WIFEXITED(status_) && WEXITSTATUS(status_) == 0; }
  int exit_status() const noexcept { return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_); }
  bool ended() const noexcept { return ended_; }
  std::string how() const {
    return WIFSIGNALED(status_) ? "died of signal " + std::to_string(WTERMSIG(status_)) : "left with status " + std::to_string(WEXITSTATUS(status_));
  }

  bool read(const std::byte* from, void* to, std::size_t bytes) noexcept override {
    return moved(bytes, [&](std::size_t at, iovec here, iovec there) {
      here.iov_base = static_cast<std::byte*>(to) + at, there.iov_base = const_cast<std::byte*>(from) + at;
      return process_vm_readv(slot_.pid, &here, 1, &there, 1, 0);
    });
  }
  bool write(const void* from, std::byte* to, std::size_t bytes) noexcept override {
    return moved(bytes, [&](std::size_t at, iovec here, iovec there) {
      here.iov_base = const_cast<std::byte*>(static_cast<const std::byte*>(from)) + at, there.iov_base = to + at;
      return process_vm_writev(slot_.pid, &here, 1, &there, 1, 0);
    });
  }

 private:
  // A completion of the process's, here.
  struct mirror {
    completion here;
    std::uint64_t there = 0;
    std::uint32_t untold = 0;            // operations whose end the process has not heard of
  };

  template <class Move>
  bool moved(std::size_t bytes, Move move) noexcept {
    for (std::size_t at = 0; at < bytes;) {
      const iovec rest{nullptr, bytes - at};
      const ssize_t n = move(at, rest, rest);
      if (n <= 0) {
        blocked_ = blocked_ || (n < 0 && errno == EPERM);
        return false;
      }
      at += static_cast<std::size_t>(n);
    }
    return true;
  }

  // False: the process has ended.
  bool await_question() {
    for (long wait_ns = 100'000;; wait_ns = std::min(2 * wait_ns, 10'000'000l)) {
      timespec until{};
      clock_gettime(CLOCK_REALTIME, &until);
      until.tv_nsec += wait_ns;
      if (until.tv_nsec >= 1'000'000'000) ++until.tv_sec, until.tv_nsec -= 1'000'000'000;
      if (sem_timedwait(&slot_.asked, &until) == 0) return true;
      if (errno == EINTR) continue;
      if (waitpid(pid_, &status_, WNOHANG) == pid_) return pid_ = -1, ended_ = true, false;
    }
  }

  std::uint64_t argument(int i) const noexcept { return slot_.arguments[i]; }
  const std::byte* place(int i) const noexcept { return reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(argument(i))); }
  time_point moment(int i) const noexcept { return time_point(std::chrono::nanoseconds(static_cast<std::int64_t>(argument(i)))); }
  template <class T>
  std::vector<T> list(int address, std::uint64_t count) {
    if (count > most_request / sizeof(T)) throw std::runtime_error("a list of " + std::to_string(count) + " entries");
    std::vector<T> out(count);
    if (!read(place(address), out.data(), count * sizeof(T)))
      throw std::runtime_error(blocked_ ? "this machine lets no process read another's memory (process_vm_readv)" : "the process's memory cannot be read");
    return out;
  }
  mirror* mirror_of(std::uint64_t there) {
    if (!there) return nullptr;
    auto& m = mirrors_[there];
    if (!m) m = std::make_unique<mirror>(), m->there = there;
    return m.get();
  }

  status answer() {
    using link::call;
    if (slot_.what != call::gather && slot_.what != call::fetch && slot_.what != call::open && !net_)
      return {errc::invalid, "the rank has no transport"};
    const auto rank = static_cast<rank_t>(argument(0));
    switch (slot_.what) {
      case call::gather: return gather();
      case call::fetch:
        return write(table_.data(), const_cast<std::byte*>(place(0)), table_.size()) ? status{} : status{errc::invalid, "no memory for the table"};
      case call::open: return open();
      case call::leave: return net_.reset(), mirrors_.clear(), status{};
      case call::add: {
        const auto id = net_->add({const_cast<std::byte*>(place(0)), argument(1)});
        if (!id) return id.error();
        return slot_.results[0] = static_cast<std::uint32_t>(*id), status{};
      }
      case call::key: {
        const auto key = net_->key(region_id{rank});
        if (!key) return key.error();
        std::copy_n(key->begin(), std::min(key->size(), sizeof(slot_.data)), slot_.data);
        return slot_.results[0] = key->size(), status{};
      }
      case call::attach: return attach();
      case call::drop_segment: return net_->drop(segment_id{rank}), status{};
      case call::drop_region: return net_->drop(region_id{rank}), status{};
      case call::submit: return submit();
      case call::flush: {
        mirror* const m = mirror_of(argument(1));
        const bool taken = net_->flush(rank, m ? &m->here : nullptr);
        if (m) m->untold += taken;
        return slot_.results[0] = taken, status{};
      }
      case call::progress: return progress();
      case call::clock: return {};
      case call::glance:
        for (int i = 0; i < 64; ++i) (void)net_->now();
        return {};
      case call::sleep: return net_->sleep(net_->arm(), moment(0)), status{};
      case call::health: return net_->health(rank);
      case call::send: {
        const auto header = list<std::byte>(1, argument(2)), payload = list<std::byte>(3, argument(4));
        return slot_.results[0] = net_->sendrecv()->send(rank, header, payload), status{};
      }
      case call::receive: return receive();
      case call::form: return form();
      case call::join: {
        const auto token = list<std::byte>(2, argument(3));
        const auto group = mcast().join(rank_map::listed(list<rank_t>(0, argument(1))), token, moment(4));
        if (!group) return group.error();
        return slot_.results[0] = static_cast<std::uint32_t>(*group), status{};
      }
      case call::cast: {
        const auto payload = list<std::byte>(2, argument(3));
        return slot_.results[0] = mcast().send(multicast::group_id{rank}, static_cast<std::uint32_t>(argument(1)), payload), status{};
      }
      case call::hear: return hear();
      case call::depart: return mcast().leave(multicast::group_id{rank}), status{};
    }
    return {errc::protocol, "an unknown question of rank " + std::to_string(rank_)};
  }

  status gather() {
    const auto mine = list<std::byte>(0, argument(1));
    const auto all = world_.boot(rank_).allgather(mine, moment(2));
    if (!all) return all.error();
    const std::size_t n = (*all)->size();
    table_.assign(n * sizeof(std::uint64_t), {});
    for (std::size_t r = 0; r < n; ++r) {
      const auto blob = (**all)[r];
      const std::uint64_t bytes = blob.size();
      std::memcpy(table_.data() + r * sizeof bytes, &bytes, sizeof bytes);
      table_.insert(table_.end(), blob.begin(), blob.end());
    }
    return slot_.results[0] = table_.size(), status{};
  }

  status open() {
    auto made = world_.open(rank_);
    if (!made) return made.error();
    net_ = std::move(*made);
    world_.memory_of(rank_, *this);
    link::opened of{.caps = net_->caps(), .packets = net_->sendrecv()->query(), .multicasts = net_->mcast() != nullptr, .datagrams = {}};
    if (of.multicasts) of.datagrams = net_->mcast()->query();
    of.caps.max_slices = 0;  // lists of the process's would have to be kept
    of.caps.maps_node = false, of.caps.cpu_atomics_agree = true;
    std::memcpy(slot_.data, &of, sizeof of);
    return {};
  }

  status attach() {
    const auto members = list<rank_t>(0, argument(3));
    const auto lengths = list<std::uint64_t>(1, argument(3));
    const auto bytes = list<std::byte>(2, argument(4));
    auto keys = std::make_shared<blob_table>();
    std::size_t at = 0;
    for (const std::uint64_t n : lengths) {
      if (n > bytes.size() - at) return {errc::protocol, "keys longer than they are together"};
      keys->push_back(std::span(bytes).subspan(at, n));
      at += n;
    }
    const auto id = net_->attach(rank_map::listed(members), std::move(keys));
    if (!id) return id.error();
    return slot_.results[0] = static_cast<std::uint32_t>(*id), status{};
  }

  status submit() {
    auto ops = list<rma_op>(0, argument(1));
    std::vector<mirror*> done;
    for (rma_op& op : ops) {
      done.push_back(mirror_of(link::address_of(op.done)));
      op.done = done.back() ? &done.back()->here : nullptr;
    }
    const std::size_t taken = net_->submit(ops);
    for (std::size_t i = 0; i < taken; ++i)
      if (done[i]) ++done[i]->untold;
    return slot_.results[0] = taken, status{};
  }

  status progress() {
    slot_.results[0] = net_->progress();
    status error;
    std::size_t n = 0;
    constexpr std::size_t room = sizeof(link::slot::data) / (sizeof(link::ending));
    for (auto at = mirrors_.begin(); at != mirrors_.end() && n < room && error.ok();) {
      mirror& m = *at->second;
      const std::uint32_t over = m.untold - m.here.pending();
      if (over > 0) {
        error = m.here.outcome();
        const link::ending e{m.there, over, error.failed()};
        std::memcpy(slot_.data + n++ * sizeof e, &e, sizeof e);
        m.untold -= over;
      }
      if (m.untold == 0) at = mirrors_.erase(at);
      else ++at;
    }
    return slot_.results[1] = n, error;
  }

  status receive() {
    two_sided::message m;
    if (!net_->sendrecv()->receive(m)) return {};
    auto* const to = const_cast<std::byte*>(place(0));
    if (!write(m.header.data(), to, m.header.size()) || !write(m.payload.data(), to + round_up(m.header.size(), 8), m.payload.size()))
      return {errc::invalid, "no memory for a message"};
    slot_.results[0] = 1, slot_.results[1] = m.from, slot_.results[2] = m.header.size(), slot_.results[3] = m.payload.size();
    return {};
  }

  multicast& mcast() {
    if (multicast* const m = net_->mcast()) return *m;
    throw std::runtime_error("there is no multicast");
  }

  status form() {
    std::vector<std::byte> token;
    const auto group = mcast().create(rank_map::listed(list<rank_t>(0, argument(1))), token, moment(2));
    if (!group) return group.error();
    std::copy_n(token.begin(), std::min(token.size(), sizeof(slot_.data)), slot_.data);
    return slot_.results[0] = static_cast<std::uint32_t>(*group), slot_.results[1] = token.size(), status{};
  }

  status hear() {
    multicast::datagram d;
    if (!mcast().receive(multicast::group_id{static_cast<std::uint32_t>(argument(0))}, d)) return {};
    if (!write(d.payload.data(), const_cast<std::byte*>(place(1)), d.payload.size())) return {errc::invalid, "no memory for a datagram"};
    slot_.results[0] = 1, slot_.results[1] = d.from, slot_.results[2] = d.tag, slot_.results[3] = d.payload.size();
    return {};
  }

  sim::world& world_;
  link::slot& slot_;
  const rank_t rank_;
  const double compute_;
  pid_t pid_ = -1;
  int status_ = 0;
  bool ended_ = false, blocked_ = false;
  std::unique_ptr<transport> net_;
  std::map<std::uint64_t, std::unique_ptr<mirror>> mirrors_;  // by the completion's address
  std::vector<std::byte> table_;         // of the last gather
};

// The world and the ranks' processes run by turns. On one core, which the processes inherit, a turn ends without an interrupt at another.
class on_one_core {
 public:
  on_one_core() {
    const int here = sched_getcpu();
    if (here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(here), &one);
    moved_ = sched_setaffinity(0, sizeof one, &one) == 0;
  }
  ~on_one_core() {
    if (moved_) (void)sched_setaffinity(0, sizeof before_, &before_);
  }
  on_one_core(const on_one_core&) = delete;
  on_one_core& operator=(const on_one_core&) = delete;

 private:
  cpu_set_t before_{};
  bool moved_ = false;
};

std::vector<std::string> environment_of_ranks() {
  std::vector<std::string> out;
  for (const auto& [name, value] : process_environment())
    if (!name.starts_with("PMIX_") && name != "TUTTI_PROVIDER" && name != link::variable) out.push_back(name + "=" + value);
  out.push_back("TUTTI_PROVIDER=sim");
  return out;
}

}  // namespace

result<program_run> run_program(const sim::parameters& p, const program_plan& plan) {
  const auto began = std::chrono::steady_clock::now();
  const on_one_core turns;
  sim::world w(p);
  shared_line line;
  if (const status s = line.make(p, w.boot(0).job_id()); s.failed()) return s;
  const std::vector<std::string> environment = environment_of_ranks();
  std::deque<rank_server> ranks;
  for (rank_t r = 0; r < p.ranks; ++r) ranks.emplace_back(w, line, r, plan.compute);
  const status ran = run_ranks(w, [&](rank_t r) {
    if (const int e = ranks[r].start(plan, environment, line.fd.get()); e != 0) {
      errno = e;
      throw std::runtime_error("cannot start " + plan.words[0] + ": " + last_error());
    }
    ranks[r].serve([&] {
      if (plan.progress) plan.progress(in_us(w.clock(r)), w.stats().messages + w.stats().packets);
    });
  });
  std::vector<rank_t> failed;              // in the order of virtual time
  for (rank_t r = 0; r < p.ranks; ++r) {
    if (ranks[r].ended() && !ranks[r].ended_well()) failed.push_back(r);
    ranks[r].kill();
  }
  if (ran.failed() && failed.empty()) return ran;
  std::ranges::stable_sort(failed, {}, [&](rank_t r) { return w.clock(r); });
  program_run out;
  for (const rank_t r : std::span(failed).first(std::min<std::size_t>(failed.size(), 8)))
    out.trouble += (out.trouble.empty() ? "rank " : ", rank ") + std::to_string(r) + " " + ranks[r].how();
  if (failed.size() > 8) out.trouble += ", and " + std::to_string(failed.size() - 8) + " more";
  if (!failed.empty()) out.exit_status = ranks[failed[0]].exit_status();
  sim_figures& f = out.figures;
  f.of = "program", f.way = plan.words[0], f.ranks = p.ranks, f.calls = 1;
  for (rank_t r = 0; r < p.ranks; ++r) f.us = std::max(f.us, in_us(w.clock(r)));
  const sim::statistics& s = w.stats();
  f.messages = static_cast<double>(s.messages + s.packets), f.payload = static_cast<double>(s.bytes + s.packet_bytes), f.datagrams = static_cast<double>(s.datagrams_sent);
  f.busiest = w.busiest(), f.lasted_us = f.us, f.trace = s.trace;
  f.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return out;
}

}  // namespace tutti::tools
