// The BSP engine of one process: what BSPlib's primitives do, for a team of ranks, without BSPlib's globals, so that
// several may live in one program (tests run ranks as threads and over the simulated fabric). bsplib.cpp makes the C
// functions of it.
//
// Every call that can break a rule of BSPlib returns false then; error() has the text that bsp_abort is to show. After
// an error the engine can only be destroyed.
//
//   registrar     areas and their numbers          registrations.cpp  that all agree on them, and on the tag size
//   arena, chain  what is packed for others, in memory they can reach
//   superstep.cpp the protocol of bsp_sync         exchange.cpp  chunks between two processes, and gets
//   ahead.cpp     hp calls that go at the call     bulk.cpp      large puts: pulled or pushed
//   direct_get    gets that do not wait for the sync
//   metadata_exchange how all learn what is to come    way_forecast  by which way next time
//   scheme        which of all that is used
//   placer        puts into their places           message_queue the messages of bsp_send
//   ledger        what supersteps cost             checker       what a program does wrong and BSPlib does not see
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "bsp/window_layout.h"
#include "bsp/bulk_choice.h"
#include "bsp/chain.h"
#include "bsp/checker.h"
#include "bsp/direct_get.h"
#include "bsp/metadata_exchange.h"
#include "bsp/ledger.h"
#include "bsp/message_queue.h"
#include "bsp/placer.h"
#include "bsp/puller.h"
#include "bsp/registrar.h"
#include "bsp/scheme.h"
#include "bsp/way_forecast.h"
#include "core/job/team.h"
#include "core/job/window.h"
#include "messaging/channel.h"

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
  // Collective, as a last sync: afterwards the engine may be destroyed.
  bool leave();
  ~engine() override;
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  std::uint32_t pid() const noexcept { return me_; }
  std::uint32_t nprocs() const noexcept { return size_; }
  metadata_way way() const noexcept { return way_; }  // chosen at open
  // How many supersteps went by words alone though another way was chosen at open, since words went to most anyway.
  std::uint64_t by_words_instead() const noexcept { return by_words_instead_; }
  std::uint64_t supersteps() const noexcept { return epoch_ - 1; }  // finished
  // How often large puts to a process were left for it to read, or pushed, in a superstep; for tests.
  std::uint64_t bulk_pulled() const noexcept { return bulk_pulled_; }
  std::uint64_t bulk_pushed() const noexcept { return bulk_pushed_; }
  std::uint64_t bulk_reads() const noexcept { return puller_.operations(); }  // by this process
  // Large hp calls that did not go at the call: packed, or moved from where the data lie.
  std::uint64_t hp_packed() const noexcept { return hp_packed_; }
  std::uint64_t hp_direct() const noexcept { return hp_direct_; }
  std::uint32_t regions_made() const noexcept { return arena_->regions() - 1; }  // of buffers, since the beginning
  // As if so many empty ones had passed, an even number. For tests; all processes do it between the same syncs.
  void pass(std::uint64_t supersteps) noexcept { epoch_ += supersteps; }
  const status& error() const noexcept { return error_; }

  // `site`: where the program called it, for the ledger.
  bool sync(const void* site = nullptr);

  // From the next superstep on. A program that is watched packs every put by itself, so that all calls are seen; where
  // nobody watches, watching costs nothing. `check`: to check, and be told of warnings; else empty.
  void watch(ledger*, const std::function<void(const std::string&)>& check);

  // --- areas ---------------------------------------------------------------------------------------------------
  bool push_reg(const void* address, std::uint64_t bytes);
  bool pop_reg(const void* address);
  bool put(std::uint32_t pid, const void* source, const void* address, std::uint64_t offset, std::uint64_t bytes) {
    if (pid < size_ && source) [[likely]] {
      outbox& l = outboxes_[pid];
      // Goes on where the last put to this process ended: no header, no look-up.
      if (address == l.run_address && offset == l.run_next && bytes <= static_cast<std::uint64_t>(l.run_end - l.data.at) &&
          (bytes & l.run_mask) == 0) {
        copy_small(l.data.at, source, bytes);
        l.data.at += bytes;
        l.run_next += bytes;
        return true;
      }
      // A few words of the area that was put to last: a short header and no look-up.
      if (address == l.word_address && ((offset | bytes) & 7) == 0 && offset < l.word_end) {
        const std::uint64_t most = std::min(most_words, l.word_end - offset);
        if (bytes - 1 < most && l.data.room() >= 4 + bytes) {
          if (l.run_head) close_short(l);
          std::byte* const at = l.data.at;
          l.run_head = at;
          l.run_word = l.word_head | static_cast<std::uint32_t>(offset >> 3) << 16;
          copy_small(at + 4, source, bytes);
          l.data.at = at + 4 + bytes;
          l.run_end = std::min(l.data.end, at + 4 + most);
          l.run_address = address;
          l.run_next = offset + bytes;
          l.run_mask = 7;
          return true;
        }
      }
    }
    return put_slowly(call_kind::put, pid, source, address, offset, bytes);
  }
  bool get(std::uint32_t pid, const void* address, std::uint64_t offset, void* into, std::uint64_t bytes) {
    return request(call_kind::get, pid, address, offset, into, bytes, false);
  }
  bool hpput(std::uint32_t pid, const void* source, const void* address, std::uint64_t offset, std::uint64_t bytes);
  bool hpget(std::uint32_t pid, const void* address, std::uint64_t offset, void* into, std::uint64_t bytes);

  // Blocks until the bytes are here.
  bool direct_get(std::uint32_t pid, const void* address, std::uint64_t offset, void* into, std::uint64_t bytes);

  // --- messages ------------------------------------------------------------------------------------------------
  bool set_tagsize(std::uint64_t bytes, std::uint64_t& before);
  bool send(std::uint32_t pid, const void* tag, const void* payload, std::uint64_t bytes);
  message_queue& queue() noexcept { return queue_; }
  std::uint64_t tag_bytes() const noexcept { return received_tag_; }  // of the messages in the queue

 private:
  struct direct_put {
    const std::byte* source;
    std::uint64_t offset, bytes;           // of an answer, offset is where it goes
    std::uint32_t area;                    // hp_answer: it answers an hp get, and is of no area
  };
  static constexpr std::uint32_t hp_answer = registrar::no_area;

  // What is packed for one process.
  struct outbox {
    chain data;
    std::byte* run_end = nullptr;          // the open put may grow to here, inside the area as well
    const void* run_address = nullptr;     // and does, if this address
    std::uint64_t run_next = 0;            // at this offset is put to next
    std::uint64_t run_mask = 0;            // by a multiple of this, plus one
    std::byte* run_head = nullptr;         // its header, completed when the run ends; null: none is open
    std::uint32_t run_word = 0;            // a short header but for its size
    bool run_long = false;                 // the header is not put4, and this is where it begins and in which area:
    std::uint32_t run_area = 0;
    std::uint64_t run_start = 0;
    const void* word_address = nullptr;    // a few words may be put there with a short header,
    std::uint64_t word_end = 0;            // up to this offset; the header then is
    std::uint32_t word_head = 0;           // this but for the offset; the open put, if any, has a short one
    bool run_cut = false;                  // the put goes on in the next record
    chain requests, answers;
    chain bulk;                            // data of large puts
    bulk_load load;                        // how much that is
    std::uint32_t keys_told = 1;           // regions of the arena that this process can read
    std::uint32_t gets = 0, direct_gets = 0;  // requests
    std::vector<direct_put> direct;        // hp puts that stay where they are until the sync, and answers of hp gets
    std::vector<rma_op> ahead;             // of hp calls that go at the call: what could not go yet,
    std::size_t ahead_taken = 0;           // from here on
    bool put_ahead = false;                // hp puts went, or wait there, in this superstep
    std::uint64_t hp_put = 0, hp_got = 0;  // bytes of large hp calls that are packed, in this superstep
  };

  // A peer's part in an area, as it told.
  struct far_area {
    std::vector<std::byte> key;            // empty: not told
    segment_id segment{};
    bool attached = false;
  };

  struct arrival {                         // of a large put that is pushed
    std::byte* to;
    std::uint64_t bytes;
    bool goes_on;                          // the next one is of the same put
  };

  // The other end.
  struct peer {
    rank_t rank = no_rank;
    bool takes_ahead = false;              // hp calls go to it at the call
    bool end_is_read = false;              // which sync it has finished is read in its window; else it must be asked
    bool end_is_told = false;              // it was asked in the last sync
    std::uint8_t hp_lately = 0;            // counts down the syncs since hp calls were made to it
    const std::byte* end = nullptr;        // the word that says which
    std::vector<far_area> far;             // by number
    const std::byte* mapped = nullptr;     // where its chunks are read in place; null: they come by put
    bool reads_me = false;                 // it reads mine in place
    std::vector<const std::byte*> regions; // of its arena, as far as they were met
    std::vector<segment_id> segments;      // to be dropped at the end
    std::vector<segment_id> readable;      // its regions that it told the keys of, by number
    std::uint64_t bulk_from = never;       // bytes: larger puts to it are packed apart
    std::unique_ptr<messaging::channel> line;
    bool offered = false;
    // in this superstep
    std::uint64_t metadata = 0;
    std::uint8_t outgoing = 0;             // flags of my metadata to it
    location eager = 0;                    // the chunk that goes with it
    stage sending = stage::done, receiving = stage::done;
    location next = 0, next_data = 0;      // to send through the channel: of this stage; of the stage of data
    location bulk = 0;                     // of what is pushed: the chunk, and the place in it, that is next
    std::uint64_t bulk_at = 0;
    std::uint64_t pushed = 0;              // bytes that it pushes to me
    std::vector<arrival> coming;           // to here, in this order,
    std::size_t placed = 0;                // of which so many are complete
    std::size_t direct = 0;                // hp puts that were sent, and bytes of the next one
    std::uint64_t direct_at = 0;
    bool needs_line = false;
    std::uint64_t answer_chunks = 0;       // of my answers to it, complete; of its answers to me, taken
    std::uint64_t answers_taken = 0;
    location answers_next = 0;
    bool served = false;                   // its requests, all of them
    bool eager_waits = false;              // the chunk that came with its metadata was not taken
    bool checked = false;                  // its registrations and tag size against mine
    std::uint32_t calls = 0;               // of bsp_push_reg and bsp_pop_reg, that it made
    unfinished open;
    location asked = 0;                    // my requests to it: the chunk, and the place in it, of the one being answered
    std::uint64_t asked_at = 0, answered = 0;
  };

  static constexpr std::uint32_t slot_bytes = 16 * 1024;
  static constexpr std::uint32_t slot_data = slot_bytes - sizeof(chunk_head);
  static constexpr std::uint32_t direct_front = 64;    // of a chunk: head and header, before the bytes of an hp put
  static constexpr std::uint64_t direct_least = 8192;  // bytes: smaller hp puts are packed like others
  static constexpr std::uint64_t most_hp_packed = std::uint64_t{4} << 20;  // of larger ones, for one process in a superstep
  static constexpr std::uint64_t most_words = 8 * put4::most_units;  // bytes
  static constexpr std::uint32_t no_process = ~std::uint32_t{0};

  engine(team&, const engine_options&);
  static void close_short(outbox& l) noexcept {
    const auto bytes = static_cast<std::uint32_t>(l.data.at - l.run_head) - 4;
    store_word(l.run_head, l.run_word | bytes >> (l.run_mask & 3) << 9);  // in units of 8 bytes or of one
    l.data.at += -reinterpret_cast<std::uintptr_t>(l.data.at) & 3;
  }
  unsigned half() const noexcept { return epoch_ & 1; }
  bool fail(status) noexcept;
  bool broken(const char* call, std::string text);
  bool check_pid(const char* call, std::uint32_t pid);
  bool check_memory(const char* call, const char* what, const void* at, std::uint64_t bytes);
  bool find_area(const char* call, std::uint32_t pid, const void* address, std::uint64_t offset, std::uint64_t bytes,
                 std::uint32_t& area);

  // open.cpp
  status meet();
  status choose_way();

  // engine.cpp
  bool put_slowly(call_kind, std::uint32_t pid, const void* source, const void* address, std::uint64_t offset,
                  std::uint64_t bytes);
  bool request(call_kind, std::uint32_t pid, const void* address, std::uint64_t offset, void* into,
               std::uint64_t bytes, bool direct);
  bool goes_direct(std::uint32_t pid, std::uint64_t bytes, std::uint64_t& packed) noexcept;
  void close_run(outbox&) noexcept;
  void saw(call_kind, std::uint32_t pid, const void* mine, std::uint32_t area, std::uint64_t offset, std::uint64_t bytes);
  bool open_run(const char* call, outbox&, std::uint32_t pid, const void* address, std::uint32_t area, std::uint64_t offset,
                std::uint64_t bytes, bool goes_on);
  bool extend(const char* call, chain&, stage, bool in_place, std::uint64_t wanted);

  // registrations.cpp
  // Whether a chunk tells what all change alike, though there is nothing else in it.
  bool announces(std::uint32_t from, std::uint32_t to) const noexcept {
    return areas_.changed() || (next_tag_ != sent_tag_ && to == (from + 1) % size_);
  }
  bool tell_changes(const char* call);
  status on_changes(std::uint32_t from, const changes_head&, const std::byte* calls) override;
  status check_first(std::uint32_t pid, const chunk_head&);
  status silent(std::uint32_t pid);
  status tags_differ(std::uint32_t pid, std::uint64_t theirs);
  status differ(std::uint32_t pid, std::uint32_t call, std::optional<std::uint64_t> told);
  status settle_changes();

  // superstep.cpp
  bool finish(bool leaving, const void* site);
  void begin_superstep() noexcept;
  std::uint8_t seal(std::uint32_t pid, bool leaving) noexcept;
  status announce();
  status announce_by_words();
  status announce_by_bytes();
  bool wants_word(std::uint32_t pid) const noexcept;
  void add_word(std::uint32_t pid);
  bool offer_words() noexcept;
  status agree(bool leaving);
  status place_in_place(std::uint32_t from);
  const chunk_head* chunk_at(std::uint32_t pid, location, status&);

  // ahead.cpp
  void meet_ahead(std::uint32_t pid) noexcept;
  bool go_ahead(call_kind, std::uint32_t pid, void* mine, const void* address, std::uint64_t offset, std::uint64_t bytes,
                bool& went);
  bool find_local(op_kind, std::byte* mine, std::uint64_t bytes, region_id& local, std::uint64_t& local_offset);
  bool attach_area(const peer&, far_area&);
  bool has_ended(const peer&) const noexcept;
  bool offer_ahead(std::uint32_t pid) noexcept;
  status finish_ahead();
  status finish_puts_ahead();
  void tell_end();
  bool offer_ends() noexcept;
  bool tell_areas(const char* call);
  void on_area(std::uint32_t from, const area_head&, std::span<const std::byte> key) override;
  void forget_areas() noexcept;
  void forget(far_area&) noexcept;

  // exchange.cpp
  status exchange();
  status pump(bool& done);
  void send_to(std::uint32_t pid);
  bool send_direct(std::uint32_t pid) noexcept;
  status receive_from(std::uint32_t pid);
  status read_from(std::uint32_t pid, bool& complete);
  status read_answers(std::uint32_t pid, bool& complete);
  bool tell_answers(std::uint32_t pid, bool all) noexcept;
  status take_from(std::uint32_t pid, bool& complete);
  status serve(std::uint32_t pid, std::span<const std::byte> requests);
  status deliver(std::uint32_t pid, std::span<const std::byte> answers);
  status introduce(std::uint32_t pid);

  // bulk.cpp
  bool put_in_bulk(const char* call, outbox&, const std::byte* source, std::uint32_t area, std::uint64_t offset,
                   std::uint64_t bytes);
  bool tell_keys(const char* call, outbox&);
  void choose_bulk(std::uint32_t pid) noexcept;
  bool send_bulk(std::uint32_t pid) noexcept;
  status on_key(std::uint32_t from, std::uint32_t region, std::span<const std::byte> key) override;
  status on_bulk(std::uint32_t from, const bulk_head&, const area& to) override;
  status place_bulk(std::uint32_t pid, std::span<const std::byte> bytes, bool last);
  void drop_registrations() noexcept;

  team& team_;
  job& job_;
  const scheme_row& scheme_;
  window_layout layout_;
  std::uint32_t me_, size_;
  std::unique_ptr<window> window_, eager_window_;
  std::byte* base_ = nullptr;              // of my window
  std::unique_ptr<arena> arena_;
  std::unique_ptr<outbox[]> outboxes_;
  std::unique_ptr<peer[]> peers_;
  metadata_way way_ = metadata_way::direct;
  bool all_in_place_ = true;               // nobody needs a channel
  std::unique_ptr<metadata_exchange> metadata_by_;  // null: always by a word from each to each
  bool by_words_ = true;                   // this superstep: by words alone
  std::uint32_t words_pay_from_ = 0;       // words besides, from which on words alone are cheaper; 0: always
  bool objected_ = false;                  // to words alone: this process, then anybody
  way_forecast forecast_;                  // alike in all
  std::uint64_t by_words_instead_ = 0;
  std::vector<std::uint8_t> flags_out_, flags_in_;
  budget memory_;
  registrar areas_;
  message_queue queue_{memory_};
  std::unique_ptr<direct_gets> direct_gets_;  // null: there is one process
  puller puller_;
  bulk_way bulk_way_;
  std::uint64_t hp_bound_ = 0;             // bytes of large hp calls that are packed for one process
  std::uint64_t hp_packed_ = 0, hp_direct_ = 0;
  std::uint64_t bulk_pulled_ = 0, bulk_pushed_ = 0;  // destinations, by superstep, to which large puts went so
  struct registration {                    // of an area of mine, for the fabric; of other memory until the sync
    std::uint32_t number;                  // no_area: other memory
    std::byte* base;
    std::uint64_t bytes;
    region_id id;
  };
  std::vector<registration> registrations_;
  std::uint32_t temporary_ = 0;             // of these, of other memory
  bool any_ahead_ = false;                 // some process takes hp calls ahead
  bool hp_waits_ = false;                  // such calls were made in this superstep
  bool ends_asked_ = false;                // by somebody, in this sync
  completion hp_puts_, hp_gets_;           // that went ahead
  std::vector<rma_op> ends_;               // words to those who asked
  std::size_t ends_taken_ = 0;
  placer placer_;
  std::uint64_t epoch_ = 1;                // of the superstep under way
  std::uint64_t sent_tag_ = 0, received_tag_ = 0, next_tag_ = 0;
  std::vector<rma_op> words_;              // to offer
  std::size_t offered_ = 0;
  std::uint32_t arrived_ = 0;              // metadata of this superstep, in the order in which they are looked at
  bool moved_ = false;                     // something went on in this turn of the exchange
  std::uint32_t mid_put_ = no_process;     // whose put was written in part only: nobody else's turn
  std::uint32_t unplaced_ = 0;             // peers whose puts have not all come
  std::uint32_t unserved_ = 0, unanswered_ = 0;  // peers whose requests I have not served; who have not answered mine
  completion sending_[2];                  // by half: chunks that the fabric still reads
  ledger* ledger_ = nullptr;               // null: nobody asked
  std::unique_ptr<checker> checker_;
  bool watched_ = false;
  status error_;
};

}  // namespace tutti::bsp
