// Recognisers whose model runs on an engine. Each recording is handled by a loop, which decides
// what to ask the model next and takes the answer. The engine batches the requests of all
// recordings. If the engine has no room for a request, the request waits until another request of
// this recogniser ends.
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
  std::string text = {};  ///< text that the model wrote
};

/// Decides which requests transcribe one recording. One thread at a time; must not wait.
class HearingLoop {
 public:
  virtual ~HearingLoop() = default;
  /// Adds samples of the recording, at kHearingRate; `last`: no more will come.
  virtual void hear(std::span<const float> samples, bool last) = 0;
  /// Returns whether the recording has ended and all of it has been transcribed.
  virtual bool through() const = 0;
  /// Returns the next request for the model; nothing when through(), or while too little of the
  /// recording has arrived. An Error ends the transcript. Not called again before take().
  virtual Result<std::optional<SpeechRequest>> next() = 0;
  /// Takes the answer to the last question. Returns the segments that are final now, in order of
  /// time.
  virtual std::vector<TranscriptSegment> take(const Answer& answer) = 0;
  /// Returns whether so_far() has the text of an answer while it grows.
  virtual bool follows() const { return false; }
  /// Returns the beginning of the next segment, from the beginning of the answer to the last
  /// question; empty while nothing is certain.
  virtual std::string so_far(std::string_view /*answer*/) const { return {}; }

  virtual std::string language() const = 0;         ///< see Transcript::language
  virtual std::string whole() const { return {}; }  ///< see Transcript::whole; valid when through()
  virtual double duration_s() const = 0;            ///< length of all samples so far
  /// Returns the seconds for TranscriptSink::heard().
  virtual double done_s() const = 0;
  /// Returns Transcript::prompt_tokens; 0 for Whisper, whose usage counts seconds, like that of
  /// OpenAI's whisper-1.
  virtual int64_t prompt_tokens() const { return 0; }
  virtual int64_t completion_tokens() const { return 0; }
};

using LoopMaker = std::function<std::unique_ptr<HearingLoop>(const ListenOptions& options)>;

/// Makes a recogniser that handles each recording with a loop made by `loops` and submits the
/// requests to `engine`. `at_once`: live recordings that have ended and have requests in the engine
/// at the same time; the others wait in the order in which they ended. More than one pays where
/// a batch costs less than its requests one by one.
std::shared_ptr<Recogniser> engine_recogniser(std::shared_ptr<Engine> engine, RecogniserInfo info,
                                              LoopMaker loops, int at_once);

/// Returns the name, family, channel and memory of a model.
RecogniserInfo info_of(const PipelineInfo& model);

}  // namespace syrinx
