// Every number of the file is untrusted: reads are bounded, and what lies outside the file is read as its end.
#include "tools/run/mpi_program.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/base/unique_fd.h"

namespace tutti::launching {
namespace {

using header = ElfW(Ehdr);
using segment = ElfW(Phdr);
using entry = ElfW(Dyn);

constexpr int most_segments = 1024, most_entries = 4096;

// Open MPI's, MPICH's and those of their relatives, without ".so" and what follows. More begin with "libmpi" (libmpir).
constexpr std::string_view libraries[] = {"libmpi", "libmpich", "libmpicxx", "libmpichcxx", "libmpi_cxx", "libmpifort",
                                          "libmpichfort", "libmpi_mpifh", "libmpi_usempi", "libmpi_usempif08", "libmpi_ibm"};

bool is_mpi(std::string_view name) noexcept {
  const auto stem = name.substr(0, name.find(".so"));
  for (const std::string_view l : libraries)
    if (stem == l) return true;
  return false;
}

template <class T>
bool read_at(int fd, std::uint64_t offset, T& out) noexcept {
  return offset <= INT64_MAX && pread(fd, &out, sizeof out, static_cast<off_t>(offset)) == static_cast<ssize_t>(sizeof out);
}

// A name of the table of strings; longer than a file name can be, it is cut.
std::string name_at(int fd, std::uint64_t offset) {
  char text[256];
  if (offset > INT64_MAX) return {};
  const ssize_t got = pread(fd, text, sizeof text, static_cast<off_t>(offset));
  return got > 0 ? std::string(text, strnlen(text, static_cast<std::size_t>(got))) : std::string{};
}

bool is_native_elf(const header& h) noexcept {
  constexpr unsigned char native = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  const std::uint16_t one = 1;
  const unsigned char order = *reinterpret_cast<const unsigned char*>(&one) ? ELFDATA2LSB : ELFDATA2MSB;
  return std::memcmp(h.e_ident, ELFMAG, SELFMAG) == 0 && h.e_ident[EI_CLASS] == native && h.e_ident[EI_DATA] == order &&
         h.e_phentsize == sizeof(segment) && h.e_phnum <= most_segments;
}

}  // namespace

std::string mpi_library_of(const std::string& path) {
  const unique_fd file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  header h;
  if (!file || !read_at(file.get(), 0, h) || !is_native_elf(h)) return {};
  const auto segment_at = [&](unsigned i, segment& s) { return read_at(file.get(), h.e_phoff + i * sizeof s, s); };
  const auto entry_at = [&](const segment& s, unsigned i, entry& e) {
    return i < most_entries && i < s.p_filesz / sizeof e && read_at(file.get(), s.p_offset + i * sizeof e, e) &&
           e.d_tag != DT_NULL;
  };
  segment dynamic{}, s;
  for (unsigned i = 0; i < h.e_phnum && segment_at(i, s); ++i)
    if (s.p_type == PT_DYNAMIC) dynamic = s;
  std::uint64_t strings = 0;  // an address when loaded, until the segment that holds it is found
  entry e;
  for (unsigned i = 0; entry_at(dynamic, i, e); ++i)
    if (e.d_tag == DT_STRTAB) strings = e.d_un.d_ptr;
  std::uint64_t in_file = 0;
  for (unsigned i = 0; i < h.e_phnum && segment_at(i, s); ++i)
    if (s.p_type == PT_LOAD && strings >= s.p_vaddr && strings - s.p_vaddr < s.p_filesz)
      in_file = s.p_offset + (strings - s.p_vaddr);
  for (unsigned i = 0; in_file && entry_at(dynamic, i, e); ++i)
    if (e.d_tag == DT_NEEDED)
      if (std::string name = name_at(file.get(), in_file + e.d_un.d_val); is_mpi(name)) return name;
  return {};
}

}  // namespace tutti::launching
