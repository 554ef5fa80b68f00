// Jobs of this command that measure, one after the other, and what they tell meanwhile.
#pragma once
#include <memory>
#include <string>
#include <vector>

namespace tutti::tools {

// Over the last minute others had a good part of its cores.
bool machine_is_loaded() noexcept;

class measuring_jobs {
 public:
  explicit measuring_jobs(bool progress);  // a line on stderr while one runs; and one before, where the machine is loaded
  ~measuring_jobs();
  measuring_jobs(const measuring_jobs&) = delete;
  measuring_jobs& operator=(const measuring_jobs&) = delete;

  const std::string& scratch() const;  // a folder for what they leave
  // `words`: the command, which takes --progress-to FILE. False: it failed, and has said why. Throws std::runtime_error where the
  // user ended it.
  bool run(std::vector<std::string> words, const std::string& title);

 private:
  struct state;
  std::string fifo() const;
  std::unique_ptr<state> state_;
};

}  // namespace tutti::tools
