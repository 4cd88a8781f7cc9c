#include "server/realtime/context_window.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

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

/// Returns an upper bound of the number of a prompt's tokens. Each token is a byte of text or more,
/// a part of a recording, an id of an earlier answer, or a part of the template.
int64_t most_tokens(const SpeechRequest& request) {
  constexpr double kTokensASecond = 100;
  constexpr size_t kOfTemplate = 512;
  size_t out =
      kOfTemplate + request.writing.chat->messages.size() + request.writing.chat->tools.size();
  for (const auto& each : request.writing.recordings) {
    out += static_cast<size_t>(kTokensASecond * each->seconds()) + 1;
  }
  for (const EarlierAnswer& each : request.writing.answers) out += each.ids->size();
  return static_cast<int64_t>(out);
}

/// Returns an index for each message: for the result of a tool call, the index of the message with
/// that call; for other messages, their own index.
std::vector<size_t> callers_of(const JsonIn::array_t& messages) {
  std::map<std::string, size_t> calls;
  std::vector<size_t> out;
  for (const JsonIn& message : messages) {
    const size_t here = out.size();
    const auto at = calls.find(message.value("tool_call_id", ""));
    out.push_back(at == calls.end() ? here : at->second);
    if (!message.contains("tool_calls")) continue;
    for (const JsonIn& call : message["tool_calls"]) {
      if (const std::string id = call.value("id", ""); !id.empty()) calls[id] = here;
    }
  }
  return out;
}

/// Makes chat requests without the oldest messages, and counts the tokens of their prompts.
class Shortener {
 public:
  Shortener(const JsonIn& body, const ChatAbility& ability, const ContextWindow& window)
      : rest_(body),
        ability_(ability),
        window_(window),
        messages_(body.at("messages").get_ref<const JsonIn::array_t&>()) {
    rest_.erase("messages");
    const std::vector<size_t> callers = callers_of(messages_);
    size_t stays = messages_.size();  // index of the oldest message that later messages need
    for (size_t first = messages_.size(); first-- > window_.instructions + 1;) {
      stays = std::min(stays, callers[first]);
      if (stays >= first) cuts_.push_back(first - window_.instructions);
    }
    std::reverse(cuts_.begin(), cuts_.end());
  }

  /// Returns the possible numbers of messages to remove, in rising order: never all, and never a
  /// call without its results.
  const std::vector<size_t>& cuts() const { return cuts_; }
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
  JsonIn::array_t first(size_t count) const {
    return {messages_.begin(), messages_.begin() + static_cast<std::ptrdiff_t>(count)};
  }
  CheckedChat checked(JsonIn::array_t messages) const {
    JsonIn body = rest_;
    body["messages"] = std::move(messages);
    return checked_body(body, ability_);
  }

  JsonIn rest_;  // body of the chat without its messages
  const ChatAbility& ability_;
  const ContextWindow& window_;
  const JsonIn::array_t& messages_;
  std::vector<size_t> cuts_;
};

/// Returns the smallest number of messages to remove so that the prompt has at most `most` tokens,
/// or the largest allowed number. Tries small numbers first: few usually suffice, and each try
/// costs as much as a prompt.
size_t fewest(const Shortener& chat, int64_t most) {
  const size_t last = chat.cuts().size() - 1;
  const auto enough = [&](size_t cut) {
    return cut >= last || chat.tokens(chat.without(chat.cuts()[cut])) <= most;
  };
  size_t low = 0, high = 0;
  while (!enough(high)) low = high + 1, high = std::min(2 * high + 1, last);
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (enough(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return chat.cuts()[high];
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
                                      " tokens that this model accepts, and its truncation is "
                                      "disabled; delete some items."),
                    .param = "session.truncation",
                    .code = "context_length_exceeded"};
  }
  if (chat.cuts().empty()) return whole();
  const auto target = static_cast<int64_t>(how.keep * static_cast<double>(room));
  const size_t left = fewest(chat, target);
  CheckedChat kept = chat.without(left);
  if (auto* call = std::get_if<ChatCall>(&kept)) return FittedChat{std::move(*call), left};
  return whole();
}

}  // namespace syrinx
