// Percentiles of measured values. Plain data and free functions; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace syrinx {

/// Returns the value below which a share p in [0, 1] of `sorted` lies, linearly interpolated
/// (numpy's default, also used by benchmarks of other servers). Returns 0 without values.
double percentile(std::span<const double> sorted, double p);

/// Percentiles of a list of values, in the unit of the values.
struct Percentiles {
  size_t count = 0;
  double mean = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0, max = 0;
};

/// Computes the percentiles; all are zero without values.
Percentiles percentiles(std::vector<double> values);

}  // namespace syrinx
