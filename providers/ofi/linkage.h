// References of a loaded library to functions, led elsewhere: words of its linkage table, written as the dynamic linker writes
// them, and as UCX does it for munmap() and its like. Only the one library is concerned; all others keep theirs.
#pragma once

namespace tutti::ofi {

// While one lives, calls of `function` by the library that holds `inside` go to `to`. Where that cannot be done (a library
// linked statically, another kind of table) they go where they went. Takes no memory.
class diversion {
 public:
  diversion(const void* inside, const char* function, void* to) noexcept;
  ~diversion();
  diversion(const diversion&) = delete;
  diversion& operator=(const diversion&) = delete;

 private:
  bool write(void* value) const noexcept;

  void** at_ = nullptr;   // the library's reference; null: not found
  void* from_ = nullptr;  // what it was
  bool sealed_ = false;   // in memory that nobody writes once it is linked (PT_GNU_RELRO)
};

}  // namespace tutti::ofi
