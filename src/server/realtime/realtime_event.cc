#include "server/realtime/realtime_event.h"

#include <utility>

#include "base/check.h"
#include "server/realtime/event_fields.h"
#include "server/request/wire.h"

namespace syrinx {

RealtimeEvent read_realtime_event(std::string_view message, bool binary) {
  RealtimeEvent out;
  auto parsed = binary ? std::nullopt : parse_object(message);
  if (!parsed) {
    out.fault = ApiError{.message = "An event must be a JSON object in a text frame.",
                         .code = "invalid_json"};
    return out;
  }
  out.fields = std::move(*parsed);
  out.type = string_at(out.fields, "type").value_or("");
  out.id = string_at(out.fields, "event_id").value_or("");
  if (out.type != "input_audio_buffer.append") return out;
  try {
    const EventFields fields(out.fields);
    auto bytes = base64_decoded(fields.need_text("audio"));
    out.fields.erase("audio");
    if (!bytes) {
      fields.refuse("audio", "Invalid 'audio'. Expected base64-encoded audio bytes.");
    }
    if (bytes->size() > kMaxAppendBytes) {
      fields.refuse("audio", concat("'audio' has ", bytes->size(), " bytes; at most ",
                                    kMaxAppendBytes, " may come at once."));
    }
    out.audio = std::move(*bytes);
  } catch (ApiError& fault) {
    out.fault = std::move(fault);
  }
  return out;
}

}  // namespace syrinx
