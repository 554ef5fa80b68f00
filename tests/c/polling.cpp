// Who waits for collectives by tutti_test() and its like alone is told of deaths, and of members that call something else.
#include <boost/test/unit_test.hpp>

#include "tests/c/context_of_rank.h"
#include "tests/harness/sim_fabric.h"

namespace {

using namespace tutti;
using namespace tutti::test;

constexpr tutti_status_t (*ways[])(tutti_request_t*, int*) = {
    tutti_test,
    [](tutti_request_t* r, int* done) { return tutti_test_all(r, 1, done); },
    [](tutti_request_t* r, int* done) {
      std::size_t index;
      return tutti_test_any(r, 1, &index, done);
    },
    [](tutti_request_t* r, int* done) {
      std::size_t index, some = 0;
      const auto s = tutti_test_some(r, 1, &index, &some);
      return *done = some > 0, s;
    }};

constexpr std::uint32_t odd = 1;

// What the last rank's polling ends with.
std::string ends(rank_env& env, tutti_context& ctx, tutti_request_t request, tutti_status_t wanted, unsigned way) {
  int done = 0;
  tutti_status_t s = TUTTI_OK;
  env.until("an end", [&] { return (s = ways[way](&request, &done)) != TUTTI_OK || done; });
  expect(ctx, s, wanted);
  return tutti_error_text(api::handle_of(&ctx));
}

// One rank dies or calls a barrier, in the first allreduce or in the second, which needs no more preparation.
void poll(rank_env& env, unsigned way, bool dies, bool first, bool barriers) {
  const auto ctx = make_context(env);
  const tutti_team_t team = api::handle_of(ctx->world.get());
  std::uint64_t in = 1, out = 0;
  tutti_request_t request{};
  const auto begin = [&](bool barrier) {
    return barrier ? tutti_ibarrier(team, &request) : tutti_iallreduce(team, &in, &out, 1, TUTTI_UINT64, TUTTI_SUM, &request);
  };
  if (!first) expect(*ctx, tutti_allreduce(team, &in, &out, 1, TUTTI_UINT64, TUTTI_SUM), TUTTI_OK);
  if (dies && env.rank == odd) env.die();
  expect(*ctx, begin(barriers != (!dies && env.rank == odd)), TUTTI_OK);
  const std::string text = ends(env, *ctx, request, dies ? TUTTI_PEER_DEAD : TUTTI_PROTOCOL, way);
  const auto names = [&](const char* what) { return text.find(what) != text.npos; };
  require(dies ? names("rank 1") : names("a barrier") && names("an allreduce of 8 bytes (sum of uint64)"), text);
  env.barrier();
}

}  // namespace

BOOST_AUTO_TEST_CASE(who_only_tests_is_told) {
  for (unsigned way = 0; way < std::size(ways); ++way)
    for (unsigned kind = 0; kind < 8; ++kind) {
      const bool dies = kind & 1, first = kind & 2, barriers = kind & 4;
      const auto body = [&](rank_env& env) { poll(env, way, dies, first, barriers); };
      const run_options limits{.to_die = dies ? std::vector<rank_t>{odd} : std::vector<rank_t>{}};
      for (const char* fabric : {"sim", "shm"}) run_ranks({fabric}, 3, body, limits);
    }
}
