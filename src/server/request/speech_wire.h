// What the audio of an answer, and the times of its words, look like in the body: bare bytes, or
// OpenAI's, Cartesia's or ElevenLabs' JSON. Knows no sockets. One thread at a time.
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
  /// Content type of the body; empty: the audio's own.
  virtual std::string content_type() const { return ""; }
  /// Whether piece() wants words, as soon as their end is known; otherwise it gets none.
  virtual bool wants_words() const { return false; }
  /// Encoded audio, words, or both; all of them for a whole answer.
  virtual std::string piece(std::string_view audio, std::span<const TimedWord> words) = 0;
  /// What follows the last piece of speech that ended well.
  virtual std::string end(const SpeechCall&, const Outcome&, const PipelineInfo&) { return ""; }
  /// What follows the last piece of speech that failed. Nothing: the body cannot say it and must be
  /// cut off instead of ended.
  virtual std::optional<std::string> fault(const ApiError&) { return {}; }
};

/// `vendor` may be null: OpenAI's request.
std::unique_ptr<SpeechWire> make_speech_wire(const SpeechCall& call, const VendorCall* vendor,
                                             const std::string& request_id);

}  // namespace syrinx
