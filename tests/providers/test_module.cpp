// A provider's module with nothing inside: the registry's tests load it, nobody opens it.
#include <cstdlib>

#include "core/transport/provider.h"

#ifndef TEST_MODULE_ABI
#define TEST_MODULE_ABI tutti::provider_abi
#endif
#ifdef TEST_MODULE_CALLS_VENDOR
extern "C" int tutti_test_vendor_call();
#else
static int tutti_test_vendor_call() { return 0; }
#endif

namespace {

// What a vendor's library reads as it is loaded.
const std::string setting = std::getenv("TUTTI_TEST_MODULE_SETTING") ? std::getenv("TUTTI_TEST_MODULE_SETTING") : "none";

std::vector<std::string> probe(std::string& why) {
  why = setting;
  return {std::to_string(tutti_test_vendor_call())};
}

constexpr tutti::provider here{"test", "for the registry's tests", probe, nullptr};

}  // namespace

extern "C" __attribute__((visibility("default"))) const tutti::provider* tutti_provider_module(int abi) {
  return abi == TEST_MODULE_ABI ? &here : nullptr;
}
