// Computes a model's costs from the least time of its batches of each size. The least time
// is what a quiet machine needs, even if other programs use the CPU at times. Not thread-safe.
#pragma once

#include <map>
#include <vector>

#include "engine/cost.h"

namespace syrinx {

/// Times of the batches of one model, by node.
class BatchTimes {
 public:
  /// Adds a batch of `units` that took `seconds`.
  void add(size_t node, double units, double seconds);
  /// Returns the costs of nodes 0 to `nodes` - 1. A node's time is a line over the batch size. It
  /// runs through the time of the most frequent size; its slope is the median of the slopes to all
  /// other sizes. A node without batches costs nothing.
  std::vector<StageCost> costs(size_t nodes) const;

 private:
  struct Size {
    double least_s = 0;
    int seen = 0;
  };
  std::map<size_t, std::map<double, Size>> sizes_;  // by node and units
};

}  // namespace syrinx
