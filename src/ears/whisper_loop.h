// How Whisper's authors write down a recording of any length: window by window, each beginning
// where the one before ended by its own timestamps, told what was written so far, and drawn again
// at higher temperatures when what came looks wrong. Knows no engine: next() says which window to
// ask for, take() what came of it. One thread. Source: whisper:whisper/transcribe.py, transcribe().
//
// One thing differs: where a recording is shorter than a window, its language is found with the
// window that is written down, in which nothing is behind the recording, and not in a pass of its
// own that sees silence there.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ears/recogniser.h"
#include "families/whisper/pipeline.h"

namespace syrinx {

struct WhisperOptions {
  std::string language;  ///< as Window's
  bool translate = false;
  std::string prompt;
  std::vector<float> temperatures = {0, 0.2f, 0.4f, 0.6f, 0.8f, 1};
  bool timestamps = true;
  /// A window is drawn again at the next temperature when its text compresses better than this or
  /// its ids are less likely than that on average; and is silence, whatever was drawn, when no
  /// speech is likelier than that and its ids are not likely either.
  double most_compression = 2.4, least_logprob = -1, most_no_speech = 0.6;
  bool condition_on_text = true;  ///< tell later windows what was written before
};

class WhisperLoop {
 public:
  /// `model` must outlive it. At least one temperature.
  WhisperLoop(const whisper::Whisper& model, const WhisperOptions& options);

  /// More of the recording.
  void hear(std::span<const float> samples, bool last);
  /// Whether the recording has ended and all of it is done with.
  bool through() const { return recording_.closed() && seek_ >= recording_.frames(); }
  /// The next window to ask for, with the seed of its draws; null when through, or while the
  /// recording has none yet: a whole one, or with `patient` its end. The same until take().
  std::shared_ptr<whisper::Window> next(bool patient);
  uint64_t seed() const {
    return static_cast<uint64_t>(seek_) << 8 | static_cast<uint64_t>(attempt_);
  }
  /// What came of it, in the order of time; empty ones are left out.
  std::vector<TranscriptSegment> take(const whisper::Window& window);

  const std::string& language() const { return language_; }
  double duration_s() const;
  /// Seconds from the beginning that are done with.
  double done_s() const;
  int windows() const { return windows_; }  ///< asked for so far, every attempt counted

 private:
  bool finds_language() const;
  bool looks_wrong(const whisper::Heard& heard, double compression) const;
  std::vector<TranscriptSegment> cut(const whisper::Window& window, double compression);
  void keep(TranscriptSegment segment, std::vector<TranscriptSegment>& out);

  const whisper::Whisper& model_;
  const WhisperOptions options_;
  WhisperRecording recording_;
  std::string language_;
  int64_t seek_ = 0;  // frame where the next window begins
  int attempt_ = 0, windows_ = 0;
  std::vector<int32_t> ids_;  // the prompt, then all that was written
  size_t told_from_ = 0;      // of ids_: what later windows are told begins here
};

/// Bytes of a text over bytes of the same compressed by zlib: high for what repeats itself.
double compression_ratio(const std::string& text);

}  // namespace syrinx
