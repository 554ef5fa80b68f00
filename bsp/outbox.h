// What this process has for one other process in a superstep: chains of chunks that it packs while it computes, and how far
// these have been sent when the superstep ends.
//
//   data      puts and messages, as records (wire.h); and records of what all change alike
//   requests  gets, which the other process answers in this order
//   bulk      the data of large puts, apart from their records, so that they can be read where they lie or be pushed
//   direct    hp calls that are not packed: moved in the sync, from their sources
//   answers   to the other's gets, made in the sync
//
// The owner checks what is packed: areas, offsets and memory are taken as they are. Errors: no_resource, as of the arena.
#pragma once
#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "bsp/bulk_choice.h"
#include "bsp/chain.h"
#include "bsp/context.h"

namespace tutti::bsp {

// Chunks that travel through a channel fill its slots.
inline constexpr std::uint32_t slot_bytes = 16 * 1024;
inline constexpr std::uint32_t slot_data = slot_bytes - sizeof(chunk_head);

class alignas(64) outbox {
  // What append() looks at, in two cache lines.
  chain data_;
  std::byte* run_end_ = nullptr;          // the open put may grow to here, inside the area as well
  const void* run_address_ = nullptr;     // and does, if this address
  std::uint64_t run_next_ = 0;            // at this offset is put to next
  std::uint64_t run_mask_ = 0;            // by a multiple of this, plus one
  std::byte* run_head_ = nullptr;         // its header, completed when the run ends; null: none is open
  std::uint32_t run_word_ = 0;            // a short header but for its size
  bool run_long_ = false;                 // the header is not put4, and this is where it begins and in which area:
  bool run_cut_ = false;                  // the put goes on in the next record
  std::uint32_t run_area_ = 0;
  std::uint64_t run_start_ = 0;
  const void* word_address_ = nullptr;    // a few words may be put there with a short header,
  std::uint64_t word_end_ = 0;            // up to this offset; the header then is
  std::uint32_t word_head_ = 0;           // this but for the offset; the open put, if any, has a short one

 public:
  // What all outboxes of a process have in common.
  struct shared {
    const context& c;
    arena& memory;
    bulk_way bulk;
    std::uint64_t bulk_pulled = 0, bulk_pushed = 0;  // destinations, by superstep, to which large puts went so
  };
  struct direct_move {
    const std::byte* source;
    std::uint64_t offset, bytes;  // of an answer, offset is where it goes
    std::uint32_t area;           // answers_get: it answers an hp get
  };
  static constexpr std::uint32_t answers_get = ~std::uint32_t{0};

  // `in_place`: the other process reads chunks where they are packed. `bulk_from`: bytes from which on puts are bulk.
  outbox(shared& all, std::uint32_t to, bool in_place, std::uint64_t bulk_from) noexcept
      : all_(all), c_(all.c), memory_(all.memory), to_(to), in_place_(in_place), bulk_from_(bulk_from) {}

  // --- while the program computes --------------------------------------------------------------------------------
  // Empties it for the superstep that begins, from the chunk on that stands in the window.
  void start() noexcept {
    const window_layout& layout = c_.layout;
    data_.start(memory_, make_location(0, layout.chunk(c_.half(), to_)), in_place_ ? layout.chunk_bytes() : layout.eager_bytes());
    run_address_ = word_address_ = this;  // which nobody registers
    run_end_ = data_.at;
    if (!requests_.empty()) requests_.clear(), gets_ = direct_gets_ = 0;
    if (!answers_.empty()) answers_.clear(), answer_chunks_ = 0;
    if (!direct_.empty()) direct_.clear(), direct_next = 0;
    if (!bulk_.empty()) bulk_.clear(), load_ = {};
    hp_put = hp_got = 0;
  }

  // Packs a put without a look-up: one that goes on where the last one ended, or of few words of the same area. False: it
  // is to be packed by put().
  bool append(const void* source, const void* address, std::uint64_t offset, std::uint64_t bytes) noexcept {
    // Goes on where the last put ended: no header.
    if (address == run_address_ && offset == run_next_ && bytes <= static_cast<std::uint64_t>(run_end_ - data_.at) &&
        (bytes & run_mask_) == 0) {
      copy_small(data_.at, source, bytes);
      data_.at += bytes;
      run_next_ += bytes;
      return true;
    }
    // A few words of the area that was put to last: a short header.
    if (address == word_address_ && ((offset | bytes) & 7) == 0 && offset < word_end_) {
      const std::uint64_t most = std::min(most_words, word_end_ - offset);
      if (bytes - 1 < most && data_.room() >= 4 + bytes) {
        if (run_head_) close_short();
        std::byte* const at = data_.at;
        run_head_ = at;
        run_word_ = word_head_ | static_cast<std::uint32_t>(offset >> 3) << 16;
        copy_small(at + 4, source, bytes);
        data_.at = at + 4 + bytes;
        run_end_ = std::min(data_.end, at + 4 + most);
        run_address_ = address;
        run_next_ = offset + bytes;
        run_mask_ = 7;
        return true;
      }
    }
    return false;
  }
  // `there`: bytes that the other process has of the area. `joins`: later puts may go on in its header.
  status put(const std::byte* source, const void* address, std::uint32_t area, std::uint64_t there, std::uint64_t offset,
             std::uint64_t bytes, bool joins);
  status request(const get_request& r) {
    if (requests_.room() < sizeof r) [[unlikely]]
      if (status s = extend(requests_, stage::requests, sizeof r); s.failed()) return s;
    std::memcpy(requests_.at, &r, sizeof r);
    requests_.at += sizeof r;
    ++(r.direct ? direct_gets_ : gets_);
    return {};
  }
  status send(const void* tag, std::uint64_t tag_bytes, const void* payload, std::uint64_t bytes,
              std::uint32_t mark = message_mark);
  void move_directly(const direct_move& m) { direct_.push_back(m); }
  std::uint64_t hp_put = 0, hp_got = 0;  // bytes of large hp calls that the owner packed all the same
  // A record of another kind: its head, and bytes behind it.
  template <class Head>
  status record(const Head& head, std::span<const std::byte> body) {
    if (status s = make_room(sizeof head + round_up(body.size(), 4)); s.failed()) return s;
    write(head, body);
    return {};
  }
  // Calls of bsp_push_reg and bsp_pop_reg (changes_head), in as many records as it takes.
  status record_calls(std::span<const std::uint64_t> calls);

