#include "core/transport/driven_transport.h"

#include <utility>

#include "core/transport/multicast.h"
#include "core/transport/offload.h"
#include "core/transport/progress_thread.h"
#include "core/transport/two_sided.h"

namespace tutti {
namespace {

using visit = progress_thread::visit;

// Each call of an optional interface is a visit: the thread stands still meanwhile.
template <class Interface>
class driven : public Interface {
 public:
  explicit driven(progress_thread& t) noexcept : thread_{t} {}
  void wrap(Interface* inner) noexcept { inner_ = inner; }
  bool wraps_any() const noexcept { return inner_; }
  typename Interface::limits query() const noexcept override { return inner_->query(); }

 protected:
  progress_thread& thread_;
  Interface* inner_ = nullptr;
};

class driven_multicast final : public driven<multicast> {
 public:
  using driven::driven;
  result<group_id> create(const rank_map& members, std::vector<std::byte>& token, time_point deadline) override {
    const visit here{thread_};
    return inner_->create(members, token, deadline);
  }
  result<group_id> join(const rank_map& members, std::span<const std::byte> token, time_point deadline) override {
    const visit here{thread_};
    return inner_->join(members, token, deadline);
  }
  bool send(group_id id, std::uint32_t tag, std::span<const std::byte> payload) noexcept override {
    const visit here{thread_};
    return inner_->send(id, tag, payload);
  }
  bool receive(group_id id, datagram& out) noexcept override {
    const visit here{thread_};
    return inner_->receive(id, out);
  }
  void leave(group_id id) noexcept override {
    const visit here{thread_};
    inner_->leave(id);
  }
};

class driven_offload final : public driven<offload> {
 public:
  using driven::driven;
  result<plan_id> prepare(const schedule& s, const rank_map& members, std::uint64_t first_epoch,
                          std::vector<std::byte>& blob) override {
    const visit here{thread_};
    return inner_->prepare(s, members, first_epoch, blob);
  }
  status connect(plan_id id, shared_blobs blobs) override {
    const visit here{thread_};
    return inner_->connect(id, std::move(blobs));
  }
  std::uint32_t queue(plan_id id, std::uint32_t epochs) noexcept override {
    const visit here{thread_};
    return inner_->queue(id, epochs);
  }
  [[nodiscard]] bool start(plan_id id) noexcept override {
    const visit here{thread_};
    return inner_->start(id);
  }
  std::uint64_t finished(plan_id id) noexcept override {
    const visit here{thread_};
    return inner_->finished(id);
  }
  std::uint32_t awaits(plan_id id) noexcept override {
    const visit here{thread_};
    return inner_->awaits(id);
  }
  status outcome(plan_id id) noexcept override {
    const visit here{thread_};
    return inner_->outcome(id);
  }
  void drop(plan_id id) noexcept override {
    const visit here{thread_};
    inner_->drop(id);
  }
};

class driven_two_sided final : public driven<two_sided> {
 public:
  using driven::driven;
  bool send(rank_t to, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept override {
    const visit here{thread_};
    return inner_->send(to, header, payload);
  }
  // What it gives is the rank's until the next receive(): the thread's progress leaves it alone.
  bool receive(message& out) noexcept override {
    const visit here{thread_};
    return inner_->receive(out);
  }
};

class driven_transport final : public transport {
 public:
  driven_transport(std::unique_ptr<transport> inner, std::vector<transport*> driven)
      : inner_{std::move(inner)}, thread_{std::move(driven)}, multicast_{thread_}, offload_{thread_}, two_sided_{thread_},
        caps_{inner_->caps()} {
    caps_.target_must_progress = false;
    caps_.progress_thread = true;
  }

  const capabilities& caps() const noexcept override { return caps_; }
  multicast* mcast() noexcept override { return multicast_.wraps_any() ? &multicast_ : nullptr; }
  offload* offloader() noexcept override { return offload_.wraps_any() ? &offload_ : nullptr; }
  two_sided* sendrecv() noexcept override { return two_sided_.wraps_any() ? &two_sided_ : nullptr; }

