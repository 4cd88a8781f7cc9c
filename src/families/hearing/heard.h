// A request's recordings in the form for hearing stages, and the stages' cache of encoded parts.
// Plain values, used by one thread at a time; the cache is thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/remembered.h"
#include "model/bundle.h"
#include "model/sequence.h"

namespace syrinx {

/// A cache of the encoded rows of recordings' parts, by key. Every request of a conversation
/// contains the earlier turns again, and a growing turn is sent several times.
using HeardBefore = Remembered<uint64_t, const std::vector<float>>;
inline constexpr size_t kHeardBeforeBytes = size_t{64} << 20;  ///< bytes of each model's cache

/// Appends a part of a recording to a stage's input as frames of `width` samples. Fills the last
/// frame with zeros.
void append_frames(std::span<const float> part, int64_t width, std::vector<float>& samples);

/// Stores keys in a stage's bundle.
void set_keys(Bundle& bundle, std::span<const uint64_t> keys);
/// Removes the keys that set_keys() stored and returns them. Throws LoadError for invalid entries.
std::vector<uint64_t> take_keys(Bundle& bundle);
/// Appends a key for each of `rows` rows of a part, to be used by prefix caches.
void append_row_keys(uint64_t part, int64_t rows, std::vector<uint64_t>& keys);

/// A recording of a request, or a part of a recording, that a hearing network encodes.
struct Heard {
  int64_t samples = 0;              ///< number of samples at 16 kHz
  int64_t rows = 0;                 ///< number of rows that the samples become
  float loudest = 0;                ///< largest value of its log-mel
  std::vector<uint64_t> keys = {};  ///< one key for each piece that is encoded at once
};

/// The interface of sequences that a hearing stage feeds.
class Hearer {
 public:
  virtual ~Hearer() = default;
  /// Returns the recordings, in the order of their rows.
  virtual std::span<const Heard> heard() const = 0;
};

/// Returns a bundle with `samples`, `loudest` and keys of recordings, for the stage of a Hearer.
Bundle heard_bundle(const Sequence& hearer);
/// Reads recordings of at most `longest` samples from a bundle; a recording of n samples has
/// `keys_of`(n) keys. Throws LoadError. Without `keys_of`, the keys stay for take_keys().
std::vector<Heard> take_heard(Bundle& bundle, int64_t longest,
                              const std::function<int64_t(int64_t samples)>& keys_of = {});

}  // namespace syrinx
