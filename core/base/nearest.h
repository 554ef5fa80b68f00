// The known name that a mistyped one was most likely meant to be, for error texts.
#pragma once
#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

namespace tutti {

// Inserted, removed and replaced characters, and neighbours that are exchanged, of their first 100: for names, not for documents.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, 100), b = b.substr(0, 100);
  std::vector<std::size_t> row(b.size() + 1), before(row.size()), last(row.size());  // before: the row above; last: that above it
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    last.swap(before), before = row;
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({before[j - 1] + (a[i - 1] != b[j - 1]), before[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// Empty if none is near: at most a third of the letters, and at least one, may differ. Of a document none is near.
template <class Names>
std::string_view nearest_name(std::string_view name, const Names& known) {
  std::string_view best;
  std::size_t least = std::max<std::size_t>(1, std::min<std::size_t>(name.size(), 100) / 3) + 1;
  for (std::string_view k : known)
    if (const std::size_t d = edit_distance(name, k); d < least) least = d, best = k;
  return best;
}

}  // namespace tutti
