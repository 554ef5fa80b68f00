// Drives a fuzz target without libFuzzer: first every seed as it is, then seeds mutated at random. Blind to coverage, but
// there wherever GCC is. An input that crashes the target, or takes ten seconds, is written to a file before the end.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*)());

namespace {

using input = std::vector<std::uint8_t>;

constexpr std::size_t longest_input = 4096;
constexpr unsigned longest_run_seconds = 10;

const input* running = nullptr;
char file_of_crash[64];

void write_down() noexcept {
  if (!running) return;
  if (std::FILE* f = std::fopen(file_of_crash, "wb")) {
    std::fwrite(running->data(), 1, running->size(), f);
    std::fclose(f);
    std::fprintf(stderr, "fuzz: the input is in %s\n", file_of_crash);
  }
  running = nullptr;
}

void end_by_signal(int signal) {
  if (signal == SIGALRM) std::fprintf(stderr, "fuzz: one input took %u seconds\n", longest_run_seconds);
  write_down();
  ::_exit(128 + signal);
}

void run(const input& in) {
  running = &in;
  ::alarm(longest_run_seconds);
  LLVMFuzzerTestOneInput(in.data(), in.size());
  running = nullptr;
}

class mutator {
 public:
  explicit mutator(std::uint64_t seed) : random_(seed) {}

  input next(const std::vector<input>& seeds) {
    input in = seeds[below(seeds.size())];
    for (std::size_t times = 1 + below(8); times-- > 0;) change(in, seeds);
    if (in.size() > longest_input) in.resize(longest_input);
    return in;
  }

 private:
  std::size_t below(std::size_t n) { return n ? random_() % n : 0; }

  void change(input& in, const std::vector<input>& seeds) {
    const std::size_t at = below(in.size() + 1);
    const auto here = in.begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(6)) {
      case 0:
        if (at < in.size()) in[at] ^= static_cast<std::uint8_t>(1u << below(8));
        break;
      case 1:
        if (at < in.size()) in[at] = static_cast<std::uint8_t>(random_());
        break;
      case 2: in.insert(here, 1 + below(16), static_cast<std::uint8_t>(random_())); break;
      case 3: in.erase(here, here + static_cast<std::ptrdiff_t>(below(in.size() - at + 1))); break;
      case 4: put_number(in, at); break;
      case 5: {
        const input& other = seeds[below(seeds.size())];
        const std::size_t from = below(other.size() + 1);
        in.resize(at);
        in.insert(in.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
        break;
      }
    }
  }

  // Numbers at the ends of ranges, where sums wrap.
  void put_number(input& in, std::size_t at) {
    constexpr std::uint64_t ends[] = {0, 1, 7, 8, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff, 1ull << 32,
                                      0x7fffffffffffffff, 0xfffffffffffffff0, 0xffffffffffffffff};
    const std::uint64_t number = ends[below(std::size(ends))] + below(3) - 1;
    const std::size_t bytes = std::size_t{1} << below(4);
    if (at + bytes <= in.size()) std::memcpy(in.data() + at, &number, bytes);
  }

  std::mt19937_64 random_;
};

std::vector<input> read_seeds(const std::vector<std::string>& places) {
  std::vector<input> all;
  const auto read = [&](const std::filesystem::path& file) {
    std::ifstream in{file, std::ios::binary};
    all.emplace_back(std::istreambuf_iterator<char>{in}, std::istreambuf_iterator<char>{});
  };
  for (const std::string& place : places) {
    if (!std::filesystem::is_directory(place)) read(place);
    else
      for (const auto& entry : std::filesystem::directory_iterator{place}) read(entry.path());
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 0;
  std::uint64_t seed = std::random_device{}();
  std::vector<std::string> places;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--seconds" && i + 1 < argc) seconds = std::atof(argv[++i]);
    else if (word == "--seed" && i + 1 < argc) seed = std::strtoull(argv[++i], nullptr, 10);
    else if (word.starts_with('-')) return std::fprintf(stderr, "usage: %s [--seconds S] [--seed N] SEED_FILE|FOLDER...\n", argv[0]), 2;
    else places.push_back(word);
  }
  std::vector<input> seeds = read_seeds(places);
  if (seeds.empty()) return std::fprintf(stderr, "fuzz: no seeds; name the files or folders that hold them\n"), 2;
  std::snprintf(file_of_crash, sizeof file_of_crash, "crash-%llu", static_cast<unsigned long long>(seed));
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(write_down);
  else
    for (const int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) ::signal(s, end_by_signal);
  for (const int s : {SIGABRT, SIGALRM}) ::signal(s, end_by_signal);

  for (const input& in : seeds) run(in);
  mutator change{seed};
  std::uint64_t runs = 0;
  using clock = std::chrono::steady_clock;
  for (const auto end = clock::now() + std::chrono::duration<double>(seconds); clock::now() < end; ++runs) run(change.next(seeds));
  ::alarm(0);
  std::printf("fuzz: %zu seeds and %llu mutations, seed %llu\n", seeds.size(), static_cast<unsigned long long>(runs),
              static_cast<unsigned long long>(seed));
  return 0;
}
