// The recordings of a request as stages that hear get them, and what these stages remember of them.
// Plain values, used by one thread at a time, but for the memory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/remembered.h"
#include "model/bundle.h"
#include "model/sequence.h"

namespace syrinx {

/// Encoded rows of parts of recordings, by their keys: turns of a conversation come again with
/// every later one, and the beginning of a long one while it goes on.
using HeardBefore = Remembered<uint64_t, const std::vector<float>>;
inline constexpr size_t kHeardBeforeBytes = size_t{64} << 20;  ///< of each model

/// Appends a part of a recording to what a stage hears: frames of `width` samples, the last one
/// filled up with zeros.
void append_frames(std::span<const float> part, int64_t width, std::vector<float>& samples);

/// Keys as a stage's bundle has them.
void set_keys(Bundle& bundle, std::span<const uint64_t> keys);
/// Reads the keys that set_keys() wrote. Throws LoadError for other numbers.
std::vector<uint64_t> take_keys(Bundle& bundle);
/// A key for each of `rows` rows of a part, for prefix caches.
void append_row_keys(uint64_t part, int64_t rows, std::vector<uint64_t>& keys);

/// A recording of a request, or a part of one, as a network that hears is to encode it.
struct Heard {
  int64_t samples = 0;              ///< at 16 kHz
  int64_t rows = 0;                 ///< that it becomes
  float loudest = 0;                ///< of its log-mel
  std::vector<uint64_t> keys = {};  ///< of what is encoded at once
};

/// The interface of sequences that a hearing stage feeds.
class Hearer {
 public:
  virtual ~Hearer() = default;
  /// The recordings, in the order of their rows.
  virtual std::span<const Heard> heard() const = 0;
};

/// Samples, loudest and keys of what a Hearer's stage is to encode.
Bundle heard_bundle(const Sequence& hearer);
/// The same from a bundle: of at most `longest` samples each, with `keys_of` their number keys.
/// Throws LoadError. Without `keys_of` the keys are left for take_keys().
std::vector<Heard> take_heard(Bundle& bundle, int64_t longest,
                              const std::function<int64_t(int64_t samples)>& keys_of = {});

}  // namespace syrinx
