// Requests for speech as other vendors' clients send them over HTTP, in the words of
// POST /v1/audio/speech: the whole of these dialects is this translation. Knows no sockets; any
// thread; nothing throws, whatever the bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "server/api_error.h"

namespace syrinx {

/// Which vendor's request a path is for.
struct VendorCall {
  enum Vendor {
    kElevenLabs,  ///< POST /v1/text-to-speech/VOICE and .../stream
    kCartesia,    ///< POST /tts/bytes
    kDeepgram,    ///< POST /v1/speak
  };
  Vendor vendor = kElevenLabs;
  std::string voice = {};  ///< in the path, decoded
};
/// Nothing where the path is no vendor's.
std::optional<VendorCall> find_vendor_call(std::string_view path);

/// The body for POST /v1/audio/speech. `query` without its question mark. An ApiError names what
/// cannot be honoured, in the client's words.
std::variant<std::string, ApiError> native_body(const VendorCall& call, std::string_view query,
                                                std::string_view body);

}  // namespace syrinx
