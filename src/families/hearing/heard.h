// What a stage of Qwen3-Omni's audio tower is told of the recordings of a request. Plain values, used by
// one thread at a time.
#pragma once

#include <cstdint>
#include <span>

namespace syrinx {

/// A recording of a request, as the tower is to encode it.
struct Heard {
  int64_t samples = 0;  ///< at 16 kHz
  int64_t rows = 0;     ///< of the tower
  float loudest = 0;    ///< Qwen3AudioTower::loudest()
};

/// What a sequence is that a tower's stage feeds.
class Hearer {
 public:
  virtual ~Hearer() = default;
  /// The recordings, in the order of their rows.
  virtual std::span<const Heard> heard() const = 0;
};

}  // namespace syrinx
