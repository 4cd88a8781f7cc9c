// The authors' rules for the next id. Some ids are never allowed. Ids that have no text cannot
// begin a text. Timestamps follow a grammar: a segment is a timestamp, text and a timestamp; the
// next segment or the end follows at once. Timestamps never decrease, and no segment has length 0.
// If all timestamps together are likelier than the likeliest text id, a timestamp must follow.
// Source: whisper:whisper/decoding.py, the LogitFilters. Pure functions; any thread. V:
// vocabulary.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "families/whisper/config.h"
#include "kernels/id_limits.h"

namespace syrinx::whisper {

/// A set of ids in [0, V), as the mask of IdLimits.
class IdSet {
 public:
  explicit IdSet(int64_t vocabulary)
      : vocabulary_(vocabulary), words_(static_cast<size_t>((vocabulary + 63) / 64)) {}
  /// Adds or removes the ids [begin, end) that are below V.
  void add(int64_t begin, int64_t end) { set(begin, end, true); }
  void remove(int64_t begin, int64_t end) { set(begin, end, false); }
  /// Returns V.
  int64_t vocabulary() const { return vocabulary_; }
  /// Returns the mask; valid as long as the set.
  std::span<const uint64_t> mask() const { return words_; }

 private:
  void set(int64_t begin, int64_t end, bool in);

  int64_t vocabulary_;
  std::vector<uint64_t> words_;
};

/// Returns the limits of the id that follows `sampled`, the ids of this window so far. Writes the
/// allowed ids to `allowed`, whose memory the limits borrow.
IdLimits rules_after(const Generation& g, bool timestamps, std::span<const int32_t> sampled,
                     IdSet& allowed);

/// Allows only the ids of languages.
IdLimits only_languages(const Generation& g, IdSet& allowed);

/// Returns e^logits[id] / sum of all e^logits.
float probability(std::span<const float> logits, int32_t id);

}  // namespace syrinx::whisper
