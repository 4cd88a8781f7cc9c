// The queue between two stages of one request: frames of the first stage that wait to be cut into
// windows for the second (CONTRACT.md, I5). Engine thread only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "model/pipeline.h"

namespace syrinx {

/// The next chunk, in numbers of frames: context, new frames, lookahead. `fresh` 0: none is due.
struct ChunkCut {
  int left = 0, fresh = 0, ahead = 0;
  bool last = false;
  bool full = false;  ///< the chunk has the largest size
};

/// Returns the largest number of new frames in a chunk, used when many frames have piled up.
inline int most_frames(const ChunkPolicy& policy) { return 4 * policy.steady; }

/// A queue of frames. T: int32_t after an AR stage, float after a chunk stage.
template <typename T>
class Lane {
 public:
  Lane(ChunkPolicy policy, int width) : policy_(policy), width_(width) {
    frames_.reserve((2 * kForget + policy.left) * width);
  }
  /// Makes a lane that forgets no frame. It begins with the frames `past` of earlier turns, whose
  /// numbers are below 0. `taken`: chunks have consumed them already.
  Lane(ChunkPolicy policy, int width, std::vector<T> past, bool taken)
      : policy_(policy), width_(width), frames_(std::move(past)), keeps_(true) {
    dropped_ = -static_cast<int64_t>(frames_.size()) / width_;
    taken_ = taken ? 0 : dropped_;
  }

  /// Returns the array to which the producer appends whole frames.
  std::vector<T>& input() { return frames_; }
  void close() { closed_ = true; }
  bool closed() const { return closed_; }

  /// given(): frames that the producer has appended. taken(): frames that chunks have consumed; at
  /// most 0 while a chunk has frames of earlier turns.
  int64_t given() const { return dropped_ + static_cast<int64_t>(frames_.size()) / width_; }
  int64_t taken() const { return taken_; }
  int64_t waiting() const { return given() - taken_; }
  const ChunkPolicy& policy() const { return policy_; }
  bool exhausted() const { return closed_ && taken_ == given(); }

  /// Returns the chunk to cut now. `first`: size of the stream's first chunk; 0 means the policy's
  /// `initial`. `hurry`: later chunks may be as small as `initial`.
  ChunkCut next(int first = 0, bool hurry = false) const {
    if (taken_ < 0) return with_fresh(most_frames(policy_));
    const int64_t waiting = given() - taken_;
    const int64_t usable = closed_ ? waiting : waiting - policy_.lookahead;
    int want = policy_.steady;
    if (taken_ == 0) want = first > 0 ? first : policy_.initial;
    if (taken_ > 0 && hurry) want = std::min(policy_.initial, policy_.steady);
    want = (want + policy_.multiple - 1) / policy_.multiple * policy_.multiple;
    ChunkCut cut;
    if (usable <= 0 || (usable < want && !closed_)) return cut;
    const int most = most_frames(policy_);
    cut.fresh = static_cast<int>(std::min<int64_t>(usable, taken_ == 0 ? want : most));
    const bool to_end = closed_ && cut.fresh == waiting;
    if (!to_end) cut.fresh -= cut.fresh % policy_.multiple;
    return with_fresh(cut.fresh);
  }

  /// Returns a chunk with at most `fresh` of the waiting frames; ignores the policy's sizes.
  ChunkCut with_fresh(int fresh) const {
    ChunkCut cut;
    if (fresh <= 0) return cut;
    cut.fresh = static_cast<int>(std::min<int64_t>(fresh, taken_ < 0 ? -taken_ : waiting()));
    cut.full = cut.fresh >= most_frames(policy_);
    cut.left = static_cast<int>(std::min<int64_t>(taken_ - dropped_, policy_.left));
    cut.ahead = static_cast<int>(std::min<int64_t>(waiting() - cut.fresh, policy_.lookahead));
    cut.last = closed_ && cut.fresh + cut.ahead == waiting();
    return cut;
  }

  /// Returns all frames that the lane has; valid until input() is written to.
  std::span<const T> all() const { return frames_; }
  /// Returns all waiting frames; valid until input() is written to.
  std::span<const T> frames() const {
    return std::span<const T>(frames_).subspan((taken_ - dropped_) * width_);
  }

  /// Returns the frames of a chunk, [left + fresh + ahead, width]; valid until input() is written
  /// to.
  std::span<const T> window(const ChunkCut& cut) const {
    const int64_t begin = taken_ - cut.left - dropped_;
    return std::span<const T>(frames_).subspan(begin * width_,
                                               (cut.left + cut.fresh + cut.ahead) * width_);
  }

  /// Marks the chunk's new frames as taken and drops frames that no later window needs.
  void take(const ChunkCut& cut) {
    taken_ += cut.fresh;
    const int64_t old = taken_ - policy_.left - dropped_;
    if (old < kForget || keeps_) return;
    frames_.erase(frames_.begin(), frames_.begin() + old * width_);
    dropped_ += old;
  }

 private:
  // taken frames are erased in groups of this size, because each erasure moves all later frames
  static constexpr int64_t kForget = 512;
  ChunkPolicy policy_;
  int width_;
  std::vector<T> frames_;
  int64_t dropped_ = 0, taken_ = 0;
  bool closed_ = false, keeps_ = false;
};

}  // namespace syrinx
