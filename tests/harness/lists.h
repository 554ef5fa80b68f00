// What a test goes through: enough to see what a change breaks, in every check; all of it where TEST_LIST=whole says so, as
// `scripts/check all` does.
#pragma once
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace tutti::test {

inline bool whole_list() {
  static const char* const list = std::getenv("TEST_LIST");
  return list && std::string_view(list) == "whole";
}

template <class T>
std::vector<T> listed(std::initializer_list<T> always, std::initializer_list<T> further) {
  std::vector<T> out(always);
  if (whole_list()) out.insert(out.end(), further);
  return out;
}

// Of many cases that are alike one in n, or all. Where n divides no loop's length, each value of each loop has its turn. Else `loops` are
// the lengths of the inner loops, the innermost first: then the cases are those whose places in the loops add up to a multiple of n.
// It is asked in each turn of the innermost loop.
class one_in {
 public:
  explicit one_in(unsigned n, std::initializer_list<std::size_t> loops = {}) : n_(n), loops_(loops) {}
  bool operator()() {
    std::size_t rest = turn_++, places = 0;
    for (const std::size_t length : loops_) places += rest % length, rest /= length;
    return (places + rest) % n_ == 0 || whole_list();
  }

 private:
  const unsigned n_;
  const std::vector<std::size_t> loops_;
  std::size_t turn_ = 0;
};

}  // namespace tutti::test
