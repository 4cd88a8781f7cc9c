// Shortens a conversation that exceeds its model's positions. Depending on the session's
// `truncation`, it removes the oldest messages after the instructions, or makes the answer fail.
// Call from any thread.
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
  int64_t room = 0;         ///< most tokens of a prompt; 0: unknown, so no message is removed
  size_t instructions = 0;  ///< number of messages that are never removed
  /// Counts the tokens of a request's prompt.
  std::function<Result<int64_t>(const SpeechRequest&)> tokens = {};

  /// Returns the positions left for the prompt if the answer has at most `max_tokens` (0 means an
  /// eighth of all positions), but at least half of the positions.
  static int64_t room_of(int64_t positions, int max_tokens);
};

struct FittedChat {
  ChatCall call;
  size_t left = 0;  ///< number of messages removed after the instructions
};

/// Checks the body of a chat request and removes messages that do not fit. Keeps the last message;
/// if that is a tool's result, keeps its call too. If these do not fit, the model refuses the
/// request. Removes a tool call only with its result and all messages between them.
std::variant<FittedChat, ApiError> fitted_chat(const JsonIn& body, const ChatAbility& ability,
                                               const ContextWindow& window);

}  // namespace syrinx
