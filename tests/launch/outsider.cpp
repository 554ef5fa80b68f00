// Someone who is no rank of the job, but found its launcher's port: connects to the PMIx server and asks it to end the job.
//
//   outsider client|tool PORT NAMESPACE    as rank 0 of that job; as a tool that calls itself so
#include <pmix_tool.h>
#include <stdio.h>
#include <stdlib.h>

#include <string>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string how = argv[1], uri = std::string{"x.0;tcp4://127.0.0.1:"} + argv[2], name = argv[3];
  pmix_proc_t me;
  pmix_status_t code;
  if (how == "client") {
    setenv("PMIX_NAMESPACE", name.c_str(), 1);
    setenv("PMIX_RANK", "0", 1);
    setenv("PMIX_SERVER_URI41", uri.c_str(), 1);
    setenv("PMIX_SECURITY_MODE", "native", 1);
    setenv("PMIX_GDS_MODULE", "hash", 1);
    setenv("PMIX_BFROP_BUFFER_TYPE", "PMIX_BFROP_BUFFER_NON_DESC", 1);
    code = PMIx_Init(&me, nullptr, 0);
  } else {
    const pmix_rank_t zero = 0;
    pmix_info_t info[3];
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_URI, uri.c_str(), PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_TOOL_NSPACE, name.c_str(), PMIX_STRING);
    PMIX_INFO_LOAD(&info[2], PMIX_TOOL_RANK, &zero, PMIX_PROC_RANK);
    code = PMIx_tool_init(&me, info, 3);
  }
  if (code == PMIX_SUCCESS) code = PMIx_Abort(5, "a outsider wants it", nullptr, 0);
  printf("%s: %s\n", argv[1], PMIx_Error_string(code));
  fflush(stdout);
  _Exit(code == PMIX_SUCCESS ? 0 : 1);
}
