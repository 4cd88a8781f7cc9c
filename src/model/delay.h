// Streams of codes under a delay pattern. An AR step makes one code of every stream: step f +
// delay[s] makes the code of frame f of stream s. So a step makes codes of several frames, and a
// frame is complete once its last stream has its code. Plain values for one thread at a time;
// push() allocates nothing after reserve(). S streams, F frames, L steps; matrices are rows of S
// codes. Sources: sglang-omni:sglang_omni/utils/codec_delay.py (Higgs),
// Zonos:zonos/codebook_pattern.py.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace syrinx {

/// The ids that fill a stream at steps at which it has no code of a spoken frame.
struct DelayMarks {
  int32_t before = 0;  ///< fills the steps before the stream's first code
  int32_t end = 0;     ///< marks the first frame that is not spoken
  int32_t after = 0;   ///< fills the steps after `end`
};

/// Selects what fills a stream at steps without a code of a frame: marks, or the model's own codes.
/// With kEmitted and kFree the sampled codes stay, and only interleave() writes marks.
enum class DelayDrain : uint8_t {
  kForced,    ///< marks, before the stream's first code and after its last one
  kEmitted,   ///< marks before the first code, the model's codes after the last one
  kEndFrame,  ///< marks before the first code and after the end mark, which the model makes; so
              ///< stream 0 makes one more code
  kFree       ///< the model's codes everywhere
};

/// The delay of each stream in steps, and the ids that fill it at steps without a code.
struct DelayPattern {
  std::vector<int> delays;  ///< [S] delays in steps, not negative; stream 0 has 0
  DelayMarks marks;
  DelayDrain drain = DelayDrain::kForced;

  /// Returns the pattern without delays.
  static DelayPattern none(int64_t streams) {
    return {std::vector<int>(static_cast<size_t>(streams)), {}, DelayDrain::kFree};
  }
  /// Returns delays of s steps for stream s.
  static std::vector<int> staggered(int streams);

  int streams() const { return static_cast<int>(delays.size()); }
  /// Returns the number of steps from the first code of a frame to its last.
  int tail() const;

  /// Returns the steps [F + tail(), S] that make the frames [F, S].
  std::vector<int32_t> interleave(std::span<const int32_t> frames) const;
};

/// The streams of one sequence, filled step by step.
class DelayedStreams {
 public:
  explicit DelayedStreams(DelayPattern pattern);

  const DelayPattern& pattern() const { return pattern_; }
  /// Removes all steps and reserves room for `steps` steps.
  void restart(int steps);
  int steps() const { return static_cast<int>(columns_.front().size()) - 1; }

  /// Returns whether stream s gets a mark at the next step, whatever code is sampled.
  bool idle(int s) const { return marked(steps(), s); }

  /// Ends the speech before `frame`: this frame and later ones are not spoken. Call it once, at the
  /// latest before the push() of the step in which stream 0 would begin `frame`.
  void end_at(int frame) { end_ = frame; }
  /// Puts the end mark of stream 0 into the next step; the other S - 1 streams still get codes.
  void end_now() { end_at(steps()); }
  /// Ends the speech after the frames that are complete now. Call it when the model has made the
  /// tail itself, because no step follows.
  void end_with_tail();
  /// If there are at least `most` steps and done() is false, ends the speech after the complete
  /// frames. Returns whether it ended the speech.
  bool cut_at(int most);
  bool ending() const { return end_ >= 0; }
  /// Returns the number of spoken frames. Valid after ending() has become true.
  int end_frame() const { return end_; }
  /// Returns whether every spoken frame is complete.
  bool done() const { return ending() && whole() >= end_; }

  /// Adds a step's sampled codes [S]. A mark replaces the code of a stream that is idle().
  void push(std::span<const int32_t> codes);
  /// Writes to `out` [S] the frame that the last push() completed. Returns false if that push()
  /// completed no frame, or the frame is not spoken.
  bool frame(std::span<int32_t> out) const;

  /// Returns the code of stream s at step `step`, or the mark that fills the stream there. For step
  /// -1, returns the mark before the first step.
  int32_t at(int step, int s) const { return columns_[s][step + 1]; }
  /// Returns the mark before the first step, followed by the codes of stream s.
  std::span<const int32_t> column(int s) const { return columns_[s]; }

 private:
  bool marked(int step, int s) const;
  int whole() const { return steps() - tail_; }

  DelayPattern pattern_;
  int tail_ = 0;
  std::vector<std::vector<int32_t>> columns_;  // codes of each stream, after the mark before step 0
  int end_ = -1;
};

}  // namespace syrinx
