// The interface of speech recognisers: a program's library on host threads or a
// network on the engine. A Recogniser opens one Listener for each recording or turn of a speaker.
// The listener receives samples as they arrive; its sink receives final segments in order and, at
// the end, the whole transcript.
//
//   auto listener = recogniser->open({.language = "en"}, sink);   // Result
//   while (...) listener.value()->hear(samples);                  // 16 kHz, any number at a time
//   listener.value()->end();                                      // finished() follows later
//
// Threads: any thread may call open() and info(). hear() and end() of a Listener are called by one
// thread at a time, cancel() by any thread. A sink is called in order, one call at a time, on a
// thread of the recogniser or in end(). The sink copies what it needs and returns. No call here
// waits for a recogniser.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace syrinx {

/// Samples per second of all audio for recognisers, which is mono in [-1, 1]. A caller with another
/// rate must resample (audio/resampler.h).
inline constexpr int kHearingRate = 16000;

/// A word with its times and its probability.
struct TranscriptWord {
  double start_s = 0, end_s = 0;  ///< seconds after the recording's first sample
  std::string word = {};          ///< the word without blanks around it
  float probability = 0;          ///< in [0, 1]
};

/// A token of a transcript, or a word if the recogniser does not use tokens.
struct ScoredPiece {
  std::string bytes = {};  ///< bytes of this piece; the bytes of all pieces are the text
  float logprob = 0;       ///< natural logarithm of the probability
};

/// A stretch of speech, at most a minute long. In languages with blanks, its text begins with the
/// blank that follows the previous segment. So the joined texts of the segments are the transcript.
struct TranscriptSegment {
  double start_s = 0, end_s = 0;
  std::string text = {};             ///< UTF-8
  std::vector<int32_t> tokens = {};  ///< ids of the text; empty for recognisers without tokens
  double window_s = -1;  ///< beginning of the window that contains the segment; < 0: start_s
  float temperature = 0;
  float avg_logprob = 0;        ///< mean natural log-probability of the tokens (or words)
  float compression_ratio = 0;  ///< size of the text divided by its compressed size; 0 if unknown
  float no_speech_prob = 0;     ///< 0 if the recogniser does not report it
  std::vector<TranscriptWord> words = {};  ///< only if ListenOptions::word_times is set
  std::vector<ScoredPiece> pieces = {};    ///< only if ListenOptions::scores is set
};

/// The whole transcript of a recording.
struct Transcript {
  std::string language;   ///< ISO 639-1, e.g. "en": as requested or as detected
  double duration_s = 0;  ///< length of the audio
  std::vector<TranscriptSegment> segments;
  /// The text of all tokens decoded together, if segments split a character. Otherwise empty.
  std::string whole = {};
  int64_t prompt_tokens = 0, completion_tokens = 0;  ///< 0 if usage is counted in seconds

  /// Returns `whole`, or else the joined texts of the segments, without blanks at both ends.
  std::string text() const;
};

/// Names and abilities of a recogniser.
struct RecogniserInfo {
  std::string name = {};                    ///< the name that clients use
  std::string family = {};                  ///< "pocketsphinx", "whisper", ...
  std::vector<std::string> languages = {};  ///< ISO 639-1; empty means any that a client names
  /// whether it detects the language; if not, a client names one, or the first one is assumed
  bool detects_language = false;
  bool streams = false;  ///< reports partial hypotheses during speech
  bool grows = false;    ///< with `streams`: a hypothesis keeps all words of the previous one
  bool word_times = false;
  bool translates = false;     ///< supports translation into English
  bool scores = false;         ///< reports probabilities of tokens or words
  bool prompts = false;        ///< ListenOptions::prompt and temperatures affect the transcript
  bool first_channel = false;  ///< uses the first of several channels; false: uses their mean
  size_t bytes = 0;            ///< memory in bytes when everything is loaded
};

