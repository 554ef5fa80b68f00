// Other programs, and this one once more.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace tutti::tools {

std::string own_path();  // the file that this process runs

// The program's argument vector, with the null at its end; valid as long as `words`.
std::vector<char*> arguments_of(std::vector<std::string>& words);

// What a program, found by $PATH, prints on standard output; nothing if it fails. `silent`: its standard error is not shown;
// with `words_of_error` it is kept there.
std::optional<std::string> output_of(std::vector<std::string> words, bool silent = true, std::string* words_of_error = nullptr);

}  // namespace tutti::tools
