#include "core/transport/multicast.h"
#include "providers/shm/shm.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "core/base/host.h"
#include "providers/shm/multicast.h"
#include "providers/shm/transport.h"
#include "providers/shm/two_sided.h"

namespace tutti::shm {

namespace {

// Allocated memory is meant. Memory of the user's own (add) in another process is reached through the kernel: puts and
// gets cost a system call, signals and atomics wait for the target's progress().
constexpr capabilities shm_caps = [] {
  capabilities c;
  c.max_bytes = std::uint64_t{1} << 30;
  c.max_inline = 8192;  // any length would do: every put is copied within submit()
  c.max_slices = 255;
  c.native_signal = true;
  c.native_atomics = true;
  c.maps_node = c.kernel_copies = true;
  c.follows_mapping = true;  // the kernel, or a thread of the same process, copies by address
  c.cpu_atomics_agree = true;
  c.target_must_progress = false;
  c.can_sleep = true;
  c.cost = {.latency_us = 0.08, .overhead_us = 0.02, .gap_us = 0.02, .bytes_per_ns = 24};
  return c;
}();

std::vector<std::string> probe(std::string& why_not) {
  auto memory = create_memory(1, "tutti-probe");
  if (!memory) {
    why_not = memory.error().text();
    return {};
  }
  if (auto seen = open_memory(memory->name, "tutti-probe"); !seen) {
    why_not = std::string{"/proc does not show a process's own descriptors: "} + seen.error().text();
    return {};
  }
  return {""};
}

}  // namespace

result<std::unique_ptr<transport>> shm_transport::open(const open_params& params) {
  if (!params.device.empty())
    return status{errc::invalid, worded("shm has no device \"", params.device, "\"; leave it out")};
  std::unique_ptr<shm_transport> t{new (std::nothrow) shm_transport};
  if (!t) return status{errc::no_resource, "out of memory opening shm"};
  t->rank_ = params.rank;
  t->size_ = params.size;
  t->host_ = this_host();
  if (!known(t->host_)) return unknown_host();
  t->process_ = this_process();
  auto memory = create_memory(ring_offset() + sizeof(cell_ring), "tutti-rank");
  if (!memory) return memory.error();
  t->page_ = std::move(*memory);
  t->no_membarrier_ = !register_membarrier();
  t->page().no_membarrier = t->no_membarrier_;
  t->multicast_ = std::make_unique<shm_multicast>(*t);
  t->two_sided_ = std::make_unique<shm_two_sided>(*t);
  return std::unique_ptr<transport>{std::move(t)};
}

shm_transport::~shm_transport() {
  if (!page_.memory) return;
  page().left.store(1, std::memory_order_release);
  wake_all();
  segments_.each([this](segment_id id, segment&) { drop(id); });
  regions_.each([this](region_id id, region&) { regions_.erase(id); });  // into the arena
}

const capabilities& shm_transport::caps() const noexcept { return shm_caps; }

multicast* shm_transport::mcast() noexcept { return multicast_.get(); }

two_sided* shm_transport::sendrecv() noexcept { return two_sided_.get(); }

result<std::vector<std::byte>> shm_transport::address() {
  return to_blob(address_blob{address_magic, layout_version, host_, page_.name});
}

status shm_transport::connect(shared_blobs addresses, time_point) {
  if (peers_) return {errc::invalid, "connect() was called before"};
  if (addresses->size() != size_)
    return {errc::invalid, worded("connect() got ", addresses->size(), " addresses for a job of ", size_)};
  // Who is here? Addresses of other versions are refused only if they are of this node.
  rank_t first = no_rank, last = 0;
  std::uint32_t count = 0;
  const auto here = [&](rank_t r, address_blob& a) {
    return from_blob((*addresses)[r], address_magic, a) && a.host == host_;
  };
  address_blob a;
  for (rank_t r = 0; r < size_; ++r) {
    const auto blob = (*addresses)[r];
    if (!blob.empty() && !from_blob(blob, address_magic, a))
      return {errc::protocol, worded("rank ", r, " runs another version of shm"), r};
    if (!here(r, a)) continue;
    first = std::min(first, r), last = r, ++count;
  }
  if (count == 0 || count >= not_local || !here(rank_, a))
    return {errc::invalid, "the addresses do not hold this rank's own"};

  // Whatever fails leaves this transport as if connect() had not been called: a peer that was not met has no page to look at.
  std::vector<std::uint16_t> local(last - first + 1, not_local);
  std::unique_ptr<peer[]> peers{new peer[count]};
  std::unique_ptr<shared_writer[]> writers{new shared_writer[count]};
  two_sided_->expect(count);
  const std::size_t flushes = std::max<std::size_t>(64, count);
  flushes_.reserve(flushes);
  polled_.resize(count);
  std::uint16_t i = 0;
  for (rank_t r = first; r <= last; ++r) {
    if (!here(r, a)) continue;
    local[r - first] = i;
    peer& p = peers[i++];
    p.rank = r;
    p.name = a.page;
    p.same_process = a.page.owner == process_;
    if (status s = contact(p); s.failed()) return s.during("shm");
  }
  local_ = std::move(local);
  first_rank_ = first;
  flush_capacity_ = flushes;
  peer_count_ = count;
  peers_ = std::move(peers), writers_ = std::move(writers);
  self_ = find(rank_);
  return {};
}

bool shm_transport::reaches(rank_t r) const noexcept { return local_index(r) != not_local; }

}  // namespace tutti::shm

namespace tutti {

const provider shm_provider{"shm", "shared memory between the ranks of one node", shm::probe,
                            shm::shm_transport::open};

}  // namespace tutti
