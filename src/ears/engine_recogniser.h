// Recognisers whose model runs on an engine. A loop handles each recording: it decides the next
// request to the model and receives the answer. The engine batches the requests of all recordings.
// If the engine cannot accept a request, the request waits until another request of this recogniser
// ends.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ears/recogniser.h"
#include "engine/engine.h"

namespace syrinx {

/// The result of a request.
struct Answer {
  Outcome outcome;
  std::string text = {};  ///< the text that the model wrote
};

/// Decides which requests transcribe one recording. One thread at a time; its calls must not block.
class HearingLoop {
 public:
  virtual ~HearingLoop() = default;
  /// Adds samples of the recording, at kHearingRate. `last`: no more samples will follow.
  virtual void hear(std::span<const float> samples, bool last) = 0;
  /// Returns whether the recording has ended and is transcribed completely.
  virtual bool through() const = 0;
  /// Returns the next requests for the model, which run at the same time. Returns none if
  /// through(), or if too little of the recording has arrived. An Error ends the transcript. Not
  /// called again before take().
  virtual Result<std::vector<SpeechRequest>> next() = 0;
  /// Receives the answers to the last requests: to the first one and perhaps to further ones, in
  /// their order. Returns the segments that are now final, in order of time.
  virtual std::vector<TranscriptSegment> take(std::span<const Answer> answers) = 0;
  /// Returns whether so_far() returns the text of an answer while the answer grows.
  virtual bool follows() const { return false; }
  /// Returns the beginning of the next segment, computed from the growing answer to the last
  /// requests' first one. Returns "" while nothing is certain.
  virtual std::string so_far(std::string_view /*answer*/) const { return {}; }

  virtual std::string language() const = 0;         ///< see Transcript::language
  virtual std::string whole() const { return {}; }  ///< see Transcript::whole; valid if through()
  virtual double duration_s() const = 0;            ///< total length of the samples received
  /// Returns the seconds to report by TranscriptSink::heard().
  virtual double done_s() const = 0;
  /// Returns Transcript::prompt_tokens. For Whisper it is 0, because its usage is counted in
  /// seconds, as for OpenAI's whisper-1.
  virtual int64_t prompt_tokens() const { return 0; }
  virtual int64_t completion_tokens() const { return 0; }
};

using LoopMaker = std::function<std::unique_ptr<HearingLoop>(const ListenOptions& options)>;

/// Makes a recogniser that handles each recording with a loop made by `loops`, and submits the
/// requests to `engine`. `at_once`: limit of live recordings that have ended and have requests in
/// the engine at the same time. Other recordings wait in the order in which they ended. A limit
/// above 1 pays if a batch costs less than its requests one by one.
std::shared_ptr<Recogniser> engine_recogniser(std::shared_ptr<Engine> engine, RecogniserInfo info,
                                              LoopMaker loops, int at_once);

/// Returns the name, family, channel and memory of a model.
RecogniserInfo info_of(const PipelineInfo& model);

}  // namespace syrinx
