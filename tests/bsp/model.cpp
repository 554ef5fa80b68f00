#include "tests/bsp/model.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "tests/harness/expect.h"

namespace tutti::test {
namespace {

using bytes = std::vector<std::byte>;
using generator = std::mt19937_64;

std::uint64_t below(generator& g, std::uint64_t n) { return n ? g() % n : 0; }
bool one_in(generator& g, std::uint64_t n) { return g() % n == 0; }

// Bytes that tell where they come from: no two sources are alike.
bytes noise(generator& g, std::size_t n) {
  bytes out(n);
  for (std::size_t i = 0; i < n; i += 8) {
    const std::uint64_t next = g();
    std::memcpy(out.data() + i, &next, std::min<std::size_t>(8, n - i));
  }
  return out;
}

// Mostly a few bytes or words, sometimes as much as is allowed.
std::uint64_t some_size(generator& g, std::uint64_t most) {
  switch (below(g, 6)) {
    case 0: return std::min<std::uint64_t>(most, 8);
    case 1: return std::min<std::uint64_t>(most, 8 * below(g, 40));
    case 2: return below(g, std::min<std::uint64_t>(most, 20));
    case 3: return below(g, std::min<std::uint64_t>(most, 200));
    case 4: return below(g, std::min<std::uint64_t>(most, 1200));
    default: return below(g, most + 1);
  }
}

enum class verb { put, get, hpput, hpget, send };

struct call {
  verb what;
  std::uint32_t by, to;
  std::uint32_t variable = 0;       // the area that its newest registration is
  std::uint64_t offset = 0, size = 0;
  std::uint32_t local = 0;          // get: variable into which it goes, at local_offset
  std::uint64_t local_offset = 0;
  bytes data, tag;                  // put: the source; send: payload and tag
};

// An address of each process, and what it registered there, newest last.
struct variable {
  std::vector<std::uint64_t> room;                       // by process; 0: it passes NULL
  std::vector<std::vector<std::uint64_t>> registered;    // a stack of sizes by process
  std::vector<bytes> content;                            // by process, of all its room
};

struct change {
  bool push;
  std::uint32_t variable;
  std::vector<std::uint64_t> sizes;
};

class model {
 public:
  model(bsp::engine& e, std::uint64_t seed, const program_options& o)
      : engine_(e), options_(o), n_(e.nprocs()), me_(e.pid()), g_(seed), seed_(seed) {}

  void run() {
    plan_calls();
    for (std::uint32_t step = 0; step < options_.supersteps; ++step) {
      step_ = step;
      const bool last = step + 1 == options_.supersteps;
      plan_changes(last);
      perform();
      must(engine_.sync());
      carry_out();
      if (last) calls_.clear();
      else plan_calls();
      compare();
    }
    must(engine_.sync());  // the last registrations are gone
  }

 private:
  std::string text(const std::string& what) const {
    return what + " (seed " + std::to_string(seed_) + ", superstep " + std::to_string(step_) + ", process " +
           std::to_string(me_) + " of " + std::to_string(n_) + ")";
  }

  void must(bool ok) {
    if (!ok) fail(text(engine_.error().text()));
  }

  // --- planning: alike in all processes ------------------------------------------------------------------------
  // Which bytes of an area are written, read, or not to be touched at all in this superstep.
  struct marks {
    std::vector<char> written;  // by a put; 2: by an hp call, or kept for one
    std::vector<char> read;     // kept for a get that goes there, or for an hp call
    std::vector<char> asked;    // read by a get
  };
  marks& marks_of(std::uint32_t v, std::uint32_t process) {
    auto& m = marks_[{v, process}];
    m.written.resize(variables_[v].room[process]);
    m.read.resize(variables_[v].room[process]);
    m.asked.resize(variables_[v].room[process]);
    return m;
  }
  static bool any(const std::vector<char>& in, std::uint64_t at, std::uint64_t n) {
    return std::any_of(in.begin() + static_cast<std::ptrdiff_t>(at), in.begin() + static_cast<std::ptrdiff_t>(at + n),
                       [](char c) { return c != 0; });
  }
  static void set(std::vector<char>& in, std::uint64_t at, std::uint64_t n, char value) {
    std::fill_n(in.begin() + static_cast<std::ptrdiff_t>(at), n, value);
  }

