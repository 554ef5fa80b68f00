// Takes chunks of puts and messages apart: writes what was put where it belongs, and queues what was sent.
#pragma once
#include <span>

#include "bsp/message_queue.h"
#include "bsp/registrar.h"
#include "core/base/status.h"

namespace tutti::bsp {

// What comes in pieces.
struct unfinished {
  bool put = false;           // more of the last put is to come
  message_head head;          // of a message
  std::byte* at = nullptr;    // where the next byte goes
  std::byte* start = nullptr;
  std::uint64_t left = 0;     // bytes that are still to come
};

// What the placer leaves to its owner: data that lie apart, the keys of areas, and what collective calls give.
class record_sink {
 public:
  virtual ~record_sink() = default;
  virtual status on_changes(std::uint32_t from, const changes_head&, const std::byte* calls) = 0;
  virtual status on_key(std::uint32_t from, std::uint32_t region, std::span<const std::byte> key) = 0;
  virtual status on_bulk(std::uint32_t from, const bulk_head&, const area& to) = 0;
  virtual void on_area(std::uint32_t from, const area_head&, std::span<const std::byte> key) = 0;
  virtual void on_value(std::uint32_t from, const message&) noexcept = 0;  // which stays as long as those of the queue
};

class placer {
 public:
  placer(const registrar& areas, message_queue& queue, record_sink& others, std::uint32_t me)
      : areas_(areas), queue_(queue), others_(others), me_(me) {}

  // The records of one chunk (without its head) from process `from`. `stays`: the chunk may be referred to until the
  // queue is cleared. Errors: protocol, as of check; no_resource, its messages are more than may be buffered.
  status place(std::span<const std::byte> records, std::uint32_t from, unfinished&, bool stays);

  // Whether what `from` asks for stays inside. It has seen to that where the program called (engine::find_area), and it
  // is seen to again before anything is written or read here: the error is one of this library.
  status check(const char* what, std::uint32_t from, std::uint32_t number, std::uint64_t offset, std::uint64_t bytes,
               const area*& out) const;

 private:
  status deliver(std::uint32_t from, const message_head&, const std::byte* at);
  status too_many(std::uint32_t from, std::uint64_t bytes) const;

  const registrar& areas_;
  message_queue& queue_;
  record_sink& others_;
  std::uint32_t me_;
};

}  // namespace tutti::bsp
