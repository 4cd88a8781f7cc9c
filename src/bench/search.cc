#include "bench/search.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace syrinx {
namespace {

constexpr double kSmallest = 0.01;

/// Rounds a load to three digits; more would exceed the precision of any measurement.
double tidy(double load, bool whole) {
  if (whole) return std::max(1.0, std::floor(load));
  const double unit = std::pow(10.0, std::floor(std::log10(load)) - 2);
  return std::round(load / unit) * unit;
}

}  // namespace

SearchOutcome search_highest(const SearchOptions& options,
                             const std::function<bool(double load, bool confirm)>& holds) {
  SYRINX_CHECK(options.start > 0 && options.most >= options.start && options.precision > 0);
  const double smallest = options.whole ? 1 : kSmallest;
  const double most = options.whole ? tidy(options.most, true) : options.most;
  SearchOutcome out;
  double low = 0, high = 0;  // low: highest load that met the targets; high: lowest that failed
  for (double load = tidy(options.start, options.whole); high == 0 || low == 0;) {
    if (holds(load, false)) {
      low = load;
      if (high > 0) break;
      if (load >= most) break;
      load = std::min(most, tidy(load * 2, options.whole));
    } else {
      high = load;
      if (low > 0) break;
      if (load <= smallest) return out;
      load = std::max(smallest, tidy(load / 2, options.whole));
    }
  }
  while (high > 0 && high - low > (options.whole ? 1 : low * options.precision)) {
    const double middle = tidy((low + high) / 2, options.whole);
    if (middle <= low || middle >= high) break;
    (holds(middle, false) ? low : high) = middle;
    if (options.whole && high - low <= std::max(1.0, low * options.precision)) break;
  }
  out.limited = high == 0;
  for (int i = 0; i < options.confirmations && low >= smallest; ++i) {
    out.best = low;
    out.confirmed = holds(low, true);
    if (out.confirmed) break;
    out.limited = false;
    out.best = 0;
    low = options.whole ? std::min(low - 1, std::floor(low * (1 - options.precision)))
                        : tidy(low * (1 - options.precision), false);
  }
  return out;
}

}  // namespace syrinx
