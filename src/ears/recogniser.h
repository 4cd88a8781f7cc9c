// The interface of speech recognisers: a program's library on host threads or a
// network on the engine. A Recogniser opens one Listener for each recording or turn of a speaker;
// the listener takes samples as they come, and its sink receives final segments in order and, at
// the end, the whole transcript.
//
//   auto listener = recogniser->open({.language = "en"}, sink);   // Result
//   while (...) listener.value()->hear(samples);                  // 16 kHz, any number at a time
//   listener.value()->end();                                      // finished() follows later
//
// Threads: open() and info() are safe from any thread. A Listener's hear() and end() come from one
// thread at a time, cancel() from any. A sink is called in order, one call at a time, on a thread
// of the recogniser's or in end(); the sink copies what it needs and returns. No call here waits
// for a recogniser.
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

/// Samples per second of all audio given to recognisers: mono in [-1, 1]. A caller with another
/// rate resamples (audio/resampler.h).
inline constexpr int kHearingRate = 16000;

/// A word with its times and its probability.
struct TranscriptWord {
  double start_s = 0, end_s = 0;  ///< from the first sample of the recording
  std::string word = {};          ///< without blanks around it
  float probability = 0;          ///< in [0, 1]
};

/// A token of a transcript, or a word if the recogniser has no tokens.
struct ScoredPiece {
  std::string bytes = {};  ///< bytes of this piece; the bytes of all pieces together are the text
  float logprob = 0;       ///< natural logarithm of the probability
};

/// A stretch of speech, at most a minute. In languages with blanks, its text begins with the blank
/// after the previous segment: the segments' texts, joined, are the transcript.
struct TranscriptSegment {
  double start_s = 0, end_s = 0;
  std::string text = {};             ///< UTF-8
  std::vector<int32_t> tokens = {};  ///< empty if the recogniser has none
  double window_s = -1;  ///< beginning of the window that held this segment; < 0: start_s
  float temperature = 0;
  float avg_logprob = 0;        ///< mean natural log-probability of its tokens (or words)
  float compression_ratio = 0;  ///< bytes of the text / bytes of it compressed; 0: unknown
  float no_speech_prob = 0;     ///< 0 if the recogniser does not report it
  std::vector<TranscriptWord> words = {};  ///< only if ListenOptions::word_times is set
  std::vector<ScoredPiece> pieces = {};    ///< only if ListenOptions::scores is set
};

/// The whole transcript of a recording.
struct Transcript {
  std::string language;   ///< ISO 639-1, e.g. "en": as requested or as detected
  double duration_s = 0;  ///< length of the audio
  std::vector<TranscriptSegment> segments;
  /// The text of all tokens decoded at once if a character is split between segments; else empty.
  std::string whole = {};
  int64_t prompt_tokens = 0, completion_tokens = 0;  ///< 0 if usage counts seconds

  /// Returns `whole`, or else the joined texts of the segments, without blanks at either end.
  std::string text() const;
};

/// Names and abilities of a recogniser.
struct RecogniserInfo {
  std::string name = {};                    ///< the name that clients use
  std::string family = {};                  ///< "pocketsphinx", "whisper", ...
  std::vector<std::string> languages = {};  ///< ISO 639-1; empty: any, named by the client
  /// detects it; otherwise the first is assumed, unless the client names one
  bool detects_language = false;
  bool streams = false;  ///< reports partial hypotheses during speech
  bool grows = false;  ///< with `streams`: a hypothesis never takes back words of the previous one
  bool word_times = false;
  bool translates = false;     ///< translates into English
  bool scores = false;         ///< reports probabilities of tokens or words
  bool prompts = false;        ///< ListenOptions::prompt and temperatures change what is heard
  bool first_channel = false;  ///< takes the first of several channels; false: their mean
  size_t bytes = 0;            ///< memory when everything is loaded
};

