#include "cli/talk/typing.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "cli/line/interrupt.h"
#include "cli/line/progress_line.h"

namespace syrinx {
namespace {

constexpr int kRest_ms = 200;  // pause without keys after which the line is passed on
constexpr char kEnd = 4, kBackspace = 8, kErase = 127, kEraseLine = 21, kEscape = 27;

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

/// Returns the last `most` characters of a text, with spaces for line feeds.
std::string last_of(std::string text, size_t most) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c >= 0 && c < ' '; }, ' ');
  size_t begin = text.size(), characters = 0;
  while (begin > 0 && characters < most) {
    --begin;
    characters += continues(text[begin]) ? 0 : 1;
  }
  return text.substr(begin);
}

void remove_character(std::string& line) {
  while (!line.empty() && continues(line.back())) line.pop_back();
  if (!line.empty()) line.pop_back();
}

}  // namespace

Typing::Typing() : terminal_(isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0) {
  if (!terminal_ || tcgetattr(STDIN_FILENO, &before_) != 0) {
    terminal_ = false;
    return;
  }
  termios keys = before_;
  keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  keys.c_cc[VMIN] = 0, keys.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSANOW, &keys);
}

Typing::~Typing() {
  if (terminal_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

std::optional<std::string> Typing::plain_line() {
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
  return line;
}

/// Draws the line after "> " and `below` under it. Puts the cursor at the end of the line.
void Typing::show(const std::string& line, const std::string& below) {
  const size_t room = std::max<size_t>(20, terminal_columns(STDOUT_FILENO)) - 4;
  const std::string text = last_of(line, room);
  const std::string all =
      "\r\033[J> " + text + "\n\033[2m  " + last_of(below, room) + "\033[0m\033[1A\r> " + text;
  if (all == shown_) return;
  shown_ = all;
  std::fputs(all.c_str(), stdout);
  std::fflush(stdout);
}

std::optional<std::string> Typing::line(const std::function<void(const std::string&)>& typed,
                                        const std::function<std::string()>& below) {
  if (!terminal_) return plain_line();
  std::string line, told;
  shown_.clear();
  const InterruptGuard guard;
  for (;;) {
    show(line, below());
    guard.check();
    pollfd keys = {STDIN_FILENO, POLLIN, 0};
    const bool rested = poll(&keys, 1, kRest_ms) == 0;
    char key = 0;
    while (!rested && read(STDIN_FILENO, &key, 1) == 1) {
      if (key == '\n' || key == '\r' || (key == kEnd && line.empty())) {
        std::fputs("\r\033[J", stdout);
        if (key == kEnd) return std::nullopt;
        std::printf("> %s\n", line.c_str());
        std::fflush(stdout);
        return line;
      }
      if (key == kBackspace || key == kErase) {
        remove_character(line);
      } else if (key == kEraseLine) {
        line.clear();
      } else if (key == kEscape) {  // arrows and similar keys send three bytes that are not text
        char rest[8];
        (void)!read(STDIN_FILENO, rest, sizeof rest);
      } else if (static_cast<unsigned char>(key) >= ' ') {
        line += key;
      }
      if (key == ' ') break;
    }
    if (!rested && (keys.revents & (POLLHUP | POLLERR)) != 0) return std::nullopt;
    if ((rested || key == ' ') && line != told) typed(told = line);
  }
}

}  // namespace syrinx
