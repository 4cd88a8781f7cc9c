// The body of POST /v1/audio/speech: OpenAI's fields and Syrinx's extensions, checked and turned
// into a SpeechRequest. Knows no sockets; any thread. Every refusal names the field at fault.
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
  /// Not in the request yet, because some of them must be fetched first (VoiceDesk); else empty.
  std::vector<VoiceWish> voices;
  /// How audio goes over the wire. Without "sample_rate" in the body, pcm is at 24 kHz, as OpenAI's
  /// clients take for granted, and other formats, which contain their rate, as near as they can to
  /// the model's.
  EncoderOptions audio;
  bool ssml = false;  ///< the text came as SSML; what is left of it is in the request
  std::vector<TextMark> marks = {};  ///< of its, whose times come in the last event
  bool words = true;                 ///< word times in the last event, where the model knows them
  bool sse = false;    ///< stream_format "sse": events with base64 audio instead of the bare bytes
  bool whole = false;  ///< "stream": false, without events: one body whose length is known
  std::vector<std::string> warnings = {};  ///< what the model cannot do and was left out
};

/// Has the model do as much of audio.speed as it can; the rest stays for the encoder.
void share_speed(const PipelineInfo& info, SpeechCall& call);

/// A body that is a JSON object, or an item of a batch with the batch's fields for what it lacks.
/// Cheap to copy.
class SpeechBody {
 public:
  static std::variant<SpeechBody, ApiError> parse(std::string_view body);
  /// Items that a batch may have.
  static constexpr size_t kMaxItems = 32;

  /// The field "model" where it is a string, or "".
  const std::string& model() const { return model_; }
  /// Checks the fields. Unknown ones are ignored and null counts as absent; "model" and "voice" may
  /// be left out. Whether the model is served is not asked here. `strict`: what clients send
  /// whatever the model is, such as "instructions", is refused where it cannot be honoured;
  /// otherwise it is left out with a warning.
  std::variant<SpeechCall, ApiError> call(const Speaker& speaker, bool strict = false) const;
  /// The bodies in "items", 1 to kMaxItems.
  std::variant<std::vector<SpeechBody>, ApiError> items() const;

 private:
  explicit SpeechBody(nlohmann::json fields);
  std::shared_ptr<const nlohmann::json> fields_;
  std::string model_;
};

}  // namespace syrinx
