#include "providers/ofi/linkage.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tutti::ofi {
namespace {

// The object that holds an address, as the dynamic linker has it.
struct linked_object {
  const void* holds = nullptr;
  ElfW(Addr) base = 0;
  const ElfW(Dyn)* dynamic = nullptr;
  ElfW(Addr) sealed = 0, sealed_end = 0;
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

}  // namespace

diversion::diversion(const void* inside, const char* function, void* to) noexcept {
  linked_object object{inside};
  if (!inside || ::dl_iterate_phdr(find, &object) == 0 || !(at_ = reference(object, function))) return;
  const auto word = reinterpret_cast<ElfW(Addr)>(at_);
  sealed_ = word >= object.sealed && word < object.sealed_end;
  from_ = std::atomic_ref<void*>{*at_}.load();
  if (!write(to)) at_ = nullptr;
}

diversion::~diversion() {
  if (at_) write(from_);
}

bool diversion::write(void* value) const noexcept {
  const auto page_bytes = static_cast<ElfW(Addr)>(::sysconf(_SC_PAGESIZE));
  void* const page = reinterpret_cast<void*>(reinterpret_cast<ElfW(Addr)>(at_) & ~(page_bytes - 1));
  if (sealed_ && ::mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return false;
  std::atomic_ref<void*>{*at_}.store(value);
  if (sealed_) ::mprotect(page, page_bytes, PROT_READ);
  return true;
}

}  // namespace tutti::ofi
