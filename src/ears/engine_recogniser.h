// Recognisers whose model runs on an engine: every recording is a loop, which says what to ask the
// model next and takes what it answers. The requests of all recordings meet in the engine, which
// batches them; where it has no room for one, that waits for the end of another one of ours.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ears/recogniser.h"
#include "engine/engine.h"

namespace syrinx {

/// The result of a request.
struct Answer {
  Outcome outcome;
  std::string text = {};  ///< what it wrote
};

/// One recording, as one model hears it. One thread at a time; must not wait.
class HearingLoop {
 public:
  virtual ~HearingLoop() = default;
  /// More of the recording, at kHearingRate.
  virtual void hear(std::span<const float> samples, bool last) = 0;
  /// Whether the recording has ended and all of it is done with.
  virtual bool through() const = 0;
  /// The next thing to ask; nothing when through, or while there is not enough of the recording. An
  /// Error ends the transcript. Not called again before take().
  virtual Result<std::optional<SpeechRequest>> next() = 0;
  /// Takes the answer to the last question. Returns the segments that are final now, in order of
  /// time.
  virtual std::vector<TranscriptSegment> take(const Answer& answer) = 0;

  virtual std::string language() const = 0;         ///< as Transcript
  virtual std::string whole() const { return {}; }  ///< as Transcript, when through
  virtual double duration_s() const = 0;            ///< of what was heard so far
  /// As TranscriptSink::heard().
  virtual double done_s() const = 0;
  /// As Transcript. Whisper's usage counts seconds, as that of OpenAI's whisper-1: it has none.
  virtual int64_t prompt_tokens() const { return 0; }
  virtual int64_t completion_tokens() const { return 0; }
};

using LoopMaker = std::function<std::unique_ptr<HearingLoop>(const ListenOptions& options)>;

/// The loops that `loops` makes submit to `engine`.
std::shared_ptr<Recogniser> engine_recogniser(std::shared_ptr<Engine> engine, RecogniserInfo info,
                                              LoopMaker loops);

/// Name, family, channel and memory of a model.
RecogniserInfo info_of(const PipelineInfo& model);

}  // namespace syrinx
