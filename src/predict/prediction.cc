#include "predict/prediction.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

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

Chat hinted(const Chat& chat, const std::string& hint) {
  if (hint.empty()) return chat;
  using Json = nlohmann::ordered_json;
  Json messages = Json::parse(chat.messages, nullptr, false);
  if (!messages.is_array() || messages.empty() || !messages.back().is_object()) return chat;
  Json& last = messages.back();
  if (last.value("role", Json()) != "user" || !last.contains("content")) return chat;
  Json& content = last["content"];
  if (content.is_string()) {
    content = content.get<std::string>() + "\n" + hint;
  } else if (content.is_array()) {
    content.push_back({{"type", "text"}, {"text", hint}});
  } else {
    return chat;
  }
  Chat out = chat;
  out.messages = messages.dump(-1, ' ', false, Json::error_handler_t::replace);
  return out;
}

}  // namespace syrinx
