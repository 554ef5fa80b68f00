// A PMIx client that knows nothing of tutti: checks what the launcher's server tells and does.
//
//   pmix_client facts | subset | modex | events | abort
#include <pmix.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <string>

namespace {

pmix_proc_t me, all;
std::uint32_t size;
int failures = 0;

void check(bool good, const std::string& what) {
  if (good) return;
  printf("rank %u: %s\n", me.rank, what.c_str());
  ++failures;
}

pmix_proc_t peer(pmix_rank_t r) {
  pmix_proc_t p;
  PMIX_LOAD_PROCID(&p, me.nspace, r);
  return p;
}

// The value as text, whatever its type; "" if there is none.
std::string get(pmix_rank_t of, const char* key, bool optional = false) {
  const pmix_proc_t p = peer(of);
  pmix_value_t* v = nullptr;
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_OPTIONAL, &optional, PMIX_BOOL);
  if (PMIx_Get(&p, key, &info, 1, &v) != PMIX_SUCCESS) return "";
  std::string text = "?";
  switch (v->type) {
    case PMIX_STRING: text = v->data.string; break;
    case PMIX_UINT32: text = std::to_string(v->data.uint32); break;
    case PMIX_UINT16: text = std::to_string(v->data.uint16); break;
    case PMIX_PROC_RANK: text = std::to_string(v->data.rank); break;
    default: break;
  }
  PMIX_VALUE_RELEASE(v);
  return text;
}

void expect(pmix_rank_t of, const char* key, const std::string& value) {
  const std::string got = get(of, key);
  check(got == value, std::string{key} + " of rank " + std::to_string(of) + " is '" + got + "', not '" + value + "'");
}

void put(const char* key, std::uint32_t n) {
  pmix_value_t v;
  PMIX_VALUE_LOAD(&v, &n, PMIX_UINT32);
  check(PMIx_Put(PMIX_GLOBAL, key, &v) == PMIX_SUCCESS, "put failed");
  check(PMIx_Commit() == PMIX_SUCCESS, "commit failed");
}

void fence(const pmix_proc_t* procs, std::size_t n, bool collect) {
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
  const pmix_status_t code = PMIx_Fence(procs, n, &info, 1);
  check(code == PMIX_SUCCESS, std::string{"fence: "} + PMIx_Error_string(code));
}

void facts() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  std::string peers = "0";
  for (unsigned r = 1; r < size; ++r) peers.append(",").append(std::to_string(r));
  const std::string n = std::to_string(size);
  for (const char* key : {PMIX_UNIV_SIZE, PMIX_LOCAL_SIZE, PMIX_MAX_PROCS}) expect(PMIX_RANK_WILDCARD, key, n);
  expect(PMIX_RANK_WILDCARD, PMIX_NUM_NODES, "1");
  expect(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS, peers);
  expect(PMIX_RANK_WILDCARD, PMIX_LOCALLDR, "0");
  for (unsigned r = 0; r < size; ++r) {
    const std::string rank = std::to_string(r);
    for (const char* key : {PMIX_GLOBAL_RANK, PMIX_APP_RANK, PMIX_LOCAL_RANK, PMIX_NODE_RANK}) expect(r, key, rank);
    expect(r, PMIX_APPNUM, "0");
    expect(r, PMIX_NODEID, "0");
    expect(r, PMIX_HOSTNAME, host);
  }
  char* nodes = nullptr;
  check(PMIx_Resolve_nodes(me.nspace, &nodes) == PMIX_SUCCESS && nodes && host == std::string{nodes}, "nodes");
}

// Halves of the job fence at different times and then together, many times.
void subset() {
  pmix_proc_t half[64];
  std::size_t n = 0;
  for (unsigned r = me.rank % 2; r < size; r += 2) half[n++] = peer(r);
  for (unsigned k = 0; k < 20; ++k) {
    for (unsigned i = 0; i <= me.rank % 2; ++i) {
      char key[32];
      snprintf(key, sizeof key, "k%u.%u", k, i);
      put(key, me.rank * 100 + k);
      fence(half, n, true);
      for (unsigned r = me.rank % 2; r < size; r += 2) expect(r, key, std::to_string(r * 100 + k));
    }
    fence(&all, 1, false);
  }
}

// Data that no fence moved is asked for directly.
void modex() {
  put("direct", me.rank + 7);
  fence(&all, 1, false);
  expect((me.rank + 1) % size, "direct", std::to_string((me.rank + 1) % size + 7));
  check(get((me.rank + 1) % size, "no such key", true).empty(), "a key that nobody put was found");
}

void ignore(std::size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, std::size_t, pmix_info_t*, std::size_t,
            pmix_event_notification_cbfunc_fn_t done, void* context) {
  if (done) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, context);
}

// Registering for events and raising one does no harm.
void events() {
  pmix_status_t code = PMIX_ERR_PROC_ABORTED;
  check(PMIx_Register_event_handler(&code, 1, nullptr, 0, ignore, nullptr, nullptr) >= 0, "register an event handler");
  fence(&all, 1, false);
  if (me.rank == 0)
    check(PMIx_Notify_event(PMIX_ERR_PROC_ABORTED, &me, PMIX_RANGE_LOCAL, nullptr, 0, nullptr, nullptr) >= 0,
          "raise an event");
  fence(&all, 1, false);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (const pmix_status_t code = PMIx_Init(&me, nullptr, 0); code != PMIX_SUCCESS) {
    printf("PMIx_Init: %s\n", PMIx_Error_string(code));
    return 1;
  }
  PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
  size = static_cast<std::uint32_t>(std::stoul(get(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE)));
  if (what == "facts") facts();
  else if (what == "subset") subset();
  else if (what == "modex") modex();
  else if (what == "events") events();
  else if (what == "abort" && me.rank == 1) PMIx_Abort(9, "no more paper", nullptr, 0);
  else if (what == "abort") sleep(30);
  else check(false, "what is " + what + "?");
  fence(&all, 1, false);
  PMIx_Finalize(nullptr, 0);
  return failures ? 1 : 0;
}
