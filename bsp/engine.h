// The BSP engine of one process: what BSPlib's primitives do, for a team of ranks, without BSPlib's globals, so that
// several may live in one program (tests run ranks as threads and over the simulated fabric). bsplib.cpp makes the C
// functions of it.
//
// Every call that can break a rule of BSPlib returns false then; error() has the text that bsp_abort is to show. After
// an error the engine can only be destroyed.
//
// The engine checks calls and leads through the sync (superstep.cpp). Its parts:
//   registrar     areas and their numbers          agreement     that all agree on them, and on the tag size
//   outbox        what is packed for one process, in chains of chunks from the arena, which others can reach
//   hp_calls      hp calls that go at the call     direct_gets   gets that do not wait for the sync
//   announcement  how all learn what is to come    exchange      chunks between processes, and gets
//   peer_memory   what is read of others           registered_memory  what the fabric knows of this process
//   placer        puts into their places           message_queue the messages of bsp_send
//   ledger        what supersteps cost             checker       what a program does wrong and BSPlib does not see
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "bsp/agreement.h"
#include "bsp/announcement.h"
#include "bsp/checker.h"
#include "bsp/direct_get.h"
#include "bsp/exchange.h"
#include "bsp/hp_calls.h"
#include "bsp/ledger.h"
#include "bsp/message_queue.h"
#include "bsp/outbox.h"
#include "bsp/parameters.h"
#include "bsp/peer_memory.h"
#include "bsp/placer.h"
#include "bsp/registered_memory.h"
#include "bsp/registrar.h"
#include "bsp/scheme.h"
#include "collectives/data_collectives.h"

namespace tutti::bsp {

struct engine_options {
  scheme how = scheme::automatic;
  std::uint64_t memory = 0;  // most bytes of buffers (budget.h); 0: a quarter of the machine's memory, shared by the node's ranks
  std::uint64_t room = default_chunk_room;  // bytes of them from the beginning, of all processes together; alike in all
};

class engine final : private record_sink {
 public:
  // Collective over the team; blocks.
  static result<std::unique_ptr<engine>> open(team&, const engine_options&);
  // Collective, as a last sync: afterwards the engine may be destroyed. Registrations and tag sizes of the superstep that would
  // have come are forgotten, in drop_registrations() as well.
  bool leave();
  void drop_registrations() noexcept;
  ~engine() override = default;
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  std::uint32_t pid() const noexcept { return c_.me; }
  std::uint32_t nprocs() const noexcept { return c_.size; }
  transport& net() const noexcept { return c_.net; }
  metadata_way way() const noexcept { return announcement_.way(); }  // of the metadata, chosen at open
  // How many supersteps went by words alone though another way was chosen at open, since words went to most anyway.
  std::uint64_t by_words_instead() const noexcept { return announcement_.by_words_instead(); }
  std::uint64_t supersteps() const noexcept { return c_.epoch - 1; }  // finished
  // How often large puts to a process were left for it to read, or pushed, in a superstep; for tests.
  std::uint64_t bulk_pulled() const noexcept { return packing_.bulk_pulled; }
  std::uint64_t bulk_pushed() const noexcept { return packing_.bulk_pushed; }
  std::uint64_t bulk_reads() const noexcept { return exchange_->bulk_reads(); }  // by this process
  // Large hp calls that did not go at the call: packed, or moved from where the data lie.
  std::uint64_t hp_packed() const noexcept { return hp_packed_; }
  std::uint64_t hp_direct() const noexcept { return hp_direct_; }
  std::uint32_t regions_made() const noexcept { return arena_.regions() - 1; }  // of buffers, since the beginning
  // As if so many empty ones had passed, an even number. For tests; all processes do it between the same syncs.
  void pass(std::uint64_t supersteps) noexcept { c_.epoch += supersteps; }
  const status& error() const noexcept { return error_; }

  // `site`: where the program called it, for the ledger.
  bool sync(const void* site = nullptr);

  // From the next superstep on. A program that is watched packs every put by itself, so that all calls are seen; where
  // nobody watches, watching costs nothing. `check`: to check, and be told of warnings; else empty.
  void watch(ledger*, const std::function<void(const std::string&)>& check);

  // --- areas ---------------------------------------------------------------------------------------------------
  bool push_reg(const void* address, std::uint64_t bytes);
  bool pop_reg(const void* address);
  // `from`, of all that move data: where the program called it, for the ledger; null: a call of the library's own.
  bool put(std::uint32_t pid, const void* source, const void* address, std::uint64_t offset, std::uint64_t bytes,
           const void* from = nullptr) {
    if (pid < c_.size && source) [[likely]]
      if (boxes_[pid].append(source, address, offset, bytes)) return true;
    return put_slowly(call_kind::put, pid, source, address, offset, bytes, from);
  }
  bool get(std::uint32_t pid, const void* address, std::uint64_t offset, void* into, std::uint64_t bytes,
           const void* from = nullptr) {
    return request(call_kind::get, pid, address, offset, into, bytes, from);
  }
  bool hpput(std::uint32_t pid, const void* source, const void* address, std::uint64_t offset, std::uint64_t bytes,
             const void* from = nullptr);
  bool hpget(std::uint32_t pid, const void* address, std::uint64_t offset, void* into, std::uint64_t bytes,
             const void* from = nullptr);

