// What a response of the Realtime API is to be: as a session answers, or as a client's
// response.create says; and the chat request that is made of it. Values and free functions.
#pragma once

#include <optional>
#include <string>

#include "server/realtime/conversation.h"
#include "server/realtime/realtime_actions.h"
#include "server/realtime/realtime_config.h"
#include "server/realtime/realtime_facts.h"
#include "server/request/object_fields.h"

namespace syrinx {

struct ResponseWish {
  AnswerConfig config = {};
  JsonIn metadata = {};
  bool joined = true;                      ///< its items are in the session's conversation
  std::optional<Conversation> input = {};  ///< what is read instead of that
};

/// Reads response.create in a session that is set to `config`; `conversation` has the items that it
/// may name. Throws ApiError.
ResponseWish read_response_wish(const JsonFields& event, const RealtimeConfig& config,
                                const RealtimeFacts& facts, const Conversation& conversation);

/// Returns the request for an answer to `context`, without the id of a response. `hears`:
/// recordings are part of it.
BeginAnswer answer_to(const Conversation& context, const AnswerConfig& config, bool hears);

}  // namespace syrinx
