// The interface of speech recognisers: a program's library on host threads or a
// network on the engine. A Recogniser opens one Listener for each recording or turn of a speaker;
// samples go in as they come, what is settled comes out in order, and at the end the whole.
//
//   auto listener = recogniser->open({.language = "en"}, sink);   // Result
//   while (...) listener.value()->hear(samples);                  // 16 kHz, any number at a time
//   listener.value()->end();                                      // the sink hears finished()
//   later
//
// Threads: open() and info() are safe from any thread. A Listener's hear() and end() come from one
// thread at a time, cancel() from any. A sink is called in order, one call at a time, on a thread
// of the recogniser's or in end(); it copies and returns. Nothing here waits for a recogniser.
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

/// Samples a second of everything that is heard: mono in [-1, 1]. A caller with another rate
/// resamples (audio/resampler.h).
inline constexpr int kHearingRate = 16000;

/// When a word was said, and how sure that is.
struct TranscriptWord {
  double start_s = 0, end_s = 0;  ///< from the first sample that was heard
  std::string word = {};          ///< without blanks around it
  float probability = 0;          ///< in [0, 1]
};

/// A token of a transcript, or a word where a recogniser has no tokens.
struct ScoredPiece {
  std::string bytes = {};  ///< the bytes of this piece; joined, those of all pieces are the text
  float logprob = 0;       ///< natural
};

/// A stretch of speech, at most a minute. Its text begins with the blank that parts it from the
/// one before, where the language has blanks: the segments' texts, joined, are the transcript.
struct TranscriptSegment {
  double start_s = 0, end_s = 0;
  std::string text = {};             ///< UTF-8
  std::vector<int32_t> tokens = {};  ///< empty where a recogniser has none
  double window_s = -1;  ///< where the window began that it was cut from; < 0: at start_s
  float temperature = 0;
  float avg_logprob = 0;        ///< mean natural log-probability of its tokens (or words)
  float compression_ratio = 0;  ///< bytes of the text / of the same compressed; 0: not known
  float no_speech_prob = 0;     ///< 0 where a recogniser does not know
  std::vector<TranscriptWord> words = {};  ///< where ListenOptions::word_times asked for them
  std::vector<ScoredPiece> pieces = {};    ///< where ListenOptions::scores asked for them
};

/// All that was heard.
struct Transcript {
  std::string language;   ///< ISO 639-1, e.g. "en": as asked for or as found
  double duration_s = 0;  ///< of the audio that was heard
  std::vector<TranscriptSegment> segments;
  /// Where a character is split between segments: the text of all tokens at once; else empty.
  std::string whole = {};
  int64_t prompt_tokens = 0, completion_tokens = 0;  ///< 0 where usage counts seconds

  /// `whole`, or the segments' texts, joined, without blanks at either end.
  std::string text() const;
};

/// Names and abilities of a recogniser.
struct RecogniserInfo {
  std::string name = {};                    ///< what clients ask for
  std::string family = {};                  ///< "pocketsphinx", "whisper", ...
  std::vector<std::string> languages = {};  ///< ISO 639-1; none: it takes any, and is given it
  bool detects_language = false;  ///< of several; else the first counts where none is asked for
  bool streams = false;           ///< reports partial hypotheses during speech
  bool word_times = false;
  bool translates = false;     ///< into English
  bool scores = false;         ///< reports how likely its tokens or words are
  bool prompts = false;        ///< ListenOptions::prompt and temperatures change what is heard
  bool first_channel = false;  ///< hears the first of several channels; false: the mean of all
  size_t bytes = 0;            ///< memory that it takes when it has loaded all it loads
};

/// Options of transcribing a recording.
struct ListenOptions {
  std::string language = {};  ///< ISO 639-1; empty: found out, or the only one
  std::string prompt = {};    ///< what was said before, or words to expect
  /// Sampling temperatures to try in turn until a segment passes; empty: the recogniser's own.
  std::vector<float> temperatures = {};
  /// Whether earlier text is context for later windows, where the recogniser can use it.
  bool condition_on_text = true;
  bool word_times = false;
  bool scores = false;     ///< refused where RecogniserInfo::scores is not set
  bool translate = false;  ///< refused where RecogniserInfo::translates is not set
  /// Samples come as they are spoken: settle segments soon, report partial hypotheses. Else they
  /// come as fast as they are taken, and only the result counts.
  bool live = false;
  bool background = false;  ///< only on an otherwise idle machine, where a recogniser can
  uint64_t client = 0;      ///< a hash of the client's key or address, for fairness
};

/// Where a transcript goes. Kept alive by the recogniser until finished() has returned.
class TranscriptSink {
 public:
  virtual ~TranscriptSink() = default;
  /// Reports the hypothesis after the last segment; replaces the one before, and may be empty.
  virtual void partial(std::string_view /*text*/) {}
  /// The next segment; it is settled and never changes.
  virtual void segment(const TranscriptSegment& segment) = 0;
  /// So many seconds of the audio are done with; what was given beyond them lies in memory. Comes
  /// again at the latest when 60 s more were given: a caller that waits for it gives that much
  /// first.
  virtual void heard(double /*seconds*/) {}
  /// The last call, exactly once for every listener that was opened: all segments again, or why
  /// there is no whole transcript (kCancelled, kInternal, ...).
  virtual void finished(Result<Transcript> transcript) = 0;
};

/// One recording being heard. Destroying it cancels it; the sink is still notified.
class Listener {
 public:
  virtual ~Listener() = default;
  /// More of the recording; copies. Values beyond [-1, 1] are scaled (FullScale); not finite: 0.
  /// Does not block: a caller that is faster waits for TranscriptSink::heard().
  virtual void hear(std::span<const float> samples) = 0;
  /// The speaker pauses, or goes on: what comes in a pause is silence, and a recogniser may begin
  /// with what was said before it, without waiting for end().
  virtual void pause(bool /*pauses*/) {}
  /// From now on it is not heard in the background (ListenOptions::background).
  virtual void raise() {}
  /// Predicts the seconds that its last pass would wait for those of others if it ended now, from
  /// what earlier passes took; 0: none, or unknown. As hear().
  virtual double wait_s() const { return 0; }
  /// No more will come. Once, and hear() not after it.
  virtual void end() = 0;
  virtual void cancel() = 0;
};

/// Opens listeners; thread-safe.
class Recogniser {
 public:
  virtual ~Recogniser() = default;
  virtual const RecogniserInfo& info() const = 0;
  /// Checked against info() by check_listen() already. kOverloaded comes at once, with
  /// retry_after_s where it is known; a listener may have to wait for its turn, and samples with
  /// it.
  virtual Result<std::unique_ptr<Listener>> open(const ListenOptions& options,
                                                 std::shared_ptr<TranscriptSink> sink) = 0;
};

/// Holds options against what a recogniser says of itself: language, task, temperatures, length of
/// the prompt. `param` is the name that OpenAI's API gives the field.
Status check_listen(const RecogniserInfo& info, const ListenOptions& options);

}  // namespace syrinx
