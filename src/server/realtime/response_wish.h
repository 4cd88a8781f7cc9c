// The settings of a response of the Realtime API, from the session and a client's response.create,
// and the chat request made from these settings. Values and free functions.
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
  bool joined = true;  ///< the response's items are in the session's conversation
  /// The conversation that the model reads instead of the session's.
  std::optional<Conversation> input = {};
};

/// Reads response.create in a session with `config`. The event may refer to items of
/// `conversation`. Throws ApiError.
ResponseWish read_response_wish(const JsonFields& event, const RealtimeConfig& config,
                                const RealtimeFacts& facts, const Conversation& conversation);

/// Returns the request for an answer to `context`, without the id of a response. `hears`: the
/// request includes recordings.
BeginAnswer answer_to(const Conversation& context, const AnswerConfig& config, bool hears);

}  // namespace syrinx
