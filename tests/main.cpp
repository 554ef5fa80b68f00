// main() of the tests that have none of their own.
#include <boost/test/unit_test.hpp>
#include <filesystem>

namespace {

bool init() {
  auto& all = boost::unit_test::framework::master_test_suite();
  all.p_name.value = std::filesystem::path(all.argv[0]).filename();
  return true;
}

}  // namespace

int main(int argc, char** argv) { return boost::unit_test::unit_test_main(init, argc, argv); }
