// The form of audio and word times in the body of an answer: plain bytes, or JSON of OpenAI,
// Cartesia, ElevenLabs or Kokoro-FastAPI. Uses no sockets. Not thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "server/request/api_error.h"
#include "server/request/speech_call.h"
#include "server/request/timed_words.h"
#include "server/request/vendor_body.h"

namespace syrinx {

class SpeechWire {
 public:
  virtual ~SpeechWire() = default;
  /// Returns the content type of the body. An empty string means the content type of the audio.
  virtual std::string content_type() const { return ""; }
  /// Returns whether piece() receives words, each as soon as its end is known.
  virtual bool wants_words() const { return false; }
  /// Formats encoded audio, words, or both; a complete answer is one piece.
  virtual std::string piece(std::string_view audio, std::span<const TimedWord> words) = 0;
  /// Returns the end of the body for speech that ended well.
  virtual std::string end(const SpeechCall&, const Outcome&, const PipelineInfo&) { return ""; }
  /// Returns the end of the body for speech that failed. Returns nothing if the format cannot
  /// report errors; the body must then be cut off.
  virtual std::optional<std::string> fault(const ApiError&) { return {}; }
};

/// Makes the form for a call; a null `vendor` means OpenAI's form.
std::unique_ptr<SpeechWire> make_speech_wire(const SpeechCall& call, const VendorCall* vendor,
                                             const std::string& request_id);

}  // namespace syrinx
