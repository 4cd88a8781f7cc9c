// Streams of codes under a delay pattern. An AR step makes a code of every stream; step f +
// delay[s] makes the code of frame f of stream s. So a step yields parts of several frames, and a
// frame is complete once its last stream has its code. Plain values, used by one thread at a time;
// push() allocates nothing after reserve(). S streams, F frames, L steps; matrices are rows of S
// codes. Sources: sglang-omni:sglang_omni/utils/codec_delay.py (Higgs),
// Zonos:zonos/codebook_pattern.py.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace syrinx {

/// The ids that fill a stream where it has no code of a spoken frame.
struct DelayMarks {
  int32_t before = 0;  ///< in the steps before its first code
  int32_t end = 0;     ///< at the first frame that is not spoken
  int32_t after = 0;   ///< in later steps
};

/// What fills a stream that has no code of a frame: the marks, or the model's own codes. With
/// kEmitted and kFree the sampled codes stay; only interleave() writes the marks then.
enum class DelayDrain : uint8_t {
  kForced,    ///< the marks, before a stream's first code and after its last
  kEmitted,   ///< the marks before a stream's first code, the model after its last
  kEndFrame,  ///< the marks before a stream's first code and after the end mark, which the model
              ///< makes; stream 0 makes one code more
  kFree       ///< the model everywhere
};

/// The delay of each stream in steps, and what fills it where it has no code.
struct DelayPattern {
  std::vector<int> delays;  ///< [S], in steps, not negative; 0 for stream 0
  DelayMarks marks;
  DelayDrain drain = DelayDrain::kForced;

  /// Returns the pattern that delays stream s by s steps.
  static std::vector<int> staggered(int streams);

  int streams() const { return static_cast<int>(delays.size()); }
  /// Returns the number of steps from the first code of a frame to its last.
  int tail() const;

  /// Returns the steps [F + tail(), S] that make the frames [F, S].
  std::vector<int32_t> interleave(std::span<const int32_t> frames) const;
  /// Returns the frames [L - tail(), S] that the steps [L, S] complete; empty for too few steps.
  std::vector<int32_t> deinterleave(std::span<const int32_t> steps) const;
};

/// The streams of one sequence, step by step.
class DelayedStreams {
 public:
  explicit DelayedStreams(DelayPattern pattern);

  const DelayPattern& pattern() const { return pattern_; }
  /// Drops all steps and reserves room for `steps` steps.
  void restart(int steps);
  int steps() const { return static_cast<int>(columns_.front().size()) - 1; }

  /// Returns whether stream s gets a mark at the next step, whatever code is sampled.
  bool idle(int s) const { return marked(steps(), s); }

  /// Ends the speech before `frame`; that frame and later ones are dropped. Call it once, not later
  /// than the push() of the step whose stream 0 would begin that frame.
  void end_at(int frame) { end_ = frame; }
  /// The next pushed step holds the end mark of stream 0: the other S - 1 streams still have codes.
  void end_now() { end_at(steps()); }
  /// Ends the speech when the model has made the last, incomplete frames by itself: only complete
  /// frames are spoken, and no step follows.
  void end_with_tail();
  /// If the tail has taken more than `most` steps, ends the speech after the complete frames.
  /// Returns whether it did.
  bool cut_at(int most);
  bool ending() const { return end_ >= 0; }
  /// Returns the number of spoken frames; valid once ending().
  int end_frame() const { return end_; }
  /// Returns whether every spoken frame is complete.
  bool done() const { return ending() && whole() >= end_; }

  /// Adds a step's codes [S] as they were sampled.
  void push(std::span<const int32_t> codes);
  /// Writes the frame that the last push() completed into `out` [S]. False: it completed no frame,
  /// or the frame is not spoken.
  bool frame(std::span<int32_t> out) const;

  /// Returns the code of stream s at step `step`, or the mark that fills it; step -1: the mark
  /// before the first step.
  int32_t at(int step, int s) const { return columns_[s][step + 1]; }
  /// Returns the codes of stream s, with the mark before the first step in front.
  std::span<const int32_t> column(int s) const { return columns_[s]; }

 private:
  bool marked(int step, int s) const;
  int whole() const { return steps() - tail_; }

  DelayPattern pattern_;
  int tail_ = 0;
  std::vector<std::vector<int32_t>> columns_;  // codes of each stream, with a mark in front
  int end_ = -1;
};

}  // namespace syrinx
