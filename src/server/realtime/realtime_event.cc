#include "server/realtime/realtime_event.h"

#include <utility>

#include "base/check.h"
#include "server/request/object_fields.h"
#include "server/request/wire.h"

namespace syrinx {
namespace {

/// Returns whether an event of this type may contain audio, and so exceed kMaxEventBytes.
bool may_bring_audio(std::string_view type) {
  return type == "input_audio_buffer.append" || type == "conversation.item.create" ||
         type == "response.create";
}

}  // namespace

ApiError event_too_long(std::string_view type, size_t bytes, std::string_view where) {
  return {.message = concat("An event of the type '", type.substr(0, 100), "' may have ",
                            kMaxEventBytes, " bytes", where, "; this one has ", bytes, "."),
          .code = "event_too_long"};
}

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
  if (message.size() > kMaxEventBytes && !may_bring_audio(out.type)) {
    out.fields = JsonIn::object();
    out.fault = event_too_long(out.type, message.size());
  }
  if (out.type != "input_audio_buffer.append") return out;
  try {
    const JsonFields fields(out.fields);
    auto bytes = base64_decoded(fields.need_text("audio"));
    out.fields.erase("audio");
    if (!bytes) {
      fields.refuse("audio", "Invalid 'audio'. Expected base64-encoded audio bytes.");
    }
    if (bytes->size() > kMaxAppendBytes) {
      fields.refuse("audio", concat("'audio' has ", bytes->size(), " bytes; at most ",
                                    kMaxAppendBytes, " may be sent at once."));
    }
    out.audio = std::move(*bytes);
  } catch (ApiError& fault) {
    out.fault = std::move(fault);
  }
  return out;
}

}  // namespace syrinx
