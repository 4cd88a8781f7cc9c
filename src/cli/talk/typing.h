// Reads a line while the user types it. Main thread; one object at a time.
#pragma once

#include <termios.h>

#include <functional>
#include <optional>
#include <string>

namespace syrinx {

/// Reads single keys from a terminal while this object exists; reads lines from other inputs.
class Typing {
 public:
  Typing();
  ~Typing();
  Typing(const Typing&) = delete;
  Typing& operator=(const Typing&) = delete;

  bool terminal() const { return terminal_; }
  /// Returns the next line; nothing at the end of the input. On a terminal calls typed(line so far)
  /// when a word has ended or the keys pause, and shows the text of below() dimmed under the line.
  std::optional<std::string> line(const std::function<void(const std::string&)>& typed,
                                  const std::function<std::string()>& below);

 private:
  std::optional<std::string> plain_line();
  void show(const std::string& line, const std::string& below);

  bool terminal_ = false;
  termios before_ = {};
  std::string shown_;
};

}  // namespace syrinx
