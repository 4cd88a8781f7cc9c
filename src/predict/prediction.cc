#include "predict/prediction.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "text/english/chars.h"

namespace syrinx {

std::optional<DraftRule> find_draft_rule(std::string_view name) {
  if (name == "greedy") return DraftRule::kGreedy;
  if (name == "top_k" || name == "top-k") return DraftRule::kTopK;
  if (name == "reflection") return DraftRule::kReflection;
  return {};
}

const char* draft_rule_name(DraftRule rule) {
  switch (rule) {
    case DraftRule::kGreedy:
      return "greedy";
    case DraftRule::kTopK:
      return "top_k";
    case DraftRule::kReflection:
      return "reflection";
  }
  return "?";
}

void set_draft_length(DraftRules& rules, int first) {
  rules.first = first;
  rules.most = std::max(rules.most, first);
}

void expect(SpeechRequest& request, const Prediction& how, const Drafting& drafting,
            size_t settled) {
  request.writing.expected = drafting.guess();
  request.writing.expected_instead = drafting.earlier_guess();
  request.writing.expected_among = how.rule == DraftRule::kTopK ? how.among : 1;
  request.writing.expected_settled = settled;
  request.writing.jacobi = how.jacobi;
}

namespace {

using Json = nlohmann::ordered_json;

/// Returns the messages, if the user sent the last one and it has a content; else null.
Json messages_of(const Chat& chat) {
  Json messages = Json::parse(chat.messages, nullptr, false);
  if (!messages.is_array() || messages.empty() || !messages.back().is_object()) return {};
  const Json& last = messages.back();
  if (last.value("role", Json()) != "user" || !last.contains("content")) return {};
  return messages;
}

Chat with_messages(Chat chat, const Json& messages) {
  chat.messages = messages.dump(-1, ' ', false, Json::error_handler_t::replace);
  return chat;
}

}  // namespace

std::string question_of(const Chat& chat) {
  const Json messages = messages_of(chat);
  if (messages.is_null() || !messages.back()["content"].is_string()) return {};
  return messages.back()["content"].get<std::string>();
}

bool ends_within_word(std::string_view beginning, std::string_view text) {
  const size_t end = beginning.size();
  return text.starts_with(beginning) && end > 0 && end < text.size() &&
         english::is_alnum(text[end - 1]) && english::is_alnum(text[end]);
}

Chat with_question_mark(const Chat& chat) {
  Json messages = messages_of(chat);
  if (messages.is_null() || !messages.back()["content"].is_string()) return chat;
  std::string text = messages.back()["content"].get<std::string>();
  while (text.ends_with(' ')) text.pop_back();
  if (text.empty() || !english::is_alnum(text.back())) return chat;
  messages.back()["content"] = text + "?";
  return with_messages(chat, messages);
}

Chat hinted(const Chat& chat, const std::string& hint) {
  if (hint.empty()) return chat;
  Json messages = messages_of(chat);
  if (messages.is_null()) return chat;
  Json& content = messages.back()["content"];
  if (content.is_string()) {
    content = content.get<std::string>() + "\n" + hint;
  } else if (content.is_array()) {
    content.push_back({{"type", "text"}, {"text", hint}});
  } else {
    return chat;
  }
  return with_messages(chat, messages);
}

Chat drafted_chat(const Chat& chat, const std::string& hint) {
  return hint.empty() ? with_question_mark(chat) : hinted(chat, hint);
}

}  // namespace syrinx
