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

// Of many cases that are alike one in n, after the first `skipped`, or all. Where n divides no loop's length, each value of each loop has its turn.
class one_in {
 public:
  explicit one_in(unsigned n, unsigned skipped = 0) : n_(n), turn_(n - skipped) {}
  bool operator()() { return turn_++ % n_ == 0 || whole_list(); }

 private:
  const unsigned n_;
  unsigned turn_;
};

}  // namespace tutti::test
