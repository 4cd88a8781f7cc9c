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

/// Returns whether the elements of such frames are floats.
inline bool is_float(const FrameType& type) {
  return type.flow == Flow::kRows || type.flow == Flow::kSamples;
}

/// A queue of frames of one type.
class Lane {
 public:
  Lane(ChunkPolicy policy, FrameType type) : policy_(policy), type_(type) {
    const size_t room = (2 * kForget + policy.left) * type.width;
    is_float(type) ? floats_.reserve(room) : ints_.reserve(room);
  }
  /// Makes a lane that forgets no frame. It begins with the codes `past` of earlier turns, whose
  /// frames have numbers below 0. `taken`: chunks have consumed them already.
  Lane(ChunkPolicy policy, FrameType type, std::vector<int32_t> past, bool taken)
      : policy_(policy), type_(type), ints_(std::move(past)), keeps_(true) {
    dropped_ = -static_cast<int64_t>(ints_.size()) / type_.width;
    taken_ = taken ? 0 : dropped_;
  }

  /// Appends whole frames of the lane's type.
  void give(std::span<const int32_t> ints, std::span<const float> floats) {
    ints_.insert(ints_.end(), ints.begin(), ints.end());
    floats_.insert(floats_.end(), floats.begin(), floats.end());
  }
  void close() { closed_ = true; }
  bool closed() const { return closed_; }

  /// given(): frames that the producer has appended. taken(): frames that chunks have consumed; at
  /// most 0 while a chunk has frames of earlier turns.
  int64_t given() const {
    return dropped_ + static_cast<int64_t>(ints_.size() + floats_.size()) / type_.width;
  }
  int64_t taken() const { return taken_; }
  int64_t waiting() const { return given() - taken_; }
  const ChunkPolicy& policy() const { return policy_; }
  const FrameType& type() const { return type_; }
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

  /// Returns all frames that the lane has; valid until give().
  Frames all() const { return part(dropped_, given() - dropped_); }
  /// Returns all waiting frames; valid until give().
  Frames frames() const { return part(taken_, waiting()); }
  /// Returns the frames of a chunk, [left + fresh + ahead, width]; valid until give().
  Frames window(const ChunkCut& cut) const {
    return part(taken_ - cut.left, cut.left + cut.fresh + cut.ahead);
  }

  /// Marks the chunk's new frames as taken and drops frames that no later window needs.
  void take(const ChunkCut& cut) {
    taken_ += cut.fresh;
    const int64_t old = taken_ - policy_.left - dropped_;
    if (old < kForget || keeps_) return;
    const int64_t elements = old * type_.width;
    is_float(type_) ? void(floats_.erase(floats_.begin(), floats_.begin() + elements))
                    : void(ints_.erase(ints_.begin(), ints_.begin() + elements));
    dropped_ += old;
  }

 private:
  /// Returns `count` frames from frame number `first` on.
  Frames part(int64_t first, int64_t count) const {
    const size_t at = (first - dropped_) * type_.width, elements = count * type_.width;
    Frames out{type_, count};
    if (is_float(type_)) {
      out.floats = std::span(floats_).subspan(at, elements);
    } else {
      out.ints = std::span(ints_).subspan(at, elements);
    }
    return out;
  }

  // taken frames are erased in groups of this size, because each erasure moves all later frames
  static constexpr int64_t kForget = 512;
  ChunkPolicy policy_;
  FrameType type_;
  std::vector<int32_t> ints_;  // one of the two is empty, by type_
  std::vector<float> floats_;
  int64_t dropped_ = 0, taken_ = 0;
  bool closed_ = false, keeps_ = false;
};

}  // namespace syrinx
