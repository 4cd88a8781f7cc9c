// How Whisper's authors write down a recording of any length: window by window, each beginning
// where the one before ended by its own timestamps, given what was written so far, and drawn again
// at higher temperatures when what came looks wrong. Where the times of words are wanted, a window
// that is kept is aligned (families/whisper/alignment.h), its segments begin and end with their
// words, and the next window begins where the last word ends. Knows no engine: next() says what to
// ask for, take() that it has been done. One thread. Source: whisper:whisper/transcribe.py,
// transcribe().
//
// One thing differs (WhisperOptions::keep_best): where every attempt looks wrong, the best of them
// is kept, not the last, which was drawn at the highest temperature. With WhisperOptions::vad a
// window without a voice is not looked at.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ears/recogniser.h"
#include "ears/voice_gate.h"
#include "ears/whisper_words.h"
#include "families/whisper/pipeline.h"

namespace syrinx {

/// As the authors' transcribe() takes them.
struct WhisperOptions {
  std::string language = {};  ///< as Window's
  bool translate = false;
  std::string prompt = {};
  std::vector<float> temperatures = {0, 0.2f, 0.4f, 0.6f, 0.8f, 1};
  bool timestamps = true;
  /// A window is drawn again at the next temperature when its text compresses better than this or
  /// its ids are less likely than that on average; and is silence, whatever was drawn, when no
  /// speech is likelier than that and its ids are not likely either.
  double most_compression = 2.4, least_logprob = -1, most_no_speech = 0.6;
  bool condition_on_text = true;  ///< give later windows what was written before
  /// Where every attempt looks wrong: keep the likeliest of those that compress no better than
  /// most_compression, else the likeliest of all. False: keep the last, as the authors do.
  bool keep_best = true;
  bool word_times = false;
  bool scores = false;
  /// Windows in which it hears no voice are silence, and are not asked for; null: all are.
  std::shared_ptr<const SileroVad> vad = {};
};

/// The state of one recording between its windows.
class WhisperLoop {
 public:
  /// `model` must outlive it. At least one temperature.
  WhisperLoop(const whisper::Whisper& model, const WhisperOptions& options);

  /// More of the recording.
  void hear(std::span<const float> samples, bool last);
  /// Whether the recording has ended and all of it is done with.
  bool through() const {
    return !alignment_ && recording_.closed() && seek_ >= recording_.frames();
  }
  /// The next thing to ask for, a Window or an Alignment, with the seed of its draws; null when
  /// through, or while the recording has no window yet: a whole one, or with `patient` its end. The
  /// same until take().
  std::shared_ptr<FamilyTask> next(bool patient);
  uint64_t seed() const {
    return static_cast<uint64_t>(seek_) << 8 | static_cast<uint64_t>(attempt_);
  }
  /// Takes the result of the work that next() named. Returns the final segments in order of time;
  /// empty segments are left out.
  std::vector<TranscriptSegment> take();

  const std::string& language() const { return language_; }
  /// The text of all ids that were kept, decoded at once: a character may be split over segments.
  std::string whole() const;
  double duration_s() const;
  /// Seconds from the beginning that are done with.
  double done_s() const;
  int windows() const { return windows_; }  ///< asked for so far, every attempt counted

 private:
  /// The result of one temperature.
  struct Attempt {
    std::shared_ptr<const whisper::Window> window;
    double compression = 0;
  };
  /// A window that is kept, as it was cut.
  struct Cut {
    std::vector<TranscriptSegment> segments;
    bool to_the_end = false;  ///< by its own timestamps there is no speech behind the last segment
    float temperature = 0;
  };
  void skip_silence();
  std::shared_ptr<whisper::Window> next_window() const;
  bool finds_language() const;
  bool short_of_a_window() const;
  bool looks_wrong(const whisper::Heard& heard, double compression) const;
  std::vector<TranscriptSegment> take(std::shared_ptr<const whisper::Window> window);
  Attempt best() const;
  Cut cut(const whisper::Window& window, double compression);
  std::shared_ptr<whisper::Alignment> alignment_of(const whisper::Window& window) const;
  void time(std::vector<HeardWord> words);
  std::vector<TranscriptSegment> settle();

  const whisper::Whisper& model_;
  const WhisperOptions options_;
  WhisperRecording recording_;
  std::optional<VoiceGate> gate_;
  std::string language_;
  int64_t seek_ = 0;    // frame where the next window begins
  int64_t window_ = 0;  // where that of cut_ began
  int attempt_ = 0, windows_ = 0;
  std::vector<int32_t> ids_;  // the prompt, then all that was written
  size_t prompt_size_ = 0;    // of ids_
  size_t context_from_ = 0;   // of ids_: what later windows are given begins here
  std::shared_ptr<whisper::Window> asked_;
  std::vector<Attempt> failed_;                    // attempts of the window that begins at seek_
  whisper::WindowRows rows_;                       // of that window, once the encoder has made them
  std::shared_ptr<whisper::Alignment> alignment_;  // of cut_; comes before the next window
  Cut cut_;
  double last_speech_s_ = 0;
};

/// Bytes of a text over bytes of the same compressed by zlib: high for what repeats itself.
double compression_ratio(const std::string& text);

}  // namespace syrinx
