// Return addresses to lines of source, by addr2line of binutils.
#include <elf.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "tools/bsp_report/ledger_file.h"
#include "tools/perf/words.h"

extern char** environ;

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

// What the program printed; empty if it could not be run.
std::string output_of(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const int failed = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string out;
  if (!failed) {
    char buffer[4096];
    for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(n));
    waitpid(child, nullptr, 0);
  }
  close(ends[0]);
  return out;
}

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

void resolve_sites(std::vector<sync_site>& sites) {
  std::map<std::string, std::vector<sync_site*>> by_module;
  for (sync_site& s : sites) {
    by_module[s.module].push_back(&s);
    s.name = (s.function.empty() ? base_name(s.module) : s.function) + "+" + hex(s.offset);
  }
  for (auto& [module, all] : by_module) {
    const std::uint64_t base = first_address(module);
    std::vector<std::string> words{"addr2line", "-e", module};
    for (const sync_site* s : all) words.push_back(hex(base + s->offset - 1));  // the call, not what it returns to
    std::istringstream lines(output_of(words));
    std::string line;
    for (sync_site* s : all) {
      if (!std::getline(lines, line)) break;
      if (const auto note = line.find(" (disc"); note != line.npos) line.resize(note);
      if (line.find("??") == line.npos && line.find(":?") == line.npos) s->name = base_name(line);
    }
  }
}

}  // namespace tutti::tools
