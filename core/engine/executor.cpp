#include "core/engine/executor.h"

#include <cstring>
#include <string>

#include "core/transport/ops.h"
#include "core/transport/wait_out.h"

namespace tutti {

result<program> program::bind(const schedule& s, team& t, std::uint32_t first_line, reliable_multicast* mc,
                              std::span<const buffer> buffers) {
  program p;
  p.team_ = &t;
  p.mc_ = mc;
  for (const buffer& b : buffers) p.bases_.push_back(b.base);
  // Skips are counted in steps by the schedule and in instructions here: several steps may share one `send`. A batch
  // never crosses the end of a skipped stretch.
  std::vector<std::pair<std::size_t, std::size_t>> open_skips;  // instruction that skips, step index where it ends
  bool batch = false;

  auto word_of = [&](std::uint32_t line) { return control::offset(first_line + line); };
  auto push_op = [&](rma_op op, std::uint64_t multiple) {
    if (!batch) p.code_.push_back({.what = kind::send, .first = static_cast<std::uint32_t>(p.ops_.size())});
    batch = true;
    ++p.code_.back().count;
    p.ops_.push_back(op);
    p.multiples_.push_back(multiple);
  };
  auto gate = [&](instruction i) {
    batch = false;
    p.code_.push_back(i);
  };
  auto has_buffer = [&](const place& at) { return at.buffer < buffers.size(); };

  for (std::size_t i = 0; i <= s.steps.size(); ++i) {
    while (!open_skips.empty() && open_skips.back().second == i) {
      auto& skipper = p.code_[open_skips.back().first];
      skipper.count = static_cast<std::uint32_t>(p.code_.size() - open_skips.back().first - 1);
      open_skips.pop_back();
      batch = false;
    }
    if (i == s.steps.size()) break;
    const step& st = s.steps[i];
    if (st.peer != any_peer && st.peer >= t.size())
      return status(errc::invalid, "a schedule names member " + std::to_string(st.peer) + " of a team of " +
                                       std::to_string(t.size()));
    if (st.word >= s.words && (st.kind == step_kind::wait || st.kind == step_kind::signal))
      return status(errc::invalid, "a schedule uses control word " + std::to_string(st.word) + " of " +
                                       std::to_string(s.words));
    const rank_t rank = st.peer == any_peer ? no_rank : t.rank_of(st.peer);
    rma_op op = signal_op({rank, t.segment(), word_of(st.word)}, 0);
    switch (st.kind) {
      case step_kind::signal:
        push_op(op, st.multiple);
        break;
      case step_kind::wait:
        gate({.what = kind::wait, .peer = st.peer, .word = t.word(first_line + st.word), .multiple = st.multiple});
        break;
      case step_kind::arrive: {
        p.ops_.push_back(atomic_op(op_kind::fetch_add, t.region(), word_of(s.words), {rank, t.segment(), word_of(st.word)},
                                   1, nullptr));
        p.multiples_.push_back(0);
        gate({.what = kind::arrive, .first = static_cast<std::uint32_t>(p.ops_.size() - 1), .peer = st.peer,
              .word = t.word(first_line + s.words), .multiple = st.multiple});
        open_skips.emplace_back(p.code_.size() - 1, i + 1 + st.count);
        break;
      }
      case step_kind::multicast:
      case step_kind::await_multicast:
        if (!mc) return status(errc::unsupported, "a schedule multicasts, but this transport has no multicast");
        gate({.what = st.kind == step_kind::multicast ? kind::multicast : kind::await_multicast, .peer = st.peer});
        break;
      case step_kind::put:
      case step_kind::put_signal:
      case step_kind::get: {
        if (!has_buffer(st.from) || !has_buffer(st.to))
          return status(errc::invalid, "a schedule names a buffer that the run was not given");
        const bool put = st.kind != step_kind::get;
        const place &mine = put ? st.from : st.to, &theirs = put ? st.to : st.from;
        const buffer& own = buffers[mine.buffer];
        op.kind = put ? (st.kind == step_kind::put ? op_kind::put : op_kind::put_signal) : op_kind::get;
        op.local = own.local;
        op.local_offset = own.local == plain_memory ? reinterpret_cast<std::uint64_t>(own.base) + mine.offset : mine.offset;
        op.remote = buffers[theirs.buffer].segment;
        op.remote_offset = theirs.offset;
        op.bytes = static_cast<std::uint32_t>(st.bytes);
        push_op(op, st.multiple);
        break;
      }
      case step_kind::copy:
        if (!has_buffer(st.from) || !has_buffer(st.to))
          return status(errc::invalid, "a schedule names a buffer that the run was not given");
        gate({.what = kind::copy, .first = static_cast<std::uint32_t>(p.copies_.size())});
        p.copies_.push_back({st.to, st.from, st.bytes});
        break;
      case step_kind::complete:
        gate({.what = kind::complete});
        break;
    }
  }
  // A rank's share of a large job is mostly this.
  p.code_.shrink_to_fit(), p.ops_.shrink_to_fit(), p.multiples_.shrink_to_fit();
  return p;
}

void program::move_copies(std::uint32_t buffer, std::byte* base) noexcept { bases_[buffer] = base; }

std::size_t program::bytes() const noexcept {
  return sizeof *this + bases_.capacity() * sizeof(std::byte*) + copies_.capacity() * sizeof(move) +
         code_.capacity() * sizeof(instruction) + ops_.capacity() * sizeof(rma_op) + multiples_.capacity() * sizeof(std::uint64_t);
}

void program::touch() noexcept {
  transport& net = team_->parent_job().net();
  if (!net.caps().native_signal) return;
  for (const rma_op& op : ops_) net.map(op.kind == op_kind::signal ? op.signal : op.remote, op.rank);
}

run::~run() {
  if (!program_->team_) return;
  wait_out(program_->team_->parent_job().net(), {&done_});
}

void run::begin(std::uint64_t epoch, std::uint64_t loose) noexcept {
  epoch_ = epoch;
  loose_ = loose;
  at_ = 0;
  sent_ = 0;
  counted_ = false;
  error_ = {};
}

void run::stop(const status& s) noexcept {
  error_ = s;
  at_ = program_->code_.size();
}

bool run::send(const program::instruction& i) noexcept {
  const auto ops = std::span(program_->ops_).subspan(i.first, i.count);
  if (sent_ == 0) {
    for (std::uint32_t k = 0; k < i.count; ++k) {
      const std::uint64_t multiple = program_->multiples_[i.first + k];
      if (multiple) ops[k].operand = epoch_ * multiple;
      if (ops[k].kind != op_kind::signal) ops[k].done = &done_;
    }
  }
  sent_ += static_cast<std::uint32_t>(program_->team_->parent_job().net().submit(ops.subspan(sent_)));
  if (sent_ < i.count) return false;
  sent_ = 0;
  return true;
}

// Which a peer writes at any time.
std::atomic_ref<std::uint64_t> run::word_of(const program::instruction& i) noexcept {
  return std::atomic_ref<std::uint64_t>(*const_cast<std::uint64_t*>(i.word));
}

// A word of a later run says nothing of this one.
bool run::agrees(const program::instruction& i) noexcept {
  const std::uint64_t differs = word_of(i).load(std::memory_order_acquire) ^ epoch_;
  if (differs == 0 || (differs & ~loose_) != 0) return true;
  const rank_t from = i.peer == any_peer ? no_rank : program_->team_->rank_of(i.peer);
  stop({errc::protocol, "rank " + std::to_string(from) + " is in another run than this rank", from});
  return false;
}

bool run::advance(std::uint32_t looks) noexcept {
  const std::size_t end = program_->code_.size();
  while (at_ < end) {
    const program::instruction& i = program_->code_[at_];
    bool passed = true;
    switch (i.what) {
      case program::kind::send:
        passed = send(i);
        break;
      case program::kind::wait: {
        const std::atomic_ref<std::uint64_t> word = word_of(i);
        const std::uint64_t target = (epoch_ & ~loose_) * i.multiple;
        for (std::uint32_t n = 0; !(passed = reached(word.load(std::memory_order_acquire), target)) && ++n < looks;) {}
        if (loose_ != 0 && passed && !agrees(i)) return true;
        break;
      }
      case program::kind::arrive:
        if (!counted_) {
          rma_op& op = program_->ops_[i.first];
          op.done = &done_;
          counted_ = program_->team_->parent_job().net().submit({&op, 1}) == 1;
        }
        passed = counted_ && done_.idle();
        if (passed) {
          counted_ = false;
          if (!done_.outcome().ok()) return stop(done_.outcome()), true;
          if (*i.word + 1 != epoch_ * i.multiple) at_ += i.count;
        }
        break;
      case program::kind::multicast:
        passed = program_->mc_->send(epoch_);
        break;
      case program::kind::await_multicast:
        passed = program_->mc_->arrived(epoch_);
        break;
      case program::kind::copy: {
        const program::move& m = program_->copies_[i.first];
        std::memcpy(program_->bases_[m.to.buffer] + m.to.offset, program_->bases_[m.from.buffer] + m.from.offset, m.bytes);
        break;
      }
      case program::kind::complete:
        passed = done_.idle();
        if (passed && !done_.outcome().ok()) return stop(done_.outcome()), true;
        break;
    }
    if (!passed) {
      // Only now, off the fast path: has somebody reported a death?
      if (const status& s = program_->team_->health(); !s.ok()) return stop(s), true;
      return false;
    }
    ++at_;
  }
  return true;
}

wait_note run::waiting_for(const char* what) const noexcept {
  wait_note note{.what = what};
  if (at_ < program_->code_.size()) {
    const auto& i = program_->code_[at_];
    if (i.peer != any_peer) note.from = program_->team_->rank_of(i.peer);
    if (i.word) note.have = word_of(i).load(std::memory_order_relaxed);
    note.want = epoch_ * i.multiple;
  }
  return note;
}

}  // namespace tutti
