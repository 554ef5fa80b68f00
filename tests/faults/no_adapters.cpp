#include "tests/faults/adapters.h"

namespace tutti::test {

const bool adapters = false;
void prepare_adapters() {}

}  // namespace tutti::test
