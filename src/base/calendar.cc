#include "base/calendar.h"

#include <ctime>

namespace syrinx {
namespace {

std::string formatted(const std::tm& parts, const std::string& format) {
  char out[2048];
  return {out, std::strftime(out, sizeof out, format.c_str(), &parts)};
}

}  // namespace

std::string utc_text(int64_t time_s, const std::string& format) {
  const auto time = static_cast<std::time_t>(time_s);
  std::tm parts{};
#if defined(_WIN32)
  gmtime_s(&parts, &time);
#else
  gmtime_r(&time, &parts);
#endif
  return formatted(parts, format);
}

std::string local_text(int64_t time_s, const std::string& format) {
  const auto time = static_cast<std::time_t>(time_s);
  std::tm parts{};
#if defined(_WIN32)
  localtime_s(&parts, &time);
#else
  localtime_r(&time, &parts);
#endif
  return formatted(parts, format);
}

}  // namespace syrinx
