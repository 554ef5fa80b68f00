// How a verdict is put into words, in a terminal as on a page.
#pragma once
#include <string>

#include "tools/papers/paper.h"

namespace tutti::tools::papers {

struct said {
  std::string paper, ours, deviation;
};

std::string printed(const char* format, double);
said words_of(const verdict&);
std::string cause_of(const verdict&);

}  // namespace tutti::tools::papers
