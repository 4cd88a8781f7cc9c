// The names that the Realtime API had in its beta (2024), for clients that ask for them
// (`OpenAI-Beta: realtime=v1`): their events in today's names, and today's events in theirs.
// Field by field as in OpenAI's API description of that time. Free functions; any thread.
#pragma once

#include <optional>
#include <string>

#include "server/request/fields.h"

namespace syrinx {

/// A client's event: its flat session, or the fields of its response. What it has in today's words
/// stays as it is.
void from_beta(JsonIn& event);
/// A field of a session or a response that only the beta has.
struct BetaField {
  const char* name;
  std::string today;  ///< "audio.output.voice"
};
/// The first that there is in `fields`.
std::optional<BetaField> beta_field_in(const JsonIn& fields);
/// A server's event. False: the beta has no such event.
bool to_beta(JsonOut& event);

}  // namespace syrinx
