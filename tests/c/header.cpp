// The header alone, as C++.
#include <tutti.h>

int header_in_cpp();
int header_in_cpp() {
  tutti_request_t request{};
  tutti_options_t options{};
  return tutti_test(&request, nullptr) != TUTTI_OK || request.slot != nullptr || options.settings != nullptr;
}
