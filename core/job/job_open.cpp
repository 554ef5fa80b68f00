// Joining a job. Two exchanges: who lives where, which decides whether a network is needed at all, and then every
// rank's address together with the key of its part of the world team. Nothing more is ever asked of the launcher, and
// no connection is opened.
//
// The first exchange also brings the job's key, 128 random bits by which providers tell the job's own messages from anybody
// else's (docs/security.md). Rank 0's is the one: every rank draws one, so that all say the same amount.
#include <sched.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "core/job/attachment_cache.h"
#include "core/job/bootstrap_find.h"
#include "core/job/registration_cache.h"
#include "core/job/slot_pool.h"
#include "core/base/another_version.h"
#include "core/base/dispositions.h"
#include "core/base/hash.h"
#include "core/base/host.h"
#include "core/base/listing.h"
#include "core/base/random.h"
#include "core/job/team.h"
#include "core/job/wait_board.h"

namespace tutti {
namespace {

constexpr std::uint32_t wire_version = 5;

struct offer_head {
  std::uint32_t version = wire_version;
  std::uint32_t address_bytes = 0;
  std::uint64_t terms = 0;       // hash of job_options::agreement
  std::uint64_t tuning = 0;      // job_options::tuning
  char host[64] = {};            // its name, for people; the last byte is 0
  std::uint64_t cores[16] = {};  // bit mask of the cores this rank may use
  process_name process;
  fabric_facts facts;
};

time_point deadline_in(std::chrono::nanoseconds t) { return std::chrono::steady_clock::now() + t; }

// Ranks that are bound may use one core each and yet share none: so a node's cores are counted over all its ranks.
void mark_cores(std::uint64_t (&mask)[16]) noexcept {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return;
  for (int c = 0; c < CPU_SETSIZE && c < 1024; ++c)
    if (CPU_ISSET(c, &set)) mask[c / 64] |= std::uint64_t{1} << (c % 64);
}

// Names the hosts whose ranks have measured something else than rank 0; failed if there are any.
class alike_tuning {
 public:
  void look_at(rank_t r, const offer_head& head) {
    const std::string host(head.host, strnlen(head.host, sizeof head.host));
    if (r == 0) first_ = head.tuning, first_host_ = host;
    if (head.tuning == first_) return;
    if (other_ == no_rank) other_ = r, nothing_there_ = head.tuning == 0;
    if (hosts_.insert(host).second && hosts_.size() <= 8) add_to_list(names_, host.empty() ? "(nameless)" : host);
  }
  status outcome() const {
    if (other_ == no_rank) return {};
    const std::string more = hosts_.size() > 8 ? " and " + std::to_string(hosts_.size() - 8) + " more" : "";
    return {errc::invalid, worded("ranks choose by unlike tuning tables: that of ", names_, more, " (rank ", other_,
                                  (nothing_there_ ? " has none" : ""), ") is not that of ", first_host_, " (rank 0",
                                  (first_ == 0 ? " has none" : ""), "); put the same file on all hosts, name one that all reach by "
                               "TUTTI_TUNING, or set TUTTI_TUNE=off"), other_};
  }

