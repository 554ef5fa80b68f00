// The text of an error, put together where no exception may leave: its parts are listed, and who keeps the text (status) copies them at once
// into memory of its own, or does without. Listing them allocates nothing and throws nothing.
//
//   return {errc::peer_dead, worded("rank ", rank, " left with ", bytes, " bytes unread"), rank};
//
// Parts are strings, and whole numbers in decimal; they are referred to, so this lives no longer than the expression that it is written in.
#pragma once
#include <charconv>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace tutti {

// Parts in a row, of whoever has listed them.
class text_parts {
 public:
  constexpr text_parts(const char* all) noexcept : one_(all), parts_(&one_), count_(1) {}
  constexpr text_parts(std::string_view all) noexcept : one_(all), parts_(&one_), count_(1) {}
  text_parts(const std::string& all) noexcept : one_(all), parts_(&one_), count_(1) {}
  text_parts(const text_parts&) = delete;
  text_parts& operator=(const text_parts&) = delete;

  std::size_t size() const noexcept {
    std::size_t n = 0;
    for (std::size_t i = 0; i < count_; ++i) n += parts_[i].size();
    return n;
  }
  template <class F>
  void each(F&& f) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) f(parts_[i]);
  }

 protected:
  constexpr text_parts(const std::string_view* parts, std::size_t count) noexcept : parts_(parts), count_(count) {}

 private:
  std::string_view one_;
  const std::string_view* parts_;
  std::size_t count_;
};

template <std::size_t N>
class worded final : public text_parts {
 public:
  template <class... Parts>
    requires(sizeof...(Parts) == N)
  explicit worded(const Parts&... parts) noexcept : text_parts(parts_, N) {
    std::size_t i = 0;
    ((parts_[i] = view(parts, digits_[i]), ++i), ...);
  }

 private:
  static constexpr std::size_t most_digits = 20;  // and a sign, of 64 bits
  using digits = char[most_digits];

  static std::string_view view(std::string_view s, digits&) noexcept { return s; }
  template <std::integral Number>
  static std::string_view view(Number n, digits& to) noexcept {
    static_assert(!std::same_as<Number, bool> && !std::same_as<Number, char>, "neither is a number");
    return {to, std::to_chars(to, to + most_digits, n).ptr};
  }

  std::string_view parts_[N];
  digits digits_[N];
};
template <class... Parts>
worded(const Parts&...) -> worded<sizeof...(Parts)>;

}  // namespace tutti