  // Blocks until the bytes are here.
  bool direct_get(std::uint32_t pid, const void* address, std::uint64_t offset, void* into, std::uint64_t bytes,
                  const void* from = nullptr);

  // --- messages ------------------------------------------------------------------------------------------------
  bool set_tagsize(std::uint64_t bytes, std::uint64_t& before);
  bool send(std::uint32_t pid, const void* tag, const void* payload, std::uint64_t bytes, const void* from = nullptr);
  message_queue& queue() noexcept { return queue_; }
  std::uint64_t tag_bytes() const noexcept { return agreement_.received_tag(); }  // of the messages in the queue

  // --- collective calls (level1.cpp) ---------------------------------------------------------------------------
  // All processes end the superstep by the same call, with one note. give(): process `pid` gets `bytes` of `source`, as they
  // are now; once for each process at most. sync_by(): ends the superstep; processes from `first` to before `last` have given this
  // one something, and no others. given(): that, until the next sync. `data`, where note.root has given something to all: is moved
  // from there into everyone's, within the sync, so that nobody's next superstep meets it.
  bool give(std::uint32_t pid, const call_note&, const void* source, std::uint64_t bytes);
  bool sync_by(const call_note&, std::uint32_t first, std::uint32_t last, const void* site, std::span<std::byte> data = {});
  const message& given(std::uint32_t pid) const noexcept { return given_[pid].what; }

  // Collective, behind a call by which all know that all make it. Null before.
  bool measure();
  const parameters* measured() const noexcept { return parameters_ ? &*parameters_ : nullptr; }

 private:
  engine(team&, const engine_options&);
  status meet();  // open.cpp
  bool fail(status) noexcept;                                         // false
  bool during(const char* call, const status& s) { return s.ok() || fail(s.during(call)); }
  bool broken(const char* call, std::string text);                    // false, as are the next two
  bool no_process(const char* call, std::uint32_t pid);
  bool is_null(const char* call, const char* what, std::uint64_t bytes);
  // The area that a call upon `bytes` > 0 is about, if it breaks no rule.
  bool find_area(const char* call, std::uint32_t pid, const char* what, const void* mine, const void* address,
                 std::uint64_t offset, std::uint64_t bytes, std::uint32_t& area);
  bool put_slowly(call_kind, std::uint32_t pid, const void* source, const void* address, std::uint64_t offset,
                  std::uint64_t bytes, const void* from);
  bool request(call_kind, std::uint32_t pid, const void* address, std::uint64_t offset, void* into, std::uint64_t bytes, const void* from);
  bool moves_directly(const outbox&, std::uint64_t bytes, std::uint64_t& packed) noexcept;
  void saw(call_kind, std::uint32_t pid, const void* mine, std::uint32_t area, std::uint64_t offset, std::uint64_t bytes, const void* from);

  // superstep.cpp
  void begin_superstep() noexcept;
  bool finish(bool leaving, const void* site);
  status synchronize(bool leaving);
  status agree(bool leaving);
  status check_given(std::uint64_t epoch);
  status broadcast();
  const char* ends_by(bool leaving) const noexcept { return leaving ? "bsp_end" : collective_ ? collective_->call : "bsp_sync"; }

  // What the placer finds besides puts and messages.
  status on_changes(std::uint32_t from, const changes_head& h, const std::byte* calls) override {
    return agreement_.on_changes(from, h, calls);
  }
  status on_key(std::uint32_t from, std::uint32_t region, std::span<const std::byte> key) override {
    return peers_->add_key(from, region, key);
  }
  status on_bulk(std::uint32_t from, const bulk_head& h, const area& to) override { return exchange_->on_bulk(from, h, to); }
  void on_area(std::uint32_t from, const area_head& h, std::span<const std::byte> key) override { hp_->on_area(from, h, key); }
  void on_value(std::uint32_t from, const message& m) noexcept override { given_[from] = {m, last_given_ = c_.epoch}; }

  context c_;
  budget memory_;
  message_queue queue_{memory_};
  struct gift {
    message what;
    std::uint64_t epoch = 0;               // of the superstep in which it was given
  };
  std::vector<gift> given_;                // by process, in collective calls
  std::uint64_t last_given_ = 0;           // of any, the epoch
  const call_note* collective_ = nullptr;  // the call that ends this superstep; null: a sync
  std::uint32_t givers_first_ = 0, givers_last_ = 0;
  std::span<std::byte> broadcast_;         // that it moves
  std::optional<call_record> record_;      // these two from the first one on
  std::optional<data_collectives> data_;
  registrar areas_;
  agreement agreement_;
  placer placer_;
  registered_memory registered_;
  arena arena_;
  outbox::shared packing_;
  std::vector<outbox> boxes_;              // by process
  announcement announcement_;
  std::optional<peer_memory> peers_;       // these three as soon as the windows are there
  std::optional<exchange> exchange_;
  std::optional<hp_calls> hp_;
  std::optional<direct_gets> direct_gets_; // none: there is one process
  std::uint64_t hp_bound_ = 0;             // bytes of large hp calls that are packed for one process in a superstep
  std::uint64_t hp_packed_ = 0, hp_direct_ = 0;
  ledger* ledger_ = nullptr;               // null: nobody asked
  std::unique_ptr<checker> checker_;
  std::optional<parameters> parameters_;
  bool watched_ = false;
  status error_;
};

}  // namespace tutti::bsp
