// How the processes make sure that they agree on registrations and on the tag size, which all of them change alike.
//
// Registrations. Every process tells every other one its calls of bsp_push_reg and bsp_pop_reg in the superstep, in their
// order, as a record among its puts: at a push the bytes that it has of the area, at a pop the number of the area. Each
// compares them call by call with its own. So all know how much everyone has of the new areas; a process that pops NULL
// learns from the others which area is meant (registrar.h); and who did not keep the rule is told with the first call that
// differs. Puts that come before the record are of areas on which all agreed in an earlier superstep, so they are right in
// any case.
//
// The tag size. The first chunk of what a process puts and sends carries the size that it has set. Who changes it has such a
// chunk for the next process at least, and who has none for that one has changed nothing. So each compares with the one before
// it, and where no two neighbours differ, no two processes do.
#include <algorithm>
#include <string>
#include <utility>

#include "bsp/engine.h"

namespace tutti::bsp {
namespace {

constexpr std::uint64_t told_pop = std::uint64_t{1} << 63, told_null = std::uint64_t{1} << 62;

std::string process(std::uint32_t pid) { return "process " + std::to_string(pid); }

}  // namespace

bool engine::push_reg(const void* address, std::uint64_t bytes) {
  if (!address && bytes > 0)
    return broken("bsp_push_reg", "NULL with " + std::to_string(bytes) + " bytes; a process without a part in an area "
                                  "registers NULL with 0 bytes");
  if (bytes >> 62 != 0) return broken("bsp_push_reg", "an area of " + std::to_string(bytes) + " bytes; no memory has as many");
  areas_.push(address, bytes);
  if (checker_) checker_->pushed();
  return true;
}

bool engine::pop_reg(const void* address) {
  if (areas_.pop(address)) {
    if (checker_) checker_->popped();
    return true;
  }
  return broken("bsp_pop_reg", (address ? hex(address) : "NULL") + " is not registered; pop what was pushed, by the same address");
}

bool engine::set_tagsize(std::uint64_t bytes, std::uint64_t& before) {
  if (bytes >> 31 != 0) return broken("bsp_set_tagsize", std::to_string(bytes) + " bytes; a tag has at most 2^31 - 1");
  before = std::exchange(next_tag_, bytes);
  return true;
}

// My calls, to all.
bool engine::tell_changes(const char* call) {
  const auto& calls = areas_.pending();
  for (std::uint32_t pid = 0; pid < size_; ++pid) {
    outbox& l = outboxes_[pid];
    if (pid == me_) continue;
    close_run(l);
    for (std::uint32_t first = 0; first < calls.size();) {
      const std::uint64_t all = sizeof(changes_head) + std::uint64_t{8} * (calls.size() - first);
      if (l.data.room() < sizeof(changes_head) + 8 && !extend(call, l.data, stage::data, peers_[pid].reads_me, all)) return false;
      const auto count = static_cast<std::uint32_t>((std::min<std::uint64_t>(l.data.room(), all) - sizeof(changes_head)) / 8);
      const changes_head h{changes_mark, first, count};
      std::memcpy(l.data.at, &h, sizeof h);
      l.data.at += sizeof h;
      for (const std::uint32_t end = first + count; first < end; ++first, l.data.at += 8) {
        const auto& c = calls[first];
        const std::uint64_t told = !c.pushes ? told_pop | c.number : areas_.area_of(c).bytes | (c.address ? 0 : told_null);
        std::memcpy(l.data.at, &told, sizeof told);
      }
    }
  }
  return true;
}

status engine::on_changes(std::uint32_t from, const changes_head& h, const std::byte* entries) {
  const auto& calls = areas_.pending();
  for (std::uint32_t i = 0; i < h.count; ++i) {
    const std::uint32_t call = h.first + i;
    std::uint64_t told;
    std::memcpy(&told, entries + std::size_t{8} * i, sizeof told);
    if (call >= calls.size() || calls[call].pushes == ((told & told_pop) != 0)) return differ(from, call, told);
    if (calls[call].pushes) {
      areas_.hear_push(call, from, size_, told & ~told_null, (told & told_null) != 0);
    } else if (const auto number = static_cast<std::uint32_t>(told); number != registrar::no_area) {
      if (!areas_.hear_pop(call, from, number)) return differ(from, call, told);
    }
  }
  const std::uint32_t all = peers_[from].calls;
  return h.first + h.count == all && all < calls.size() ? differ(from, all, {}) : status{};
}

// What the first chunk of a process's data says.
status engine::check_first(std::uint32_t pid, const chunk_head& head) {
  peers_[pid].calls = head.calls;
  if (areas_.changed() && head.calls == 0) return differ(pid, 0, {});
  return head.tag == next_tag_ ? status{} : tags_differ(pid, head.tag);
}

// Of a process that has no data, though this one announces a change.
status engine::silent(std::uint32_t pid) {
  return areas_.changed() ? differ(pid, 0, {}) : tags_differ(pid, sent_tag_);
}

status engine::tags_differ(std::uint32_t pid, std::uint64_t theirs) {
  return {errc::invalid, "the processes set different tag sizes in superstep " + std::to_string(epoch_) + ": " +
                             process(me_) + " has " + std::to_string(next_tag_) + " bytes from the next superstep on, " +
                             process(pid) + " has " + std::to_string(theirs) +
                             " bytes; all processes must call bsp_set_tagsize alike", peers_[pid].rank};
}

// Process `pid` did not do what this one did in this call of the superstep; `told`: what it did, if anything.
status engine::differ(std::uint32_t pid, std::uint32_t call, std::optional<std::uint64_t> told) {
  const auto& calls = areas_.pending();
  auto in_words = [&](const area& a, std::uint32_t by) {
    return "registration " + std::to_string(a.serial) + " (" +
           std::to_string(areas_.bytes_at(areas_.number_of(a), by)) + " bytes" + (by == me_ ? " at " + hex(a.base) : "") + ")";
  };
  std::string mine, theirs;
  if (call < calls.size()) {
    const auto& c = calls[call];
    mine = c.pushes ? "bsp_push_reg of " + (c.address ? hex(c.address) : "NULL") + " with " +
                          std::to_string(areas_.area_of(c).bytes) + " bytes"
                    : "bsp_pop_reg of " + (c.address ? in_words(areas_.area_of(c), me_) : "NULL");
  }
  if (told) {
    const auto number = static_cast<std::uint32_t>(*told);
    const area* const a = *told & told_pop ? areas_.known(number) : nullptr;
    theirs = !(*told & told_pop) ? "bsp_push_reg with " + std::to_string(*told & ~told_null) + " bytes"
             : number == registrar::no_area ? "bsp_pop_reg of NULL"
             : a                            ? "bsp_pop_reg of " + in_words(*a, pid)
                                            : "bsp_pop_reg of another area";
  }
  std::string what = process(mine.empty() ? pid : me_) + " called " + (mine.empty() ? theirs : mine) + ", ";
  if (mine.empty() || theirs.empty()) what += "which " + process(mine.empty() ? me_ : pid) + " did not";
  else what += "where " + process(pid) + " called " + theirs;
  return {errc::invalid, "processes " + std::to_string(me_) + " and " + std::to_string(pid) +
                             " registered differently in superstep " + std::to_string(epoch_) + ": in call " +
                             std::to_string(call + 1) + " of bsp_push_reg and bsp_pop_reg there " + what +
                             "; all processes must call them in the same order", peers_[pid].rank};
}

// When everybody's calls are known.
status engine::settle_changes() {
  const std::uint32_t call = areas_.resolve(size_);
  if (call == areas_.pending().size()) return {};
  const auto& c = areas_.pending()[call];
  if (c.number != registrar::no_area) return differ(c.by == registrar::nobody ? me_ : c.by, call, told_pop | c.number);
  return {errc::invalid, "in superstep " + std::to_string(epoch_) + " all processes called bsp_pop_reg(NULL), in call " +
                             std::to_string(call + 1) + " of bsp_push_reg and bsp_pop_reg there, but no registration is NULL in "
                             "all of them; where some have a part in the area, those pop it by their address", peers_[me_].rank};
}

}  // namespace tutti::bsp
