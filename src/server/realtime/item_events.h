// Carries out client events that fetch, truncate or delete an item of a conversation, and returns
// the fields of the server's reply. A function that throws an ApiError has not changed the
// conversation.
#pragma once

#include <string>

#include "server/realtime/conversation.h"
#include "server/request/object_fields.h"

namespace syrinx {

/// Returns the error for an unknown item id. Its message contains `doing`, its code `verb`.
ApiError no_item(const char* doing, const char* verb, const std::string& id);

/// Handles conversation.item.retrieve: returns the item with audio; `input`: the client's format.
JsonOut retrieve_item(const JsonFields& event, const Conversation& conversation,
                      RealtimeFormat input);
/// Handles conversation.item.truncate: cuts an answer to the part that the client played.
JsonOut truncate_item(const JsonFields& event, Conversation& conversation);
/// Handles conversation.item.delete.
JsonOut delete_item(const JsonFields& event, Conversation& conversation);

}  // namespace syrinx
