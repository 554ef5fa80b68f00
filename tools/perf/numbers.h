// Numbers of a file that anybody may have made, as JSON: those that a report can have. Pages compute with them, and draw them.
#pragma once
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace tutti::tools {

// A time, a rate, a number of bytes: what is measured is neither negative nor without bound.
template <class Json>
double quantity(const Json& in) {
  const double value = in.template get<double>();
  if (!(value >= 0 && value <= 1e18)) throw std::runtime_error("it has a number that nothing measures: " + in.dump());
  return value;
}

template <class Json>
std::vector<double> quantities(const Json& in) {
  std::vector<double> out;
  for (const auto& each : in) out.push_back(quantity(each));
  return out;
}

template <class T, class Json>
T count(const Json& in) {
  if (!in.is_number_unsigned() || in.template get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<T>::max()))
    throw std::runtime_error("it has a count that nothing has: " + in.dump());
  return in.template get<T>();
}

}  // namespace tutti::tools
