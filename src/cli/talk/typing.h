// A line that is read while it is being typed. Main thread; one at a time.
#pragma once

#include <termios.h>

#include <functional>
#include <optional>
#include <string>

namespace syrinx {

/// On a terminal keys come one by one while it lives; elsewhere lines do.
class Typing {
 public:
  Typing();
  ~Typing();
  Typing(const Typing&) = delete;
  Typing& operator=(const Typing&) = delete;

  bool terminal() const { return terminal_; }
  /// The next line; nothing at the end of the input. On a terminal `typed` hears what stands in the
  /// line whenever a word has ended or the keys have rested, and `below` is shown dimmed under it.
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
