#include "core/job/agreement.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "core/base/blob_stream.h"
#include "core/base/hash.h"
#include "core/transport/ops.h"
#include "core/transport/wait_out.h"

namespace tutti {
namespace {

// Words of a page, of which the first is the hash of the others. A note is what is read after an agreement.
enum page_word : std::size_t { sum, number, stage_at, flags, first_dead };  // stage_at: the stage, and the leader from bit 8 on
enum note_word : std::size_t { note_bytes = 2, note_extent, note_blob };  // extent: of the table that a leader's blob is the key to

// Lines behind those of the engines.
constexpr std::uint32_t bell_line = 0, note_line = 1, note_lines = 4, page_line = note_line + note_lines;
constexpr std::size_t note_words = note_lines * control::line_bytes / 8;
static_assert(agreement::longest_blob == (note_words - note_blob) * 8);

constexpr std::size_t sets(std::uint32_t members) noexcept { return (members + 63) / 64; }

std::uint64_t hash_of(std::span<const std::uint64_t> page) noexcept {
  return std::accumulate(page.begin() + number, page.end(), hash::start, [](auto h, auto w) { return hash::add(h, w); });
}

// Whether what a get was refused for lasts. A connection that broke may be made again, and memory for it may be had later.
bool for_good(const status& how, const status& health) noexcept {
  return how.code() == errc::unavailable || how.code() == errc::unsupported || (how.code() != errc::fabric && health.failed());
}

constexpr auto nothing = [] { return status{}; };
status too_long() { return {errc::unsupported, "keys of this fabric are too long for an exchange among survivors"}; }

}  // namespace

std::uint32_t agreement::lines(std::uint32_t members) noexcept {
  const std::size_t bytes = (first_dead + sets(members)) * 8;
  return page_line + static_cast<std::uint32_t>((bytes + control::line_bytes - 1) / control::line_bytes);
}

agreement::agreement(team& t)
    : team_(t),
      lines_(control_lines::of(t, control::engine + t.lines())),
      gone_(sets(t.size())),
      mine_(first_dead + gone_.size()) {}

agreement::~agreement() {
  for (std::size_t i = 0; i < room_; ++i) wait_out(net(), {&readings_[i].done});
  wait_out(net(), {&rings_});
}

std::vector<std::uint32_t> agreement::others() const {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < team_.size(); ++i)
    if (i != me() && lives(i)) all.push_back(i);
  return all;
}

bool agreement::in_value(std::uint32_t i) const noexcept { return mine_[first_dead + i / 64] >> i % 64 & 1; }

std::vector<std::uint32_t> agreement::dead() const {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < team_.size(); ++i)
    if (in_value(i)) all.push_back(i);
  return all;
}

std::uint32_t agreement::leader() const noexcept {
  std::uint32_t i = 0;
  while (i < me() && !lives(i)) ++i;
  return i;
}

void agreement::publish(std::uint32_t line, std::span<const std::uint64_t> page) noexcept {
  auto* to = reinterpret_cast<std::uint64_t*>(lines_.base + lines_.at(line));
  for (std::size_t i = page.size(); i-- > number;) std::atomic_ref(to[i]).store(page[i], std::memory_order_relaxed);
  std::atomic_ref(to[sum]).store(hash_of(page), std::memory_order_release);
}

void agreement::show(stage s, std::uint32_t leader) noexcept {
  mine_[stage_at] = static_cast<std::uint64_t>(s) | std::uint64_t{leader} << 8;
  publish(page_line, mine_);
}

void agreement::enter(std::uint64_t own_flags) {
  if (const status& told = team_.health(); told.code() == errc::peer_dead)
    if (const std::uint32_t i = team_.members().index_of(told.peer()); i < team_.size() && i != me()) mark_dead(i);
  ++mine_[number];
  mine_[flags] = own_flags;
  std::ranges::copy(gone_, mine_.begin() + first_dead);
  adopted_ = led_ = settled_ = false;
  began_ = net().now(), next_notice_ = team_.parent_job().late_from(began_);
  show(stage::entered, me());
}

status agreement::taken_for_dead() const {
  const rank_t rank = team_.rank_of(me());
  return {errc::peer_dead, worded("the other members took this rank, ", rank, ", for dead"), rank};
}

// Nobody waits for this rank any more.
void agreement::withdraw() noexcept {
  if (settled_) ++mine_[number];  // it has not even entered
  show(stage::withdrawn, me());
  if (error_.ok()) error_ = {errc::no_resource, "out of memory"};
}

agreement::stage agreement::stage_of(const std::uint64_t* page) noexcept { return static_cast<stage>(page[stage_at] & 0xff); }
bool agreement::is_mine(const std::uint64_t* page) const noexcept { return page[number] == mine_[number]; }

