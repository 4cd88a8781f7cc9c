// A chat of a session that is read and checked on another thread, where its templates and
// recordings may take their time.
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

/// Runs a task on another thread; empty: at once, on the caller's.
using PostTask = std::function<void(std::function<void()>)>;

class ChatCheck {
 public:
  using Checked = std::variant<ChatCall, ApiError>;
  /// `body` is that of a chat request. `wake` is called when take() has it, on any thread.
  static std::shared_ptr<ChatCheck> begin(const JsonIn& body, ChatAbility ability,
                                          const PostTask& post, std::function<void()> wake,
                                          ContextWindow window = {});
  /// Once; nothing: not yet.
  std::optional<Checked> take();
  /// As FittedChat::left, once take() had it.
  size_t left() const;

 private:
  mutable std::mutex mutex_;
  std::optional<Checked> checked_;
  size_t left_ = 0;
};

}  // namespace syrinx
