// The file of a tuning table: JSON, versioned. What it holds is checked when it is read, so that nothing behind has to.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "collectives/tuning/table.h"
#include "core/job/config.h"

namespace tutti::tuning {

inline constexpr int format = 1;

std::string to_text(const table&);
// `file` is for the errors. invalid: it is no table of this format; names the file, the line or value, and the remedy.
result<table> from_text(std::string_view text, const std::string& file);
result<table> read_file(const std::string& file);

// The table that a job with these settings chooses by: none with TUTTI_TUNE=off, or where there is no file.
result<std::shared_ptr<const table>> of_settings(const config&);

}  // namespace tutti::tuning
