#include "server/realtime/chat_check.h"

#include <exception>
#include <string>
#include <utility>

#include "server/request/wire.h"

namespace syrinx {
namespace {

ChatCheck::Checked checked_chat(const std::string& body, ChatAbility ability) try {
  auto parsed = ChatBody::parse(ChatKind::kChat, body);
  if (auto* error = std::get_if<ApiError>(&parsed)) return std::move(*error);
  return std::get<ChatBody>(parsed).call(ability);
} catch (const std::exception&) {
  return ApiError{.status = 500, .message = "Something went wrong.", .code = "internal_error"};
}

}  // namespace

std::shared_ptr<ChatCheck> ChatCheck::begin(const JsonIn& body, ChatAbility ability,
                                            const PostTask& post, std::function<void()> wake) {
  auto out = std::make_shared<ChatCheck>();
  auto task = [out, body = dump_json(body), ability, wake = std::move(wake)] {
    Checked checked = checked_chat(body, ability);
    {
      const std::lock_guard lock(out->mutex_);
      out->checked_ = std::move(checked);
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

}  // namespace syrinx
