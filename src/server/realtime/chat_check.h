// Parses and checks a session's chat request on another thread, because it may take long to render
// a chat template and to decode recordings.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>

#include "server/chat/chat_call.h"
#include "server/realtime/context_window.h"
#include "server/request/object_fields.h"

namespace syrinx {

/// Runs a task on another thread. If the function is empty, tasks run at once on the caller's
/// thread.
using PostTask = std::function<void(std::function<void()>)>;

class ChatCheck {
 public:
  using Checked = std::variant<ChatCall, ApiError>;
  /// `body` is the body of a chat request. `wake` is called, on any thread, when take() has the
  /// result.
  static std::shared_ptr<ChatCheck> begin(const JsonIn& body, ChatAbility ability,
                                          const PostTask& post, std::function<void()> wake,
                                          ContextWindow window = {});
  /// Returns the result at the first call after the check; otherwise nothing.
  std::optional<Checked> take();
  /// Returns FittedChat::left; valid after take() has returned the result.
  size_t left() const;

 private:
  mutable std::mutex mutex_;
  std::optional<Checked> checked_;
  size_t left_ = 0;
};

}  // namespace syrinx