  void plan_calls() {
    calls_.clear();
    marks_.clear();
    const std::uint32_t wild = below(g_, 4) ? 0 : 3;  // some supersteps are nearly empty
    for (std::uint32_t by = 0; by < n_; ++by)
      for (std::uint64_t k = below(g_, options_.most_calls + 1) / (1 + wild); k > 0; --k) plan_call(by);
  }

  void plan_call(std::uint32_t by) {
    call c{};
    c.by = by, c.to = static_cast<std::uint32_t>(below(g_, n_));
    const std::uint64_t kind = below(g_, options_.hp ? 12 : 10);
    if (kind < 2) {
      c.what = verb::send;
      c.data = noise(g_, some_size(g_, options_.most_bytes));
      c.tag = noise(g_, tag_now_);
      calls_.push_back(std::move(c));
      return;
    }
    std::vector<std::uint32_t> usable;  // an address that is not NULL here, and an area there
    for (std::uint32_t v = 0; v < variables_.size(); ++v)
      if (!variables_[v].registered[by].empty() && variables_[v].room[by] && variables_[v].registered[c.to].back() > 0)
        usable.push_back(v);
    if (usable.empty()) return;
    c.variable = usable[below(g_, usable.size())];
    const std::uint64_t there = variables_[c.variable].registered[c.to].back();
    c.size = options_.large ? below(g_, (options_.most_bytes >> below(g_, 10)) + 1) : some_size(g_, options_.most_bytes);
    c.size = std::min(c.size, there);
    c.offset = below(g_, there - c.size + 1);
    if (one_in(g_, 2)) c.offset &= ~std::uint64_t{7};
    c.what = kind < 7 ? verb::put : kind < 10 ? verb::get : kind == 10 ? verb::hpput : verb::hpget;
    marks& m = marks_of(c.variable, c.to);
    if (c.what == verb::put || c.what == verb::hpput) {
      // Bursts of puts that go on where the last one ended, as loops make them.
      for (std::uint64_t again = c.what == verb::put && one_in(g_, 3) ? below(g_, 30) : 0;; --again) {
        if (any(m.written, c.offset, c.size)) return;
        if (c.what == verb::hpput && (any(m.read, c.offset, c.size) || any(m.asked, c.offset, c.size))) return;
        set(m.written, c.offset, c.size, c.what == verb::put ? 1 : 2);
        if (c.what == verb::hpput) set(m.read, c.offset, c.size, 1);
        c.data = noise(g_, c.size);
        calls_.push_back(c);
        if (again == 0 || c.size == 0 || c.size > 64 || c.offset + 2 * c.size > there) return;
        c.offset += c.size;
      }
    }
    // A get: into an area of its own, where puts of others may go as well.
    std::vector<std::uint32_t> targets;
    for (std::uint32_t v = 0; v < variables_.size(); ++v)
      if (variables_[v].room[by] >= c.size) targets.push_back(v);
    if (targets.empty()) return;
    c.local = targets[below(g_, targets.size())];
    c.local_offset = below(g_, variables_[c.local].room[by] - c.size + 1);
    marks& mine = marks_of(c.local, by);
    if (any(mine.read, c.local_offset, c.size)) return;
    if (c.what == verb::hpget) {
      if (any(m.written, c.offset, c.size) || any(m.read, c.offset, c.size)) return;
      if (any(mine.written, c.local_offset, c.size) || any(mine.asked, c.local_offset, c.size)) return;
      if (&m == &mine && c.local_offset < c.offset + c.size && c.offset < c.local_offset + c.size) return;
      set(m.written, c.offset, c.size, 2);
      set(mine.written, c.local_offset, c.size, 2);
    } else {
      const auto hp = [](const marks& k, std::uint64_t at, std::uint64_t size) {
        for (std::uint64_t i = at; i < at + size; ++i)
          if (k.written[i] == 2) return true;
        return false;
      };
      if (hp(m, c.offset, c.size) || hp(mine, c.local_offset, c.size)) return;
      set(m.asked, c.offset, c.size, 1);
    }
    set(mine.read, c.local_offset, c.size, 1);
    calls_.push_back(std::move(c));
  }

