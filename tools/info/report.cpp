#include "tools/info/report.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/base/dev_shm.h"
#include "core/job/job.h"
#include "core/job/registration_cache.h"
#include "core/transport/offload.h"
#include "core/transport/provider.h"

namespace tutti::tools {
namespace {

// A device that TUTTI_PROVIDER names is shown though no probe offers it: some are taken only when named.
void add_named(std::string_view provider, std::vector<std::string>& devices) {
  const auto settings = config::load();
  if (!settings) return;
  const std::string_view spec = settings->text(knob::provider);
  if (!spec.starts_with(provider) || spec.size() <= provider.size() + 1 || spec[provider.size()] != ':') return;
  const std::string device{spec.substr(provider.size() + 1)};
  if (std::find(devices.begin(), devices.end(), device) == devices.end()) devices.push_back(device);
}

device_report look_at(const provider& p, std::string_view name, const std::string& device) {
  device_report r;
  r.spec = device.empty() ? std::string(name) : std::string(name) + ":" + device;
  auto opened = p.open({device, "tutti-info", 0, 1});
  if (!opened) {
    r.why_not = opened.error().text();
    return r;
  }
  r.caps = (*opened)->caps();
  const auto settings = config::load();
  r.registrations = describe_registrations(r.caps, settings ? registrations_from(*settings) : registrations_kept::automatic);
  r.multicast = (*opened)->mcast(), r.offload = (*opened)->offloader(), r.two_sided = (*opened)->sendrecv();
  return r;
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

}  // namespace

std::vector<provider_report> look_at_providers() {
  std::vector<provider_report> all;
  for (const provider_entry& e : providers()) {
    provider_report r{std::string(e.name), {}, {}, e.why_not, {}};
    if (e.impl) {
      r.summary = e.impl->summary, r.version = e.impl->version ? e.impl->version() : "";
      auto devices = e.impl->probe(r.why_not);
      add_named(e.name, devices);
      for (const auto& device : devices) r.devices.push_back(look_at(*e.impl, e.name, device));
    }
    all.push_back(std::move(r));
  }
  return all;
}

std::string to_text(const std::vector<provider_report>& all) {
  std::string text;
  for (const provider_report& p : all) {
    text += padded(p.name, 6) + ' ';
    if (p.summary.empty()) {
      text += "not loaded: " + p.why_not + '\n';
      continue;
    }
    text += p.summary + (p.version.empty() ? "" : ", version " + p.version) + '\n';
    if (!p.why_not.empty())
      text += std::string("       ") + (p.devices.empty() ? "cannot run here" : "not taken") + ": " + p.why_not + '\n';
    for (const device_report& d : p.devices) {
      text += "       " + padded(d.spec, 10) + ' ';
      if (!d.why_not.empty()) {
        text += "cannot be opened: " + d.why_not + '\n';
        continue;
      }
      const capabilities& c = d.caps;
      text += c.native_signal ? "native signals" : "signals by the target's progress";
      text += c.native_atomics ? ", native atomics" : ", atomics by the target's progress";
      text += d.multicast ? ", multicast" : "";
      text += d.offload ? ", offload" : "";
      text += d.two_sided ? ", two-sided messages" : "";
      text += c.target_must_progress ? ", target must progress" : ", truly one-sided";
      text += c.can_sleep ? ", sleeps" : ", naps";
      text += "; registrations " + d.registrations + '\n';
    }
  }
  return text;
}

nlohmann::ordered_json to_json(const std::vector<provider_report>& all) {
  auto list = nlohmann::ordered_json::array();
  for (const provider_report& p : all) {
    nlohmann::ordered_json one{{"name", p.name}, {"loaded", !p.summary.empty()}};
    if (!p.summary.empty()) one["summary"] = p.summary;
    if (!p.version.empty()) one["version"] = p.version;
    if (!p.why_not.empty()) one["why_not"] = p.why_not;
    one["devices"] = nlohmann::ordered_json::array();
    for (const device_report& d : p.devices) {
      nlohmann::ordered_json device{{"provider", d.spec}, {"opens", d.why_not.empty()}};
      const capabilities& c = d.caps;
      if (d.why_not.empty())
        device["capabilities"] = {{"native_signals", c.native_signal},
                                  {"native_atomics", c.native_atomics},
                                  {"native_over", c.native_when_added},
                                  {"maps_node", c.maps_node},
                                  {"kernel_copies", c.kernel_copies},
                                  {"follows_mapping", c.follows_mapping},
                                  {"registrations", d.registrations},
                                  {"cpu_atomics_agree", c.cpu_atomics_agree},
                                  {"multicast", d.multicast},
                                  {"offload", d.offload},
                                  {"two_sided", d.two_sided},
                                  {"target_must_progress", c.target_must_progress},
                                  {"sleeps", c.can_sleep},
                                  {"max_bytes", c.max_bytes},
                                  {"max_inline", c.max_inline},
                                  {"message_bytes", c.message_bytes}};
      else
        device["why_not"] = d.why_not;
      one["devices"].push_back(std::move(device));
    }
    list.push_back(std::move(one));
  }
  return list;
}

std::string to_text(const config& settings) {
  std::string text;
  for (const knob_row& k : knobs()) {
    const std::string value{settings.text(k.id)};
    text += padded(std::string(k.name), 16) + ' ' + padded(value.empty() ? "-" : value, 12) + ' ' +
            padded(std::string(knob_source_name(settings.source(k.id))), 12) + ' ' + std::string(k.meaning) + '\n';
  }
  return text;
}

nlohmann::ordered_json to_json(const config& settings) {
  auto list = nlohmann::ordered_json::array();
  for (const knob_row& k : knobs())
    list.push_back({{"name", k.name},
                    {"value", settings.text(k.id)},
                    {"source", knob_source_name(settings.source(k.id))},
                    {"meaning", k.meaning}});
  return list;
}

std::vector<finding> examine() {
  std::vector<finding> found;
  const auto say = [&](bool well, std::string what, std::string remedy) {
    found.push_back({well, std::move(what), well ? "" : std::move(remedy)});
  };
  const std::uint64_t room = room_in_dev_shm(), enough = 64 << 20;
  say(room >= enough, "/dev/shm has " + in_binary_units(room) + " free",
      dev_shm_too_small("shared memory by UCX or libfabric, with its windows,", enough, room).text());
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  const bool much = limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= 64u << 20;
  say(true, "memlock is " + (limit.rlim_cur == RLIM_INFINITY ? std::string("unlimited") : std::to_string(limit.rlim_cur >> 10) + " KiB") +
                (much ? "" : " (enough for tcp and shared memory; RDMA adapters want `ulimit -l unlimited`)"), "");
  getrlimit(RLIMIT_NOFILE, &limit);
  say(limit.rlim_cur >= 1024, std::to_string(limit.rlim_cur) + " open files allowed", "raise it with `ulimit -n 4096`");
  auto settings = config::load();
  say(settings.ok(), "the configuration", settings.error().text());
  if (settings) {
    const auto& l = settings->launcher();
    say(l.other.empty(), l.pmix ? "started by a PMIx launcher" : "no launcher: a job of one", l.other + "; " + l.remedy);
  }
  // No machine has all fabrics. One that is missing keeps nobody from starting, unless it was asked for by name.
  const std::string wanted = settings ? std::string(settings->text(knob::provider)) : "auto";
  for (const provider_entry& e : providers()) {
    std::string why = e.why_not;
    bool usable = e.impl && !e.impl->probe(why).empty();
    const bool named = e.name == wanted.substr(0, wanted.find(':'));
    const bool needed = e.name == "shm" || named;
    // Some other device of it may be usable, which helps nobody who named one.
    if (named && e.impl && wanted.size() > e.name.size() + 1) {
      const device_report device = look_at(*e.impl, e.name, wanted.substr(e.name.size() + 1));
      usable = device.why_not.empty(), why = device.why_not;
    }
    say(usable || !needed, "provider " + (named ? wanted : std::string(e.name)) + (usable || needed ? "" : " is not needed (" + why + ")"), why);
  }
  return found;
}

std::string to_text(const std::vector<finding>& found) {
  std::string text;
  for (const finding& f : found) text += (f.well ? "ok   " : "BAD  ") + f.what + (f.well ? "" : ": " + f.remedy) + '\n';
  return text;
}

nlohmann::ordered_json to_json(const std::vector<finding>& found) {
  auto list = nlohmann::ordered_json::array();
  for (const finding& f : found) {
    nlohmann::ordered_json one{{"well", f.well}, {"what", f.what}};
    if (!f.well) one["remedy"] = f.remedy;
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace tutti::tools
