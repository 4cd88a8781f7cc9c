#include "cli/line/progress_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/clock.h"

namespace syrinx {
namespace {

constexpr double kShowEvery_s = 0.2;

}  // namespace

size_t terminal_columns(int fd) {
  winsize size = {};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string_view first_columns(std::string_view text, size_t columns) {
  for (size_t at = 0, used = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const size_t bytes = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    used += bytes < 3 ? 1 : 2;
    if (used > columns) return text.substr(0, at);
    at = std::min(at + bytes, text.size());
  }
  return text;
}

std::string clock_time(double seconds) {
  const auto all = static_cast<long long>(seconds + 0.5);
  char out[48];
  if (all >= 3600) {
    std::snprintf(out, sizeof out, "%lld:%02lld:%02lld", all / 3600, all / 60 % 60, all % 60);
  } else {
    std::snprintf(out, sizeof out, "%lld:%02lld", all / 60, all % 60);
  }
  return out;
}

ProgressLine::ProgressLine(bool wanted) : wanted_(wanted && isatty(STDERR_FILENO) != 0) {}

void ProgressLine::show(std::string_view line) {
  if (!wanted_ || now_s() < next_s_) return;
  next_s_ = now_s() + kShowEvery_s;
  shown_ = true;
  // Leaves the last column free: some terminals begin a new line when that column is written.
  line = first_columns(line, terminal_columns(STDERR_FILENO) - 1);
  std::fprintf(stderr, "\r\033[K%.*s", static_cast<int>(line.size()), line.data());
  std::fflush(stderr);
}

void ProgressLine::clear() {
  if (std::exchange(shown_, false)) std::fputs("\r\033[K", stderr);
}

}  // namespace syrinx
