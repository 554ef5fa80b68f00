#include "bsp/agreement.h"

#include <string>

#include "bsp/words.h"

namespace tutti::bsp {
namespace {

constexpr std::uint64_t told_pop = std::uint64_t{1} << 63, told_null = std::uint64_t{1} << 62;

}  // namespace

status agreement::tell(std::vector<outbox>& boxes) {
  std::vector<std::uint64_t> told;
  for (const auto& c : areas_.pending())
    told.push_back(!c.pushes ? told_pop | c.number : areas_.area_of(c).bytes | (c.address ? 0 : told_null));
  for (outbox& box : boxes)
    if (box.to() != c_.me)
      if (status s = box.record_calls(told); s.failed()) return s;
  return {};
}

status agreement::on_changes(std::uint32_t from, const changes_head& h, const std::byte* entries) {
  const auto& calls = areas_.pending();
  for (std::uint32_t i = 0; i < h.count; ++i) {
    const std::uint32_t call = h.first + i;
    std::uint64_t told;
    std::memcpy(&told, entries + std::size_t{8} * i, sizeof told);
    if (call >= calls.size() || calls[call].pushes == ((told & told_pop) != 0)) return differ(from, call, told);
    if (calls[call].pushes) {
      areas_.hear_push(call, from, c_.size, told & ~told_null, (told & told_null) != 0);
    } else if (const auto number = static_cast<std::uint32_t>(told); number != registrar::no_area) {
      if (!areas_.hear_pop(call, from, number)) return differ(from, call, told);
    }
  }
  const std::uint32_t all = calls_[from];
  return h.first + h.count == all && all < calls.size() ? differ(from, all, {}) : status{};
}

status agreement::check_first(std::uint32_t pid, const chunk_head& head) {
  calls_[pid] = head.calls;
  if (areas_.changed() && head.calls == 0) return differ(pid, 0, {});
  return head.tag == next_tag_ ? status{} : tags_differ(pid, head.tag);
}

status agreement::check_silent(std::uint32_t pid) {
  return areas_.changed() ? differ(pid, 0, {}) : tags_differ(pid, sent_tag_);
}

status agreement::tags_differ(std::uint32_t pid, std::uint64_t theirs) {
  return {errc::invalid, worded("the processes set different tag sizes in superstep ", c_.epoch, ": ", process_name(c_.me), " has ",
                                next_tag_, " bytes from the next superstep on, ", process_name(pid), " has ", theirs,
                                " bytes; all processes must call bsp_set_tagsize alike"), c_.rank_of(pid)};
}

// Process `pid` did not do what this one did in this call of the superstep; `told`: what it did, if anything.
status agreement::differ(std::uint32_t pid, std::uint32_t call, std::optional<std::uint64_t> told) {
  const auto& calls = areas_.pending();
  auto in_words = [&](const area& a, std::uint32_t by) {
    return "registration " + std::to_string(a.serial) + " (" +
           std::to_string(areas_.bytes_at(areas_.number_of(a), by)) + " bytes" + (by == c_.me ? " at " + hex(a.base) : "") + ")";
  };
  std::string mine, theirs;
  if (call < calls.size()) {
    const auto& c = calls[call];
    mine = c.pushes ? "bsp_push_reg of " + (c.address ? hex(c.address) : "NULL") + " with " +
                          std::to_string(areas_.area_of(c).bytes) + " bytes"
                    : "bsp_pop_reg of " + (c.address ? in_words(areas_.area_of(c), c_.me) : "NULL");
  }
  if (told) {
    const auto number = static_cast<std::uint32_t>(*told);
    const area* const a = *told & told_pop ? areas_.known(number) : nullptr;
    theirs = !(*told & told_pop) ? "bsp_push_reg with " + std::to_string(*told & ~told_null) + " bytes"
             : number == registrar::no_area ? "bsp_pop_reg of NULL"
             : a                            ? "bsp_pop_reg of " + in_words(*a, pid)
                                            : "bsp_pop_reg of another area";
  }
  std::string what = process_name(mine.empty() ? pid : c_.me) + " called " + (mine.empty() ? theirs : mine) + ", ";
  if (mine.empty() || theirs.empty()) what += "which " + process_name(mine.empty() ? c_.me : pid) + " did not";
  else what += "where " + process_name(pid) + " called " + theirs;
  return {errc::invalid, worded("processes ", c_.me, " and ", pid, " registered differently in superstep ", c_.epoch, ": in call ",
                                call + 1, " of bsp_push_reg and bsp_pop_reg there ", what,
                                "; all processes must call them in the same order"), c_.rank_of(pid)};
}

status agreement::settle() {
  const std::uint32_t call = areas_.resolve(c_.size);
  if (call == areas_.pending().size()) {
    areas_.apply();
    return {};
  }
  const auto& c = areas_.pending()[call];
  if (c.number != registrar::no_area) return differ(c.by == registrar::nobody ? c_.me : c.by, call, told_pop | c.number);
  return {errc::invalid, worded("in superstep ", c_.epoch, " all processes called bsp_pop_reg(NULL), in call ", call + 1,
                                " of bsp_push_reg and bsp_pop_reg there, but no registration is NULL in "
                             "all of them; where some have a part in the area, those pop it by their address"), c_.rank_of(c_.me)};
}

}  // namespace tutti::bsp
