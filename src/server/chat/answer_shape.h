// Reads the fields that limit a chat's answer: tools, whether a tool must be called, a JSON schema,
// and reasoning. Throws ApiError. Any thread.
#pragma once

#include "server/chat/chat_call.h"
#include "server/request/object_fields.h"

namespace syrinx {

/// Reads the fields into `chat`, and the names of the tools into `tool_names`.
void read_answer_shape(const ChatFields& fields, const ChatAbility& model, Chat& chat,
                       std::vector<std::string>& tool_names);

/// Returns the JSON schema that the answer must follow; an empty string if it may be any text.
std::string read_response_format(const ChatFields& fields, bool writes_json);

}  // namespace syrinx
