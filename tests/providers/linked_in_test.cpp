// Providers linked in, as with TUTTI_STATIC_PROVIDERS, instead of loaded: the library's registry has them without a module.
// This program is linked with the objects of the modules and a registry that expects them.
#include <boost/test/unit_test.hpp>
#include <string>

#include "providers/registry.h"

using namespace tutti;

BOOST_AUTO_TEST_CASE(what_is_linked_in_needs_no_module) {
  set_provider_path("/nonexistent/tutti");
  for (const provider_entry& entry : providers()) {
    BOOST_TEST_INFO(entry.name << ": " << entry.why_not);
    BOOST_REQUIRE(entry.impl);
    BOOST_TEST(entry.impl->name == entry.name);
    if (entry.impl->version) BOOST_TEST(std::string(entry.impl->version()) != "");
    std::string why_not;
    BOOST_TEST((!entry.impl->probe(why_not).empty() || !why_not.empty()));
  }
}