/// Options of transcribing a recording.
struct ListenOptions {
  std::string language = {};  ///< ISO 639-1; empty: detected, or the recogniser's first
  std::string prompt = {};    ///< earlier text, or words to expect
  /// Sampling temperatures to try in turn until a segment passes; empty: the recogniser's own.
  std::vector<float> temperatures = {};
  /// Whether earlier text is context for later windows, if the recogniser can use it.
  bool condition_on_text = true;
  bool word_times = false;
  /// The times of segments are read, so a recogniser that finds no times in the speech makes its
  /// segments short.
  bool segment_times = false;
  bool scores = false;     ///< refused unless RecogniserInfo::scores is set
  bool translate = false;  ///< refused unless RecogniserInfo::translates is set
  /// Samples arrive while they are spoken: segments become final soon and partial hypotheses are
  /// reported. Otherwise samples arrive as fast as they are read.
  bool live = false;
  /// If the recording is not live, segments are reported as soon as they are final, and partial()
  /// reports the certain beginning of the next one, if the recogniser knows it.
  bool follow = false;
  bool background = false;  ///< runs only while the machine is otherwise idle, if supported
  uint64_t client = 0;      ///< a hash of the client's key or address, for fairness
};

/// Receives a transcript. Kept alive by the recogniser until finished() has returned.
class TranscriptSink {
 public:
  virtual ~TranscriptSink() = default;
  /// Reports the hypothesis after the last segment; replaces the one before, and may be empty.
  /// With ListenOptions::follow it is the beginning of the next segment, as far as is certain.
  virtual void partial(std::string_view /*text*/) {}
  /// Reports the next segment, which is final.
  virtual void segment(const TranscriptSegment& segment) = 0;
  /// Reports that the first `seconds` of the audio are processed; later samples are held in memory.
  /// The next call comes at the latest when 60 s more were given, so a caller must give up to 60 s
  /// more before it waits for this call.
  virtual void heard(double /*seconds*/) {}
  /// The last call, made exactly once for every opened listener: all segments again, or the reason
  /// why there is no whole transcript (kCancelled, kInternal, ...).
  virtual void finished(Result<Transcript> transcript) = 0;
};

/// One recording being heard. Destroying it cancels it; the sink is still notified.
class Listener {
 public:
  virtual ~Listener() = default;
  /// Copies more samples of the recording. Values beyond [-1, 1] are scaled (FullScale); values
  /// that are not finite become 0. Does not block: a fast caller waits for TranscriptSink::heard().
  virtual void hear(std::span<const float> samples) = 0;
  /// Reports that the speaker pauses or speaks again. Samples in a pause are silence, so
  /// a recogniser may start on the samples before the pause without waiting for end().
  virtual void pause(bool /*pauses*/) {}
  /// Ends background processing of this recording (ListenOptions::background).
  virtual void raise() {}
  /// Predicts how many seconds the last pass of this listener would wait for passes of other
  /// listeners if the recording ended now; 0 also if unknown. Threads: as hear().
  virtual double wait_s() const { return 0; }
  /// Predicts how many seconds after the end of the recording (now, if it has not ended) its
  /// transcript comes; 0 if its last pass waits for no pass of another listener, or if unknown.
  /// Threads: as hear().
  virtual double delay_s() const { return 0; }
  /// Ends the recording. Called at most once; hear() must not follow.
  virtual void end() = 0;
  virtual void cancel() = 0;
};

/// Opens listeners; thread-safe.
class Recogniser {
 public:
  virtual ~Recogniser() = default;
  virtual const RecogniserInfo& info() const = 0;
  /// `options` must have passed check_listen(). The error kOverloaded is returned at once, with
  /// retry_after_s if it is known. An opened listener may still wait for its turn, with its
  /// samples.
  virtual Result<std::unique_ptr<Listener>> open(const ListenOptions& options,
                                                 std::shared_ptr<TranscriptSink> sink) = 0;
};

/// Checks the options against the abilities of a recogniser: language, task, temperatures, length
/// of the prompt. `param` of an error is the name of the field in OpenAI's API.
Status check_listen(const RecogniserInfo& info, const ListenOptions& options);

}  // namespace syrinx
