// The reader of a tuning table: whatever a file holds, it is taken or refused, as `invalid`, in one line of bounded length; what is
// taken is written and read again as it was, and can be asked for any call.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "collectives/tuning/file.h"

using namespace tutti;

namespace {

void require(bool good) {
  if (!good) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = tuning::from_text({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!read) {
    const std::string_view text = read.error().text();
    require(read.error().code() == errc::invalid && !text.empty() && text.size() <= 4096);
    for (const char c : text) require(static_cast<unsigned char>(c) >= ' ' && c != '\x7f');
    return 0;
  }
  const std::string text = tuning::to_text(*read);
  const auto again = tuning::from_text(text, "again");
  require(again.ok() && tuning::to_text(*again) == text);
  for (const tuning::row& r : read->rows) {
    require(!r.timings.empty());
    (void)read->find({r.of, r.fabric, r.ranks, r.nodes, r.ranks_per_core, r.bytes});
  }
  return 0;
}
