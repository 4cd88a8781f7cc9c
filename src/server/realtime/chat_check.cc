#include "server/realtime/chat_check.h"

#include <exception>
#include <string>
#include <utility>

namespace syrinx {
namespace {

std::variant<FittedChat, ApiError> checked_chat(const JsonIn& body, const ChatAbility& ability,
                                                const ContextWindow& window) try {
  return fitted_chat(body, ability, window);
} catch (const std::exception&) {
  return ApiError{.status = 500, .message = "Something went wrong.", .code = "internal_error"};
}

}  // namespace

std::shared_ptr<ChatCheck> ChatCheck::begin(const JsonIn& body, ChatAbility ability,
                                            const PostTask& post, std::function<void()> wake,
                                            ContextWindow window) {
  auto out = std::make_shared<ChatCheck>();
  auto task = [out, body, ability = std::move(ability), window = std::move(window),
               wake = std::move(wake)] {
    auto checked = checked_chat(body, ability, window);
    {
      const std::lock_guard lock(out->mutex_);
      if (auto* fitted = std::get_if<FittedChat>(&checked)) {
        out->left_ = fitted->left;
        out->checked_ = std::move(fitted->call);
      } else {
        out->checked_ = std::move(std::get<ApiError>(checked));
      }
    }
    wake();
  };
  if (post) {
    post(std::move(task));
  } else {
    task();
  }
  return out;
}

std::optional<ChatCheck::Checked> ChatCheck::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(checked_, std::nullopt);
}

size_t ChatCheck::left() const {
  const std::lock_guard lock(mutex_);
  return left_;
}

}  // namespace syrinx
