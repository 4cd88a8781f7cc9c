#include "server/chat/chat_call.h"

#include <limits>
#include <optional>
#include <utility>

#include "base/check.h"
#include "server/chat/answer_shape.h"
#include "server/chat/chat_messages.h"
#include "server/models/vendor_names.h"
#include "server/request/object_fields.h"
#include "server/request/option_fields.h"

namespace syrinx {
namespace {

using jinja::Value;

constexpr size_t kMaxStops = 4, kMaxStopBytes = 1000;
constexpr int kMaxLogprobs = 20;

/// Refuses unsupported fields that differ from their default value.
void refuse_others(const ChatFields& fields) {
  if (const auto n =
          fields.integer("n", std::numeric_limits<int>::min(), std::numeric_limits<int>::max());
      n && *n != 1)
    fields.unsupported("n", "'n' must be 1: this server gives one answer to a request.");
  for (const char* name : {"presence_penalty", "frequency_penalty"}) {
    const auto value = fields.number(name, -2, 2);
    if (value && *value != 0)
      fields.unsupported(name, concat("'", name,
                                      "' must be 0 here; use "
                                      "'repetition_penalty'."));
  }
  if (const Value* bias = fields.find("logit_bias"); bias && truth(*bias))
    fields.unsupported("logit_bias", "'logit_bias' is not supported.");
  for (const char* name : {"functions", "function_call", "suffix"})
    if (fields.find(name) != nullptr)
      fields.unsupported(name, concat("'", name, "' is not supported."));
  if (fields.flag("echo").value_or(false)) fields.unsupported("echo", "'echo' is not supported.");
  if (const auto best = fields.integer("best_of", 0, 1 << 20); best && *best != 1)
    fields.unsupported("best_of", "'best_of' must be 1.");
}

/// Parses an audio format. OpenAI's chats use the name "pcm16" for "pcm".
std::optional<AudioFormat> spoken_format(const std::string& name) {
  return name == "pcm16" ? AudioFormat::kPcm : audio_format(name);
}

/// Reads whether the answer is text, or speech with its text as the transcript.
void read_modalities(const ChatFields& fields, bool can_speak, ChatCall& call) {
  bool text = false;
  const auto* kinds = fields.list("modalities");
  for (size_t i = 0; kinds != nullptr && i < kinds->size(); ++i) {
    const std::string kind = (*kinds)[i].is_text() ? (*kinds)[i].text() : "";
    if (kind != "text" && kind != "audio")
      fields.unsupported("modalities", "'modalities' may contain \"text\" and \"audio\".");
    (kind == "text" ? text : call.speaks) = true;
  }
  if (kinds != nullptr && !text && !call.speaks)
    fields.refuse("modalities", "'modalities' is empty.");
  if (call.speaks && !can_speak)
    fields.unsupported("modalities",
                       "'modalities' must be [\"text\"]: this model writes only text.");
  call.request.writing.text_only = !call.speaks;
  if (const auto shape = fields.text("audio_shape")) {
    if (*shape != "openai" && *shape != "vllm-omni")
      fields.unsupported("audio_shape", "'audio_shape' must be \"openai\" or \"vllm-omni\".");
    call.apart = *shape == "vllm-omni" && call.speaks;
  }
  const auto audio = fields.object("audio");
  if (!audio) return;
  if (!call.speaks) fields.refuse("audio", "'audio' needs \"audio\" among the 'modalities'.");
  call.request.voice.name = audio->text("voice").value_or("");
  if (is_vendor_voice(call.request.voice.name)) call.request.voice.name.clear();
  const bool pcm = call.stream && !call.apart;
  const std::string name = audio->text("format").value_or(pcm ? "pcm16" : "wav");
  const auto format = spoken_format(name);
  if (!format)
    audio->unsupported("format", concat("Unknown format '", name.substr(0, 100),
                                        "'; use wav, mp3, flac, opus, aac or "
                                        "pcm16."));
  call.format = *format;
  if (call.apart && call.format != AudioFormat::kWav)
    audio->unsupported("format", "With 'audio_shape' \"vllm-omni\" the format must be wav.");
}

void read_stops(const ChatFields& fields, SpeechRequest& request) {
  const Value* stop = fields.find("stop");
  if (stop == nullptr) return;
  std::vector<Value> items{*stop};
  if (stop->is_list()) items = stop->items();
  if (items.size() > kMaxStops)
    fields.refuse("stop", concat("'stop' may have at most ", kMaxStops, " strings."));
  for (const Value& item : items) {
    if (!item.is_text()) fields.wrong_type("stop", "a string or an array of strings", item);
    if (item.text().empty() || item.text().size() > kMaxStopBytes)
      fields.refuse("stop", concat("'stop' strings must have 1 to ", kMaxStopBytes, " bytes."));
    request.writing.stop.push_back(item.text());
  }
}

void read_chat(const ChatFields& fields, const ChatAbility& model, ChatCall& call) {
  auto chat = std::make_shared<Chat>();
  read_modalities(fields, model.speaks, call);
  Heard heard{.limits = {.max_s = model.hears_s,
                         .first_channel = model.first_channel,
                         .helper = model.decoder},
              .recalls = model.recalls,
              .find_answer = model.find_answer};
  chat->messages = read_messages(fields, heard);
  call.request.writing.recordings = std::move(heard.recordings);
  call.request.writing.answers = std::move(heard.answers);
  read_answer_shape(fields, model, *chat, call.tool_names);
  call.request.writing.chat = std::move(chat);
  const auto top = fields.integer("top_logprobs", 0, kMaxLogprobs);
  const bool wanted = fields.flag("logprobs").value_or(false);
  if (top && !wanted) fields.refuse("top_logprobs", "'top_logprobs' needs 'logprobs': true.");
  if (wanted) call.request.writing.top_logprobs = static_cast<int>(top.value_or(0));
}

void read_completion(const ChatFields& fields, ChatCall& call) {
  const Value* prompt = fields.find("prompt");
  if (prompt == nullptr) fields.refuse("prompt", "'prompt' must be the text to continue.");
  if (prompt->is_list() && prompt->items().size() == 1) prompt = &prompt->items()[0];
  if (prompt->is_list())
    fields.unsupported("prompt",
                       "'prompt' must be one text; ids and several texts are not "
                       "supported.");
  if (!prompt->is_text()) fields.wrong_type("prompt", "a string", *prompt);
  read_response_format(fields, false);
  if (fields.find("modalities") != nullptr || fields.find("audio") != nullptr)
    fields.unsupported("modalities", "'modalities' must be [\"text\"] for completions.");
  call.request.say.text = prompt->text();
  call.request.writing.text_only = true;
  constexpr int kDefaultTokens = 16;  // the default of OpenAI's API
  if (call.request.writing.max_tokens == 0) call.request.writing.max_tokens = kDefaultTokens;
  call.request.writing.top_logprobs =
      static_cast<int>(fields.integer("logprobs", 0, kMaxLogprobs).value_or(-1));
}

}  // namespace

FindAnswer find_among(std::map<std::string, NamedAnswer> answers) {
  return [answers = std::move(answers)](const std::string& id) {
    const auto found = answers.find(id);
    return found == answers.end() ? std::nullopt : std::optional(found->second);
  };
}

std::variant<ChatBody, ApiError> ChatBody::parse(ChatKind kind, std::string_view body) {
  auto fields = jinja::parse_json(body);
  if (!fields)
    return ApiError{.message = concat("The body ", fields.error().message, "."),
                    .code = "invalid_json"};
  if (!fields.value().is_map())
    return ApiError{.message = "The body must be a JSON object.", .code = "invalid_json"};
  ChatBody out;
  out.kind_ = kind;
  out.fields_ = fields.take();
  const Value* model = out.fields_.map().find("model");
  if (model != nullptr && model->is_text()) out.model_ = model->text();
  return out;
}

std::variant<ChatCall, ApiError> ChatBody::call(const ChatAbility& model) const try {
  const ChatFields fields(fields_);
  fields.text("model");
  ChatCall call;
  call.kind = kind_;
  call.request.writing.text_only = true;  // the default; read_modalities() may change it
  refuse_others(fields);
  read_stops(fields, call.request);
  call.request.sampling.seed = random_seed();
  read_options(fields, kind_ == ChatKind::kChat ? kChatBody : kCompletionBody, call.request);
  if (const auto most = fields.integer("max_completion_tokens", 1, std::numeric_limits<int>::max()))
    call.request.writing.max_tokens =
        static_cast<int>(*most);  // replaces the value of "max_tokens", the older name
  call.request.terms.ignore_stop = fields.flag("ignore_eos").value_or(false);
  call.request.writing.expected = read_prediction(fields);
  call.stream = fields.flag("stream").value_or(false);
  if (const auto options = fields.object("stream_options")) {
    if (!call.stream) fields.refuse("stream_options", "'stream_options' needs 'stream': true.");
    call.usage = options->flag("include_usage").value_or(false);
  }
  if (kind_ == ChatKind::kChat) {
    read_chat(fields, model, call);
  } else {
    read_completion(fields, call);
  }
  return call;
} catch (const ApiError& error) {
  return error;
} catch (const jinja::Fault& fault) {
  return bad_field("messages", concat("The conversation ", fault.what(), "."));
}

std::optional<ApiError> refuse_kind(const PipelineInfo& info, bool asked_to_write) {
  if (asked_to_write ? info.writes : info.speaks) return {};
  return ApiError{
      .status = 400,
      .message =
          concat("The model '", info.model, "' ",
                 asked_to_write ? "speaks and does not write text: POST /v1/audio/speech."
                                : "writes text and does not speak: POST /v1/chat/completions."),
      .param = "model",
      .code = "unsupported_model"};
}

}  // namespace syrinx
