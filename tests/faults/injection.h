// Makes the k-th call of a kind fail. The wrappers (system_calls.cpp, allocations.cpp, vendor_calls.cpp) stand in the
// program itself, before the libraries that define what they wrap, so that calls of any library come through them.
//
// What is counted and what happened lies in a page that the processes of a trial share: the process that has armed the page
// counts, in all its threads, and the one that started the trial reads.
#pragma once
#include <atomic>
#include <cstdint>
#include <initializer_list>

namespace tutti::test {

enum class fault : std::uint32_t { none, system_call, allocation, any_allocation, vendor_call };

struct injection {
  static constexpr int most_frames = 40;
  struct frame {
    char object[120];                        // the library or program
    std::uint64_t offset;                    // in it, of the call
  };

  fault kind = fault::none;                  // what is counted
  std::uint64_t fail_at = 0;                 // the call that fails, counted from 1; 0: none
  std::uint64_t fail_until = 0;              // the last one that does
  bool one_thread = false;                   // ranks are threads: what the one that armed it calls, and tutti allocates
  std::uint32_t variant = 0;                 // which of the errors that the call can give
  std::atomic<std::uint64_t> calls = 0;      // counted so far
  // Of the first call that was made to fail:
  std::atomic<bool> failed = false;
  char call[64] = {};
  int error = 0;                             // errno, or the vendor's code
  int depth = 0;
  frame frames[most_frames] = {};
};

// Counts in this process from now on; null: not any more.
void arm(injection*) noexcept;

// Whether calls of this kind are counted now.
bool counts(fault) noexcept;

// Whether ranks are threads.
bool by_thread() noexcept;

// Whether the address lies in the code of tutti's libraries and modules.
bool of_tutti(void* caller) noexcept;

// Whether this call is the one to fail; `error` is then which of `errors` it gives.
bool fails(fault, const char* call, std::initializer_list<int> errors, int& error) noexcept;

// The same for calls that tell by errno.
bool fails_by_errno(const char* call, std::initializer_list<int> errors) noexcept;

// What the wrapper hides.
void* next_symbol(const char* name) noexcept;
// In a library that was loaded later, and out of sight of others.
void* symbol_in(const char* library, const char* name) noexcept;

}  // namespace tutti::test
