#include "tools/run/outlet.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace tutti::launching {

// A piece without its line's end leaves the line open; if another rank comes next, the line is ended for it.
void outlet::put(line_buffer& from, std::string_view piece) {
  if (piece.empty()) return;
  if (open_line_ && open_line_ != &from) queue_ += '\n';
  if (open_line_ != &from) queue_ += from.tag;
  queue_ += piece;
  open_line_ = piece.back() == '\n' ? nullptr : &from;
}

void outlet::take(line_buffer& from, std::string_view bytes) {
  for (std::size_t end; (end = bytes.find('\n')) != bytes.npos; bytes.remove_prefix(end + 1)) {
    if (from.partial.empty()) {
      put(from, bytes.substr(0, end + 1));
    } else {
      from.partial += bytes.substr(0, end + 1);
      put(from, from.partial);
      from.partial.clear();
    }
  }
  from.partial += bytes;
  if (from.alone || from.partial.size() > longest_line) finish(from);
}

void outlet::finish(line_buffer& from) {
  put(from, from.partial);
  from.partial.clear();
}

void outlet::say(std::string_view line) {
  if (open_line_) queue_ += '\n';
  open_line_ = nullptr;
  queue_ += line;
  queue_ += '\n';
}

// Writes at most PIPE_BUF: so much fits a pipe that poll calls writable, and the write does not block.
bool outlet::send() {
  const std::size_t bytes = std::min<std::size_t>(queue_.size() - sent_, PIPE_BUF);
  if (bytes == 0) return true;
  const ssize_t written = lost_ ? -1 : write(fd_, queue_.data() + sent_, bytes);
  if (written < 0) {
    if (!lost_ && (errno == EINTR || errno == EAGAIN)) return true;
    const bool left = !lost_ && errno == EPIPE;
    if (!lost_ && !left) lost_ = errno;
    queue_.clear();
    sent_ = 0;
    return !left;
  }
  sent_ += static_cast<std::size_t>(written);
  if (sent_ == queue_.size()) {
    queue_.clear();
    sent_ = 0;
  } else if (sent_ > capacity) {
    queue_.erase(0, sent_);
    sent_ = 0;
  }
  return true;
}

}  // namespace tutti::launching
