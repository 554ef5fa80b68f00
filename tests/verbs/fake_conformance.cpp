// The clauses of tests/conformance upon verbs over adapters that exist in this process alone: ranks are its threads.
#include "tests/verbs/fake_party.h"

namespace {

[[maybe_unused]] const bool installed = [] {
  fake::install(tutti::test::roce(4));
  return true;
}();

}  // namespace
