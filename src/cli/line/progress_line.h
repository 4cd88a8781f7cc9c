// Shows the progress of a command in one line of the terminal, on the standard error. Shows nothing
// without a terminal. One thread at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace syrinx {

/// Returns the columns of the terminal of `fd`; 80 if unknown.
size_t terminal_columns(int fd);

/// Returns the beginning of a text in UTF-8 that fits into `columns` columns. Characters of three
/// or more bytes count as two columns, as most of them need two.
std::string_view first_columns(std::string_view text, size_t columns);

/// Formats a duration: "2:03:04" or "3:04".
std::string clock_time(double seconds);

/// The progress line of one command; the destructor clears it.
class ProgressLine {
 public:
  /// With `wanted` false, shows nothing.
  explicit ProgressLine(bool wanted = true);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Shows the line, at most five times a second; cuts it at the width of the terminal.
  void show(std::string_view line);
  /// Clears the line; call it before writing anything else.
  void clear();

 private:
  const bool wanted_;
  bool shown_ = false;
  double next_s_ = 0;
};

}  // namespace syrinx
