// `tutti sim --validate`: what was measured beside what is simulated.
#pragma once
#include <string>

namespace tutti::tools {

struct validation_plan {
  std::string table;                   // a file of `tutti tune`
  std::string fabric, only;            // this fabric, this collective; "": all
  std::string json, html;              // files to write; "": none
  bool details = false;                // every candidate
};

// Prints it; the exit status.
int tell_validation(const validation_plan&);

}  // namespace tutti::tools
