// Memory of this process that is registered with the fabric: its parts of areas, until these are popped.
#pragma once
#include <vector>

#include "bsp/context.h"
#include "bsp/registrar.h"

namespace tutti::bsp {

class registered_memory {
 public:
  registered_memory(transport& net, const registrar& areas) noexcept : net_(net), areas_(areas) {}
  ~registered_memory();
  registered_memory(const registered_memory&) = delete;
  registered_memory& operator=(const registered_memory&) = delete;

  // The whole of an area that is registered, or is about to be: anew, or as before.
  result<region_id> add(std::uint32_t number, const area&);
  result<region_id> of(const area&);

  // In the sync, when the areas have changed: drops what is of none of them.
  void settle() noexcept;
  bool empty() const noexcept { return all_.empty(); }

 private:
  struct registration {
    std::uint32_t number;  // of the area
    std::byte* base;
    std::uint64_t bytes;
    region_id id;
  };

  transport& net_;
  const registrar& areas_;
  std::vector<registration> all_;
};

}  // namespace tutti::bsp