  result<std::vector<std::byte>> address() override {
    const visit here{thread_};
    return inner_->address();
  }
  status connect(shared_blobs addresses, time_point deadline) override {
    {
      const visit here{thread_};
      if (status s = inner_->connect(std::move(addresses), deadline); s.failed()) return s;
      multicast_.wrap(inner_->mcast());
      offload_.wrap(inner_->offloader());
      two_sided_.wrap(inner_->sendrecv());
    }
    return thread_.start();
  }
  bool reaches(rank_t rank) const noexcept override { return inner_->reaches(rank); }
  bool native_towards(rank_t rank) const noexcept override { return inner_->native_towards(rank); }

  result<region_id> add(std::span<std::byte> memory) override {
    const visit here{thread_};
    return inner_->add(memory);
  }
  result<region_id> add_unowned(std::span<std::byte> memory) override {
    const visit here{thread_};
    return inner_->add_unowned(memory);
  }
  result<region_id> allocate(std::size_t bytes, std::span<std::byte>& memory) override {
    const visit here{thread_};
    return inner_->allocate(bytes, memory);
  }
  result<std::vector<std::byte>> key(region_id id) override {
    const visit here{thread_};
    return inner_->key(id);
  }
  result<segment_id> attach(const rank_map& members, shared_blobs keys) override {
    const visit here{thread_};
    return inner_->attach(members, std::move(keys));
  }
  void drop(segment_id id) noexcept override {
    const visit here{thread_};
    inner_->drop(id);
  }
  void drop(region_id id) noexcept override {
    const visit here{thread_};
    inner_->drop(id);
  }
  void at_rest(bool on) noexcept override {
    const visit here{thread_};
    inner_->at_rest(on);
  }
  std::byte* map(segment_id id, rank_t rank) noexcept override {
    const visit here{thread_};
    return inner_->map(id, rank);
  }

  [[nodiscard]] std::size_t submit(std::span<const rma_op> ops) noexcept override {
    const visit here{thread_};
    return inner_->submit(ops);
  }
  [[nodiscard]] bool flush(rank_t peer, completion* done) noexcept override {
    const visit here{thread_};
    return inner_->flush(peer, done);
  }
  unsigned progress() noexcept override {
    const visit here{thread_};
    thread_.set_armed(false);
    return inner_->progress();
  }

  armed arm() noexcept override {
    const visit here{thread_};
    armed open = inner_->arm();
    thread_.set_armed(static_cast<bool>(open));
    return open;
  }
  bool arm_fd() noexcept override {
    const visit here{thread_};
    const bool open = inner_->arm_fd();
    thread_.set_armed(open);
    return open;
  }
  // The thread has nothing to do meanwhile: a rank that sleeps serves its peers.
  void sleep(armed open, time_point deadline) noexcept override {
    const visit here{thread_};
    inner_->sleep(std::move(open), deadline);
    thread_.set_armed(false);
  }
  int wait_fd() noexcept override { return inner_->wait_fd(); }
  void disarm() noexcept override {
    const visit here{thread_};
    inner_->disarm();
    thread_.set_armed(false);
  }

  time_point now() const noexcept override { return inner_->now(); }
  status health(rank_t peer) noexcept override {
    const visit here{thread_};
    thread_.set_armed(false);  // it may drive the transport, which closes a sleep
    return inner_->health(peer);
  }

 private:
  std::unique_ptr<transport> inner_;
  progress_thread thread_;  // ends before the transport goes
  driven_multicast multicast_;
  driven_offload offload_;
  driven_two_sided two_sided_;
  capabilities caps_;
};

}  // namespace

std::unique_ptr<transport> make_driven(std::unique_ptr<transport> whole, std::vector<transport*> driven) {
  return std::make_unique<driven_transport>(std::move(whole), std::move(driven));
}

}  // namespace tutti
