// The fields of a chat's body that say what the answer may be: tools and which of them must be
// called, a JSON schema, thoughts. Throws ApiError. Any thread.
#pragma once

#include "server/chat/chat_call.h"
#include "server/request/object_fields.h"

namespace syrinx {

/// Reads them into `chat` and the names of the tools.
void read_answer_shape(const ChatFields& fields, const ChatAbility& model, Chat& chat,
                       std::vector<std::string>& tool_names);

/// Returns the JSON schema that the answer must follow; "" when it may be any text.
std::string read_response_format(const ChatFields& fields, bool writes_json);

}  // namespace syrinx
