// Return addresses to lines of source, by addr2line of binutils.
#include <elf.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "tools/bsp_report/ledger_file.h"
#include "tools/perf/words.h"
#include "tools/process.h"

namespace tutti::tools {
namespace {

// Where a module's first segment wants to lie: what an offset in memory is to be added to. 0 for a library.
std::uint64_t first_address(const std::string& module) {
  std::ifstream in(module, std::ios::binary);
  Elf64_Ehdr head{};
  if (!in.read(reinterpret_cast<char*>(&head), sizeof head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != ELFCLASS64)
    return 0;
  std::uint64_t least = ~std::uint64_t{0};
  for (unsigned i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment{};
    in.seekg(static_cast<std::streamoff>(head.e_phoff + i * head.e_phentsize));
    if (!in.read(reinterpret_cast<char*>(&segment), sizeof segment)) return 0;
    if (segment.p_type == PT_LOAD) least = std::min<std::uint64_t>(least, segment.p_vaddr & ~std::uint64_t{4095});
  }
  return least == ~std::uint64_t{0} ? 0 : least;
}

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

void resolve_sites(std::vector<call_site>& sites) {
  std::map<std::string, std::vector<call_site*>> by_module;
  for (call_site& s : sites) {
    by_module[s.module].push_back(&s);
    s.name = (s.function.empty() ? base_name(s.module) : s.function) + "+" + hex(s.offset);
  }
  for (auto& [module, all] : by_module) {
    const std::uint64_t base = first_address(module);
    std::vector<std::string> words{"addr2line", "-e", module};
    for (const call_site* s : all) words.push_back(hex(base + s->offset - 1));  // the call, not what it returns to
    std::istringstream lines(output_of(std::move(words)).value_or(""));
    std::string line;
    for (call_site* s : all) {
      if (!std::getline(lines, line)) break;
      if (const auto note = line.find(" (disc"); note != line.npos) line.resize(note);
      if (line.find("??") == line.npos && line.find(":?") == line.npos) s->name = base_name(line), s->line = line;
    }
  }
  std::map<std::string, std::string> line_of;  // by name, the first; files of one name are told apart by their paths
  for (const call_site& s : sites) line_of.try_emplace(s.name, s.line);
  for (call_site& s : sites)
    if (line_of[s.name] != s.line) s.name = s.line;
}

}  // namespace tutti::tools
