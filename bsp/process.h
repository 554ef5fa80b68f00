// What BSPlib keeps without a handle: the job of this process, its engine, and how far the program is. And the end of a
// program that broke a rule, the only place in the library that prints and ends a process, as BSPlib demands.
#pragma once
#include <chrono>
#include <cstdarg>
#include <memory>
#include <string>

#include "bsp/engine.h"
#include "core/job.h"

namespace tutti::bsp {

class process {
 public:
  static process& self() noexcept { return the_one; }

  void init(void (*spmd)());
  void begin(std::int64_t most);
  void end();
  std::uint32_t available();               // processes that were started
  double seconds() const noexcept;

  // The engine, between begin and end; else the program is ended, for `call`.
  engine& inside(const char* call) {
    if (engine_) [[likely]] return *engine_;
    outside(call);
  }
  engine* running() noexcept { return engine_.get(); }
  [[noreturn]] void outside(const char* call);

  // Ends the program: all its processes.
  [[noreturn]] void abort(const char* format, std::va_list);
  [[noreturn]] void abort(const status&);
  [[noreturn]] void broken(const char* call, const char* format, ...) __attribute__((format(printf, 3, 4)));

 private:
  enum class phase : std::uint8_t { fresh, joined, running, ended };

  process() = default;
  void join();
  void leave();
  void watch();
  void write_profile();
  [[noreturn]] void stand_by();
  [[noreturn]] void end_all(const std::string& text);
  static void at_exit();

  static process the_one;

  phase phase_ = phase::fresh;
  bool spmd_given_ = false, ending_ = false;
  std::uint32_t started_ = 1, rank_ = 0;
  engine_options options_;
  bool check_ = false;                     // TUTTI_BSP_CHECK
  std::string profile_, provider_;         // TUTTI_BSP_PROFILE: a file, or empty; TUTTI_PROVIDER
  std::unique_ptr<ledger> ledger_;
  std::unique_ptr<job> job_;
  std::unique_ptr<team> part_;             // of the processes that take part, unless it is all
  std::unique_ptr<engine> engine_;
  std::chrono::steady_clock::time_point begun_;
};

}  // namespace tutti::bsp
