// Translates between the names of the Realtime API and the names of its beta (2024), for clients
// that request the beta (`OpenAI-Beta: realtime=v1`). Client events are translated to current
// names, server events to beta names. The fields follow OpenAI's API description of 2024. Free
// functions; thread-safe.
#pragma once

#include <optional>
#include <string>

#include "server/request/fields.h"

namespace syrinx {

/// Translates a client's event (a flat session, or the fields of a response) to current names.
/// Fields with current names stay unchanged.
void from_beta(JsonIn& event);
/// A field name of a session or a response that only the beta has.
struct BetaField {
  const char* name;
  std::string today;  ///< path of the current field, e.g. "audio.output.voice"
};
/// Returns the first beta field in `fields`.
std::optional<BetaField> beta_field_in(const JsonIn& fields);
/// Translates a server's event to beta names. Returns false if the beta has no such event.
bool to_beta(JsonOut& event);

}  // namespace syrinx
