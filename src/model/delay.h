// Streams of codes under a delay pattern: an AR step makes a code of every stream, and the code of
// frame f of stream s is made at step f + delay[s]. So a step yields parts of several frames, and a
// frame is whole once its last stream has come.
// Plain values, used by one thread at a time; push() allocates nothing once reserve() has.
// S streams, F frames, L steps; matrices are rows of S codes.
// Sources: sglang-omni:sglang_omni/utils/codec_delay.py (Higgs), Zonos:zonos/codebook_pattern.py.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace syrinx {

/// The content of a stream where it has no code of a spoken frame.
struct DelayMarks {
  int32_t before = 0;  ///< in steps before its first code
  int32_t end = 0;     ///< at the first frame that is not spoken
  int32_t after = 0;   ///< in later steps
};

/// What fills a stream where it has no code: the marks, the sampled codes, or the model. With the
/// last two the sampled codes stay; the marks are only what interleave() writes.
enum class DelayDrain : uint8_t {
  kForced,    ///< the marks, before the first code and behind the last, while the others catch up
  kEmitted,   ///< the marks before the first code, the model behind the last
  kEndFrame,  ///< the marks before the first code and behind the frame of the end mark, which the
              ///< model makes; stream 0 makes one code more
  kFree       ///< the model, everywhere
};

/// How many steps later each stream comes, and its content where it has no code.
struct DelayPattern {
  std::vector<int> delays;  ///< [S], none negative; stream 0 has none
  DelayMarks marks;
  DelayDrain drain = DelayDrain::kForced;

  /// Stream s comes s steps late.
  static std::vector<int> staggered(int streams);

  int streams() const { return static_cast<int>(delays.size()); }
  /// Steps from the first code of a frame to its last.
  int tail() const;

  /// Frames [F, S] as the steps [F + tail(), S] that make them.
  std::vector<int32_t> interleave(std::span<const int32_t> frames) const;
  /// The frames [L - tail(), S] that L steps [L, S] make whole; none when there are too few.
  std::vector<int32_t> deinterleave(std::span<const int32_t> steps) const;
};

/// The streams of one sequence, step by step.
class DelayedStreams {
 public:
  explicit DelayedStreams(DelayPattern pattern);

  const DelayPattern& pattern() const { return pattern_; }
  /// Forgets all steps; room for `steps` of them.
  void restart(int steps);
  int steps() const { return static_cast<int>(columns_.front().size()) - 1; }

  /// Returns whether stream s gets a mark at the next step, whatever code is sampled.
  bool idle(int s) const { return marked(steps(), s); }

  /// Ends the speech before `frame`: later frames are dropped. Call it once, before the push() of
  /// the step whose stream 0 would begin that frame, or at it.
  void end_at(int frame) { end_ = frame; }
  /// The next pushed step holds the end mark of stream 0: the other S - 1 streams still have codes.
  void end_now() { end_at(steps()); }
  /// The model made the last, incomplete frames by itself: only whole frames are spoken, and no
  /// step follows.
  void end_with_tail();
  /// Ends the speech with the frames that are whole if the tail has taken more than `most` steps;
  /// returns whether it ended it.
  bool cut_at(int most);
  bool ending() const { return end_ >= 0; }
  /// The number of frames that are spoken, once ending().
  int end_frame() const { return end_; }
  /// Whether every frame that is spoken is whole.
  bool done() const { return ending() && whole() >= end_; }

  /// A step's codes [S] as they were sampled.
  void push(std::span<const int32_t> codes);
  /// Writes the frame that the last push() completed into `out` [S]; false: it completed none, or
  /// the frame is not spoken.
  bool frame(std::span<int32_t> out) const;

  /// The code of stream s at step `step`, marks where it has no code; -1: before the first step.
  int32_t at(int step, int s) const { return columns_[s][step + 1]; }
  /// Codes of stream s, from the mark before the first step on.
  std::span<const int32_t> column(int s) const { return columns_[s]; }

 private:
  bool marked(int step, int s) const;
  int whole() const { return steps() - tail_; }

  DelayPattern pattern_;
  int tail_ = 0;
  std::vector<std::vector<int32_t>> columns_;  // of each stream, a mark first
  int end_ = -1;
};

}  // namespace syrinx
