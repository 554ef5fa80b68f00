// libpmix does the work: it gathers the local ranks' parts of a fence, and calls fence_nb once all of them came. With
// one node these are all there are, so the answer to a fence is the data it brought, and a request for data that no
// local rank has is answered by "not found".
//
// A rank that dies is taken out of all fences, begun and to come, when libpmix sees its connection end; a begun one
// ends with an error. To deregister the rank as well would race with that and leave the fence waiting. A rank that
// dies before it connects is waited for: libpmix has no means to tell the others, the launcher has (core/job/ended_ranks.h).
//
// The server is never finalized: PMIx_server_finalize of 4.2.2 now and then crashes upon what dead ranks have left of
// a fence. It ends with the process, which has nothing else to do.
#include "tools/run/pmix_server.h"

#include <pmix.h>
#include <pmix_server.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "core/base/headroom.h"
#include "core/base/random.h"
#include "tools/run/own_connections.h"

namespace tutti::launching {
namespace {

// libpmix's callbacks carry no context of the server; there is but one.
std::string job_name;
pmix_server::abort_handler on_abort;
std::vector<std::atomic<bool>> farewells, arrivals;  // by rank

bool is_of_the_job(const pmix_proc_t* who) { return job_name == who->nspace && who->rank < farewells.size(); }

// 128 bits of chance: whoever knows a job's name can connect as one of its ranks.
result<std::string> draw_name() {
  std::array<unsigned char, 16> chance;
  if (!draw(chance))
    return status{errc::no_resource, std::string{"no random numbers to name the job by: "} + std::strerror(errno), no_rank,
                  errno};
  std::string name = "tutti-";
  for (const unsigned c : chance) name += "0123456789abcdef"[c >> 4], name += "0123456789abcdef"[c & 15];
  return name;
}

status failed(const std::string& what, pmix_status_t code) {
  return {errc::fabric, what + " failed: PMIx says " + PMIx_Error_string(code), no_rank, code};
}

bool has_interface() noexcept {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return true;  // libpmix will see
  bool found = false;
  for (const ifaddrs* i = all; i && !found; i = i->ifa_next) found = i->ifa_addr && i->ifa_addr->sa_family == AF_INET && (i->ifa_flags & IFF_UP);
  freeifaddrs(all);
  return found;
}

// --- callbacks, on libpmix's thread -----------------------------------------------------------------------------

pmix_status_t connected(const pmix_proc_t* who, void*, pmix_info_t*, size_t, pmix_op_cbfunc_t, void*) {
  if (is_of_the_job(who)) arrivals[who->rank] = true;
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t finalized(const pmix_proc_t* who, void*, pmix_op_cbfunc_t, void*) {
  if (is_of_the_job(who)) farewells[who->rank] = true;
  return PMIX_OPERATION_SUCCEEDED;
}

// Answered when the launcher has ended the others: they could see the caller end, and complain, before the launcher acts.
pmix_status_t aborted(const pmix_proc_t* who, void*, int code, const char text[], pmix_proc_t*, size_t,
                      pmix_op_cbfunc_t done, void* context) {
  if (!is_of_the_job(who)) return PMIX_ERR_NO_PERMISSIONS;
  on_abort(who->rank, code, text ? text : "no reason given", [=] {
    if (done) done(PMIX_SUCCESS, context);
  });
  return PMIX_SUCCESS;
}

pmix_status_t fence(const pmix_proc_t*, size_t, const pmix_info_t*, size_t, char* data, size_t bytes,
                    pmix_modex_cbfunc_t answer, void* context) {
  answer(PMIX_SUCCESS, data, bytes, context, free, data);
  return PMIX_SUCCESS;
}

pmix_status_t direct_modex(const pmix_proc_t*, const pmix_info_t*, size_t, pmix_modex_cbfunc_t, void*) {
  return PMIX_ERR_NOT_FOUND;
}

// Events between ranks of this node are libpmix's; there is no other node to tell.
pmix_status_t register_events(pmix_status_t*, size_t, const pmix_info_t*, size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}
pmix_status_t deregister_events(pmix_status_t*, size_t, pmix_op_cbfunc_t, void*) { return PMIX_OPERATION_SUCCEEDED; }
pmix_status_t notify_event(pmix_status_t, const pmix_proc_t*, pmix_data_range_t, pmix_info_t*, size_t,
                           pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

// A tool gives itself a name. Without this callback libpmix takes it in, though tools are switched off; when it is answered
// by an error, libpmix crashes. So it never hears.
void tool_connected(pmix_info_t*, size_t, pmix_tool_connection_cbfunc_t, void*) {}

pmix_server_module_t callbacks() {
  pmix_server_module_t m{};
  m.client_connected2 = connected;
  m.client_finalized = finalized;
  m.abort = aborted;
  m.fence_nb = fence;
  m.direct_modex = direct_modex;
  m.register_events = register_events;
  m.deregister_events = deregister_events;
  m.notify_event = notify_event;
  m.tool_connected = tool_connected;
  return m;
}

// --- helpers ----------------------------------------------------------------------------------------------------

// Turns "begun, the callback will tell" into a plain call.
class outcome {
 public:
  static void done(pmix_status_t code, void* self) { static_cast<outcome*>(self)->set(code); }
  pmix_status_t of(pmix_status_t begun) {
    if (begun == PMIX_OPERATION_SUCCEEDED) return PMIX_SUCCESS;
    if (begun != PMIX_SUCCESS) return begun;
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return done_; });
    return code_;
  }

 private:
  void set(pmix_status_t code) {
    const std::lock_guard lock{mutex_};
    done_ = true, code_ = code;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  pmix_status_t code_ = PMIX_SUCCESS;
};

// A growing list of keys and values that libpmix takes as an array.
class info_list {
 public:
  ~info_list() {
    for (pmix_info_t& i : list_) PMIX_INFO_DESTRUCT(&i);
  }
  void add(const char* key, const std::string& text) { load(key, text.c_str(), PMIX_STRING); }
  void add(const char* key, std::uint32_t n) { load(key, &n, PMIX_UINT32); }
  void add(const char* key, std::uint16_t n) { load(key, &n, PMIX_UINT16); }
  void add(const char* key, bool b) { load(key, &b, PMIX_BOOL); }
  void add_rank(const char* key, pmix_rank_t r) { load(key, &r, PMIX_PROC_RANK); }
  void add_regex(const char* key, char* regex) {  // takes it
    load(key, regex, PMIX_REGEX);
    free(regex);
  }
  void add(const char* key, info_list& inner) {
    pmix_data_array_t array;
    array.type = PMIX_INFO;
    array.size = inner.list_.size();
    array.array = inner.list_.data();
    load(key, &array, PMIX_DATA_ARRAY);  // copies
  }
  pmix_info_t* data() { return list_.data(); }
  std::size_t size() const { return list_.size(); }

 private:
  void load(const char* key, const void* value, pmix_data_type_t type) {
    pmix_info_t& i = list_.emplace_back();
    PMIX_INFO_CONSTRUCT(&i);
    PMIX_INFO_LOAD(&i, key, value, type);
  }
  std::vector<pmix_info_t> list_;
};

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

result<std::unique_ptr<pmix_server>> pmix_server::start(std::uint32_t size, const std::string& folder,
                                                        const machine& here, abort_handler handler) {
  if (!has_interface())
    return status{errc::unavailable, "libpmix, by which ranks meet, listens on an IPv4 interface, and none is up here; try `ip link set lo up`"};
  if (status s = headroom("libpmix", 0, {.address_space = 32 << 20, .data = 20 << 20}); s.failed()) return s;
  on_abort = std::move(handler);
  farewells = std::vector<std::atomic<bool>>(size), arrivals = std::vector<std::atomic<bool>>(size);
  std::unique_ptr<pmix_server> server{new pmix_server};
  server->size_ = size;
  auto name = draw_name();
  if (!name) return name.error();
  job_name = *name;
  take_own_connections_only();
  info_list info;
  info.add(PMIX_SERVER_NSPACE, "tutti-server-" + std::to_string(getpid()));  // told to tools: no part of the secret
  info.add_rank(PMIX_SERVER_RANK, 0);
  info.add(PMIX_SERVER_TMPDIR, folder);
  info.add(PMIX_SYSTEM_TMPDIR, folder);
  info.add(PMIX_SERVER_TOOL_SUPPORT, false);
  info.add(PMIX_SERVER_REMOTE_CONNECTIONS, false);
  // The other stores share files between ranks, which pays on big nodes only; for tens of ranks this one starts in less
  // time and leaves nothing behind. libpmix's own variable; a user's value stays.
  setenv("PMIX_MCA_gds", "hash", 0);
  // Without a topology libpmix looks for one itself, at length. It is lent: no destructor of the list may see it.
  char source[] = "hwloc";
  static const machine kept = here;
  pmix_topology_t topology{source, kept.hwloc()};
  std::vector<pmix_info_t> all(info.data(), info.data() + info.size());
  pmix_info_t& lent = all.emplace_back();
  PMIX_INFO_CONSTRUCT(&lent);
  PMIX_LOAD_KEY(lent.key, PMIX_TOPOLOGY2);
  lent.value.type = PMIX_TOPO;
  lent.value.data.topo = &topology;
  static pmix_server_module_t module = callbacks();
  if (const pmix_status_t code = PMIx_server_init(&module, all.data(), all.size()); code != PMIX_SUCCESS)
    return failed("starting the PMIx server", code);
  if (status s = server->register_job(); s.failed()) return s;
  return server;
}

status pmix_server::register_job() {
  const std::string host = host_name();
  std::string ranks = "0";
  for (rank_t r = 1; r < size_; ++r) ranks.append(",").append(std::to_string(r));
  char* procs = nullptr;
  if (const pmix_status_t code = PMIx_generate_ppn(ranks.c_str(), &procs); code != PMIX_SUCCESS) return failed("describing the ranks", code);

  info_list job;
  job.add(PMIX_JOBID, job_name);
  job.add(PMIX_JOB_SIZE, size_);
  job.add(PMIX_UNIV_SIZE, size_);
  job.add(PMIX_MAX_PROCS, size_);
  job.add(PMIX_JOB_NUM_APPS, std::uint32_t{1});
  job.add(PMIX_NUM_NODES, std::uint32_t{1});
  job.add(PMIX_NODE_LIST, host);
  job.add_regex(PMIX_NODE_MAP, strdup(("raw:" + host).c_str()));  // PMIx_generate_regex of 4.2 smashes the stack by names of 51 letters and more
  job.add_regex(PMIX_PROC_MAP, procs);
  job.add(PMIX_LOCAL_SIZE, size_);
  job.add(PMIX_NODE_SIZE, size_);
  job.add(PMIX_LOCAL_PEERS, ranks);
  job.add_rank(PMIX_LOCALLDR, 0);
  {
    info_list app;
    app.add(PMIX_APPNUM, std::uint32_t{0});
    app.add(PMIX_APP_SIZE, size_);
    app.add_rank(PMIX_APPLDR, 0);
    job.add(PMIX_APP_INFO_ARRAY, app);
  }
  for (rank_t r = 0; r < size_; ++r) {
    info_list proc;
    proc.add_rank(PMIX_RANK, r);
    proc.add_rank(PMIX_GLOBAL_RANK, r);
    proc.add_rank(PMIX_APP_RANK, r);
    proc.add(PMIX_APPNUM, std::uint32_t{0});
    proc.add(PMIX_LOCAL_RANK, static_cast<std::uint16_t>(r));
    proc.add(PMIX_NODE_RANK, static_cast<std::uint16_t>(r));
    proc.add(PMIX_HOSTNAME, host);
    proc.add(PMIX_NODEID, std::uint32_t{0});
    job.add(PMIX_PROC_DATA, proc);
  }
  outcome registered;
  const pmix_status_t code = registered.of(PMIx_server_register_nspace(
      job_name.c_str(), static_cast<int>(size_), job.data(), job.size(), outcome::done, &registered));
  if (code != PMIX_SUCCESS) return failed("registering the job", code);
  for (rank_t r = 0; r < size_; ++r) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, job_name.c_str(), r);
    outcome accepted;
    const pmix_status_t c = accepted.of(
        PMIx_server_register_client(&proc, getuid(), getgid(), nullptr, outcome::done, &accepted));
    if (c != PMIX_SUCCESS) return failed("registering rank " + std::to_string(r), c);
  }
  return {};
}

result<std::vector<std::string>> pmix_server::variables(rank_t r) {
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, job_name.c_str(), r);
  char** list = nullptr;
  if (const pmix_status_t code = PMIx_server_setup_fork(&proc, &list); code != PMIX_SUCCESS)
    return failed("preparing rank " + std::to_string(r), code);
  std::vector<std::string> all;
  for (char** v = list; v && *v; ++v) {
    all.emplace_back(*v);
    free(*v);
  }
  free(list);
  return all;
}

bool pmix_server::said_farewell(rank_t r) const noexcept { return farewells[r]; }
bool pmix_server::took_part(rank_t r) const noexcept { return arrivals[r]; }

}  // namespace tutti::launching