void agreement::join(const std::uint64_t* page) noexcept {
  mine_[flags] &= page[flags];
  for (std::size_t i = 0; i < gone_.size(); ++i) mine_[first_dead + i] |= page[first_dead + i];
}

// The page's value becomes mine.
void agreement::take(const std::uint64_t* page) noexcept {
  std::copy_n(page + flags, mine_.size() - flags, mine_.begin() + flags);
  adopted_ = true;
}

// What any page may tell, whatever is awaited. Null: the member has dropped its page.
void agreement::look_at(std::uint32_t member, const std::uint64_t* page) {
  const rank_t rank = team_.rank_of(member);
  if (page && stage_of(page) == stage::withdrawn) {
    mark_dead(member);
  } else if (!page || (!is_mine(page) && reached(page[number], mine_[number]))) {
    if (adopted_) settled_ = true;
    else if (page) error_ = taken_for_dead();
    else error_ = {errc::protocol, worded("rank ", rank, " has left the team without agreeing with this rank"), rank};
  } else if (is_mine(page) && stage_of(page) == stage::decided) {
    take(page), settled_ = true;
  }
}

void agreement::ring(const std::vector<std::uint32_t>& members) { due_.insert(due_.end(), members.begin(), members.end()); }

bool agreement::rung() noexcept {
  while (!due_.empty()) {
    rma_op op = signal_op({team_.rank_of(due_.back()), lines_.segment, lines_.at(bell_line)}, 1, signal_how::add);
    op.done = &rings_;
    if (net().submit({&op, 1}) == 0) return false;
    due_.pop_back();
  }
  return true;
}

std::uint64_t agreement::bell() const noexcept { return lines_.word(bell_line).load(std::memory_order_acquire); }

bool agreement::ask(std::uint32_t member, reading& r, std::uint32_t line, std::size_t count) noexcept {
  const auto to = reinterpret_cast<std::uintptr_t>(r.page.data());
  const rma_op op = move_op(op_kind::get, unregistered_memory, to, team_.rank_of(member), lines_.segment, lines_.at(line),
                            static_cast<std::uint32_t>(count * 8), &r.done);
  return net().submit({&op, 1}) == 1;
}

void agreement::tell_who_is_late(std::uint32_t member) noexcept {
  const time_point now = net().now();
  if (now < next_notice_) return;
  next_notice_ = now + (now - began_);
  try {
    team_.parent_job().tell_late(began_, "in an agreement of a team of " + std::to_string(team_.size()) + ", for rank " +
                                 std::to_string(team_.rank_of(member)));
  } catch (const std::bad_alloc&) {  // then nobody is told
  }
}

// Members that wait elsewhere, for this one perhaps, are told at once: those that lead are among them.
void agreement::learn_of_death(std::uint32_t member, const status& how) noexcept {
  mark_dead(member);
  any_died_ = true;
  team_.fail(how);
}

bool agreement::look_whether_dead(std::uint32_t member) noexcept {
  const status how = net().health(team_.rank_of(member));
  if (how.code() == errc::peer_dead) learn_of_death(member, how);
  return !lives(member);
}

// Reads these words of the missing members until take() has had what it wants from each, they are dead, or the agreement is over.
// take() is given null for a page that was dropped.
//
// Each of the missing rings when it has written what is awaited, and its bell comes after that. `heard` is taken before the
// pages are read; so if a page did not tell yet, the bell for that is not counted in `heard`, and it suffices to read again
// when as many have rung as are missing. Other bells only make that sooner.
template <class Take>
resumable<bool> agreement::read(std::uint32_t line, std::size_t count, std::vector<std::uint32_t> missing, Take& take) {
  if (room_ < missing.size()) readings_ = std::make_unique<reading[]>(missing.size()), room_ = missing.size();
  for (std::size_t i = 0; i < missing.size(); ++i) readings_[i].page.resize(std::max(note_words, mine_.size()));
  for (;;) {
    std::erase_if(missing, [&](std::uint32_t i) { return !lives(i); });
    if (missing.empty() || over()) co_return true;
    const wait_note note{"agreement", team_.rank_of(missing.front()), mine_[number] - 1, mine_[number]};
    const std::uint64_t heard = bell();
    std::size_t asked = 0;
    const auto all_read = [&] {
      for (rung(); asked < missing.size(); ++asked) {
        readings_[asked].done.clear();
        if (!ask(missing[asked], readings_[asked], line, count)) return false;
      }
      return std::all_of(readings_.get(), readings_.get() + asked, [](const reading& r) { return r.done.idle(); });
    };
    const auto late = [&] { return tell_who_is_late(missing.front()), status{}; };
    co_await pending_wait(all_read, late, note, time_point::max());
    std::size_t kept = 0;
    for (std::size_t i = 0; i < asked && !over(); ++i) {
      const std::uint32_t member = missing[i];
      const status how = readings_[i].done.outcome();
      const std::uint64_t* const page = how.ok() ? readings_[i].page.data() : nullptr;
      const bool was_read = page ? page[sum] == hash_of({page, count}) : how.code() == errc::invalid;
      if (how.code() == errc::peer_dead) learn_of_death(member, how);
      else if (!page && !was_read && for_good(how, net().health(team_.rank_of(member)))) error_ = how;
      if (!(was_read && take(member, page)) && lives(member)) missing[kept++] = member;
    }
    missing.resize(kept);
    if (missing.empty() || over()) co_return true;
    const auto news = [&] { return rung(), reached(bell(), heard + missing.size()); };
    const auto again = [] { return status{errc::timed_out, "time to read again"}; };
    if (const status s = co_await pending_wait(news, again, note, time_point::max()); s.ok()) continue;
    tell_who_is_late(missing.front());
    for (const std::uint32_t i : missing) look_whether_dead(i);
    if (lives(missing.front())) (void)team_.look(team_.rank_of(missing.front()));
  }
}

