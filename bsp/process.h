// What BSPlib keeps without a handle: the job of this process, its engine, and how far the program is. And the end of a
// program that broke a rule, the only place in the library that prints and ends a process, as BSPlib demands.
//
// A program may have several parallel parts, one after the other. Where it began with bsp_init, process 0 alone runs what
// lies between them, and the others wait in bsp_init, until process 0 begins a part, and tells which function they are to
// run, or ends. Else all processes run main; those that take no part in one have nowhere to go on, and end.
#pragma once
#include <chrono>
#include <cstdarg>
#include <memory>
#include <string>

#include "bsp/engine.h"
#include "core/job/job.h"

namespace tutti::bsp {

class process {
 public:
  static process& self() noexcept { return the_one; }

  void init(void (*spmd)());
  void begin(std::int64_t most);
  void end();
  std::uint32_t available();               // processes that there can be
  double seconds() const noexcept;         // since the part began; virtual in a simulated world

  // The engine, between begin and end; else the program is ended, for `call`.
  engine& inside(const char* call) {
    if (engine_) [[likely]] return *engine_;
    outside(call);
  }
  engine* running() noexcept { return engine_.get(); }
  // The program's output goes before the superstep ends: stdout by the line, but std::cout has a buffer of its own after
  // std::ios::sync_with_stdio(false).
  void before_sync() noexcept {
    if (cout_apart_) [[unlikely]] pass_cout_on();
  }
  [[noreturn]] void outside(const char* call);

  // Ends the program: all its processes.
  [[noreturn]] void abort(const char* format, std::va_list);
  [[noreturn]] void abort(const status&);
  [[noreturn]] void broken(const char* call, const char* format, ...) __attribute__((format(printf, 3, 4)));

 private:
  enum class phase : std::uint8_t { fresh, joined, running, ended };  // ended: a part has, and another may begin
  // What process 0 tells those that wait in bsp_init.
  struct order {
    std::int64_t most = 0;                 // processes of the part that begins; 0: the program ends
    std::int64_t function = 0;             // where: bytes from that with which bsp_init was called first
  };

  process() = default;
  void join();
  result<order> meet(const order&);
  status not_begun(const status& why) const;
  void take_part(std::uint32_t size);
  void stay_out();
  [[noreturn]] void serve();
  void watch();
  void write_profile();
  static void pass_cout_on() noexcept;
  [[noreturn]] void end_all(const std::string& text);
  static void at_exit();

  static process the_one;

  phase phase_ = phase::fresh;
  bool ending_ = false, cout_apart_ = false;
  void (*spmd_)() = nullptr;               // of bsp_init; null: all processes run main
  std::intptr_t first_spmd_ = 0;
  bool spmd_waits_ = false;                // bsp_init was called, and bsp_begin not yet
  order order_;
  std::uint32_t rank_ = 0, parts_ = 0;     // parts_: begun so far
  engine_options options_;
  bool check_ = false;                     // TUTTI_BSP_CHECK
  std::string profile_, provider_;         // TUTTI_BSP_PROFILE: a file, or empty; TUTTI_PROVIDER
  std::unique_ptr<ledger> ledger_;
  std::unique_ptr<job> job_;
  std::unique_ptr<team> left_;             // those that have not ended, unless it is all
  team* remaining_ = nullptr;              // that team, or the job's
  std::unique_ptr<team> part_;             // of the processes that take part, unless it is all of these
  std::unique_ptr<engine> engine_;
  time_point begun_;
};

}  // namespace tutti::bsp
