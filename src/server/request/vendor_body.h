// Requests for speech as other vendors' clients send them over HTTP, in the words of
// POST /v1/audio/speech: the whole of these dialects is this translation. Knows no sockets; any
// thread; nothing throws, whatever the bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "server/request/api_error.h"

namespace syrinx {

/// Which vendor's request a path is for, and what the answer looks like.
struct VendorCall {
  enum Vendor {
    kElevenLabs,  ///< POST /v1/text-to-speech/VOICE and .../stream, each with /with-timestamps
    kCartesia,    ///< POST /tts/bytes and /tts/sse
    kDeepgram,    ///< POST /v1/speak
  };
  enum Answer {
    kAudio,         ///< the bare bytes
    kEvents,        ///< Cartesia's server-sent events
    kTimes,         ///< ElevenLabs' JSON object of audio and times of characters
    kTimesByPiece,  ///< a line with such an object for each piece
  };
  Vendor vendor = kElevenLabs;
  Answer answer = kAudio;
  std::string voice = {};  ///< in the path, decoded
  // In the body:
  std::string context_id = {};  ///< of Cartesia's events
  bool words = false;           ///< Cartesia: with the times of words
};
/// Nothing where the path is not a vendor's.
std::optional<VendorCall> find_vendor_call(std::string_view path);

/// The body for POST /v1/audio/speech; the rest of it goes into `call`. `query` without its
/// question mark. An ApiError names what cannot be honoured, in the client's words.
std::variant<std::string, ApiError> native_body(VendorCall& call, std::string_view query,
                                                std::string_view body);

}  // namespace syrinx
