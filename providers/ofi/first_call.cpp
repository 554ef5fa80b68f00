#include "providers/ofi/first_call.h"

#include <link.h>
#include <rdma/fabric.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/base/adapters.h"

namespace tutti::ofi {
namespace {

// What ofi_rxm is told where the environment says nothing.
struct answer {
  const char* name;
  char value[8];
};
answer answers[] = {{"FI_OFI_RXM_MSG_RX_SIZE", "1024"},            // receive buffers of 16 KiB, and as many more at a time; not 4096
                    {"FI_OFI_RXM_CM_PROGRESS_INTERVAL", "500"}};  // us; not 10000

// Called by libfabric alone, and by whichever thread of it: what they read is set before they can be.
FILE* fopen_but_symbols(const char* path, const char* mode) {
  if (std::strcmp(path, "/proc/kallsyms") != 0) return ::fopen(path, mode);
  errno = ENOENT;
  return nullptr;
}

char* getenv_or_answer(const char* name) {
  if (char* const value = ::getenv(name)) return value;
  for (answer& a : answers)
    if (std::strcmp(name, a.name) == 0) return a.value;
  return nullptr;
}

// The object that holds an address, as the dynamic linker has it.
struct linked_object {
  const void* holds = nullptr;
  ElfW(Addr) base = 0;
  const ElfW(Dyn)* dynamic = nullptr;
  ElfW(Addr) sealed = 0, sealed_end = 0;  // what is written by nobody once it is linked: PT_GNU_RELRO
};

int find(dl_phdr_info* info, std::size_t, void* context) noexcept {
  auto& wanted = *static_cast<linked_object*>(context);
  const auto at = reinterpret_cast<ElfW(Addr)>(wanted.holds);
  linked_object found{wanted.holds, info->dlpi_addr};
  bool here = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    const ElfW(Addr) begin = info->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD) here = here || (at >= begin && at - begin < part.p_memsz);
    if (part.p_type == PT_DYNAMIC) found.dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
    if (part.p_type == PT_GNU_RELRO) found.sealed = begin, found.sealed_end = begin + part.p_memsz;
  }
  if (here) wanted = found;
  return here;
}

// Where the object keeps the address of a function that it calls; null: it does not, or not in this way.
void** reference(const linked_object& object, const char* function) noexcept {
  const ElfW(Rela)* relocations = nullptr;
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  std::size_t bytes = 0;
  for (const ElfW(Dyn)* d = object.dynamic; d && d->d_tag != DT_NULL; ++d) {
    const ElfW(Addr) at = d->d_un.d_ptr < object.base ? d->d_un.d_ptr + object.base : d->d_un.d_ptr;  // glibc has added it mostly
    if (d->d_tag == DT_JMPREL) relocations = reinterpret_cast<const ElfW(Rela)*>(at);
    if (d->d_tag == DT_PLTREL && d->d_un.d_val != DT_RELA) return nullptr;
    if (d->d_tag == DT_PLTRELSZ) bytes = d->d_un.d_val;
    if (d->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(at);
    if (d->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(at);
  }
  if (!relocations || !symbols || !names) return nullptr;
  for (const ElfW(Rela)* r = relocations; r < relocations + bytes / sizeof *r; ++r)
    if (std::strcmp(names + symbols[ELF64_R_SYM(r->r_info)].st_name, function) == 0)
      return reinterpret_cast<void**>(object.base + r->r_offset);
  return nullptr;
}

bool write(const linked_object& object, void** at, void* value) noexcept {
  const auto page_bytes = static_cast<ElfW(Addr)>(::sysconf(_SC_PAGESIZE));
  const auto word = reinterpret_cast<ElfW(Addr)>(at);
  void* const page = reinterpret_cast<void*>(word & ~(page_bytes - 1));
  const bool sealed = word >= object.sealed && word < object.sealed_end;
  if (sealed && ::mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return false;
  std::atomic_ref<void*>{*at}.store(value);
  if (sealed) ::mprotect(page, page_bytes, PROT_READ);
  return true;
}

// A reference of libfabric's, and what it was.
struct diversion {
  const char* function;
  void* to;
  void** at = nullptr;
  void* from = nullptr;
};
diversion diversions[] = {{"fopen", reinterpret_cast<void*>(fopen_but_symbols)},
                          {"getenv", reinterpret_cast<void*>(getenv_or_answer)}};
linked_object libfabric;

}  // namespace

first_call::first_call(std::string_view device) noexcept {
  static std::atomic<bool> begun = false;
  if (begun.exchange(true)) return;
  libfabric.holds = reinterpret_cast<const void*>(&fi_getinfo);
  if (::dl_iterate_phdr(find, &libfabric) == 0) return;
  const bool wanted[] = {!has_adapters(), device == "tcp" || device.starts_with("tcp;")};
  for (std::size_t i = 0; i < std::size(diversions); ++i) {
    diversion& d = diversions[i];
    if (!wanted[i] || !(d.at = reference(libfabric, d.function))) continue;
    d.from = std::atomic_ref<void*>{*d.at}.load();
    if (!write(libfabric, d.at, d.to)) d.at = nullptr;
  }
  diverted_ = true;
}

first_call::~first_call() {
  for (diversion& d : diversions)
    if (diverted_ && d.at) write(libfabric, d.at, d.from);
}

}  // namespace tutti::ofi
