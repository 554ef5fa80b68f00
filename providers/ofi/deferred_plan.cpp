// Making a plan: counters, words, and the description of its work; and taking it apart.
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/transport/offload.h"
#include "providers/ofi/deferred.h"

namespace tutti::ofi {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr std::size_t line_bytes = 64;
constexpr std::uint32_t blob_magic = 0x74646631;  // another number where the blob's layout is another
constexpr std::uint64_t no_key = ~std::uint64_t{0};

// Then the endpoint's name, and a far_line for each epoch set and word of the schedule.
struct blob_head {
  std::uint32_t magic, name_bytes, words, set_count;
};

}  // namespace

const std::uint64_t& plan::word(std::uint32_t l, std::uint32_t line) const noexcept {
  return words[(std::size_t{l} * waits + line) * (line_bytes / 8)];
}

result<offload::plan_id> deferred::prepare(const schedule& s, const rank_map& members, std::uint64_t first_epoch,
                                           std::vector<std::byte>& blob) {
  auto gates = make_gates(s);
  if (!gates) return gates.error();
  auto slot = std::find(plans_.begin(), plans_.end(), nullptr);
  if (slot == plans_.end() && plans_.size() == most_plans)
    return status{errc::no_resource, worded(most_plans, " schedules are offloaded; drop one")};
  auto p = std::make_unique<plan>();
  p->gates = std::move(*gates);
  p->members = members, p->first_epoch = first_epoch, p->schedule_words = s.words;
  if (status built = build(*p); built.failed()) return built;

  std::vector<far_line> mine(std::size_t{epoch_sets} * s.words, {no_key, 0});
  for (std::uint32_t l = 0; l < epoch_sets; ++l)
    for (std::uint32_t g = 0, line = 0; g < p->gates.size(); ++g) {
      const void* base = &p->word(l, line);
      for (const std::uint32_t w : p->gates[g].words)
        mine[std::size_t{l} * s.words + w] = {fi_mr_key(p->each[l].registrations[g].get()), address_of(&p->word(l, line++), base)};
    }
  const blob_head head{blob_magic, static_cast<std::uint32_t>(name_.size()), s.words, epoch_sets};
  blob.resize(sizeof head + name_.size() + mine.size() * sizeof(far_line));
  std::memcpy(blob.data(), &head, sizeof head);
  std::memcpy(blob.data() + sizeof head, name_.data(), name_.size());
  if (!mine.empty()) std::memcpy(blob.data() + sizeof head + name_.size(), mine.data(), mine.size() * sizeof(far_line));
  if (slot == plans_.end()) slot = plans_.insert(plans_.end(), nullptr);
  *slot = std::move(p);
  return plan_id{static_cast<std::uint32_t>(slot - plans_.begin())};
}

status deferred::build(plan& p) {
  for (const gate& g : p.gates) {
    p.writers.insert(p.writers.end(), g.writers.begin(), g.writers.end());
    p.sends += static_cast<std::uint32_t>(g.behind.size());
  }
  p.waits = static_cast<std::uint32_t>(p.writers.size());
  const std::size_t lines = std::size_t{epoch_sets} * p.waits + slots;
  p.memory = std::make_unique<std::byte[]>((lines + 1) * line_bytes);
  const auto aligned = (reinterpret_cast<std::uintptr_t>(p.memory.get()) + line_bytes - 1) & ~(line_bytes - 1);
  p.words = reinterpret_cast<std::uint64_t*>(aligned);
  p.values = p.words + std::size_t{epoch_sets} * p.waits * (line_bytes / 8);
  for (std::size_t i = 0; i < std::size_t{epoch_sets} * p.waits; ++i) p.words[i * (line_bytes / 8)] = p.first_epoch - 1;
  if (ofi_.info->domain_attr->mr_mode & FI_MR_LOCAL) {
    const int e = register_memory(ofi_, p.values, slots * line_bytes, FI_WRITE, 0, p.registered_values);
    if (e != 0) return vendor_error(e, "registering an epoch's values");
  }
  for (std::uint32_t l = 0; l < epoch_sets; ++l) {
    std::uint32_t line = 0;
    for (const gate& g : p.gates) {
      auto counter = new_counter();
      if (!counter) return counter.error();
      owned<fid_mr> mr;
      if (!g.words.empty()) {
        auto made = register_region(const_cast<std::uint64_t*>(&p.word(l, line)), g.words.size() * line_bytes, counter->get());
        if (!made) return made.error();
        mr = std::move(*made);
        line += static_cast<std::uint32_t>(g.words.size());
      }
      p.each[l].counters.push_back(std::move(*counter));
      p.each[l].registrations.push_back(std::move(mr));
    }
  }
  return {};
}