 private:
  std::uint64_t first_ = 0;
  std::string first_host_, names_;
  std::set<std::string> hosts_;
  rank_t other_ = no_rank;
  bool nothing_there_ = false;
};

// "barrier=rds for barrier=auto": what is another in `theirs` than in `first`, each a list of name=value with blanks between.
std::string differences(std::string_view theirs, std::string_view first) {
  const auto words_of = [](std::string_view text) {
    std::map<std::string, std::string> out;
    while (!text.empty()) {
      const std::string_view word = text.substr(0, text.find(' '));
      text.remove_prefix(std::min(text.size(), word.size() + 1));
      if (const auto equals = word.find('='); equals != word.npos) out.emplace(word.substr(0, equals), word.substr(equals + 1));
    }
    return out;
  };
  auto here = words_of(theirs), there = words_of(first);
  std::string out;
  for (const auto& [name, value] : here)
    if (const auto other = there.find(name); other == there.end() || other->second != value)
      add_to_list(out, name + "=" + value + " for " + (other == there.end() ? "none" : name + "=" + other->second));
  for (const auto& [name, value] : there)
    if (!here.contains(name)) add_to_list(out, "no " + name + " for " + name + "=" + value);
  return out;
}

status other_settings(rank_t r, const std::string& which) {
  return {errc::protocol, worded("rank ", r, " has other settings than rank 0", (which.empty() ? "" : ": "), which,
                                 "; give all ranks the same TUTTI_ variables"), r};
}

// All ranks have found the same unlike pair, and so all take part. What `r` has and rank 0 has not.
status unlike_settings(bootstrap& boot, rank_t r, const std::string& mine, time_point deadline) {
  constexpr std::size_t longest = 4096;
  const std::string_view shown = std::string_view(mine).substr(0, longest);
  const auto all = boot.allgather(std::as_bytes(std::span{shown.data(), shown.size()}), deadline);
  const auto of = [&](rank_t who) {
    std::string text(reinterpret_cast<const char*>((**all)[who].data()), std::min((**all)[who].size(), longest));
    for (char& c : text) c = c >= ' ' && c <= '~' ? c : '?';
    return text;
  };
  return other_settings(r, all ? differences(of(r), of(0)) : "");
}

struct introduction {  // the first exchange
  host_id host{};      // unknown: this rank cannot join, and has an error of its own that says why
  std::uint64_t machine = 0;
  siphash_key key{};
};

struct met {
  std::shared_ptr<const layout> where;
  siphash_key key{};
};

status could_not_join(rank_t r) {
  return {errc::peer_dead, worded("rank ", r, " could not join the job; its own error says why"), r};
}

result<met> meet(bootstrap& boot, time_point deadline) {
  introduction mine{.host = boot.host(), .machine = this_machine()};
  status trouble;
  if (!known(mine.host))
    trouble = unknown_host();
  else if (!draw(mine.key))
    trouble = {errc::no_resource, "the kernel gives no random key for the job", no_rank, errno}, mine.host = {};
  auto all = boot.allgather(std::as_bytes(std::span{&mine, 1}), deadline);
  if (trouble.failed()) return trouble;
  if (!all) return all.error().during("joining the job");
  met m;
  blob_table hosts;
  std::map<std::uint64_t, host_id> host_of;  // the first one of each machine
  bool parted = false;
  for (rank_t r = 0; r < (*all)->size(); ++r) {
    introduction of;
    if ((**all)[r].size() != sizeof of)
      return another_version(r);
    std::memcpy(&of, (**all)[r].data(), sizeof of);
    if (!known(of.host)) return could_not_join(r);
    if (r == 0) m.key = of.key;
    hosts.push_back(of.host);
    parted |= host_of.try_emplace(of.machine, of.host).first->second != of.host;
  }
  layout where = make_layout(hosts);
  where.machine_is_parted = parted;
  m.where = std::make_shared<layout>(std::move(where));
  return m;
}

}  // namespace

result<std::unique_ptr<job>> job::open(const config& settings, job_options options) {
  auto boot = find_bootstrap(settings);
  if (!boot) return boot.error();
  options.launchers_file = settings.launcher().ended;
  return open(std::move(*boot), settings, std::move(options));
}

result<std::unique_ptr<job>> job::open(std::unique_ptr<bootstrap> boot, const config& settings, job_options options) {
  const time_point deadline = deadline_in(options.setup_timeout);
  auto others = meet(*boot, deadline);
  if (!others) return others.error();
  std::string fabric;
  const kept_dispositions kept;  // to the end of this: some are changed when memory is first registered, or peers are met
  auto net = open_transport(settings, *boot, *others->where, others->key, options.notice, deadline, fabric);
  if (options.trouble.failed()) net = options.trouble;
  auto made = join(std::move(boot), std::move(net), std::move(options), std::move(others->where), deadline);
  if (!made) return made;
  (*made)->fabric_ = std::move(fabric);
  (*made)->board_->show_to_launcher((*made)->options_.launchers_file);
  return made;
}

result<std::unique_ptr<job>> job::open(std::unique_ptr<bootstrap> boot, std::unique_ptr<transport> net,
                                       job_options options) {
  const time_point deadline = deadline_in(options.setup_timeout);
  auto others = meet(*boot, deadline);
  if (!others) return others.error();
  return join(std::move(boot), std::move(net), std::move(options), std::move(others->where), deadline);
}

result<std::unique_ptr<job>> job::join(std::unique_ptr<bootstrap> boot, result<std::unique_ptr<transport>> net,
                                       job_options options, std::shared_ptr<const layout> where,
                                       time_point deadline) {
  // A rank that has no transport or no memory says so with an empty blob: the others would wait for it otherwise.
  std::vector<std::byte> blob;
  std::unique_ptr<job> made;
  status trouble = net.error();
  if (net) {
    auto offered = offer(*boot, **net, std::move(options), blob);
    if (offered) made = std::move(*offered);
    else trouble = offered.error(), blob.clear();
  }
  auto blobs = boot->allgather(blob, deadline);
  if (trouble.failed()) return trouble;
  if (!blobs) return blobs.error().during("joining the job");
  made->owned_net_ = std::move(*net);
  made->owned_boot_ = std::move(boot);
  auto admitted = digest(**blobs, std::move(where));
  if (!admitted) return admitted.error();
  if (const rank_t r = admitted->unlike; r != no_rank) return unlike_settings(*made->owned_boot_, r, made->options_.agreement, deadline);
  if (status s = made->accept(*admitted); s.failed()) return s;
  return made;
}

result<std::unique_ptr<job>> job::offer(bootstrap& boot, transport& net, job_options options,
                                        std::vector<std::byte>& blob) {
  std::unique_ptr<job> j(new job);
  j->net_ = &net;
  j->rank_ = boot.rank();
  j->size_ = boot.size();
  j->options_ = std::move(options);
  j->world_.reset(new team(*j, rank_map::strided(0, j->size_), j->rank_));
  auto lines = j->options_.world_lines ? j->options_.world_lines(j->size_) : 0;
  auto key = j->world_->allocate(lines, wait_board::lines);
  if (!key) return key.error();
  auto address = net.address();
  if (!address) return address.error();
  offer_head head;
  head.address_bytes = static_cast<std::uint32_t>(address->size());
  head.terms = hash::text(j->options_.agreement);
  if (!net.caps().virtual_clock) mark_cores(head.cores), head.process = process_name::own();  // a virtual rank has a core for itself
  head.facts = facts_of(net);
  head.tuning = j->options_.tuning;
  (void)gethostname(head.host, sizeof head.host - 1);
  blob.resize(sizeof head);
  std::memcpy(blob.data(), &head, sizeof head);
  blob.insert(blob.end(), address->begin(), address->end());
  blob.insert(blob.end(), key->begin(), key->end());
  return j;
}

result<job::admission> job::digest(const blob_table& blobs, std::shared_ptr<const layout> where) {
  auto addresses = std::make_shared<blob_table>(), keys = std::make_shared<blob_table>();
  auto counted = std::make_shared<layout>(*where);
  std::vector<std::array<std::uint64_t, 16>> masks(where->nodes());
  std::uint64_t terms = 0;
  fabric_facts facts;
  alike_tuning tuning;
  rank_t unlike = no_rank;
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    const auto r = static_cast<rank_t>(i);
    const auto blob = blobs[i];
    offer_head head;
    if (blob.size() < sizeof head)
      return could_not_join(r);
    std::memcpy(&head, blob.data(), sizeof head);
    if (head.version != wire_version || sizeof head + head.address_bytes > blob.size())
      return another_version(r);
    if (!plausible(head.facts))
      return status(errc::protocol, worded("rank ", r, " tells of its fabric what cannot be; install one version of tutti on all hosts"), r);
    if (i == 0) terms = head.terms, facts = head.facts;
    agree(facts, head.facts);
    if (head.terms != terms && unlike == no_rank) unlike = r;
    tuning.look_at(r, head);
    for (std::size_t k = 0; k < 16; ++k) masks[where->node_of[r]][k] |= head.cores[k];
    counted->process.push_back(head.process);
    addresses->push_back(blob.subspan(sizeof head, head.address_bytes));
    keys->push_back(blob.subspan(sizeof head + head.address_bytes));
  }
  if (unlike == no_rank)
    if (status s = tuning.outcome(); s.failed()) return s;
  counted->cores.resize(where->nodes());
  for (std::size_t n = 0; n < masks.size(); ++n)
    for (std::uint64_t m : masks[n]) counted->cores[n] += static_cast<std::uint32_t>(std::popcount(m));
  return admission{std::move(counted), std::move(addresses), std::move(keys), facts, unlike};
}

status job::accept(const admission& in) {
  if (in.unlike != no_rank) return other_settings(in.unlike, "");
  where_ = in.where;
  facts_ = in.facts;
  waiting_ = waiting(options_.wait, ranks_per_core(), net_->caps());
  if (ranks_per_core() > 1) waiting_.share_cores_with(where_->share_of(where_->node_of[rank_]));
  if (in.addresses)
    if (status s = net_->connect(in.addresses, setup_deadline()); s.failed())
      return s.during("connecting to the job");
  if (status s = world_->attach(in.keys); s.failed()) return s;
  board_ = std::make_unique<wait_board>(*this);
  return {};
}

}  // namespace tutti