  void plan_changes(bool last) {
    changes_.clear();
    if (last) {
      for (bool more = true; more;) {
        more = false;
        for (std::uint32_t v = 0; v < variables_.size(); ++v) more = plan_pop(v) || more;
      }
      return;
    }
    for (std::uint64_t k = step_ == 0 ? 2 : below(g_, 3); k > 0; --k) {
      if (!variables_.empty() && one_in(g_, 3)) {
        plan_pop(static_cast<std::uint32_t>(below(g_, variables_.size())));
      } else {
        std::uint32_t v = static_cast<std::uint32_t>(variables_.size());
        if (!variables_.empty() && one_in(g_, 3)) v = static_cast<std::uint32_t>(below(g_, v));
        plan_push(v);
      }
    }
  }

  void plan_push(std::uint32_t v) {
    if (v == variables_.size()) {
      variable fresh;
      // At most one area with NULLs: pops name areas by address, and all NULLs are one.
      const bool some_null = nulls_ == 0 && one_in(g_, 4);
      nulls_ += some_null;
      for (std::uint32_t p = 0; p < n_; ++p) {
        const bool null = some_null && one_in(g_, 2);
        fresh.room.push_back(null ? 0 : 16 + below(g_, 2 * options_.most_bytes));
        fresh.content.push_back(noise(g_, fresh.room.back()));
        fresh.registered.emplace_back();
      }
      variables_.push_back(std::move(fresh));
      mine_.push_back(std::make_unique<bytes>(variables_.back().content[me_]));
    }
    change c{true, v, {}};
    for (std::uint32_t p = 0; p < n_; ++p) {
      const std::uint64_t room = variables_[v].room[p];
      c.sizes.push_back(room == 0 || one_in(g_, 8) ? 0 : one_in(g_, 3) ? 1 + below(g_, room) : room);
    }
    changes_.push_back(std::move(c));
  }

  bool plan_pop(std::uint32_t v) {
    auto depth = static_cast<std::ptrdiff_t>(variables_[v].registered[0].size());
    for (const change& c : changes_)
      if (c.variable == v) depth += c.push ? 1 : -1;
    if (depth <= 0) return false;
    changes_.push_back({false, v, {}});
    return true;
  }

  // --- this process's part -------------------------------------------------------------------------------------
  const void* address(std::uint32_t v) const { return variables_[v].room[me_] ? mine_[v]->data() : nullptr; }

  void perform() {
    sources_.clear();
    generator order(g_() + me_);
    std::size_t next_change = 0;
    auto some_change = [&] {
      const change& c = changes_[next_change++];
      must(c.push ? engine_.push_reg(address(c.variable), c.sizes[me_]) : engine_.pop_reg(address(c.variable)));
    };
    std::uint64_t before = 0;
    const std::uint64_t tag_next = one_in(g_, 3) ? below(g_, 30) : tag_next_;
    must(engine_.set_tagsize(tag_next, before));
    require_equal(before, tag_next_, "the tag size set before");
    tag_next_ = tag_next;
    for (call& c : calls_) {
      if (c.by != me_) continue;
      while (next_change < changes_.size() && one_in(order, 4)) some_change();
      bool ok = true;
      bytes source = c.data;
      std::byte* const target = c.what == verb::get || c.what == verb::hpget ? mine_[c.local]->data() + c.local_offset : nullptr;
      switch (c.what) {
        case verb::put: ok = engine_.put(c.to, source.data(), address(c.variable), c.offset, c.size); break;
        case verb::get: ok = engine_.get(c.to, address(c.variable), c.offset, target, c.size); break;
        case verb::hpput:
          sources_.push_back(source);
          ok = engine_.hpput(c.to, sources_.back().data(), address(c.variable), c.offset, c.size);
          break;
        case verb::hpget: ok = engine_.hpget(c.to, address(c.variable), c.offset, target, c.size); break;
        case verb::send: ok = engine_.send(c.to, c.tag.data(), source.data(), source.size()); break;
      }
      must(ok);
      std::fill(source.begin(), source.end(), std::byte{0xee});  // buffered: this must not show
    }
    while (next_change < changes_.size()) some_change();
  }

