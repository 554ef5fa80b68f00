// Memory of this process that is registered with the fabric: its parts of areas, until these are popped; and other memory
// that calls name, until the end of the sync.
#pragma once
#include <optional>
#include <vector>

#include "bsp/context.h"
#include "bsp/registrar.h"

namespace tutti::bsp {

class registered_memory {
 public:
  struct local {
    region_id region;
    std::uint64_t offset;
  };

  registered_memory(transport& net, const registrar& areas) noexcept : net_(net), areas_(areas) {}
  ~registered_memory();
  registered_memory(const registered_memory&) = delete;
  registered_memory& operator=(const registered_memory&) = delete;

  // Where the fabric finds these bytes; they are registered until the sync, if need be. None: that cannot be.
  std::optional<local> find(std::byte* mine, std::uint64_t bytes);
  // The whole of an area that is registered, or is about to be: anew, or as before.
  result<region_id> add(std::uint32_t number, const area&);
  result<region_id> of(const area&);

  // In the sync, when the areas have changed: drops what is of none of them.
  void settle() noexcept;
  bool has_temporary() const noexcept { return temporary_ > 0; }
  bool empty() const noexcept { return all_.empty(); }

 private:
  struct registration {
    std::uint32_t number;  // of the area; no_area: other memory
    std::byte* base;
    std::uint64_t bytes;
    region_id id;
  };

  transport& net_;
  const registrar& areas_;
  std::vector<registration> all_;
  std::uint32_t temporary_ = 0;  // of these, of other memory
};

}  // namespace tutti::bsp
