#include "providers/sim/offload.h"

#include <algorithm>
#include <cstring>

#include "core/transport/offload.h"
#include "providers/sim/net.h"

namespace tutti::sim {

void fabric::deliver_to_nic(const event& e) {
  const auto index = static_cast<std::uint32_t>(e.arg);
  nic_message& m = nic_messages[index];
  rank_state& rs = ranks[e.who];
  // As for messages: the adapter takes in one at a time. A start does not come over the wire.
  if (m.from != e.who && !m.taken_in) {
    const bool node = same_node(m.from, e.who);
    ns& adapter = rx(e.who, node);
    ns when = std::max(e.at, adapter);
    adapter = when + wire_between(m.from, e.who).gap;
    if (!node) when = after_task(e.who, when, beside.take);
    m.taken_in = true;
    if (when > e.at) return push(when, draw(), event_kind::nic, e.who, index);
  }
  const nic_message came = m;
  free_nic_messages.push_back(index);
  active();
  if (rs.transport && !rs.dead) rs.transport->offload_.arrived(came, e.at);
}

void fabric::send_to_nic(rank_t to, ns at, nic_message m) {
  std::uint32_t index;
  if (free_nic_messages.empty()) {
    index = static_cast<std::uint32_t>(nic_messages.size());
    nic_messages.push_back(m);
  } else {
    index = free_nic_messages.back();
    free_nic_messages.pop_back();
    nic_messages[index] = m;
  }
  const ns latency = wire_between(m.from, to).latency;
  carry(at - latency, m.from, to, 0, latency, {0, draw(), index, to, event_kind::nic});
}

result<offload::plan_id> rank_offload::prepare(const schedule& s, const rank_map& members, std::uint64_t first_epoch,
                                               std::vector<std::byte>& blob) {
  for (const step& st : s.steps) {
    if ((st.kind == step_kind::signal || st.kind == step_kind::wait) && st.multiple == 1) continue;
    schedule one;
    one.steps.push_back(st);
    return status{errc::unsupported, worded("a step of a schedule cannot be offloaded: ", to_string(one),
                                            "; signals and waits of multiple 1 can")};
  }
  if (plans_.size() >= query().max_plans) return status{errc::no_resource, "64 schedules are offloaded; drop one"};
  plan& p = plans_[next_];
  p.steps = s, p.members = members, p.first = first_epoch;
  p.words.assign(s.words, first_epoch - 1);
  blob.resize(sizeof next_);
  std::memcpy(blob.data(), &next_, sizeof next_);
  return plan_id{next_++};
}

status rank_offload::connect(plan_id id, shared_blobs blobs) {
  plan& p = plans_.at(static_cast<std::uint32_t>(id));
  if (!blobs || blobs->size() != p.members.size())
    return {errc::invalid, worded("connecting a plan of ", p.members.size(), " members takes as many blobs")};
  p.far.resize(p.steps.steps.size());
  for (std::size_t i = 0; i < p.far.size(); ++i) {
    const std::uint32_t peer = p.steps.steps[i].peer;
    if (p.steps.steps[i].kind != step_kind::signal) continue;
    if ((*blobs)[peer].size() != sizeof p.far[i]) return {errc::protocol, "no blob of an offloaded schedule", p.members[peer]};
    std::memcpy(&p.far[i], (*blobs)[peer].data(), sizeof p.far[i]);
  }
  return {};
}

// An adapter keeps the schedule that it was given once: nothing of an epoch is handed to it but its start.
std::uint32_t rank_offload::queue(plan_id id, std::uint32_t epochs) noexcept {
  plan& p = plans_.at(static_cast<std::uint32_t>(id));
  p.queued = std::max(p.queued, p.started + std::min(epochs, query().queued));
  return static_cast<std::uint32_t>(p.queued - p.started);
}

bool rank_offload::start(plan_id id) noexcept {
  plan& p = plans_.at(static_cast<std::uint32_t>(id));
  owner_.glances_ = 0;
  if (p.started - p.finished >= query().ahead || owner_.refuse()) return false;
  if (p.queued == p.started) queue(id, 1);
  ++p.started;
  rank_state& rs = owner_.me();
  owner_.f_.spend(rs, owner_.f_.net_link.overhead);
  owner_.f_.send_to_nic(owner_.rank_, rs.clock, {.from = owner_.rank_, .plan = static_cast<std::uint32_t>(id)});
  return true;
}

std::uint64_t rank_offload::finished(plan_id id) noexcept {
  owner_.glance();
  return plans_.at(static_cast<std::uint32_t>(id)).told;
}

std::uint32_t rank_offload::awaits(plan_id id) noexcept {
  const plan& p = plans_.at(static_cast<std::uint32_t>(id));
  return p.finished < p.started && p.at < p.steps.steps.size() ? p.steps.steps[p.at].peer : any_peer;
}

// What is finished has left the adapter, since it takes its steps in order.
void rank_offload::drop(plan_id id) noexcept { plans_.erase(static_cast<std::uint32_t>(id)); }

void rank_offload::arrived(const nic_message& m, ns at) noexcept {
  const auto found = plans_.find(m.plan);
  if (found == plans_.end()) return;
  plan& p = found->second;
  if (m.word == nic_message::told) {
    p.told = m.epoch;
    owner_.me().unseen += owner_.f_.beside.poll;
    return owner_.f_.wake(owner_.rank_, at);
  }
  if (m.word == nic_message::start) ++p.seen;
  else if (reached(m.epoch, p.words[m.word])) p.words[m.word] = m.epoch;  // a later one may have overtaken it
  run(m.plan, at);
}

void rank_offload::run(std::uint32_t name, ns at) noexcept {
  plan& p = plans_.at(name);
  fabric& f = owner_.f_;
  const std::uint64_t before = p.finished;
  while (p.finished < p.seen) {
    const std::uint64_t epoch = p.first + p.finished;
    for (; p.at < p.steps.steps.size(); ++p.at) {
      const step& s = p.steps.steps[p.at];
      if (s.kind == step_kind::wait) {
        if (!reached(p.words[s.word], epoch)) break;
        continue;
      }
      const rank_t to = p.members[s.peer];
      const bool node = f.same_node(owner_.rank_, to);
      const link& w = f.wire_between(owner_.rank_, to);
      ns& adapter = f.tx(owner_.rank_, node);
      const ns sent = std::max(node ? at : f.after_task(owner_.rank_, at, f.beside.transmit), adapter);
      adapter = sent + w.gap;
      ++f.stats.messages;
      f.send_to_nic(to, sent + w.latency + f.extra(w.latency),
                    {.from = owner_.rank_, .plan = p.far[p.at], .word = s.word, .epoch = epoch});
    }
    if (p.at < p.steps.steps.size()) break;
    p.at = 0;
    ++p.finished;
  }
  if (p.finished == before) return;
  if (f.beside.deliver)
    return f.send_to_nic(owner_.rank_, f.after_task(owner_.rank_, at, f.beside.deliver),
                         {.from = owner_.rank_, .plan = name, .word = nic_message::told, .epoch = p.finished});
  p.told = p.finished;
  f.wake(owner_.rank_, at);
}

}  // namespace tutti::sim
