// Parses and checks bodies of POST /v1/audio/speech: converts OpenAI's fields and Syrinx's own into
// a SpeechRequest. Uses no sockets; call from any thread. An error names the invalid field.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "audio/make_encoder.h"
#include "model/pipeline.h"
#include "model/request.h"
#include "server/request/api_error.h"
#include "voices/voices.h"

namespace syrinx {

/// A checked call. Without "seed" in the body the request has a random one.
struct SpeechCall {
  SpeechRequest request;
  /// Voices that VoiceDesk must fetch before submit(); often empty.
  std::vector<VoiceWish> voices;
  /// Format of the audio in the answer. Without "sample_rate" in the body, pcm has 24 kHz, as
  /// OpenAI's clients expect. Other formats use a rate near the model's and contain that rate.
  EncoderOptions audio;
  bool ssml = false;                 ///< the text was SSML; the request has the plain text
  std::vector<TextMark> marks = {};  ///< marks of the SSML; their times are sent in the last event
  bool words = true;  ///< send word times in the last event, if the model provides them
  bool sse = false;  ///< stream_format "sse": sends events with base64 audio instead of plain bytes
  bool whole = false;  ///< "stream": false without events: sends one body with a known length
  std::vector<std::string> warnings = {};  ///< warnings about fields that were ignored
};

/// Moves as much of audio.speed to the model as the model supports. The encoder applies the rest.
void share_speed(const PipelineInfo& info, SpeechCall& call);

/// A body that is a JSON object, or an item of a batch, completed with the batch's fields. Cheap to
/// copy.
class SpeechBody {
 public:
  static std::variant<SpeechBody, ApiError> parse(std::string_view body);
  /// Most items of a batch.
  static constexpr size_t kMaxItems = 32;

  /// Returns the field "model", or "" if it is not a string.
  const std::string& model() const { return model_; }
  /// Checks the fields. Unknown fields are ignored and null counts as absent; "model" and "voice"
  /// may be left out. Does not check whether the model is served. `strict`: refuses fields that
  /// clients send for every model, such as "instructions", if this model does not support them;
  /// otherwise ignores them with a warning.
  std::variant<SpeechCall, ApiError> call(const Speaker& speaker, bool strict = false) const;
  /// A body of "items", or the fault of an item that is not an object.
  using Item = std::variant<SpeechBody, ApiError>;
  /// Returns the items in "items", 1 to kMaxItems.
  std::variant<std::vector<Item>, ApiError> items() const;

 private:
  explicit SpeechBody(nlohmann::json fields);
  std::shared_ptr<const nlohmann::json> fields_;
  std::string model_;
};

}  // namespace syrinx
