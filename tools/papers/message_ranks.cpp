#include "tools/papers/message_ranks.h"

#include <atomic>
#include <cstring>

#include "tools/sim/joined.h"

namespace tutti::tools::papers {
namespace {

constexpr std::uint64_t line = 64;  // of the window, before the data: its first word tells of the end of operations
constexpr std::uint64_t whole = ~std::uint64_t{0}, head_tag = 16, put_tag = 1 << 16, get_tag = 2 << 16;
constexpr std::uint64_t most_together = 8192;  // of a put that goes with its head

struct head {
  std::uint64_t bytes;
  std::uint32_t number;
  bool get, last;
};

job_options in_design(const std::string& design) {
  job_options o;
  o.messaging = design;
  return o;
}

}  // namespace

message_rank::message_rank(sim::world& w, rank_t r, const std::string& design, std::uint64_t memory, bool one_at_a_time)
    : world_(w), rank_(r), one_at_a_time_(one_at_a_time), job_(join_simulated(w, r, in_design(design))), messages_(need(messaging::messages::open(*job_))),
      out_(memory + line), in_(memory + line), heads_(memory + line), window_(need(window::open(job_->world(), {nullptr, line + memory}))) {}

void message_rank::send(std::uint32_t to, std::uint64_t tag, std::uint64_t bytes) {
  need(messages_->by_tag().send({&job_->world(), to, tag, out_.data(), bytes}));
}
void message_rank::receive(std::uint32_t from, std::uint64_t tag, std::uint64_t bytes) {
  need(messages_->by_tag().receive({&job_->world(), from, tag, whole, in_.data(), bytes, nullptr}));
}
void message_rank::exchange(std::uint32_t to, std::uint32_t from, std::uint64_t bytes) {
  need(messages_->by_tag().exchange({&job_->world(), to, 1, out_.data(), bytes}, {&job_->world(), from, 1, whole, in_.data(), bytes, nullptr}));
}

completion& message_rank::next() { return under_way_.emplace_back(); }

void message_rank::start_send(std::uint32_t to, std::uint64_t tag, std::uint64_t bytes) {
  if (one_at_a_time_ && bytes > most_together)
    return need(messages_->by_tag().send({&job_->world(), to, tag, out_.data(), bytes, true}));
  need(messages_->by_tag().start_send({&job_->world(), to, tag, out_.data(), bytes}, next(), nullptr));
}
void message_rank::start_receive(std::uint32_t from, std::uint64_t tag, std::uint64_t bytes) {
  need(messages_->by_tag().start_receive({&job_->world(), from, tag, whole, in_.data(), bytes, nullptr}, next(), nullptr));
}
void message_rank::complete() {
  for (completion& c : under_way_)
    if (!c.idle()) messages_->by_tag().wait_over(c, "messages", no_rank, nullptr);
  under_way_.clear();
}

void message_rank::perform_directly(const std::vector<one_sided_op>& all) {
  const std::uint32_t other = 1 - rank_;
  rma_op op{op_kind::put};
  op.rank = other, op.remote = window_->segment(), op.remote_offset = line;
  op.local = window_->region(), op.local_offset = line;
  for (const one_sided_op& o : all) {
    op.kind = o.get ? op_kind::get : op_kind::put, op.bytes = static_cast<std::uint32_t>(o.bytes);
    op.done = &next();
    if (all.size() == 1 && !o.get) {  // the end goes with it
      op.kind = op_kind::put_signal, op.signal = window_->segment(), op.signal_offset = 0, op.operand = ++turn_;
    }
    while (!job_->net().submit({&op, 1})) job_->progress();
  }
  if (all.size() > 1) {
    for (completion& c : under_way_) need(job_->wait(c, "one-sided operations"));
    rma_op end{op_kind::signal};
    end.rank = other, end.signal = window_->segment(), end.signal_offset = 0, end.operand = ++turn_;
    end.order = not_before::everything;
    while (!job_->net().submit({&end, 1})) job_->progress();
  }
  for (completion& c : under_way_)
    if (!c.idle()) need(job_->wait(c, "one-sided operations"));
  under_way_.clear();
}

void message_rank::await_direct() {
  const std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(window_->base()));
  const std::uint64_t wanted = ++awaited_;
  need(job_->wait([&] { return word.load(std::memory_order_acquire) >= wanted; }, [] { return status{}; }, {"the end", 1 - rank_, 0, wanted}));
}

void message_rank::perform_by_messages(const std::vector<one_sided_op>& all) {
  const std::uint32_t other = 1 - rank_;
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    const head h{all[i].bytes, i, all[i].get, i + 1 == all.size()};
    const bool together = !h.get && h.bytes <= most_together;
    if (h.get) start_receive(other, get_tag + i, h.bytes);
    std::memcpy(out_.data(), &h, sizeof h);
    send(other, head_tag, sizeof h + (together ? h.bytes : 0));
    if (!h.get && !together) start_send(other, put_tag + i, h.bytes);
  }
  complete();
}

void message_rank::serve_by_messages() {
  const std::uint32_t other = 1 - rank_;
  for (head h{}; !h.last;) {
    need(messages_->by_tag().receive({&job_->world(), other, head_tag, whole, heads_.data(), heads_.size(), nullptr}));
    std::memcpy(&h, heads_.data(), sizeof h);
    if (h.get) start_send(other, get_tag + h.number, h.bytes);
    else if (h.bytes > most_together) start_receive(other, put_tag + h.number, h.bytes);
  }
  complete();
}

double message_rank::time(int times, const std::function<void()>& call) {
  call();
  const time_point start = latest_clock(world_, *job_) + std::chrono::milliseconds(1);
  world_.compute(rank_, std::chrono::duration<double, std::micro>(start - world_.clock(rank_)).count());
  for (int i = 0; i < times; ++i) call();
  return std::chrono::duration<double, std::micro>(latest_clock(world_, *job_) - start).count() / times;
}

void message_rank::stay() { (void)latest_clock(world_, *job_); }

void run_message_ranks(const machine& m, std::uint32_t ranks, const std::string& design, std::uint64_t memory,
                       const std::function<void(message_rank&)>& body, bool one_at_a_time) {
  sim::parameters p = m.fabric;
  p.ranks = ranks;
  sim::world w(p);
  need(run_ranks(w, [&](rank_t r) {
    message_rank rank(w, r, design, memory, one_at_a_time);
    body(rank);
    rank.stay();
  }));
}

}  // namespace tutti::tools::papers