status deferred::connect(plan_id id, shared_blobs blobs) {
  plan& p = at(id);
  const auto strange = [&](std::uint32_t peer) {
    return status{errc::protocol, worded("member ", peer, " offers no words for this schedule: do all members "
                  "run the same version, over the same provider, with the same schedule?"), p.members[peer]};
  };
  if (!blobs || blobs->size() != p.members.size())
    return {errc::invalid, worded("connecting a plan of ", p.members.size(), " members takes as many blobs")};
  std::vector<far_line> targets;  // set by set, in the order of signals
  std::vector<fi_addr_t> peers;
  for (std::uint32_t l = 0; l < epoch_sets; ++l)
    for (const gate& g : p.gates)
      for (const gate::send& s : g.behind) {
        if (s.peer >= p.members.size()) return {errc::invalid, worded("a schedule signals member ", s.peer, " of ",
                                                                      p.members.size())};
        const auto blob = (*blobs)[s.peer];
        blob_head head{};
        if (blob.size() >= sizeof head) std::memcpy(&head, blob.data(), sizeof head);
        if (head.magic != blob_magic || head.words != p.schedule_words || head.set_count != epoch_sets ||
            blob.size() != sizeof head + head.name_bytes + std::size_t{epoch_sets} * head.words * sizeof(far_line))
          return strange(s.peer);
        far_line to;
        std::memcpy(&to, blob.data() + sizeof head + head.name_bytes + (std::size_t{l} * head.words + s.word) * sizeof to, sizeof to);
        if (to.key == no_key) return strange(s.peer);
        targets.push_back(to);
        if (l > 0) continue;
        auto peer = reach(blob.subspan(sizeof head, head.name_bytes));
        if (!peer) return peer.error();
        peers.push_back(*peer);
      }

  void* descriptor = p.registered_values ? fi_mr_desc(p.registered_values.get()) : nullptr;
  p.work.assign(std::size_t{slots} * p.sends, {});
  for (std::uint32_t slot = 0, n = 0; slot < slots; ++slot) {
    const std::uint32_t l = slot % epoch_sets;
    for (std::uint32_t g = 0, k = 0; g < p.gates.size(); ++g)
      for (std::size_t i = 0; i < p.gates[g].behind.size(); ++i, ++k, ++n) {
        deferred_signal& d = p.work[n];
        const far_line& to = targets[std::size_t{l} * p.sends + k];
        d.from = {p.values + slot * (line_bytes / 8), sizeof(std::uint64_t)};
        d.to = {to.address, sizeof(std::uint64_t), to.key};
        d.op.ep = ofi_.endpoint.get();
        d.op.msg.msg_iov = &d.from, d.op.msg.iov_count = 1;
        d.op.msg.desc = descriptor ? &p.work_descriptor : nullptr;
        d.op.msg.addr = peers[k];
        d.op.msg.rma_iov = &d.to, d.op.msg.rma_iov_count = 1;
        d.op.msg.context = &d.work.context;
        d.op.flags = FI_REMOTE_CQ_DATA;
        d.work.op_type = FI_OP_WRITE;
        d.work.op.rma = &d.op;
        d.work.triggering_cntr = p.each[l].counters[g].get();
        d.work.completion_cntr = p.each[l].counters[g + 1].get();
      }
  }
  p.work_descriptor = descriptor;
  p.connected = true;
  return {};
}

// What is finished has been finished by everybody's signals, but of mine some may still be on their way.
void deferred::drop(plan_id id) noexcept {
  std::unique_ptr<plan>& p = plans_[static_cast<std::uint32_t>(id)];
  finished(id);
  const auto sent = [&] {
    for (std::uint32_t l = 0; l < epoch_sets; ++l)
      if (p->settled(l) < p->each[l].started) return false;
    return true;
  };
  bool quiet = sent();
  if (p->finished == p->started)
    for (const auto end = clock::now() + 1s; !quiet && clock::now() < end; quiet = sent()) ::usleep(50);
  for (plan::epoch_set& l : p->each) l.registrations.clear();
  for (const deferred_signal& d : p->work)
    if (p->connected) fi_control(&ofi_.domain->fid, FI_CANCEL_WORK, const_cast<fi_deferred_work*>(&d.work));
  if (!quiet) kept_.push_back(std::move(p));
  p.reset();
}

}  // namespace tutti::ofi
