// Translates speech requests of other vendors' HTTP APIs into bodies of POST /v1/audio/speech. All
// knowledge about these APIs is here. Uses no sockets. Thread-safe. Never throws, for any bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "server/request/api_error.h"

namespace syrinx {

/// The vendor of a request's path, and the form of the answer.
struct VendorCall {
  enum Vendor {
    kElevenLabs,  ///< POST /v1/text-to-speech/VOICE and .../stream, each with /with-timestamps
    kCartesia,    ///< POST /tts/bytes and /tts/sse
    kDeepgram,    ///< POST /v1/speak
    kKokoro,      ///< Kokoro-FastAPI: POST /dev/captioned_speech
  };
  enum Answer {
    kAudio,         ///< audio as plain bytes
    kEvents,        ///< Cartesia's server-sent events
    kTimes,         ///< ElevenLabs' JSON object of audio and times of characters
    kTimesByPiece,  ///< a line with such an object for each piece
    kCaptions,      ///< Kokoro-FastAPI's JSON object of audio and words, whole or by piece
  };
  Vendor vendor = kElevenLabs;
  Answer answer = kAudio;
  std::string voice = {};  ///< voice in the path, decoded
  // Values from the body:
  std::string context_id = {};  ///< id in Cartesia's events
  bool words = false;           ///< for Cartesia, Kokoro-FastAPI: the answer has word times
};
/// Finds the vendor of a path; nothing for other paths.
std::optional<VendorCall> find_vendor_call(std::string_view path);

/// Returns the body for POST /v1/audio/speech; stores values that it cannot contain in `call`.
/// `query` has no question mark. An ApiError names an unsupported field by the client's name.
std::variant<std::string, ApiError> native_body(VendorCall& call, std::string_view query,
                                                std::string_view body);
/// Replaces the names of fields of POST /v1/audio/speech in an error by those of the vendor.
void name_vendor_fields(const VendorCall& call, ApiError& error);

}  // namespace syrinx
