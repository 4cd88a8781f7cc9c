// Reads a client's event of the Realtime API from a WebSocket message. Call from any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "server/request/api_error.h"
#include "server/request/fields.h"

namespace syrinx {

/// An event that was parsed but not yet interpreted.
struct RealtimeEvent {
  std::string type = {}, id = {};
  JsonIn fields = {};
  std::string audio = {};  ///< decoded audio of input_audio_buffer.append
  std::optional<ApiError> fault = {};
};
/// Most bytes of audio in one event.
inline constexpr size_t kMaxAppendBytes = size_t{15} << 20;
/// Most bytes of an event without audio, or of a response without its input items.
inline constexpr size_t kMaxEventBytes = size_t{1} << 20;
ApiError event_too_long(std::string_view type, size_t bytes, std::string_view where = "");
/// Parses a message and decodes its audio, which may take long. Thread-safe.
RealtimeEvent read_realtime_event(std::string_view message, bool binary);

}  // namespace syrinx
