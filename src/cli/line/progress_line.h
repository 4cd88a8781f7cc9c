// What a command is doing, in one line of the terminal behind the standard error that is written
// over; where there is no terminal, nothing. One thread at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace syrinx {

/// Columns of the terminal behind `fd`; 80 where that is unknown.
size_t terminal_columns(int fd);

/// The beginning of a text in UTF-8 that takes at most `columns` columns. Characters of three bytes
/// and more count as two columns, as most of them are.
std::string_view first_columns(std::string_view text, size_t columns);

/// The line of one command; it is cleared at the end.
class ProgressLine {
 public:
  /// Not `wanted`: nothing is shown.
  explicit ProgressLine(bool wanted = true);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// At most five times a second; cut where the terminal ends, so that it stays one line.
  void show(std::string_view line);
  /// Before anything else is written.
  void clear();

 private:
  const bool wanted_;
  bool shown_ = false;
  double next_s_ = 0;
};

}  // namespace syrinx
