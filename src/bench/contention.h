// Measures how much longer batches take in a running engine than alone. One thread at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/percentiles.h"

namespace syrinx {

inline constexpr int kQuantiles = 100;

/// Returns kQuantiles quantiles of the values, scaled to a mean of 1. Empty without values.
inline std::vector<double> quantiles(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  std::vector<double> out;
  double sum = 0;
  for (int i = 0; i < kQuantiles; ++i) {
    out.push_back(percentile(values, (i + 0.5) / kQuantiles));
    sum += out.back();
  }
  for (double& value : out) value *= kQuantiles / sum;
  return out;
}

/// Ratios of the times of a stage's batches in a running engine to their times alone, by size.
class Contention {
 public:
  /// Adds a batch: size, frames per job (1 for an AR stage), seconds in the engine, seconds alone.
  void add(int batch, double frames, double seconds, double alone_s) {
    batches_.push_back({key(batch, frames), seconds, alone_s});
    Cell& cell = cells_[batches_.back().at];
    cell.seconds += seconds, cell.alone_s += alone_s;
    ++cell.count;
  }

  /// Returns the ratio at the nearest size with enough batches; 1 if no size has enough.
  double factor(int batch, double frames) const {
    const Key at = key(batch, frames);
    const Cell* best = nullptr;
    int nearest = 0;
    for (const auto& [where, cell] : cells_) {
      const int distance = std::abs(where.first - at.first) + std::abs(where.second - at.second);
      if (cell.count < kOften || (best != nullptr && distance >= nearest)) continue;
      best = &cell;
      nearest = distance;
    }
    return best == nullptr ? 1 : std::clamp(best->seconds / best->alone_s, 0.2, 5.0);
  }

  /// Returns quantiles of the times of single batches, relative to the mean for their size.
  std::vector<double> spread() const {
    std::vector<double> ratios;
    for (const One& one : batches_) {
      const Cell& cell = cells_.at(one.at);
      if (cell.count < kOften) continue;
      ratios.push_back(one.seconds / one.alone_s * cell.alone_s / cell.seconds);
    }
    return quantiles(std::move(ratios));
  }

  /// Appends a row for each size of a batch: stage, size, frames, ratio, count.
  void note(const std::string& stage, nlohmann::json& rows) const {
    for (const auto& [at, cell] : cells_) {
      rows.push_back(
          {stage, 1 << at.first, 1 << at.second, cell.seconds / cell.alone_s, cell.count});
    }
  }

 private:
  static constexpr int kOften = 10;
  using Key = std::pair<int, int>;  // sizes and frames, in powers of two
  struct Cell {
    double seconds = 0, alone_s = 0;
    int count = 0;
  };
  struct One {
    Key at;
    double seconds, alone_s;
  };
  static Key key(int batch, double frames) {
    return {static_cast<int>(std::lround(std::log2(batch))),
            static_cast<int>(std::lround(std::log2(std::max(1.0, frames))))};
  }
  std::map<Key, Cell> cells_;
  std::vector<One> batches_;
};

}  // namespace syrinx
