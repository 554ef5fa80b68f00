// Messages of an MPI library between ranks 0 and 1, and rings of all ranks: for each cell a line with its name, its bytes and the
// median over chunks, in microseconds, printed by rank 0 alone. Built by `tutti perf messages --peers` with each MPI's own compiler;
// what is called and how it is timed is the same as in tools/perf/messages_bench.cpp, which tells what the cells are.
// Usage: mpi_messages SECONDS [threads] NAME:BYTES...       SECONDS for each; names that are not known here are left out
// threads: with MPI_THREAD_MULTIPLE
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { window = 64, most_iterations = 100000, most_chunks = 10000, orders = 10 };

static int rank, ranks, bytes;
static char *out, *in;
static MPI_Request requests[window];

static void send(int to) { MPI_Send(out, bytes, MPI_CHAR, to, 1, MPI_COMM_WORLD); }
static void receive(int from) { MPI_Recv(in, bytes, MPI_CHAR, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

static int first, second;  // who plays ping-pong
static void ping_pong(void) {
  if (rank == first) send(second), receive(second);
  else if (rank == second) receive(first), send(first);
}

// A window of messages one way, and an answer.
static void flight(void) {
  if (rank > 1) return;
  for (int i = 0; i < window; ++i) {
    if (rank == 0) MPI_Isend(out, bytes, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &requests[i]);
    else MPI_Irecv(in, bytes, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
  if (rank == 0) MPI_Recv(in, 4, MPI_CHAR, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else MPI_Send(out, 4, MPI_CHAR, 0, 3, MPI_COMM_WORLD);
}

static int left, right;
static void ring_sendrecv(void) {
  MPI_Sendrecv(out, bytes, MPI_CHAR, right, 4, in, bytes, MPI_CHAR, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(out, bytes, MPI_CHAR, left, 5, in, bytes, MPI_CHAR, right, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void ring_nonblocking(void) {
  MPI_Irecv(in, bytes, MPI_CHAR, left, 4, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(in + bytes, bytes, MPI_CHAR, right, 5, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(out, bytes, MPI_CHAR, right, 4, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(out, bytes, MPI_CHAR, left, 5, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

// Seconds until the last rank is through, the same in all ranks.
static double chunk(void (*call)(void), int iterations) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < iterations; ++i) call();
  double mine = MPI_Wtime() - start, longest;
  MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return longest;
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

// Of one iteration, in microseconds.
static double median(void (*call)(void), double seconds) {
  const double chunk_seconds = 4e-3;
  static double us[most_chunks];
  int iterations = 1, chunks = 0;
  chunk(call, 1);
  for (double took; (took = chunk(call, iterations)) < chunk_seconds / 4 && iterations < most_iterations;)
    iterations = 4 * iterations < most_iterations ? 4 * iterations : most_iterations;
  for (double past = 0; chunks < 3 || (past < seconds && chunks < most_chunks); ++chunks) {
    const double took = chunk(call, iterations);
    us[chunks] = took / iterations * 1e6;
    past += took;
  }
  qsort(us, (size_t)chunks, sizeof *us, by_value);
  return us[chunks / 2];
}

static void print(const char* name, double us) {
  if (rank == 0) printf("%s %d %.4f\n", name, bytes, us), fflush(stdout);
}

// A pseudo-random order, the same in all ranks.
static void shuffle(int* order, unsigned seed) {
  unsigned long long state = seed;
  for (int i = 0; i < ranks; ++i) order[i] = i;
  for (int i = ranks - 1; i > 0; --i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    const int k = (int)((state >> 33) % (unsigned)(i + 1)), kept = order[i];
    order[i] = order[k], order[k] = kept;
  }
}

static double ring(const int* order, double seconds) {
  int place = 0;
  while (order[place] != rank) ++place;
  left = order[(place + ranks - 1) % ranks], right = order[(place + 1) % ranks];
  const double a = median(ring_sendrecv, seconds / 2), b = median(ring_nonblocking, seconds / 2);
  return (a < b ? a : b) / 2;
}

static void rings(double seconds) {
  const int pairs = ranks * (ranks - 1) / 2;
  double least = 0, most = 0, sum = 0;
  for (first = 0; first < ranks; ++first)
    for (second = first + 1; second < ranks; ++second) {
      const double us = median(ping_pong, seconds / pairs) / 2;
      least = sum == 0 || us < least ? us : least, most = us > most ? us : most, sum += us;
    }
  print("pairs-min", least), print("pairs-avg", sum / pairs), print("pairs-max", most);
  int* order = malloc((size_t)ranks * sizeof *order);
  if (!order) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < ranks; ++i) order[i] = i;
  print("ring-natural", ring(order, seconds));
  double logs = 0;
  for (unsigned seed = 1; seed <= orders; ++seed) shuffle(order, seed), logs += log(ring(order, seconds / orders));
  print("ring-random", exp(logs / orders));
  free(order);
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, argc > 2 && strcmp(argv[2], "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int most = 64;
  for (int i = 2; i < argc; ++i) {
    const int n = strchr(argv[i], ':') ? atoi(strchr(argv[i], ':') + 1) : 0;
    most = n > most ? n : most;
  }
  out = malloc(2 * (size_t)most), in = malloc(2 * (size_t)most);
  if (!out || !in || ranks < 2) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(out, 1, 2 * (size_t)most), memset(in, 0, 2 * (size_t)most);
  const double seconds = argc > 1 ? atof(argv[1]) : 0.1;
  for (int i = 2; i < argc; ++i) {
    const char* colon = strchr(argv[i], ':');
    bytes = colon ? atoi(colon + 1) : 8;
    first = 0, second = 1;
    if (strncmp(argv[i], "latency:", 8) == 0) print("latency", median(ping_pong, seconds) / 2);
    else if (strncmp(argv[i], "bandwidth:", 10) == 0) print("bandwidth", median(flight, seconds) / window);
    else if (strncmp(argv[i], "rate:", 5) == 0) print("rate", median(flight, seconds) / window);
    else if (strncmp(argv[i], "rings:", 6) == 0) rings(seconds);
  }
  MPI_Finalize();
  return 0;
}
