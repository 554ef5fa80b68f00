#include "bsp/checker.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>

namespace tutti::bsp {

// A put writes at its far end, a get at its caller's.
bool checker::touch::writes() const noexcept {
  const bool puts = kind == call_kind::put || kind == call_kind::hpput;
  return puts != local;
}

checker::checker(team& t, const registrar& areas, std::function<void(const std::string&)> tell)
    : team_(t), areas_(areas), tell_(std::move(tell)) {}

void checker::note(call_kind kind, std::uint32_t pid, const void* mine, std::uint32_t area, std::uint64_t offset,
                   std::uint64_t bytes) {
  if (bytes == 0) return;
  const std::uint32_t me = team_.index();
  const auto at = reinterpret_cast<std::uintptr_t>(mine);
  if (kind != call_kind::get && kind != call_kind::hpget) takes(kind, mine, bytes);
  // What is packed at the call meets nobody, nor does the source of a send.
  if (kind != call_kind::put && kind != call_kind::send) accesses_.push_back({me, registrar::no_area, at, bytes, kind, true});
  if (kind != call_kind::send) accesses_.push_back({pid, area, offset, bytes, kind, false});
}

// Whether bytes that are put or sent await what a get of this process brings. That which an hpput reads is looked at with
// all that meets.
void checker::takes(call_kind kind, const void* mine, std::uint64_t bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(mine);
  for (const access& a : accesses_) {
    if (!a.local || at >= a.at + a.bytes || a.at >= at + bytes) continue;
    const std::string what = std::string(name_of(kind)) + " takes " + std::to_string(bytes) + " bytes at " + hex(mine) + ", which a ";
    if (a.kind == call_kind::get && !warned_) {
      warned_ = true;
      tell_(process_name(team_.index()) + ": superstep " + std::to_string(epoch_) + ": " + what +
            "bsp_get before it is to overwrite at the end of the superstep; it takes what is there now");
    } else if (a.kind == call_kind::hpget && kind != call_kind::hpput && trouble_.empty()) {
      trouble_ = "superstep " + std::to_string(epoch_) + ": " + process_name(team_.index()) + ": " + what +
                 "bsp_hpget before it may overwrite at any time of the superstep; what it takes is anything";
    }
  }
}

status checker::judge(std::uint64_t epoch) {
  epoch_ = epoch + 1;
  const counts mine{pushes_, pops_};
  std::vector<std::byte> blob(sizeof mine + accesses_.size() * sizeof(access));
  std::memcpy(blob.data(), &mine, sizeof mine);
  if (!accesses_.empty()) std::memcpy(blob.data() + sizeof mine, accesses_.data(), accesses_.size() * sizeof(access));
  accesses_.clear();
  pushes_ = pops_ = 0;
  warned_ = false;
  auto all = team_.exchange(blob);
  if (!all) return all.error();

  std::vector<counts> registrations;
  std::vector<touch> touches;
  for (std::uint32_t by = 0; by < team_.size(); ++by) {
    const auto from = (**all)[by];
    if (from.size() < sizeof(counts) || (from.size() - sizeof(counts)) % sizeof(access)) return team_.called_another(by);
    std::memcpy(&registrations.emplace_back(), from.data(), sizeof(counts));
    for (std::size_t i = sizeof(counts); i < from.size(); i += sizeof(access)) {
      access a;
      std::memcpy(&a, from.data() + i, sizeof a);
      if (a.pid != team_.index()) continue;
      std::uintptr_t begin = a.at;
      if (a.area != registrar::no_area) {
        const area* const target = areas_.at(a.area);
        if (!target) continue;  // the sync has the better error
        begin += reinterpret_cast<std::uintptr_t>(target->base);
      }
      touches.push_back({begin, begin + a.bytes, by, a.kind, a.local});
    }
  }
  status s = same_counts(registrations, epoch);
  if (s.ok() && !trouble_.empty()) s = {errc::invalid, std::exchange(trouble_, {})};
  if (s.ok()) s = meetings(std::move(touches), epoch);
  // Only the owner of the bytes sees that calls meet: all are told, so that all end with the reason.
  const std::string text = s.ok() ? "" : s.text();
  auto verdicts = team_.exchange(std::as_bytes(std::span(text)));
  if (!verdicts) return verdicts.error();
  for (std::uint32_t by = 0; by < team_.size(); ++by)
    if (const auto v = (**verdicts)[by]; !v.empty())
      return {errc::invalid, std::string(reinterpret_cast<const char*>(v.data()), v.size()), team_.rank_of(by)};
  return {};
}

status checker::same_counts(const std::vector<counts>& all, std::uint64_t epoch) {
  for (std::uint32_t i = 1; i < all.size(); ++i)
    for (const auto& [name, first, other] : {std::tuple{"bsp_push_reg", all[0].pushes, all[i].pushes},
                                            std::tuple{"bsp_pop_reg", all[0].pops, all[i].pops}})
      if (first != other)
        return {errc::invalid, worded("superstep ", epoch, ": process 0 called ", name, " ", first, " times and ", process_name(i), " ",
                                      other, " times; all processes must register and pop alike")};
  return {};
}

status checker::meetings(std::vector<touch> all, std::uint64_t epoch) const {
  std::sort(all.begin(), all.end(), [](const touch& a, const touch& b) { return a.begin < b.begin; });
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = i + 1; j < all.size() && all[j].begin < all[i].end; ++j) {
      const touch &a = all[i], &b = all[j];
      if (!(a.any_time() || b.any_time()) || !(a.writes() || b.writes())) continue;
      auto call = [](const touch& t) {
        return std::string(name_of(t.kind)) + " of " + process_name(t.by) + (t.writes() ? " (writes" : " (reads") + " " +
               std::to_string(t.end - t.begin) + " bytes)";
      };
      return {errc::invalid, worded("superstep ", epoch, ": ", call(a), " and ", call(b), " meet at ",
                                    hex(reinterpret_cast<const void*>(b.begin)), " of ", process_name(team_.index()), ", for ",
                                    std::min(a.end, b.end) - b.begin,
                                    " bytes; what is there then is anything, since high-performance calls may act at any time "
                                 "of the superstep")};
    }
  return {};
}

}  // namespace tutti::bsp
