// Random BSP programs and what they must do. Every process makes the same program from the same seed, runs its own part
// on the engine, and carries out all parts one after the other in a model; after each superstep what it sees of its own
// memory and messages must be what the model has.
#pragma once
#include <cstdint>
#include <random>
#include <vector>

#include "bsp/engine.h"

namespace tutti::test {

struct program_options {
  std::uint32_t supersteps = 6;
  std::uint32_t most_bytes = 3000;   // of one put, get or message
  std::uint32_t most_calls = 12;     // of one process in one superstep
  bool hp = true;                    // with bsp_hpput and bsp_hpget
  bool large = false;                // sizes of every order up to most_bytes alike; else mostly small ones
};

// Runs one program; throws test::failure when something is not as the model says.
void run_random_program(bsp::engine&, std::uint64_t seed, const program_options&);

}  // namespace tutti::test