  // --- when the superstep ends -----------------------------------------------------------------------------------
  // Completes what was packed and decides what goes with the metadata word. `calls`, `tag`: for the first chunk's head.
  // `announces`: that chunk goes even if it is empty. Returns metadata_flags.
  std::uint8_t seal(std::uint32_t calls, std::uint32_t tag, bool announces) noexcept;

  std::uint32_t to() const noexcept { return to_; }
  bool in_place() const noexcept { return in_place_; }
  bool asks() const noexcept { return !requests_.empty(); }      // for anything
  std::uint32_t gets() const noexcept { return gets_; }          // that are answered in place, or by chunks
  std::uint32_t direct_gets() const noexcept { return direct_gets_; }
  location eager() const noexcept { return eager_; }             // the chunk that goes with the metadata word; 0: none

  // What is still to be sent: the owner sends it, chunk by chunk, and moves these on.
  location next = 0;                // of the stage that is being sent
  location next_data = 0;           // where the stage of data begins
  location bulk_next = 0;           // what is pushed: the chunk
  std::uint64_t bulk_at = 0;        // and the place in it
  std::span<const direct_move> direct() const noexcept { return direct_; }
  std::size_t direct_next = 0;      // of these
  std::uint64_t direct_at = 0;      // bytes of it that were sent

  // --- gets, in the sync -----------------------------------------------------------------------------------------
  // Copies what the other process asked for, as far as the chunk has room: `copied` bytes.
  status answer(const std::byte* from, std::uint64_t bytes, std::uint64_t& copied) {
    if (answers_.room() == 0) [[unlikely]]
      if (status s = extend_answers(bytes); s.failed()) return s;
    copied = std::min<std::uint64_t>(bytes, answers_.room());
    copy_small(answers_.at, from, copied);
    answers_.at += copied;
    return {};
  }
  void seal_answers() noexcept;
  location answers() const noexcept { return answers_.first(); }
  std::uint64_t answer_chunks() const noexcept { return answer_chunks_; }  // complete
  std::uint64_t answer_word(bool all) const noexcept { return make_answer(answers_.first(), answer_chunks_, all); }
  // Answers to my requests, in their order, to where these said. Errors: protocol, there are more than requests.
  void await_answers() noexcept;
  status deliver(std::span<const std::byte> answers);

 private:
  static constexpr std::uint64_t most_words = 8 * put4::most_units;  // bytes

  void close_short() noexcept {
    const auto bytes = static_cast<std::uint32_t>(data_.at - run_head_) - 4;
    store_word(run_head_, run_word_ | bytes >> (run_mask_ & 3) << 9);  // in units of 8 bytes or of one
    data_.at += -reinterpret_cast<std::uintptr_t>(data_.at) & 3;
  }
  void close_run() noexcept;
  status open_run(const void* address, std::uint32_t area, std::uint64_t there, std::uint64_t offset, std::uint64_t bytes,
                  bool goes_on, bool joins);
  status put_in_bulk(const std::byte* source, std::uint32_t area, std::uint64_t offset, std::uint64_t bytes);
  status tell_keys();
  void choose_bulk() noexcept;
  status extend(chain&, stage, std::uint64_t wanted);
  status extend_answers(std::uint64_t wanted);
  status make_room(std::uint64_t bytes);
  template <class Head>
  void write(const Head& head, std::span<const std::byte> body) noexcept {
    std::memcpy(data_.at, &head, sizeof head);
    if (!body.empty()) std::memcpy(data_.at + sizeof head, body.data(), body.size());
    data_.at += sizeof head + round_up(body.size(), 4);
  }

  shared& all_;
  const context& c_;
  arena& memory_;
  std::uint32_t to_;
  bool in_place_;
  std::uint64_t bulk_from_;
  chain requests_, answers_, bulk_;
  bulk_load load_;                        // how much bulk is
  std::uint32_t keys_told_ = 1;           // regions of the arena that the other process can read
  std::uint32_t gets_ = 0, direct_gets_ = 0;  // requests
  std::vector<direct_move> direct_;
  location eager_ = 0;
  std::uint64_t answer_chunks_ = 0;
  location asked_ = 0;                    // my requests: the chunk, and the place in it, of the one being answered
  std::uint64_t asked_at_ = 0, answered_ = 0;
};

}  // namespace tutti::bsp
