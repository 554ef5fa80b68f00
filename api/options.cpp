#include "api/options.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "api/use.h"
#include "core/job/bootstrap_callbacks.h"
#include "core/job/bootstrap_find.h"

namespace tutti::api {
namespace {

status invalid(std::string text) { return {errc::invalid, worded("tutti_init: ", std::move(text))}; }

// A program may be older or newer than the library. Members that it does not know of are as if zero; members that the
// library does not know of must be zero, or something asked for would silently not be done.
status read_struct(const tutti_options_t& in, tutti_options_t& out) {
  constexpr std::size_t first_version = offsetof(tutti_options_t, notice);
  const std::size_t size = in.struct_size;
  if (size < first_version)
    return invalid("options.struct_size is " + std::to_string(size) + "; set it to sizeof(tutti_options_t), " +
                   std::to_string(sizeof(tutti_options_t)));
  const auto* bytes = reinterpret_cast<const unsigned char*>(&in);
  if (std::any_of(bytes + sizeof out, bytes + std::max(size, sizeof out), [](unsigned char b) { return b != 0; }))
    return invalid("the options use members that this version of the library (" + std::to_string(TUTTI_VERSION) +
                   ") does not know; install a newer one");
  std::memcpy(&out, &in, std::min(size, sizeof out));
  return {};
}

}  // namespace

result<std::unique_ptr<bootstrap>> bootstrap_of(const tutti_bootstrap_t& b) {
  bootstrap_callbacks calls;
  calls.context = b.context, calls.rank = b.rank, calls.size = b.size, calls.job_id = b.job_id;
  calls.allgather = b.allgather, calls.fence = b.fence;
  return make_callback_bootstrap(calls);
}

result<start> read_options(const tutti_options_t* given) {
  tutti_options_t o{};
  if (given)
    if (status s = read_struct(*given, o); s.failed()) return s;
  if (!o.settings && o.setting_count > 0)
    return invalid("options.settings is NULL but setting_count is " + std::to_string(o.setting_count));
  std::vector<config_option> settings;
  for (std::size_t i = 0; i < o.setting_count; ++i) {
    const tutti_setting_t& s = o.settings[i];
    if (!s.name || !s.value) return invalid("setting " + std::to_string(i) + " has a name or a value that is NULL");
    settings.push_back({s.name, s.value});
  }
  auto loaded = config::load(settings);
  if (!loaded) return loaded.error().during("tutti_init");

  start out{std::move(*loaded), nullptr, {}, {}, {}};
  if (o.notice) out.notice = [tell = o.notice, context = o.notice_context](const std::string& line) { tell(context, line.c_str()); };
  if (o.idle) out.idle = [advance = o.idle, context = o.idle_context] { advance(context); };
  result<std::unique_ptr<bootstrap>> boot = status(errc::invalid, "");
  boot = o.bootstrap ? bootstrap_of(*o.bootstrap) : find_bootstrap(out.settings);
  if (!boot) return boot.error().during("tutti_init");
  out.boot = std::move(*boot);
  if (!o.bootstrap && out.settings.launcher().pmix)
    out.unheard = [rank = out.boot->rank()](const std::string& line) { std::fprintf(stderr, "tutti: rank %u %s\n", rank, line.c_str()); };
  return out;
}

}  // namespace tutti::api

const char* tutti_setting_value(const char* name) {
  using namespace tutti;
  thread_local std::string value;
  if (!name) return (void)api::refuse_null(nullptr, "tutti_setting_value", "name"), nullptr;
  const char* found = nullptr;
  (void)api::guarded(nullptr, "tutti_setting_value", [&] {
    const auto row = std::ranges::find(knobs(), std::string_view{name}, &knob_row::name);
    if (row == knobs().end()) return api::refuse(nullptr, "tutti_setting_value: unknown setting %s; `tutti info --config` lists what there is", name);
    const auto loaded = config::load();
    if (!loaded) return api::report(nullptr, loaded.error().during("tutti_setting_value"));
    value = loaded->text(row->id);
    found = value.c_str();
    return TUTTI_OK;
  });
  return found;
}
