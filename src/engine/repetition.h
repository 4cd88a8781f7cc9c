// Detects a stream that repeats itself: its last frames are one short pattern, repeated. Models
// that miss their end of speech do this for minutes.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace syrinx {

/// For each period up to kMaxPeriod, counts how many of the newest frames in a row equal the frame
/// one period earlier. Fixed memory, O(kMaxPeriod) per frame.
class RepetitionGuard {
 public:
  static constexpr int kMaxPeriod = 8;  ///< longest period, in frames

  /// Adds the codes of one complete frame, as the edge carries it.
  void frame(std::span<const int32_t> codes) {
    uint64_t hash = 1469598103934665603ull;  // FNV-1a hash over the codes
    for (int32_t code : codes) hash = (hash ^ static_cast<uint32_t>(code)) * 1099511628211ull;
    for (int period = 1; period <= kMaxPeriod; ++period) {
      const bool same = seen_ >= period && past_[(seen_ - period) % kMaxPeriod] == hash;
      run_[period - 1] = same ? run_[period - 1] + 1 : 0;
    }
    past_[seen_ % kMaxPeriod] = hash;
    ++seen_;
  }

  /// Returns the length of the longest current repetition, in frames.
  int64_t repeated() const {
    int64_t longest = 0;
    for (int64_t run : run_) longest = run > longest ? run : longest;
    return longest;
  }

 private:
  std::array<uint64_t, kMaxPeriod> past_{};
  std::array<int64_t, kMaxPeriod> run_{};
  int64_t seen_ = 0;
};

}  // namespace syrinx
