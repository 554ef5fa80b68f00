#include "core/job/bootstrap_find.h"

#include "core/job/bootstrap_alone.h"
#include "core/job/bootstrap_pmix.h"
#include "core/job/bootstrap_simulated.h"

namespace tutti {

#ifdef TUTTI_WITHOUT_PMIX
result<std::unique_ptr<bootstrap>> make_pmix_bootstrap(time_point, const std::string&) {
  return status{errc::unavailable, "a PMIx launcher started this rank, and this tutti was built without PMIx: give tutti_init "
                                   "a bootstrap of your own, or build tutti where libpmix-dev is installed"};
}
#endif

result<std::unique_ptr<bootstrap>> find_bootstrap(const config& c) {
  const launcher_traces& launcher = c.launcher();
  if (!launcher.simulated.empty()) {
    auto line = simulated::line::open(launcher.simulated);
    if (!line) return line.error();
    return make_simulated_bootstrap(**line);
  }
  if (launcher.rewritten)
    return status{errc::unavailable,
                  "PMIX_NAMESPACE and PMIX_RANK are not those that this process was started with. MPI_Init of Open MPI "
                  "rewrites them for a job of one rank when another launcher started the program: start it by Open MPI's "
                  "mpirun, or call tutti_init before MPI_Init"};
  if (launcher.pmix)
    return make_pmix_bootstrap(std::chrono::steady_clock::now() + std::chrono::seconds(c.number(knob::timeout_s)),
                               launcher.ended);
  if (launcher.ranks > 1)
    return status{errc::unavailable, worded("this is one of ", launcher.ranks, " ranks started by ", launcher.other,
                                            ", which does not speak PMIx; ", launcher.remedy)};
  return make_alone_bootstrap();
}

}  // namespace tutti