  // --- everybody's part, in the model --------------------------------------------------------------------------
  void carry_out() {
    std::vector<bytes> got;
    auto range = [&](std::uint32_t v, std::uint32_t p, std::uint64_t at) {
      return variables_[v].content[p].begin() + static_cast<std::ptrdiff_t>(at);
    };
    for (const call& c : calls_)
      if (c.what == verb::get || c.what == verb::hpget) {
        const auto from = range(c.variable, c.to, c.offset);
        got.emplace_back(from, from + static_cast<std::ptrdiff_t>(c.size));
      }
    auto next = got.begin();
    for (const call& c : calls_)
      if (c.what == verb::get || c.what == verb::hpget) {
        std::copy(next->begin(), next->end(), range(c.local, c.by, c.local_offset));
        ++next;
      }
    expected_.clear();
    for (const call& c : calls_) {
      if (c.what == verb::put || c.what == verb::hpput)
        std::copy(c.data.begin(), c.data.end(), range(c.variable, c.to, c.offset));
      if (c.what == verb::send && c.to == me_) expected_.push_back({c.tag, c.data});
    }
    for (const change& c : changes_)
      for (std::uint32_t p = 0; p < n_; ++p) {
        auto& stack = variables_[c.variable].registered[p];
        if (c.push) stack.push_back(c.sizes[p]);
        else stack.pop_back();
      }
    tag_received_ = tag_now_;
    tag_now_ = tag_next_;
  }

  // Before this process makes the calls of the next superstep. Others may be making them: what they put with hp calls may
  // have come or not.
  void compare() {
    std::vector<std::vector<char>> may_change(variables_.size());
    for (std::uint32_t v = 0; v < variables_.size(); ++v) may_change[v].resize(variables_[v].room[me_]);
    for (const call& c : calls_)
      if (c.what == verb::hpput && c.to == me_ && c.by != me_) set(may_change[c.variable], c.offset, c.size, 1);
    for (std::uint32_t v = 0; v < variables_.size(); ++v) {
      const bytes &seen = *mine_[v], &wanted = variables_[v].content[me_];
      for (std::size_t i = 0; i < wanted.size(); ++i)
        if (!may_change[v][i] && seen[i] != wanted[i])
          fail(text("area " + std::to_string(v) + " differs at byte " + std::to_string(i)));
    }
    auto& queue = engine_.queue();
    require_equal(queue.count(), expected_.size(), text("messages in the queue"));
    std::uint64_t sum = 0;
    for (const auto& m : expected_) sum += m.second.size();
    require_equal(queue.payload_bytes(), sum, text("bytes in the queue"));
    // Some stay in the queue, and are to be lost.
    const std::size_t leave = one_in(g_, 4) ? 1 : 0;
    std::vector<std::pair<bytes, bytes>> seen;
    while (const bsp::message* m = queue.front()) {
      require_equal(m->tag_bytes, tag_received_, text("the tag's size"));
      require(reinterpret_cast<std::uintptr_t>(m->tag) % 16 == 0 && reinterpret_cast<std::uintptr_t>(m->payload) % 16 == 0,
              text("messages are aligned"));
      seen.emplace_back(bytes(m->tag, m->tag + m->tag_bytes), bytes(m->payload, m->payload + m->bytes));
      if (queue.count() <= leave) break;
      queue.pop();
    }
    std::sort(seen.begin(), seen.end());
    std::sort(expected_.begin(), expected_.end());
    require(seen == expected_, text("the messages are those that were sent"));
  }

  bsp::engine& engine_;
  program_options options_;
  std::uint32_t n_, me_;
  generator g_;
  std::uint64_t seed_;
  std::uint32_t step_ = 0, nulls_ = 0;
  std::vector<variable> variables_;
  std::vector<std::unique_ptr<bytes>> mine_;    // this process's memory, at addresses that stay
  std::vector<call> calls_;
  std::vector<change> changes_;
  std::vector<bytes> sources_;                  // of hpput, until the sync
  std::map<std::pair<std::uint32_t, std::uint32_t>, marks> marks_;
  std::uint64_t tag_received_ = 0, tag_now_ = 0, tag_next_ = 0;
  std::vector<std::pair<bytes, bytes>> expected_;
};

}  // namespace

void run_random_program(bsp::engine& e, std::uint64_t seed, const program_options& o) {
  model m(e, seed, o);
  m.run();
  // The next program begins as if it were the first.
  std::uint64_t before;
  const bool ok = e.set_tagsize(0, before) && e.sync() && e.sync();
  require(ok, e.error().text());
}

}  // namespace tutti::test
