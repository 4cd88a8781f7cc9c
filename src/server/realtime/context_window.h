// What of a conversation is read once it has outgrown its model's positions: the oldest messages
// behind the instructions leave, as the session's `truncation` says, or the answer fails. Values;
// any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <variant>

#include "server/chat/chat_call.h"
#include "server/realtime/realtime_config.h"
#include "server/request/object_fields.h"

namespace syrinx {

struct ContextWindow {
  Truncation how = {};
  int64_t room = 0;         ///< tokens of a prompt at most; 0: not known, and nothing leaves
  size_t instructions = 0;  ///< number of messages that never leave
  /// Tokens of a request's prompt.
  std::function<Result<int64_t>(const SpeechRequest&)> tokens = {};

  /// Returns the tokens of `positions` that an answer of at most `max_tokens` (0: an eighth of
  /// all) leaves: half of them, where the bound says little.
  static int64_t room_of(int64_t positions, int max_tokens);
};

struct FittedChat {
  ChatCall call;
  size_t left = 0;  ///< number of messages behind the instructions that are not read
};

/// Checks the body of a chat request. The last message never leaves, nor the call that gave it;
/// what does not fit without all others is left to the model to refuse. A call of a tool leaves
/// with what it gave, and with what was said until then.
std::variant<FittedChat, ApiError> fitted_chat(const JsonIn& body, const ChatAbility& ability,
                                               const ContextWindow& window);

}  // namespace syrinx
