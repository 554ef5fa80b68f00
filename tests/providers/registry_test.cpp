#include "providers/registry.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "core/base/nearest.h"
#include "providers/module.h"

using namespace tutti;

namespace {

const std::string modules = TEST_MODULES;

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

constexpr provider linked_in{"linked", "a built-in row", nullptr, nullptr};

const provider_row rows[] = {
    {"linked", &linked_in, {}},
    {"test", nullptr, "good_module.so"},
    {"absent", nullptr, "no_such_module.so"},
    {"orphan", nullptr, "orphan_module.so"},
    {"renamed", nullptr, "good_module.so"},
};

provider_registry sample() {
  return {rows, [] { return std::vector<std::string>{"/nonexistent/tutti", modules}; }};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_good_module_loads_from_the_first_directory_that_has_it) {
  const auto loaded = load_provider_module("good_module.so", {"/nonexistent/tutti", modules});
  BOOST_REQUIRE_MESSAGE(loaded.ok(), loaded.error().text());
  BOOST_TEST((*loaded)->name == "test");
  std::string why;
  BOOST_TEST((*loaded)->probe(why).front() == "0");  // its code runs
}

// Twice, since what is set already stays; and what other threads read and set meanwhile is not lost.
BOOST_AUTO_TEST_CASE(a_setting_is_in_the_environment_while_a_module_is_loaded) {
  const char *const name = "TUTTI_TEST_MODULE_SETTING", *const setting = "TUTTI_TEST_MODULE_SETTING=lent";
  ::setenv("TUTTI_TEST_HERE", "here", 1);
  std::atomic<bool> over{false};
  bool always_there = true;
  std::thread reader{[&] {
    while (!over) always_there = always_there && std::getenv("TUTTI_TEST_HERE");
  }};
  std::string seen;
  const auto lent = load_provider_module("lent_module.so", {modules}, setting);
  BOOST_REQUIRE_MESSAGE(lent.ok(), lent.error().text());
  (*lent)->probe(seen);
  BOOST_TEST(seen == "lent");
  BOOST_TEST(!std::getenv(name));
  ::setenv(name, "the program's", 1);
  const auto own = load_provider_module("own_module.so", {modules}, setting);
  BOOST_REQUIRE_MESSAGE(own.ok(), own.error().text());
  (*own)->probe(seen);
  BOOST_TEST(seen == "the program's");
  BOOST_TEST(std::getenv(name) == std::string{"the program's"});
  over = true;
  reader.join();
  BOOST_TEST(always_there);
  ::unsetenv(name), ::unsetenv("TUTTI_TEST_HERE");
}

BOOST_AUTO_TEST_CASE(a_missing_module_names_every_place) {
  const auto loaded = load_provider_module("no_such_module.so", {"/nonexistent/one", "/nonexistent/two"});
  BOOST_REQUIRE(!loaded.ok());
  BOOST_TEST((loaded.error().code() == errc::unavailable));
  BOOST_TEST(loaded.error().text() == "no_such_module.so was not found in: /nonexistent/one, /nonexistent/two");
}

BOOST_AUTO_TEST_CASE(another_abi_is_refused_with_the_mend) {
  const auto loaded = load_provider_module("wrong_abi_module.so", {modules});
  BOOST_REQUIRE(!loaded.ok());
  BOOST_TEST((loaded.error().code() == errc::unavailable));
  BOOST_TEST(has(loaded.error().text(), "provider ABI " + std::to_string(provider_abi)));
  BOOST_TEST(has(loaded.error().text(), "wrong_abi_module.so"));
}

BOOST_AUTO_TEST_CASE(a_missing_vendors_library_is_told_in_the_loaders_words) {
  const auto loaded = load_provider_module("orphan_module.so", {modules});
  BOOST_REQUIRE(!loaded.ok());
  BOOST_TEST((loaded.error().code() == errc::unavailable));
  BOOST_TEST(has(loaded.error().text(), "libtutti_test_vendor.so: cannot open shared object file"));
}

BOOST_AUTO_TEST_CASE(a_library_that_is_no_module_and_a_file_that_is_no_library) {
  const auto library = load_provider_module("no_entry_module.so", {modules});
  BOOST_REQUIRE(!library.ok());
  BOOST_TEST(has(library.error().text(), "exports no tutti_provider_module"));

  const auto scratch = std::filesystem::temp_directory_path() / ("tutti-registry-" + std::to_string(::getpid()));
  std::filesystem::create_directory(scratch);
  std::ofstream{scratch / "good_module.so"} << "this is not an ELF file";
  // The first file decides, even though a good one follows.
  const auto text = load_provider_module("good_module.so", {scratch, modules});
  std::filesystem::remove_all(scratch);
  BOOST_REQUIRE(!text.ok());
  BOOST_TEST((text.error().code() == errc::unavailable));
  BOOST_TEST(has(text.error().text(), scratch.string()));
}

BOOST_AUTO_TEST_CASE(configured_directories_come_first_and_the_installed_one_last) {
  const auto directories = module_directories("/a::/b:");
  BOOST_REQUIRE(directories.size() >= 5);
  BOOST_TEST(directories[0] == "/a");
  BOOST_TEST(directories[1] == "/b");
  const auto own = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  BOOST_TEST(directories[2] == (own / "tutti").string());
  BOOST_TEST(directories[3] == (own.parent_path() / "lib/tutti").string());
  BOOST_TEST(has(directories.back(), "/tutti"));
  BOOST_TEST(module_directories("").size() == directories.size() - 2);
}

BOOST_AUTO_TEST_CASE(a_name_gives_its_provider_and_device) {
  auto registry = sample();
  const auto plain = registry.find("linked");
  BOOST_REQUIRE(plain.ok());
  BOOST_TEST(plain->impl == &linked_in);
  BOOST_TEST(plain->device.empty());
  const auto device = registry.find("test:mlx5_0:1");
  BOOST_REQUIRE_MESSAGE(device.ok(), device.error().text());
  BOOST_TEST(device->impl->name == "test");
  BOOST_TEST(device->device == "mlx5_0:1");
}

BOOST_AUTO_TEST_CASE(an_unknown_name_is_invalid_and_names_the_known) {
  auto registry = sample();
  const auto typo = registry.find("linkd:x");
  BOOST_REQUIRE(!typo.ok());
  BOOST_TEST((typo.error().code() == errc::invalid));
  BOOST_TEST(has(typo.error().text(), "\"linkd\""));
  BOOST_TEST(has(typo.error().text(), "did you mean \"linked\"?"));
  BOOST_TEST(has(typo.error().text(), "known: linked, test, absent, orphan, renamed"));
  BOOST_TEST(!has(registry.find("zzzzzzzz").error().text(), "did you mean"));
  BOOST_TEST((registry.find("").error().code() == errc::invalid));
}

BOOST_AUTO_TEST_CASE(a_known_name_that_does_not_load_is_unavailable_and_says_why) {
  auto registry = sample();
  const auto absent = registry.find("absent");
  BOOST_REQUIRE(!absent.ok());
  BOOST_TEST((absent.error().code() == errc::unavailable));
  BOOST_TEST(has(absent.error().text(), "provider absent could not be loaded: no_such_module.so was not found in"));
  BOOST_TEST(has(registry.find("orphan").error().text(), "libtutti_test_vendor.so"));
  BOOST_TEST(has(registry.find("renamed").error().text(), "holds the provider \"test\""));
}

BOOST_AUTO_TEST_CASE(the_list_has_every_row_loaded_or_not_from_any_thread) {
  auto registry = sample();
  std::vector<std::thread> threads;
  std::array<std::size_t, 4> usable{};
  for (std::size_t& mine : usable)
    threads.emplace_back([&registry, &mine] {
      for (const provider_entry& entry : registry.all()) mine += entry.impl && entry.why_not.empty();
    });
  for (auto& thread : threads) thread.join();
  for (const std::size_t n : usable) BOOST_TEST(n == 2u);
  const auto all = registry.all();
  BOOST_REQUIRE(all.size() == std::size(rows));
  for (std::size_t i = 0; i < all.size(); ++i) {
    BOOST_TEST(all[i].name == rows[i].name);
    BOOST_TEST(all[i].why_not.empty() == (all[i].impl != nullptr));
  }
}

BOOST_AUTO_TEST_CASE(directories_are_asked_only_when_a_module_is_needed) {
  int asked = 0;
  provider_registry registry{rows, [&] { return ++asked, std::vector<std::string>{modules}; }};
  BOOST_TEST(registry.find("linked").ok());
  BOOST_TEST(asked == 0);
  BOOST_TEST(registry.find("test").ok());
  BOOST_TEST(registry.all().size() == std::size(rows));
  BOOST_TEST(asked == 1);
}

BOOST_AUTO_TEST_CASE(the_librarys_own_table_holds_its_promises) {
  for (const provider_entry& entry : providers()) {
    BOOST_TEST_CONTEXT(entry.name) {
      BOOST_TEST(entry.why_not.empty() == (entry.impl != nullptr));
      const auto found = find_provider(entry.name);
      BOOST_TEST(found.ok() == (entry.impl != nullptr));
      if (entry.impl) BOOST_TEST(entry.impl->name == entry.name);
    }
  }
  BOOST_TEST((find_provider("no-such-fabric").error().code() == errc::invalid));
}

BOOST_AUTO_TEST_CASE(nearness_is_by_edits) {
  BOOST_TEST(edit_distance("", "abc") == 3u);
  BOOST_TEST(edit_distance("kitten", "sitting") == 3u);
  const std::string_view names[] = {"shm", "sim", "ucx"};
  BOOST_TEST(nearest_name("ucs", names) == "ucx");
  BOOST_TEST(nearest_name("sshm", names) == "shm");
  BOOST_TEST(nearest_name("verbs", names).empty());
}
