#include "core/job/launcher_traces.h"

#include <charconv>

#include "core/job/ended_ranks.h"
#include "core/job/simulated_link.h"

namespace tutti {
namespace {

const std::string* find(const environment& variables, std::string_view name) {
  const auto v = variables.find(name);
  return v == variables.end() ? nullptr : &v->second;
}

std::uint32_t count(const std::string* text) {
  std::uint32_t n = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), n);
  return n;
}

bool has_server_uri(const environment& variables) {
  constexpr std::string_view prefix = "PMIX_SERVER_URI";  // URI2, URI21, URI3, URI4, URI41: one for each protocol age
  const auto v = variables.lower_bound(prefix);
  return v != variables.end() && v->first.starts_with(prefix);
}

}  // namespace

launcher_traces trace_launcher(const environment& variables, const environment& at_start) {
  launcher_traces t;
  if (const std::string* line = find(variables, simulated::variable); line && !line->empty()) return t.simulated = *line, t;
  t.pmix = find(variables, "PMIX_NAMESPACE") && find(variables, "PMIX_RANK") && has_server_uri(variables);
  for (const char* name : {"PMIX_NAMESPACE", "PMIX_RANK"}) {
    const std::string *then = find(at_start, name), *now = find(variables, name);
    if (then && now && *now != *then) t.rewritten = true;
  }
  if (const std::string* folder = find(variables, "PMIX_SERVER_TMPDIR")) t.ended = *folder + "/" + ended_ranks::file_name;
  if (t.pmix) return t;
  // A batch script and a shell inside an allocation carry SLURM_NTASKS as well and are no ranks: only a step counts.
  const std::uint32_t tasks = find(variables, "SLURM_PROCID") ? count(find(variables, "SLURM_STEP_NUM_TASKS")) : 1;
  if (find(variables, "PMI_FD") || find(variables, "PMI_PORT")) {
    t.other = "MPICH's mpiexec";
    t.remedy = "start it by `tutti run`, Open MPI's mpirun or `srun --mpi=pmix`";
    t.ranks = count(find(variables, "PMI_SIZE"));
  }
  if (tasks > 1 && (t.other.empty() || t.ranks == tasks)) {  // srun --mpi=pmi2 leaves MPICH's variables too
    t.other = "srun without --mpi=pmix";
    t.remedy = "start it by `srun --mpi=pmix`";
    t.ranks = tasks;
  }
  return t;
}

}  // namespace tutti