resumable<bool> agreement::follow(std::uint32_t leader) {
  bool from_this_one = false;
  const auto proposal = [&](std::uint32_t i, const std::uint64_t* page) {
    look_at(i, page);
    if (over() || from_this_one || !is_mine(page) || stage_of(page) != stage::proposes) return false;
    take(page);
    from_this_one = true;
    show(stage::adopted, leader);
    ring({i});
    return false;  // but wait for the decision
  };
  ring(std::vector(1, leader));
  co_return co_await read(page_line, mine_.size(), std::vector(1, leader), proposal);
}

resumable<bool> agreement::lead() {
  led_ = true;
  const auto entry = [&](std::uint32_t i, const std::uint64_t* page) {
    look_at(i, page);
    if (over() || !is_mine(page)) return false;
    if (lives(i)) join(page);
    return true;
  };
  if (!adopted_) {
    co_await read(page_line, mine_.size(), others(), entry);
    if (over()) co_return true;
    for (std::size_t i = 0; i < gone_.size(); ++i) gone_[i] = mine_[first_dead + i] |= gone_[i];
    adopted_ = true;
  }
  const auto acknowledgement = [&](std::uint32_t i, const std::uint64_t* page) {
    look_at(i, page);
    return !over() && is_mine(page) && page[stage_at] == (static_cast<std::uint64_t>(stage::adopted) | std::uint64_t{me()} << 8);
  };
  if (lives(me())) {
    show(stage::proposes, me());
    ring(others());
    co_await read(page_line, mine_.size(), others(), acknowledgement);
  }
  settled_ = error_.ok();
  co_return true;
}

result<consensus> agreement::agree(std::uint64_t own_flags) {
  try {
    return wait_for(team_.parent_job(), agreeing(own_flags));
  } catch (...) {
    withdraw();
    throw;
  }
}

resumable<result<consensus>> agreement::agreeing(std::uint64_t own_flags) {
  if (error_.failed()) co_return error_;
  enter(own_flags);
  while (!over()) {
    std::uint32_t first = leader();
    for (; first != me() && any_died_ && look_whether_dead(first); first = leader()) {}  // several deaths at once cost one look
    if (first == me()) co_await lead();
    else co_await follow(first);
  }
  table_ = {};
  for (std::size_t i = 0; i < gone_.size(); ++i) gone_[i] |= mine_[first_dead + i];
  if (error_.ok() && !lives(me())) error_ = taken_for_dead();
  if (error_.failed()) {
    settled_ = false;
    withdraw();
    co_return error_;
  }
  show(stage::decided, me());
  if (led_) ring(others());
  const auto all_rung = [&] { return rung(); };
  co_await pending_wait(all_rung, nothing, wait_note{"agreement", no_rank, 0, 0}, time_point::max());
  consensus out{mine_[flags], dead()};
  if (!out.dead.empty() && team_.health().ok()) {
    const rank_t rank = team_.rank_of(out.dead.front());
    status how = net().health(rank);
    if (how.ok()) how = {errc::peer_dead, worded("rank ", rank, " is gone, as another rank reports"), rank};
    team_.fail(how);
  }
  co_return out;
}

result<shared_blobs> agreement::exchange(std::span<const std::byte> mine) {
  try {
    return wait_for(team_.parent_job(), exchanging({mine.begin(), mine.end()}));
  } catch (...) {
    write_note({}, 0);  // whoever waits for this rank is not to wait on
    throw;
  }
}

