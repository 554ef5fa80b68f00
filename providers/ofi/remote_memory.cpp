#include "providers/ofi/remote_memory.h"

#include <algorithm>
#include <cstring>

#include "core/base/copy.h"

namespace tutti::ofi {
namespace {

constexpr std::uint32_t landing_bytes = messages::max_inline;
constexpr std::uint32_t chunk_transfers = 64;
constexpr std::uint64_t longest_piece = std::uint64_t{1} << 30;

}  // namespace

struct registered_memory {
  owned<fid_mr> mr;
  std::span<std::byte> memory;
  bool hidden = false;  // from make_known()
};

struct remote_memory::chunk {
  transfer all[chunk_transfers];
  std::byte landings[chunk_transfers][landing_bytes];
  owned<fid_mr> registered;
};

remote_memory::remote_memory(handles& ofi) noexcept : ofi_(ofi) {}
remote_memory::~remote_memory() = default;

status remote_memory::open() {
  const fi_info& info = *ofi_.info;
  longest_ = std::min<std::uint64_t>(info.ep_attr->max_msg_size, longest_piece);
  const std::uint64_t order = info.tx_attr->msg_order & info.rx_attr->msg_order;
  if ((order & FI_ORDER_WAW) && (order & FI_ORDER_RAW))
    longest_ordered_ = std::min(info.ep_attr->max_order_waw_size, info.ep_attr->max_order_raw_size);
  inject_bytes_ = static_cast<std::uint32_t>(std::min<std::uint64_t>({info.tx_attr->inject_size, longest_ordered_, longest_}));
  if (!grow()) return {errc::no_resource, "no memory for operations by remote key"};
  return {};
}

bool remote_memory::grow() noexcept {
  try {
    auto made = std::make_unique<chunk>();
    void* descriptor = nullptr;
    if (wants_to_know()) {
      auto mr = registration(made->landings, sizeof made->landings, FI_READ | FI_WRITE);
      if (!mr) return false;
      made->registered = std::move(*mr);
      descriptor = fi_mr_desc(made->registered.get());
    }
    chunks_.push_back(std::move(made));
    for (std::uint32_t i = 0; i < chunk_transfers; ++i) {
      transfer& t = chunks_.back()->all[i];
      t.landing = chunks_.back()->landings[i];
      t.landing_descriptor = descriptor;
      t.next = free_;
      free_ = &t;
    }
    return true;
  } catch (...) {
    return false;
  }
}

bool remote_memory::wants_to_know() const noexcept { return ofi_.info->domain_attr->mr_mode & FI_MR_LOCAL; }

result<owned<fid_mr>> remote_memory::registration(const void* at, std::size_t bytes, std::uint64_t access) {
  owned<fid_mr> mr;
  if (const int e = register_memory(ofi_, at, bytes, access, 0, mr); e != 0)
    return messages::not_registered(bytes, fi_strerror(-e), e);
  return mr;
}

result<void*> remote_memory::register_region(std::span<std::byte> memory, std::vector<std::byte>& key) {
  auto mr = registration(memory.data(), memory.size(), FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE);
  if (!mr) return mr.error();
  const int mode = ofi_.info->domain_attr->mr_mode;
  if (mode & FI_MR_ENDPOINT) {
    int e = fi_mr_bind(mr->get(), &ofi_.endpoint->fid, 0);
    if (e == 0) e = fi_mr_enable(mr->get());
    if (e != 0) return vendor_error(e, "binding memory to an endpoint");
  }
  const remote_key there{fi_mr_key(mr->get()), mode & FI_MR_VIRT_ADDR ? reinterpret_cast<std::uint64_t>(memory.data()) : 0};
  auto made = std::make_unique<registered_memory>(registered_memory{std::move(*mr), memory});
  registered_.emplace(memory.data(), made.get());
  messages::append(key, &there);
  return static_cast<void*>(made.release());
}

void remote_memory::deregister_region(void* registered) noexcept {
  const std::unique_ptr<registered_memory> gone{static_cast<registered_memory*>(registered)};
  for (auto [at, end] = registered_.equal_range(gone->memory.data()); at != end; ++at)
    if (at->second == gone.get()) {
      registered_.erase(at);
      return;
    }
}

void remote_memory::hide(void* registered) noexcept { static_cast<registered_memory*>(registered)->hidden = true; }

void remote_memory::unbind() noexcept {
  if (!(ofi_.info->domain_attr->mr_mode & FI_MR_ENDPOINT)) return;
  for (auto& [at, memory] : registered_) memory->mr.reset();
}

void* remote_memory::unlock(peer&, std::span<const std::byte> key) noexcept {
  const auto there = messages::head_of<remote_key>(key);
  return there && key.size() == sizeof *there ? new (std::nothrow) remote_key{*there} : nullptr;
}

void remote_memory::forget(void* unlocked) noexcept { delete static_cast<remote_key*>(unlocked); }

transfer* remote_memory::new_transfer(frame& f) noexcept {
  if (!free_ && !grow()) return nullptr;
  transfer& t = *free_;
  free_ = t.next;
  t.next = nullptr;
  t.f = &f, t.line = static_cast<connection*>(f.to->line);
  t.result = nullptr;
  t.posted = t.ended = false;
  return &t;
}

void remote_memory::free(transfer& t) noexcept {
  t.registered.reset();
  t.f = nullptr;
  t.next = free_;
  free_ = &t;
}

// Finds, copies or registers what is here.
status remote_memory::make_known(transfer& t) noexcept {
  t.descriptor = nullptr;
  if (!wants_to_know()) return {};
  if (auto at = registered_.upper_bound(t.here); at != registered_.begin()) {
    const registered_memory& known = *(--at)->second;
    if (!known.hidden && t.here + t.left <= known.memory.data() + known.memory.size()) {
      t.descriptor = fi_mr_desc(known.mr.get());
      return {};
    }
  }
  if (t.left <= landing_bytes) {
    if (t.how == transfer::kind::write) copy_bytes(t.landing, t.here, t.left);
    else t.result = t.here;
    t.here = t.landing, t.descriptor = t.landing_descriptor;
    return {};
  }
  auto mr = registration(t.here, t.left, t.how == transfer::kind::write ? FI_WRITE : FI_READ);
  if (!mr) return mr.error();
  t.registered = std::move(*mr);
  t.descriptor = fi_mr_desc(t.registered.get());
  return {};
}

reaching remote_memory::put(frame& f, void* unlocked, std::uint64_t offset, const std::byte* from, std::uint32_t bytes,
                         status& why) noexcept {
  const auto& to = *static_cast<const remote_key*>(unlocked);
  const auto& line = *static_cast<const connection*>(f.to->line);
  if (bytes <= inject_bytes_ && !line.head) {
    const ssize_t e = fi_inject_write(ofi_.endpoint.get(), from, bytes, line.address, to.base + offset, to.key);
    if (e == 0) return reaching::done;
    if (e != -FI_EAGAIN) return lost(f, e, "putting");
  }
  return begin(transfer::kind::write, f, to.key, to.base + offset, const_cast<std::byte*>(from), bytes, why);
}

reaching remote_memory::get(frame& f, void* unlocked, std::uint64_t offset, std::byte* to, std::uint32_t bytes, status& why) noexcept {
  const auto& from = *static_cast<const remote_key*>(unlocked);
  return begin(transfer::kind::read, f, from.key, from.base + offset, to, bytes, why);
}

reaching remote_memory::flush(frame& f, void* unlocked) noexcept {
  const auto& word = *static_cast<const remote_key*>(unlocked);
  status why;
  const reaching r = begin(transfer::kind::flush, f, word.key, word.base, nullptr, sizeof(std::uint64_t), why);
  if (r != reaching::refused) return r;
  net_->suspect(*f.to, why);
  return reaching::lost;
}

reaching remote_memory::lost(const frame& f, ssize_t e, const char* what) noexcept {
  net_->suspect(*f.to, vendor_error(e, what, f.to->rank));
  return reaching::lost;
}

reaching remote_memory::begin(transfer::kind how, frame& f, std::uint64_t key, std::uint64_t there, std::byte* here,
                           std::uint32_t bytes, status& why) noexcept {
  transfer* t = new_transfer(f);
  if (!t) {
    why = {errc::no_resource, "no memory for an operation by remote key", f.to->rank};
    return reaching::refused;
  }
  t->how = how, t->key = key, t->there = there, t->left = bytes;
  t->here = here ? here : t->landing;
  t->ordered = !alone_ || in_order(bytes);
  if (!here) t->descriptor = t->landing_descriptor;
  else why = make_known(*t);
  if (why.failed()) {
    free(*t);
    return reaching::refused;
  }
  connection& line = *t->line;
  const bool at_once = !line.head && (how != transfer::kind::flush || !line.unordered);
  const ssize_t e = at_once ? post(*t) : -FI_EAGAIN;
  if (e != 0 && e != -FI_EAGAIN) {
    free(*t);
    return lost(f, e, how == transfer::kind::write ? "putting" : how == transfer::kind::read ? "getting" : "flushing");
  }
  if (e != 0 || t->left > t->piece) joins(*t);
  return reaching::under_way;
}

// The next piece of it.
ssize_t remote_memory::post(transfer& t) noexcept {
  t.piece = static_cast<std::uint32_t>(std::min<std::uint64_t>(t.left, longest_));
  ssize_t e = 0;
  if (t.how != transfer::kind::write) {
    e = fi_read(ofi_.endpoint.get(), t.here, t.piece, t.descriptor, t.line->address, t.there, t.key, &t.context);
  } else if (t.ordered) {
    e = fi_write(ofi_.endpoint.get(), t.here, t.piece, t.descriptor, t.line->address, t.there, t.key, &t.context);
  } else {
    const iovec from{t.here, t.piece};
    const fi_rma_iov to{t.there, t.piece, t.key};
    fi_msg_rma m{};
    m.msg_iov = &from, m.iov_count = 1, m.desc = &t.descriptor;
    m.addr = t.line->address;
    m.rma_iov = &to, m.rma_iov_count = 1;
    m.context = &t.context;
    e = fi_writemsg(ofi_.endpoint.get(), &m, FI_DELIVERY_COMPLETE | FI_COMPLETION);
  }
  if (e != 0) return e;
  t.posted = true;
  if (t.how == transfer::kind::write && !t.ordered) ++t.line->unordered;
  return 0;
}

void remote_memory::joins(transfer& t) noexcept {
  connection& line = *t.line;
  (line.tail ? line.tail->next : line.head) = &t;
  line.tail = &t;
  if (line.waits) return;
  line.waits = true;
  line.next = waiting_;
  waiting_ = &line;
}

// From the front.
void remote_memory::leaves(transfer& t) noexcept {
  t.line->head = std::exchange(t.next, nullptr);
  if (!t.line->head) t.line->tail = nullptr;
}

// What stays at the front: what there is no room for, a piece that has another behind it, and a flush behind writes that
// promise no order.
bool remote_memory::offer(connection& line) noexcept {
  while (transfer* t = line.head) {
    if (t->posted || (t->how == transfer::kind::flush && line.unordered)) return true;
    const ssize_t e = post(*t);
    if (e == -FI_EAGAIN || (e == 0 && t->left > t->piece)) return true;
    leaves(*t);
    if (e != 0) ends(*t, vendor_error(e, "reaching", t->f->to->rank));
  }
  return false;
}

void remote_memory::ends(transfer& t, const status& outcome) noexcept {
  frame* f = t.f;
  if (outcome.ok() && t.result) std::memcpy(t.result, t.landing, t.piece);
  free(t);
  net_->reached(*f, outcome);
}

void remote_memory::completed(transfer& t, const status& outcome) noexcept {
  t.posted = false;
  if (t.how == transfer::kind::write && !t.ordered) --t.line->unordered;
  if (!t.f) return free(t);
  if (t.ended) return;
  t.left -= t.piece, t.here += t.piece, t.there += t.piece;
  const bool first = t.line->head == &t;
  if (outcome.ok() && t.left) return;  // the next piece goes with the next offer()
  if (first && t.left) leaves(t);
  ends(t, outcome);
}

void remote_memory::closed(connection& line) noexcept {
  for (const auto& c : chunks_)
    for (transfer& t : c->all)
      if (t.f && t.line == &line) t.ended = any_ended_ = true;
  line.head = line.tail = nullptr;
}

void remote_memory::tell_ended() noexcept {
  any_ended_ = false;
  for (std::size_t i = 0; i < chunks_.size(); ++i)
    for (transfer& t : chunks_[i]->all) {
      if (!t.f || !t.ended) continue;
      frame& f = *t.f;
      if (t.posted) t.f = nullptr;
      else free(t);
      net_->reached(f, {errc::peer_dead, worded("the connection to rank ", f.to->rank, " was closed"), f.to->rank});
    }
}

void remote_memory::progress() noexcept {
  if (any_ended_) tell_ended();
  for (connection* at = std::exchange(waiting_, nullptr); at;) {
    connection& line = *at;
    at = line.next;
    line.waits = offer(line);
    if (!line.waits) continue;
    line.next = waiting_;
    waiting_ = &line;
  }
}

}  // namespace tutti::ofi
