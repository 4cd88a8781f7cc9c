// A window of a recording to transcribe, with all of Whisper's inputs and its result. A front end
// sets it as SpeechRequest::task. The request's sequence writes `heard`, which the front end reads
// once the request has finished.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codec/whisper_encoder.h"
#include "model/request.h"

namespace syrinx::whisper {

/// The rows of the encoder for a window: [WhisperWindow::rows, width].
using WindowRows = std::shared_ptr<const std::vector<float>>;

/// The result of a window.
struct Heard {
  std::string language;      ///< the language, given or found; empty: a model of English only
  float no_speech_prob = 0;  ///< probability before the first id
  /// The drawn ids: text and timestamps, without the end.
  std::vector<int32_t> ids;
  std::vector<float> logprobs;  ///< log-probabilities of `ids`
  double logprob_sum = 0;       ///< sum of the log-probabilities of all ids, including the end
  bool ended = false;           ///< ended with the end id, not at the limit of ids
  WindowRows rows;              ///< set if Window::keep_rows is

  double avg_logprob() const { return logprob_sum / static_cast<double>(ids.size() + 1); }
};

/// The task of one request to Whisper.
struct Window : FamilyTask {
  WhisperWindow audio;
  std::string language;    ///< ISO 639; empty: the model finds it
  bool translate = false;  ///< translate into English
  bool timestamps = true;
  bool only_language = false;  ///< only find the language
  bool keep_rows = false;      ///< keep the rows, for an Alignment or for the next attempt
  WindowRows rows;             ///< rows of an earlier attempt; null: the encoder makes them
  /// The earlier text and timestamps as ids; only the end is used.
  std::vector<int32_t> before;
  float temperature = 0;

  Heard heard;
};

}  // namespace syrinx::whisper
