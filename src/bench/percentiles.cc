#include "bench/percentiles.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace syrinx {

double percentile(std::span<const double> sorted, double p) {
  if (sorted.empty()) return 0;
  const double rank = std::clamp(p, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(std::floor(rank));
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (rank - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

Percentiles percentiles(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {.count = values.size(),
          .mean = sum / static_cast<double>(values.size()),
          .p50 = percentile(values, 0.5),
          .p90 = percentile(values, 0.9),
          .p95 = percentile(values, 0.95),
          .p99 = percentile(values, 0.99),
          .max = values.back()};
}

}  // namespace syrinx
