// A client's event of the Realtime API as it came in a frame. Free function; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "server/request/api_error.h"
#include "server/request/fields.h"

namespace syrinx {

/// Read and not yet understood.
struct RealtimeEvent {
  std::string type = {}, id = {};
  JsonIn fields = {};
  std::string audio = {};  ///< of input_audio_buffer.append, decoded
  std::optional<ApiError> fault = {};
};
/// Bytes of audio that may come at once.
inline constexpr size_t kMaxAppendBytes = size_t{15} << 20;
/// Bytes of an event that brings no audio, and of one that does without the items that it brings.
inline constexpr size_t kMaxEventBytes = size_t{1} << 20;
ApiError event_too_long(std::string_view type, size_t bytes, std::string_view where = "");
/// Takes its time where there is much audio; any thread, beside everything.
RealtimeEvent read_realtime_event(std::string_view message, bool binary);

}  // namespace syrinx
