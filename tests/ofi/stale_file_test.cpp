// Libfabric's shm provider names an endpoint's file by pid and number. What a dead process has left must not keep a later
// one of the same pid from opening its own.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>

#include <unistd.h>

#include "providers/ofi/context.h"

namespace {

namespace fs = std::filesystem;

// "/dev/shm/PID:UID:NUMBER" of this process.
fs::path file_of(int number) {
  return "/dev/shm/" + std::to_string(getpid()) + ":" + std::to_string(getuid()) + ":" + std::to_string(number);
}

}  // namespace

// Whoever owns the file, or may write it, could read what is sent, and cut it short. Root alone can make such a file here.
BOOST_AUTO_TEST_CASE(another_users_file_is_refused) {
  auto first = tutti::ofi::open_device("shm", false, tutti::ofi::by_keys::nothing);
  if (!first || getuid() != 0) {
    BOOST_TEST_MESSAGE("skipped: " << (first ? "not root" : first.error().text()));
    return;
  }
  int number = 0;
  while (number < 16 && !fs::exists(file_of(number))) ++number;
  for (const int anybodys : {0, 1}) {
    const fs::path next = file_of(number + 1 + anybodys);  // each try takes a number
    fs::copy_file(file_of(number), next);
    if (anybodys) fs::permissions(next, fs::perms::others_write, fs::perm_options::add);
    else BOOST_REQUIRE(::chown(next.c_str(), 60002, 60002) == 0);
    const auto second = tutti::ofi::open_device("shm", false, tutti::ofi::by_keys::nothing);
    BOOST_REQUIRE(!second.ok());
    BOOST_TEST(std::string{second.error().text()}.find(next.string()) != std::string::npos, second.error().text());
    BOOST_TEST(fs::exists(next));  // nothing of another's is touched
    fs::remove(next);
  }
}

BOOST_AUTO_TEST_CASE(a_file_left_by_a_namesake_is_no_obstacle) {
  auto first = tutti::ofi::open_device("shm", false, tutti::ofi::by_keys::nothing);
  if (!first) {
    BOOST_TEST_MESSAGE("skipped: " << first.error().text());
    return;
  }
  int number = 0;
  while (number < 16 && !fs::exists(file_of(number))) ++number;
  BOOST_REQUIRE_MESSAGE(number < 16, "libfabric names its files otherwise now: look at /dev/shm");
  // As a process of the same pid would have left it: its memory says that this pid owns it.
  fs::copy_file(file_of(number), file_of(number + 1));
  {
    auto second = tutti::ofi::open_device("shm", false, tutti::ofi::by_keys::nothing);
    BOOST_REQUIRE_MESSAGE(second.ok(), second.error().text());
    BOOST_TEST(fs::exists(file_of(number + 1)));
  }
  BOOST_TEST(!fs::exists(file_of(number + 1)));
}
