// Other programs, and this one once more.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace tutti::tools {

// The first thing that a command does: it shall not depend on what the process that started it left behind. A parent that
// ignores or blocks SIGCHLD takes the outcomes of our children from us; exec hands both on. What a shell ignores on purpose stays:
// SIGHUP (nohup), SIGINT and SIGQUIT (a job in the background of a script), and the signals of a terminal's job control.
// Descriptors 0 to 2 that are closed would be taken by the next file or pipe; now none is, and to write to 1 still fails.
void reset_inherited_state() noexcept;

// The last: what was printed is out. False: it could not be written, and a line on stderr says why.
bool output_is_written(const char* command) noexcept;

std::string own_path();  // the file that this process runs

// The program's argument vector, with the null at its end; valid as long as `words`.
std::vector<char*> arguments_of(std::vector<std::string>& words);

// What a program, found by $PATH, prints on standard output; nothing if it fails. `silent`: its standard error is not shown;
// with `words_of_error` it is kept there.
std::optional<std::string> output_of(std::vector<std::string> words, bool silent = true, std::string* words_of_error = nullptr);

}  // namespace tutti::tools
