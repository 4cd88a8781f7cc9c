#include "server/chat/chat_wire.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "audio/wav.h"
#include "base/check.h"
#include "server/chat/kept_answers.h"
#include "server/request/wire.h"

namespace syrinx {
namespace {

using nlohmann::ordered_json;

std::string dumped(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string chat_event(const ordered_json& json) { return "data: " + dumped(json) + "\n\n"; }

constexpr auto kKept_s = static_cast<int64_t>(KeptAnswers::kKept_s);

/// Replaces -inf, which JSON does not have, by the value that OpenAI's API sends.
double shown_logprob(float logprob) { return std::max(logprob, -9999.f); }

ordered_json scored_object(const ScoredToken::Choice& choice) {
  ordered_json bytes = ordered_json::array();
  for (const char c : choice.bytes) bytes.push_back(static_cast<unsigned char>(c));
  return {{"token", choice.bytes}, {"logprob", shown_logprob(choice.logprob)}, {"bytes", bytes}};
}

ordered_json chat_logprobs(const std::vector<ScoredToken>& tokens) {
  ordered_json content = ordered_json::array();
  for (const ScoredToken& token : tokens) {
    ordered_json entry = scored_object(token.drawn);
    entry["top_logprobs"] = ordered_json::array();
    for (const auto& choice : token.top) entry["top_logprobs"].push_back(scored_object(choice));
    content.push_back(std::move(entry));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

/// `offset`: position of the first token in the answer's text.
ordered_json completion_logprobs(const std::vector<ScoredToken>& tokens, int64_t offset) {
  ordered_json out = {{"tokens", ordered_json::array()},
                      {"token_logprobs", ordered_json::array()},
                      {"top_logprobs", ordered_json::array()},
                      {"text_offset", ordered_json::array()}};
  for (const ScoredToken& token : tokens) {
    out["tokens"].push_back(token.drawn.bytes);
    out["token_logprobs"].push_back(shown_logprob(token.drawn.logprob));
    ordered_json top = ordered_json::object();
    for (const auto& choice : token.top) top[choice.bytes] = shown_logprob(choice.logprob);
    out["top_logprobs"].push_back(std::move(top));
    out["text_offset"].push_back(offset);
    offset += static_cast<int64_t>(token.drawn.bytes.size());
  }
  return out;
}

/// Returns the object "usage". The tokens of speech are its frames.
ordered_json usage_object(const Outcome& outcome, bool spoken) {
  const int64_t heard = spoken ? outcome.frames : 0, written = outcome.completion_tokens;
  return {{"prompt_tokens", outcome.prompt_tokens},
          {"completion_tokens", written + heard},
          {"total_tokens", outcome.prompt_tokens + written + heard},
          {"prompt_tokens_details",
           {{"cached_tokens", outcome.cached_tokens}, {"audio_tokens", outcome.heard_tokens}}},
          {"completion_tokens_details",
           {{"text_tokens", written},
            {"audio_tokens", heard},
            {"accepted_prediction_tokens", outcome.right_guesses},
            {"rejected_prediction_tokens", outcome.guessed_tokens - outcome.right_guesses}}}};
}

ordered_json call_object(const ToolCall& call, const std::string& id, int index) {
  return {{"id", concat("call_", id, "_", index)},
          {"type", "function"},
          {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
}

/// Returns an event; the caller adds its choices.
ordered_json chunk(bool chat, const std::string& id, int64_t created_s, const std::string& model) {
  return {{"id", (chat ? "chatcmpl-" : "cmpl-") + id},
          {"object", chat ? "chat.completion.chunk" : "text_completion"},
          {"created", created_s},
          {"model", model},
          {"choices", ordered_json::array()}};
}

}  // namespace

ChatWire::ChatWire(const ChatCall& call, std::string model, const std::string& id,
                   int64_t created_s)
    : chat_(call.kind == ChatKind::kChat),
      usage_(call.usage),
      scored_(call.request.writing.top_logprobs >= 0),
      spoken_(call.speaks),
      apart_(call.apart),
      model_(std::move(model)),
      id_(id),
      created_s_(created_s) {}

const char* ChatWire::finish_reason(const Outcome& outcome, bool called) const {
  if (outcome.reason == FinishReason::kRepetition) return "repetition";  // the name that vLLM uses
  if (outcome.reason != FinishReason::kStop) return "length";
  return called ? "tool_calls" : "stop";
}

std::string ChatWire::answer(const AnswerPart& part, const Outcome& outcome) const {
  ordered_json choice = {{"index", 0}}, audio;
  if (chat_) {
    ordered_json message = {{"role", "assistant"}, {"content", part.text}, {"refusal", nullptr}};
    if (spoken_) {
      if (!apart_) message["content"] = nullptr;
      audio = {{"id", audio_id()},
               {"data", base64(part.audio)},
               {"expires_at", created_s_ + kKept_s},
               {"transcript", part.text}};
      if (!apart_) message["audio"] = audio;
    }
    if (!part.calls.empty()) {
      if (part.text.empty()) message["content"] = nullptr;
      message["tool_calls"] = ordered_json::array();
      for (size_t i = 0; i < part.calls.size(); ++i)
        message["tool_calls"].push_back(call_object(part.calls[i], id_, static_cast<int>(i)));
    }
    choice["message"] = std::move(message);
    choice["logprobs"] = scored_ ? chat_logprobs(part.tokens) : ordered_json();
  } else {
    choice["text"] = part.text;
    choice["logprobs"] = scored_ ? completion_logprobs(part.tokens, 0) : ordered_json();
  }
  choice["finish_reason"] = finish_reason(outcome, !part.calls.empty());
  ordered_json choices = ordered_json::array({std::move(choice)});
  if (apart_) {
    choices.push_back(
        {{"index", 1},
         {"message", {{"role", "assistant"}, {"content", nullptr}, {"audio", std::move(audio)}}},
         {"logprobs", nullptr},
         {"finish_reason", "stop"}});
  }
  return dumped({{"id", (chat_ ? "chatcmpl-" : "cmpl-") + id_},
                 {"object", chat_ ? "chat.completion" : "text_completion"},
                 {"created", created_s_},
                 {"model", model_},
                 {"choices", std::move(choices)},
                 {"usage", usage_object(outcome, spoken_)}}) +
         "\n";
}

std::string ChatWire::first() const {
  if (!chat_) return "";
  ordered_json out = chunk(chat_, id_, created_s_, model_);
  ordered_json delta = {{"role", "assistant"}, {"content", ""}};
  if (apart_) out["modality"] = "text";
  // The first event of a spoken answer has the audio's id; clients join later pieces by this id.
  if (spoken_ && !apart_)
    delta = {{"role", "assistant"}, {"audio", {{"id", audio_id()}, {"transcript", ""}}}};
  out["choices"].push_back({{"index", 0},
                            {"delta", std::move(delta)},
                            {"logprobs", nullptr},
                            {"finish_reason", nullptr}});
  if (usage_) out["usage"] = nullptr;
  return chat_event(out);
}

/// Returns an event whose object "audio" has one field. For "expires_at", ignores `value`.
std::string ChatWire::audio_delta(const char* field, const std::string& value) const {
  ordered_json out = chunk(chat_, id_, created_s_, model_);
  ordered_json audio = {{field, value}};
  if (std::string_view(field) == "expires_at") audio[field] = created_s_ + kKept_s;
  out["choices"].push_back({{"index", 0},
                            {"delta", {{"audio", std::move(audio)}}},
                            {"logprobs", nullptr},
                            {"finish_reason", nullptr}});
  if (usage_) out["usage"] = nullptr;
  return chat_event(out);
}

/// Returns an event with a complete WAV file.
std::string ChatWire::audio_chunk(const std::string& samples) const {
  ordered_json out = chunk(chat_, id_, created_s_, model_);
  out["modality"] = "audio";
  const std::string head = wav_header(kApartRate, static_cast<int64_t>(samples.size() / 2));
  out["choices"].push_back({{"index", 0},
                            {"delta", {{"content", base64(head + samples)}}},
                            {"logprobs", nullptr},
                            {"finish_reason", nullptr}});
  if (usage_) out["usage"] = nullptr;
  return chat_event(out);
}

std::string ChatWire::next(const AnswerPart& part) {
  std::string events = part.audio.empty() ? ""
                       : apart_           ? audio_chunk(part.audio)
                                          : audio_delta("data", base64(part.audio));
  if (part.text.empty() && part.calls.empty() && part.tokens.empty()) return events;
  ordered_json out = chunk(chat_, id_, created_s_, model_);
  ordered_json choice = {{"index", 0}};
  if (chat_) {
    ordered_json delta = ordered_json::object();
    if (!part.text.empty() || part.calls.empty()) {
      if (spoken_ && !apart_) {
        delta["audio"] = {{"transcript", part.text}};
      } else {
        delta["content"] = part.text;
      }
    }
    for (const ToolCall& call : part.calls) {
      ordered_json entry = {{"index", calls_}};
      entry.update(call_object(call, id_, calls_++));
      delta["tool_calls"].push_back(std::move(entry));
    }
    choice["delta"] = std::move(delta);
    choice["logprobs"] = scored_ ? chat_logprobs(part.tokens) : ordered_json();
  } else {
    choice["text"] = part.text;
    choice["logprobs"] = scored_ ? completion_logprobs(part.tokens, text_bytes_) : ordered_json();
    for (const ScoredToken& token : part.tokens)
      text_bytes_ += static_cast<int64_t>(token.drawn.bytes.size());
  }
  choice["finish_reason"] = nullptr;
  if (apart_) out["modality"] = "text";
  out["choices"].push_back(std::move(choice));
  if (usage_) out["usage"] = nullptr;
  return chat_event(out) + events;
}

std::string ChatWire::last(const Outcome& outcome) {
  ordered_json out = chunk(chat_, id_, created_s_, model_);
  ordered_json choice = {{"index", 0}};
  if (chat_) {
    choice["delta"] = ordered_json::object();
  } else {
    choice["text"] = "";
  }
  choice["logprobs"] = nullptr;
  choice["finish_reason"] = finish_reason(outcome, calls_ > 0);
  if (apart_) out["modality"] = "audio";
  out["choices"].push_back(std::move(choice));
  if (usage_) out["usage"] = nullptr;
  std::string events = spoken_ && !apart_ ? audio_delta("expires_at", "") : "";
  events += chat_event(out);
  if (usage_) {
    out["choices"] = ordered_json::array();
    out["usage"] = usage_object(outcome, spoken_);
    events += chat_event(out);
  }
  return events + "data: [DONE]\n\n";
}

std::string chat_error_event(const ApiError& error) {
  return chat_event({{"error", ordered_json::parse(error_object(error))}});
}

}  // namespace syrinx
