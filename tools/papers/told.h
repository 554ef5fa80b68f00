// A figure's outcome for a terminal, a page and a file.
#pragma once
#include <string>
#include <vector>

#include "tools/papers/paper.h"

namespace tutti::tools::papers {

struct outcome {
  const figure* what = nullptr;
  const paper* source = nullptr;
  const figure_notes* notes = nullptr;
  measured curves;
  std::vector<verdict> verdicts;
  std::string on;                   // the fabric of a live run; empty: simulated
};

void print_outcome(const outcome&);          // curves as a table, statements, causes
void print_summary(const std::vector<outcome>&);  // a line for each statement, then what deviates, with its cause
std::string page_of(const std::vector<outcome>&); // HTML
std::string json_of(const std::vector<outcome>&);

}  // namespace tutti::tools::papers
