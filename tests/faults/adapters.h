// Adapters that are made up (tests/verbs/fake), where ranks must be threads of one process.
#pragma once

namespace tutti::test {

extern const bool adapters;  // whether this program has them
void prepare_adapters();     // in a process that begins

}  // namespace tutti::test
