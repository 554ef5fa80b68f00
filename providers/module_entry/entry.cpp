// What a provider's module exports: compiled into each, never into the library, where providers that are linked in would
// export it twice. TUTTI_MODULE_PROVIDER is the provider's object, as cmake/provider.cmake says.
#include "core/transport/provider.h"

namespace tutti {
extern const provider TUTTI_MODULE_PROVIDER;
}

extern "C" __attribute__((visibility("default"))) const tutti::provider* tutti_provider_module(int abi) {
  return abi == tutti::provider_abi ? &tutti::TUTTI_MODULE_PROVIDER : nullptr;
}
