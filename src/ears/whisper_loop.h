// Transcribes a recording of any length as Whisper's authors do: window by window. Each window
// begins where the timestamps of the previous window end, and its prompt is the text so far. If the
// text looks wrong, the window is sampled again at higher temperatures. If times of words are
// requested, each kept window is aligned (families/whisper/alignment.h): its segments begin and end
// with their words, and the next window begins where the last word ends. Independent of the engine:
// next() returns the next piece of work, take() receives its result. From the second attempt at a
// window on, ahead() returns further attempts, which may run at the same time. One thread. Source:
// whisper:whisper/transcribe.py, transcribe().
//
// Four things differ. If every attempt at a window looks wrong, the best attempt is kept, not the
// last one with the highest temperature. If the model also finds no speech, no attempt is kept,
// because the model repeats itself in noise (WhisperOptions::keep_best). Windows of digital silence
// are skipped; with WhisperOptions::vad, windows without a voice. With WhisperOptions::trims, short
// recordings cost less.
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

/// The options of the authors' function transcribe().
struct WhisperOptions {
  std::string language = {};  ///< as in whisper::Window
  bool translate = false;
  std::string prompt = {};
  std::vector<float> temperatures = {0, 0.2f, 0.4f, 0.6f, 0.8f, 1};
  bool timestamps = true;
  /// A text looks wrong if its compression ratio is above most_compression or its mean
  /// log-probability is below least_logprob. The window is then sampled again. A window is silence
  /// if the probability of no speech exceeds most_no_speech and its ids are unlikely.
  double most_compression = 2.4, least_logprob = -1, most_no_speech = 0.6;
  bool condition_on_text = true;  ///< whether a window's prompt includes the earlier text
  /// If every attempt looks wrong: true keeps the likeliest attempt whose compression is at most
  /// most_compression, or else the likeliest of all. If the probability of no speech exceeds
  /// most_no_speech, the window is silence. False keeps the last attempt, as the authors do.
  bool keep_best = true;
  bool word_times = false;
  bool scores = false;
  /// Whether a recording that ends within its first window is transcribed with kTail_s of silence
  /// after it, not with the rest of 30 s. If the text then looks wrong, or the model finds no
  /// speech, the whole window is transcribed. Not used with word_times.
  bool trims = false;
  static constexpr double kTail_s = 4;
  /// Whether windows of digital silence are skipped, in which the model writes words such as "you".
  bool skips_silence = true;
  /// Detector of voices: windows without a voice are skipped. If null, no window is skipped.
  std::shared_ptr<const SileroVad> vad = {};
};

/// Decides the windows of one recording, and joins their results.
class WhisperLoop {
 public:
  /// `model` must outlive the loop. `options` must have at least one temperature.
  WhisperLoop(const whisper::Whisper& model, const WhisperOptions& options);

  /// Adds samples of the recording. `last`: no more samples will follow.
  void hear(std::span<const float> samples, bool last);
  /// Returns whether the recording has ended and is transcribed completely.
  bool through() const {
    return !alignment_ && recording_.closed() && seek_ >= recording_.frames();
  }
  /// Returns the next piece of work, a Window or an Alignment; seed() seeds its sampling. Returns
  /// null if through(), or while the next window is incomplete. With `patient`, also returns null
  /// until the recording has ended. Returns the same piece of work until take().
  std::shared_ptr<FamilyTask> next(bool patient);
  /// Returns the windows of the attempts that follow if the window that next() returned looks wrong
  /// at its temperature, too. They may run at the same time as it: steps of several sequences cost
  /// little more than those of one. None at the first attempt, one at the second, then all.
  std::vector<std::shared_ptr<whisper::Window>> ahead();
  /// Returns the seed of the work that next() returned, or of window `ahead` - 1 of ahead().
  uint64_t seed(int ahead = 0) const {
    return static_cast<uint64_t>(seek_) << 8 | static_cast<uint64_t>(attempt_ + ahead);
  }
  /// Receives the results of the work that next() returned, and of the first `ahead` windows that
  /// ahead() returned. Returns the final segments in order of time, without empty segments.
  std::vector<TranscriptSegment> take(int ahead = 0);

  const std::string& language() const { return language_; }
  /// Returns the text of all kept ids, decoded together because segments may split a character.
  std::string whole() const;
  double duration_s() const;
  /// Returns how many seconds from the beginning are transcribed.
  double done_s() const;
  int windows() const { return windows_; }  ///< windows requested so far; every attempt counts

 private:
  /// The result of a window at one temperature.
  struct Attempt {
    std::shared_ptr<const whisper::Window> window;
    double compression = 0;
  };
  /// The segments of a kept window.
  struct Cut {
    std::vector<TranscriptSegment> segments;
    bool to_the_end = false;  ///< whether its timestamps mark the window's rest as silent
    float temperature = 0;
  };
  void skip_silence();
  std::shared_ptr<whisper::Window> window_of(int attempt) const;
  bool finds_language() const;
  bool short_of_a_window() const;
  bool trimmed() const;
  bool looks_wrong(const whisper::Heard& heard, double compression) const;
  bool looks_silent(const whisper::Heard& heard) const;
  std::vector<TranscriptSegment> take_window(std::shared_ptr<const whisper::Window> window);
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
  int64_t seek_ = 0;    // frame at which the next window begins
  int64_t window_ = 0;  // frame at which the window of cut_ began
  int attempt_ = 0, windows_ = 0;
  bool whole_ = false;        // whether the trimmed window at seek_ looked wrong
  std::vector<int32_t> ids_;  // the prompt, then the ids of all segments
  size_t prompt_size_ = 0;    // number of ids of the prompt in ids_
  size_t context_from_ = 0;   // index in ids_ where the context for later windows begins
  std::shared_ptr<whisper::Window> asked_;
  std::vector<std::shared_ptr<whisper::Window>> ahead_;
  std::vector<Attempt> failed_;  // attempts of the window that begins at seek_
  whisper::WindowRows rows_;     // encoder's rows of the window at seek_, once computed
  std::shared_ptr<whisper::Alignment> alignment_;  // alignment of cut_; runs before the next window
  Cut cut_;
  double last_speech_s_ = 0;
};

/// Returns the size of a text divided by its size after compression with zlib. It is high for
/// repetitive text.
double compression_ratio(const std::string& text);

}  // namespace syrinx
