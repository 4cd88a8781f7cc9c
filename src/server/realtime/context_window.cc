#include "server/realtime/context_window.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/check.h"
#include "server/request/wire.h"

namespace syrinx {
namespace {

using CheckedChat = std::variant<ChatCall, ApiError>;
constexpr int64_t kTooMany = std::numeric_limits<int64_t>::max();

CheckedChat checked_body(const JsonIn& body, const ChatAbility& ability) {
  auto parsed = ChatBody::parse(ChatKind::kChat, dump_json(body));
  if (auto* error = std::get_if<ApiError>(&parsed)) return std::move(*error);
  return std::get<ChatBody>(parsed).call(ability);
}

/// No prompt has more tokens: each has a byte, stands for some of a recording or an answer, or is
/// the template's own.
int64_t most_tokens(const SpeechRequest& request) {
  constexpr double kTokensASecond = 100;
  constexpr size_t kOfTemplate = 512;
  size_t out = kOfTemplate + request.chat->messages.size() + request.chat->tools.size();
  for (const auto& each : request.recordings) {
    out += static_cast<size_t>(kTokensASecond * each->seconds()) + 1;
  }
  for (const EarlierAnswer& each : request.answers) out += each.ids->size();
  return static_cast<int64_t>(out);
}

/// A body with fewer messages, and what its prompt takes.
class Shortener {
 public:
  Shortener(const JsonIn& body, const ChatAbility& ability, const ContextWindow& window)
      : rest_(body),
        ability_(ability),
        window_(window),
        messages_(body.at("messages").get_ref<const JsonIn::array_t&>()) {
    rest_.erase("messages");
    size_t last = messages_.size();
    while (last > window_.instructions && gave(last - 1)) --last;
    most_ = last > window_.instructions ? last - 1 - window_.instructions : 0;
  }

  /// All but the last message, and the call that it belongs to if a tool gave it.
  size_t most() const { return most_; }
  /// How many leave if `left` do: what tools gave goes with their calls.
  size_t whole(size_t left) const {
    while (left < most_ && gave(window_.instructions + left)) ++left;
    return left;
  }
  CheckedChat without(size_t left) const {
    JsonIn::array_t kept = first(window_.instructions);
    kept.insert(kept.end(),
                messages_.begin() + static_cast<std::ptrdiff_t>(window_.instructions + left),
                messages_.end());
    return checked(std::move(kept));
  }
  int64_t tokens(const CheckedChat& chat) const {
    const auto* call = std::get_if<ChatCall>(&chat);
    if (call == nullptr) return kTooMany;
    const auto count = window_.tokens(call->request);
    return count.ok() ? count.value() : kTooMany;
  }
  int64_t tokens_of_instructions() const {
    JsonIn::array_t kept = first(window_.instructions);
    kept.push_back({{"role", "user"}, {"content", ""}});
    const int64_t count = tokens(checked(std::move(kept)));
    return count == kTooMany ? 0 : count;
  }

 private:
  /// Whether a tool gave that message.
  bool gave(size_t at) const { return messages_[at].value("role", "") == "tool"; }
  JsonIn::array_t first(size_t count) const {
    return {messages_.begin(), messages_.begin() + static_cast<std::ptrdiff_t>(count)};
  }
  CheckedChat checked(JsonIn::array_t messages) const {
    JsonIn body = rest_;
    body["messages"] = std::move(messages);
    return checked_body(body, ability_);
  }

  JsonIn rest_;  // of the body
  const ChatAbility& ability_;
  const ContextWindow& window_;
  const JsonIn::array_t& messages_;
  size_t most_ = 0;
};

/// The fewest messages that leave when `most` tokens are to be enough; all that may, where they are
/// not. Mostly few leave, and each look takes as long as a prompt does.
size_t fewest(const Shortener& chat, int64_t most) {
  const auto enough = [&](size_t left) {
    return left >= chat.most() || chat.tokens(chat.without(chat.whole(left))) <= most;
  };
  size_t low = 1, high = 1;
  while (!enough(high)) low = high + 1, high = std::min(2 * high, chat.most());
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (enough(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return chat.whole(high);
}

}  // namespace

int64_t ContextWindow::room_of(int64_t positions, int max_tokens) {
  if (positions == 0) return 0;
  const int64_t answer = max_tokens > 0 ? max_tokens : positions / 8;
  return std::max<int64_t>(1, positions - std::min(answer, positions / 2));
}

std::variant<FittedChat, ApiError> fitted_chat(const JsonIn& body, const ChatAbility& ability,
                                               const ContextWindow& window) {
  CheckedChat all = checked_body(body, ability);
  if (auto* error = std::get_if<ApiError>(&all)) return std::move(*error);
  const auto whole = [&] { return FittedChat{std::move(std::get<ChatCall>(all))}; };
  const Truncation& how = window.how;
  const int64_t wanted = how.most > 0 ? std::min(how.most, window.room) : window.room;
  if (window.room == 0 || most_tokens(std::get<ChatCall>(all).request) <= wanted) return whole();
  const Shortener chat(body, ability, window);
  int64_t room = window.room;
  if (how.most > 0) room = std::min(room, how.most + chat.tokens_of_instructions());
  if (chat.tokens(all) <= room) return whole();
  if (how.disabled) {
    return ApiError{.message = concat("The conversation has more than the ", room,
                                      " tokens that this model takes, and its truncation is "
                                      "disabled; delete some items."),
                    .param = "session.truncation",
                    .code = "context_length_exceeded"};
  }
  if (chat.most() == 0) return whole();
  const auto target = static_cast<int64_t>(how.keep * static_cast<double>(room));
  const size_t left = fewest(chat, target);
  CheckedChat kept = chat.without(left);
  if (auto* call = std::get_if<ChatCall>(&kept)) return FittedChat{std::move(*call), left};
  return whole();
}

}  // namespace syrinx