/// Options of transcribing a recording.
struct ListenOptions {
  std::string language = {};  ///< ISO 639-1; empty: detected, or the recogniser's first language
  std::string prompt = {};    ///< earlier text, or words that are likely to occur
  /// Sampling temperatures, tried in turn until a text looks right. Empty: the defaults.
  std::vector<float> temperatures = {};
  /// Whether earlier text is context for later windows, if the recogniser supports this.
  bool condition_on_text = true;
  bool word_times = false;
  /// Whether the client uses the times of segments. A recogniser that finds no times in the speech
  /// then makes short segments.
  bool segment_times = false;
  bool scores = false;     ///< only allowed if RecogniserInfo::scores is set
  bool translate = false;  ///< only allowed if RecogniserInfo::translates is set
  /// Whether samples arrive while they are spoken. Segments then become final soon, and partial
  /// hypotheses are reported. Otherwise samples arrive as fast as the recogniser processes them.
  bool live = false;
  /// For recordings that are not live: whether segments are reported as soon as they are final, and
  /// partial() reports the certain beginning of the next segment, if the recogniser provides it.
  bool follow = false;
  bool background = false;  ///< runs only while no live request has work, if supported
  uint64_t client = 0;      ///< a hash of the client's key or address, for fairness
};

/// Receives a transcript. The recogniser keeps the sink alive until finished() has returned.
class TranscriptSink {
 public:
  virtual ~TranscriptSink() = default;
  /// Reports the hypothesis for the speech after the last segment, possibly empty. It replaces the
  /// previous one. With ListenOptions::follow, it is the certain part of the next segment.
  virtual void partial(std::string_view /*text*/) {}
  /// Reports the next final segment.
  virtual void segment(const TranscriptSegment& segment) = 0;
  /// Reports whether the recogniser predicts that the speaker has finished. Called for live
  /// recordings, after the first text, when this changes; not by a recogniser without predictions.
  virtual void done(bool /*done*/) {}
  /// Reports that the first `seconds` of the audio are processed. Later samples stay in memory. The
  /// next call comes after at most 60 s more of audio. So a caller must provide up to 60 s more
  /// before it waits for the next call.
  virtual void heard(double /*seconds*/) {}
  /// The last call, made exactly once for every opened listener. Contains all segments, or the
  /// reason why no whole transcript exists (kCancelled, kInternal, ...).
  virtual void finished(Result<Transcript> transcript) = 0;
};

/// A recording that is being recognised. Destroying it cancels it; the sink is still notified.
class Listener {
 public:
  virtual ~Listener() = default;
  /// Copies more samples. Values beyond [-1, 1] are scaled (FullScale); values that are not finite
  /// become 0. Does not block, so a fast caller must wait for TranscriptSink::heard().
  virtual void hear(std::span<const float> samples) = 0;
  /// Reports that the speaker pauses or speaks again. Samples in a pause are silence, so a
  /// recogniser may process the samples before the pause without waiting for end().
  virtual void pause(bool /*pauses*/) {}
  /// Makes the transcription of a background recording live (ListenOptions::background).
  virtual void raise() {}
  /// Predicts how many seconds the final pass of this listener would wait for other listeners'
  /// passes if the recording ended now. Returns 0 also if this is unknown. Threads: as for hear().
  virtual double wait_s() const { return 0; }
  /// Predicts how many seconds after the end of the recording (now, if it has not ended) the
  /// transcript will arrive. Returns 0 if its final pass waits for no other listener's pass, or if
  /// this is unknown. Threads: as for hear().
  virtual double delay_s() const { return 0; }
  /// Ends the recording. Must be called at most once; hear() must not be called afterwards.
  virtual void end() = 0;
  virtual void cancel() = 0;
};

/// Opens listeners; thread-safe.
class Recogniser {
 public:
  virtual ~Recogniser() = default;
  virtual const RecogniserInfo& info() const = 0;
  /// `options` must have passed check_listen(). If too many listeners are open, returns kOverloaded
  /// without waiting, with retry_after_s if it is known. An opened listener may still wait for its
  /// turn; it keeps its samples until then.
  virtual Result<std::unique_ptr<Listener>> open(const ListenOptions& options,
                                                 std::shared_ptr<TranscriptSink> sink) = 0;
};

/// Checks the options against the abilities of a recogniser: language, task, temperatures, length
/// of the prompt. `param` of an error is the name of the field in OpenAI's API.
Status check_listen(const RecogniserInfo& info, const ListenOptions& options);

}  // namespace syrinx
