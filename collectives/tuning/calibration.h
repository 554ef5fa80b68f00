// The costs of one fabric as they were measured, with their provenance, in place of the providers' priors.
#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "collectives/cost.h"

namespace tutti::tuning {

struct measured_value {
  double value = 0;
  double spread = 0;           // between the quartiles, as a share of the value
  std::string source, when;    // "tutti tune", "2026-11-23T10:00:00Z"
};

// A number that the evaluator reckons with. Each has a row in calibration.cpp.
struct parameter {
  std::string_view name;       // "node.latency_us"
  bool rate;                   // bytes a nanosecond; else microseconds
  void (*set)(costs&, double);
};
std::span<const parameter> parameters() noexcept;
inline constexpr std::size_t parameter_count = 16;

// What the fabric could do where it was measured.
struct abilities {
  bool target_must_progress = false, maps_node = false, multicasts = false;
  std::uint32_t message_bytes = 0;  // as costs has it
};

struct calibration {
  std::string fabric;          // as TUTTI_PROVIDER names it
  std::optional<abilities> can;  // none: the table does not say
  std::array<std::optional<measured_value>, parameter_count> values;  // by parameter; none: not measured, so the prior holds

  void apply(costs&) const;
  bool knows_links() const noexcept;  // what a message takes was measured
};

}  // namespace tutti::tuning