// One member gathers all blobs from the notes of the others, which they alone write, into a table that it exposes; its own note
// has the key. Its table goes with the next agreement, which nobody enters before he has read it or given up.
resumable<result<shared_blobs>> agreement::exchanging(std::vector<std::byte> mine) {
  settled_ = false;
  std::vector<std::uint32_t> all, missing;
  for (std::uint32_t i = 0; i < team_.size(); ++i)
    if (!in_value(i)) all.push_back(i);
  const std::uint32_t first = all.front();
  blob_table blobs;
  std::vector<std::vector<std::byte>> got(team_.size());
  std::uint64_t extent = 0;
  const auto note = [&](std::uint32_t i, const std::uint64_t* page) {
    if (!page) mark_dead(i);
    if (!page || !is_mine(page)) return false;
    const auto* blob = reinterpret_cast<const std::byte*>(page + note_blob);
    got[i].assign(blob, blob + std::min<std::uint64_t>(page[note_bytes], longest_blob));
    extent = page[note_extent];
    return true;
  };
  if (me() != first) {
    const bool fits = mine.size() <= longest_blob;
    write_note(fits ? mine : std::vector<std::byte>{}, 0);
    ring(std::vector(1, first));
    co_await read(note_line, note_words, std::vector(1, first), note);
    if (!fits) co_return too_long();
    if (lives(first) && !got[first].empty()) co_return co_await fetch_table(first, got[first], extent, all.size());
    co_return given_up(first);
  }
  std::ranges::copy_if(all, std::back_inserter(missing), [&](std::uint32_t i) { return i != me(); });
  co_await read(note_line, note_words, missing, note);
  const auto dead = std::ranges::find_if(all, [&](std::uint32_t i) { return !lives(i); });
  status s = dead == all.end() ? status{} : given_up(*dead);
  got[me()] = std::move(mine);
  for (const std::uint32_t i : all) blobs.push_back(got[i]);
  if (s.ok()) s = spread_table(blobs);
  if (s.failed()) write_note({}, 0);
  ring(missing);
  const auto all_rung = [&] { return rung(); };
  co_await pending_wait(all_rung, nothing, wait_note{"agreement", no_rank, 0, 0}, time_point::max());
  if (s.failed()) co_return s;
  co_return shared_blobs(std::make_shared<blob_table>(std::move(blobs)));
}

status agreement::given_up(std::uint32_t member) const {
  const rank_t rank = team_.rank_of(member);
  return {errc::peer_dead, worded("rank ", rank, (lives(member) ? " could not go on" : " is gone")), rank};
}

void agreement::write_note(std::span<const std::byte> blob, std::uint64_t extent) noexcept {
  std::array<std::uint64_t, note_words> note{};
  note[number] = mine_[number], note[note_bytes] = blob.size(), note[note_extent] = extent;
  if (!blob.empty()) std::memcpy(&note[note_blob], blob.data(), blob.size());
  publish(note_line, note);
}

status agreement::spread_table(const blob_table& blobs) {
  std::vector<std::byte> stream;
  for (std::size_t i = 0; i < blobs.size(); ++i) add_blob(stream, blobs[i]);
  table_ = exposed_memory(net());
  auto key = table_.expose(nullptr, stream.size());
  if (!key) return key.error();
  if (key->size() > longest_blob) return too_long();
  std::ranges::copy(stream, table_.base());
  write_note(*key, stream.size());
  return {};
}

resumable<result<shared_blobs>> agreement::fetch_table(std::uint32_t from, std::span<const std::byte> key, std::uint64_t bytes,
                                                       std::size_t count) {
  auto keys = std::make_shared<blob_table>();
  keys->push_back(key);
  const rank_t rank = team_.rank_of(from);
  exposed_memory table(net());
  if (const status s = table.attach(rank_map::strided(rank, 1), std::move(keys)); s.failed()) co_return s;
  reading& r = readings_[0];
  r.page.resize((bytes + 7) / 8), r.done.clear();
  std::uint64_t asked = 0;
  const auto all_read = [&] {
    while (asked < bytes) {
      const std::uint64_t piece = std::min<std::uint64_t>({bytes - asked, net().caps().max_bytes, std::uint64_t{1} << 30});
      const rma_op op = move_op(op_kind::get, unregistered_memory, reinterpret_cast<std::uintptr_t>(r.page.data()) + asked, rank,
                                table.segment(), asked, static_cast<std::uint32_t>(piece), &r.done);
      if (net().submit({&op, 1}) == 0) return false;
      asked += piece;
    }
    return r.done.idle();
  };
  co_await pending_wait(all_read, nothing, wait_note{"agreement", rank, asked, bytes}, time_point::max());
  if (r.done.outcome().code() == errc::peer_dead) learn_of_death(from, r.done.outcome());
  if (r.done.outcome().failed()) co_return r.done.outcome();
  auto blobs = blobs_in(std::as_bytes(std::span{r.page}).first(bytes), count);
  if (!blobs) co_return status{errc::protocol, "an exchange among survivors brought something else than a blob of each"};
  co_return shared_blobs(std::move(blobs));
}

}  // namespace tutti
