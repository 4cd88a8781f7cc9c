#include "bench/fleet.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "base/number.h"

namespace syrinx {
namespace {

constexpr double kTolerance = 0.1;  // relative distance from the target that causes no change
constexpr double kFarthest_s = 1e9;

/// Reads a number; unset if the text is not a number.
std::optional<double> part(std::string_view text) {
  double value = 0;
  const bool good = parse_number(text, value) && value >= 0 && value < kFarthest_s;
  return good ? std::optional(value) : std::nullopt;
}

}  // namespace

WorkerFailure read_failure(const std::string& text) {
  const std::string_view whole = text;
  const size_t plus = whole.find('+'), times = whole.find('x');
  if (plus != whole.npos && (times == whole.npos || times > plus)) {
    const auto at_s = part(whole.substr(0, plus));
    const auto for_s = part(whole.substr(plus + 1, times - plus - 1));
    const std::optional<double> workers = times == whole.npos ? 1 : part(whole.substr(times + 1));
    if (at_s && for_s && workers && *workers >= 1 && *workers == std::floor(*workers)) {
      return {*at_s, *for_s, static_cast<int>(std::min(*workers, 1e6))};
    }
  }
  throw LoadError("--failure: expected AT+FOR or AT+FORxWORKERS (seconds), got '" + text + "'");
}

int Autoscaler::wish(int have, double load, double wait_s, double now_s) {
  const double count = std::max(1, have);
  const double ratio = std::max(load / count / options_.load, wait_s / count / options_.wait_s);
  double wish = have;
  if (ratio > 1 + kTolerance || ratio < 1 - kTolerance) wish = std::ceil(ratio * count);
  wish = std::min({wish, std::max(2.0 * have, have + 2.0), static_cast<double>(options_.most)});
  const int wished = std::max(options_.least, static_cast<int>(wish));
  wishes_.emplace_back(now_s, wished);
  while (wishes_.front().first < now_s - options_.keep_s) wishes_.pop_front();
  if (wished >= have) return wished;
  int most = wished;
  for (const auto& [at_s, each] : wishes_) most = std::max(most, each);
  if (most >= have || now_s - fewer_since_s_ < 60) return have;
  fewer_since_s_ = now_s;
  return std::max(most, have - options_.fewer_per_min);
}

double Day::level(double at_s) const {
  const auto count = static_cast<double>(levels.size());
  const double at = std::fmod(at_s / day_s * count, count);
  const auto below = static_cast<size_t>(at) % levels.size();
  const size_t above = (below + 1) % levels.size();
  return levels[below] + (at - std::floor(at)) * (levels[above] - levels[below]);
}

std::vector<double> usual_day() {
  return {0.42, 0.30, 0.22, 0.18, 0.16, 0.18, 0.25, 0.38, 0.50, 0.56, 0.58, 0.60,
          0.62, 0.60, 0.58, 0.60, 0.64, 0.70, 0.80, 0.92, 1.00, 0.96, 0.80, 0.60};
}

}  // namespace syrinx
