// What docs/papers has of a paper: its machines, each number with the sentence that it comes from, and what the paper states of its figures.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tools/papers/figure.h"

namespace tutti::tools::papers {

// One thing that a paper says about curves: a number, or an order.
struct statement {
  enum class kind : std::uint8_t {
    value,   // of `of[0]`: key@x, or the name of a curve, which is its largest value
    ratio,   // of[0] over of[1]
    gain,    // 1 - of[1] over of[0], in percent: how far the second is below the first
    rise,    // of[1] over of[0] - 1, in percent
    most,    // the largest ratio of curve of[0] over curve of[1], over all x that both have
    order,   // each of `of` is below the next
  };
  kind is = kind::value;
  std::string text;            // "RGM over MPI-PE, 16 nodes, cluster 2"
  std::vector<std::string> of;
  double paper = 0;            // but for an order
  std::string unit;            // "us", "x", "%"
  std::string quote;           // of the paper, with the section
  bool calibrates = false;     // the machine was set by it: it says nothing of the model
  std::string cause;           // why ours deviates
};

struct figure_notes {
  std::string title;
  std::vector<statement> statements;
};

struct sourced {               // a number of a machine
  std::string machine, name;
  double value = 0;
  std::string from;            // the sentence, or what it was calibrated by
};

struct paper {
  std::string title;
  std::map<std::string, machine> machines;
  std::vector<sourced> numbers;
  std::map<std::string, figure_notes> figures;  // by id
};

// Errors name the file and the place in it. Throws std::runtime_error.
paper read_paper(const std::string& folder, const std::string& name);

// A statement beside what was measured.
struct verdict {
  const statement* of = nullptr;
  bool measured = false;       // false: a curve is missing, in a live run say
  bool calibrates = false;     // as the statement, where the machine is the paper's
  double ours = 0;             // as the paper's number
  bool holds = false;          // an order
  std::string detail;          // of an order: the values
  double deviation() const noexcept { return of->paper ? ours / of->paper - 1 : 0; }
  bool off() const noexcept { return measured && !calibrates && (of->is == statement::kind::order ? !holds : deviation() > 0.1 || deviation() < -0.1); }
};
// Only ratios and orders, where the machine is not the paper's.
std::vector<verdict> judge(const std::vector<statement>&, const measured&, bool same_machine);

}  // namespace tutti::tools::papers
