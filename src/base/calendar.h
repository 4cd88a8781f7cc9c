// Dates and times of day as text. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>

namespace syrinx {

/// Formats a time, in seconds since 1970, like std::strftime(): in UTC, or in the machine's time
/// zone. Returns an empty text if the result is longer than 2047 bytes.
std::string utc_text(int64_t time_s, const std::string& format);
std::string local_text(int64_t time_s, const std::string& format);

}  // namespace syrinx
