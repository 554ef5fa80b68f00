// libfabric's own barrier (fi_barrier, FI_COLLECTIVE) among processes of this host: the median over chunks, in microseconds.
// Built by `tutti perf --peers` where libfabric's headers are; measured as tools/perf/session.cpp measures. Where a provider has
// no such barrier it prints the reason and fails.
// Usage: fi_barrier PROVIDER RANKS SECONDS
#define _GNU_SOURCE
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { most_ranks = 64, most_chunks = 100000, name_bytes = 256 };

struct meeting {  // of the processes
  char names[most_ranks][name_bytes];
  atomic_int here, failed;
  int iterations, go;
};

static struct meeting* all;
static int rank, ranks, met;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void fail(const char* what, ssize_t code) {
  if (!atomic_exchange(&all->failed, 1)) {
    printf("%s: %s\n", what, fi_strerror((int)-code));
    fflush(stdout);
  }
  _exit(1);
}

static void need(const char* what, ssize_t code) {
  if (code != 0) fail(what, code);
}

static void meet(void) {
  atomic_fetch_add(&all->here, 1);
  for (++met; atomic_load(&all->here) < met * ranks; sched_yield())
    if (atomic_load(&all->failed)) _exit(1);
}

static struct fid_ep* ep;
static struct fid_cq* cq;
static struct fid_eq* eq;

static void barrier(fi_addr_t group) {
  static struct fi_context2 context;
  struct fi_cq_tagged_entry done;
  ssize_t e;
  while ((e = fi_barrier(ep, group, &context)) == -FI_EAGAIN) fi_cq_read(cq, &done, 0);
  need("fi_barrier", e);
  while ((e = fi_cq_read(cq, &done, 1)) != 1) {
    if (e != -FI_EAGAIN) fail("fi_barrier did not complete", e);
    sched_yield();
  }
}

static fi_addr_t join(const char* provider) {
  struct fi_info *hints = fi_allocinfo(), *info = NULL;
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_MSG | FI_TAGGED | FI_COLLECTIVE;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->fabric_attr->prov_name = strdup(provider);
  need("it offers no collectives (FI_COLLECTIVE)", fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
  struct fid_fabric* fabric;
  struct fid_domain* domain;
  struct fid_av* addresses;
  need("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
  struct fi_eq_attr events = {.wait_obj = FI_WAIT_UNSPEC};
  need("fi_eq_open", fi_eq_open(fabric, &events, &eq, NULL));
  need("fi_domain", fi_domain(fabric, info, &domain, NULL));
  struct fi_collective_attr attributes = {.op = FI_NOOP, .datatype = FI_VOID};
  need("it has no barrier (fi_query_collective)", fi_query_collective(domain, FI_BARRIER, &attributes, 0));
  struct fi_cq_attr completions = {.format = FI_CQ_FORMAT_TAGGED, .size = 256};
  need("fi_cq_open", fi_cq_open(domain, &completions, &cq, NULL));
  struct fi_av_attr table = {.type = FI_AV_TABLE, .count = (size_t)ranks};
  need("fi_av_open", fi_av_open(domain, &table, &addresses, NULL));
  need("fi_endpoint", fi_endpoint(domain, info, &ep, NULL));
  need("binding addresses", fi_ep_bind(ep, &addresses->fid, 0));
  need("binding completions", fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
  need("binding events", fi_ep_bind(ep, &eq->fid, 0));
  need("fi_enable", fi_enable(ep));
  size_t bytes = name_bytes;
  need("fi_getname", fi_getname(&ep->fid, all->names[rank], &bytes));
  meet();
  for (int r = 0; r < ranks; ++r)
    if (fi_av_insert(addresses, all->names[r], 1, NULL, 0, NULL) != 1) fail("fi_av_insert", -FI_EADDRNOTAVAIL);
  struct fi_av_set_attr everyone = {.count = (size_t)ranks, .start_addr = 0, .end_addr = (fi_addr_t)(ranks - 1), .stride = 1};
  struct fid_av_set* set;
  need("fi_av_set", fi_av_set(addresses, &everyone, &set, NULL));
  fi_addr_t root;
  need("fi_av_set_addr", fi_av_set_addr(set, &root));
  struct fid_mc* group;
  need("fi_join_collective", fi_join_collective(ep, root, set, 0, &group, NULL));
  uint32_t event = 0;
  struct fi_eq_entry entry;
  struct fi_cq_tagged_entry none;
  ssize_t e;
  for (const double end = now() + 10; (e = fi_eq_read(eq, &event, &entry, sizeof entry, 0)) < 0; sched_yield()) {
    if (e != -FI_EAGAIN) fail("joining", e);
    if (now() > end) fail("joining", -FI_ETIMEDOUT);
    fi_cq_read(cq, &none, 0);
  }
  meet();
  return fi_mc_addr(group);
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void measure(fi_addr_t group, double seconds) {
  const double chunk_seconds = 4e-3;
  static double us[most_chunks];
  int chunks = 0, iterations = 1, go = 1;
  const double begin = now();
  while (go && chunks < most_chunks) {
    barrier(group);
    const double start = now();
    for (int i = 0; i < iterations; ++i) barrier(group);
    const double took = now() - start;
    if (took > chunk_seconds / 4) us[chunks++] = took / iterations * 1e6;
    if (rank == 0) {
      int next = (int)(iterations * chunk_seconds / (took > 1e-7 ? took : 1e-7));
      next = next < 1 ? 1 : next > iterations * 4 ? iterations * 4 : next;
      all->iterations = next > 20000 ? 20000 : next;
      all->go = now() - begin < seconds || chunks < 3;
    }
    barrier(group);
    iterations = all->iterations, go = all->go;
  }
  if (rank != 0) return;
  qsort(us, (size_t)chunks, sizeof *us, by_value);
  printf("%.4f\n", us[chunks / 2]);
}

int main(int argc, char** argv) {
  ranks = argc > 3 ? atoi(argv[2]) : 0;
  if (ranks < 1 || ranks > most_ranks) return 2;
  all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return 2;
  const pid_t parent = getpid();
  for (int r = 1; r < ranks; ++r)
    if (fork() == 0) {
      rank = r;
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) return 2;
      break;
    }
  measure(join(argv[1]), atof(argv[3]));
  fflush(stdout);
  meet();  // an endpoint that goes while a peer is in its last barrier would fail it
  _exit(0);
}
