// A window of a recording to transcribe, with all of Whisper's inputs and its result. The caller
// sets it as SpeechRequest::task. The request's sequence writes `heard`, which the caller reads
// after the request has finished.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codec/whisper_encoder.h"
#include "model/request.h"

namespace syrinx::whisper {

/// The encoder's rows of a window: [WhisperWindow::rows, width].
using WindowRows = std::shared_ptr<const std::vector<float>>;

/// The result of transcribing a window.
struct Heard {
  std::string language;      ///< language, given or found; empty: an English-only model
  float no_speech_prob = 0;  ///< probability of no speech, before the first id
  /// The sampled ids: text and timestamps, without the end id.
  std::vector<int32_t> ids;
  std::vector<float> logprobs;  ///< log-probabilities of `ids`
  double logprob_sum = 0;       ///< sum of the log-probabilities of all ids, with the end id
  bool ended = false;           ///< whether the end id came before the limit of ids
  WindowRows rows;              ///< set if Window::keep_rows is true

  double avg_logprob() const { return logprob_sum / static_cast<double>(ids.size() + 1); }
};

/// The task of one request to Whisper.
struct Window : FamilyTask {
  Window() : FamilyTask("whisper") {}
  WhisperWindow audio;
  std::string language;    ///< ISO 639; empty: the model finds it
  bool translate = false;  ///< whether to translate into English
  bool timestamps = true;
  bool only_language = false;  ///< whether to find only the language
  bool keep_rows = false;      ///< keep the rows, for an Alignment or for the next attempt
  WindowRows rows;             ///< rows of an earlier attempt; null: the encoder computes them
  /// Earlier text and timestamps as ids, of which only the last ones are used.
  std::vector<int32_t> before;
  float temperature = 0;

  Heard heard;
};

}  // namespace syrinx::whisper
