// A figure or table of a paper as tutti measures it: curves with names. What the paper says of its own curves stands in a file beside
// (docs/papers, read by paper.h) and names them.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tools/papers/lab.h"

namespace tutti::tools::papers {

struct curve_of {
  std::string key;               // by which the paper's statements name it: "1/rds", rds on cluster 1
  std::string name;              // for people
  std::map<double, double> at;   // y by x
};

struct picture {
  std::string title, x_label, y_label;
  std::vector<std::string> keys; // of its curves
  bool log_x = false, log_y = false;
};

struct measured {
  std::vector<picture> pictures;
  std::vector<curve_of> curves;

  const curve_of* find(const std::string& key) const;
  void add(const std::string& key, const std::string& name, double x, double y);  // y of 0: was not to be had
};

// Throws std::runtime_error.
using measure_fn = void (*)(lab&, measured&);

struct figure {
  const char* id;       // "kini-6"
  const char* paper;    // "kini": of docs/papers/kini.json
  measure_fn measure;
  bool live = false;    // its ratios can be measured on a real fabric as well
  const char* instead = nullptr;  // else: the command that does, or null
};

extern const std::vector<figure> kini_figures, gupta_figures, buntinas_figures, huang_figures, birk_figures;
std::vector<const figure*> all_figures();

}  // namespace tutti::tools::papers
