// A window of a recording that a client's front end wants written down, with all of Whisper's
// inputs and its result. The front end sets it as SpeechRequest::task. The request's sequence
// writes `heard`, which the front end reads once the request has finished.
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
  std::string language;      ///< as asked for or as found; empty: a model of English only
  float no_speech_prob = 0;  ///< before anything was written
  /// The drawn ids: text and timestamps, without the end.
  std::vector<int32_t> ids;
  std::vector<float> logprobs;  ///< of `ids`
  double logprob_sum = 0;       ///< of what was drawn, the end included
  bool ended = false;           ///< by the end, not by the limit of ids
  WindowRows rows;              ///< where Window::keep_rows asked for them

  double avg_logprob() const { return logprob_sum / static_cast<double>(ids.size() + 1); }
};

/// The task of one request to Whisper.
struct Window : FamilyTask {
  WhisperWindow audio;
  std::string language;    ///< ISO 639; empty: the model finds it
  bool translate = false;  ///< into English
  bool timestamps = true;
  bool only_language = false;  ///< finds the language only
  bool keep_rows = false;      ///< for an Alignment of the text, or for the next attempt
  WindowRows rows;             ///< of an earlier attempt; null: the encoder makes them
  /// The earlier text and timestamps as ids; only the end is used.
  std::vector<int32_t> before;
  float temperature = 0;

  Heard heard;
};

}  // namespace syrinx::whisper
