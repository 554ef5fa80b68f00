#include "tools/run/mpi_program.h"

#include <stdlib.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

using namespace tutti;

namespace {

std::string head_of(const char* path, std::size_t most) {
  std::ifstream in{path, std::ios::binary};
  std::string all{std::istreambuf_iterator<char>(in), {}};
  return all.substr(0, most);
}

struct scratch {
  scratch() {
    path = (std::filesystem::temp_directory_path() / "tutti-elf-XXXXXX").string();
    const int fd = mkstemp(path.data());
    BOOST_REQUIRE(fd >= 0);
    close(fd);
  }
  ~scratch() { std::filesystem::remove(path); }
  std::string told(const std::string& content) const {
    std::ofstream{path, std::ios::binary} << content;
    return launching::mpi_library_of(path);
  }
  std::string path;
};

// This program, as if it had been linked with `library`: a name it needs is written over.
std::string linked_with(const std::string& library) {
  std::string whole = head_of("/proc/self/exe", ~std::size_t{0});
  const auto at = whole.find("libboost_unit_test_framework.so");
  BOOST_REQUIRE(at != whole.npos);
  whole.replace(at, library.size() + 1, library + '\0');
  return whole;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_libraries_of_mpi_are_known_and_others_are_not) {
  const scratch file;
  for (const char* name : {"libmpi.so.40", "libmpich.so.12", "libmpi.so", "libmpi_mpifh.so.40", "libmpifort.so.12"})
    BOOST_TEST(file.told(linked_with(name)) == name);
  for (const char* name : {"libmpir.so.23", "libmpi3mr.so", "libm.so.6", "xlibmpi.so"})
    BOOST_TEST(file.told(linked_with(name)) == "");
}

BOOST_AUTO_TEST_CASE(what_is_no_program_of_the_loader_tells_nothing) {
  const scratch file;
  BOOST_TEST(file.told("") == "");
  BOOST_TEST(file.told("#!/bin/sh\nexec libmpi.so.40\n") == "");
  BOOST_TEST(launching::mpi_library_of("/no/such/file") == "");
  BOOST_TEST(launching::mpi_library_of("/") == "");
  const std::string whole = linked_with("libmpi.so.40");
  for (std::size_t bytes = 0; bytes < 2000; bytes += 7) BOOST_TEST(file.told(whole.substr(0, bytes)) == "");
}

// Nothing is believed: any answer is allowed, none takes long, and the sanitizers see no access that is wrong.
BOOST_AUTO_TEST_CASE(files_that_lie_do_no_harm) {
  const scratch file;
  std::string whole = linked_with("libmpi.so.40");
  const unsigned seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 dice{seed};
  std::ofstream{file.path, std::ios::binary} << whole;
  for (int i = 0; i < 5000; ++i) {
    std::fstream out{file.path, std::ios::binary | std::ios::in | std::ios::out};
    std::string head = whole.substr(0, 64 + 56 * 14);  // the header and its table of segments
    for (int k = 0; k < 4; ++k) head[4 + dice() % (head.size() - 4)] = static_cast<char>(dice() % 3 ? dice() : 0xff);
    out << head;
    out.close();
    const std::string told = launching::mpi_library_of(file.path);
    BOOST_REQUIRE((told.empty() || told == "libmpi.so.40"));
  }
}
