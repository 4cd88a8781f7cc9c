#include "server/http/model_replies.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "server/dialects/dialect.h"
#include "text/languages.h"

namespace syrinx {
namespace {

using nlohmann::ordered_json;

ordered_json model_object(const ModelTable::Entry& model) {
  ordered_json out = {{"id", model.name},
                      {"object", "model"},
                      {"created", 0},
                      {"owned_by", model.backend ? model.backend->info().family : "syrinx"},
                      {"loaded", model.backend != nullptr}};
  if (!model.trouble.empty()) out["trouble"] = model.trouble;
  if (!model.backend) return out;
  // OpenAI's API lacks these facts. The web page needs them to request speech.
  const PipelineInfo& info = model.backend->info();
  out["speaks"] = info.speaks;
  out["writes"] = info.writes;
  out["audio_input_s"] = info.hearing.seconds;
  out["transcribes"] = model.backend->recogniser() != nullptr;
  out["sample_rate"] = info.speech.sample_rate;
  out["languages"] = info.speech.languages;
  out["instructions"] = info.offers.has("instructions");
  out["max_input_bytes"] = info.max_text_bytes;
  out["late_text"] = late_text_name(info.speech.late_text);
  out["word_times"] = info.speech.word_times;
  out["phone_times"] = info.speech.phone_times;
  out["voice_mixes"] = info.speech.mixes;
  const VoiceEncoderInfo* encoder = model.backend->voice_encoder();
  ordered_json modes = ordered_json::array();
  for (const VoiceMode& mode : encoder == nullptr ? std::vector<VoiceMode>() : encoder->modes) {
    modes.push_back({{"name", mode.name}, {"needs_text", mode.needs_text}});
  }
  out["voice_cloning"] = {{"supported", encoder != nullptr}, {"modes", std::move(modes)}};
  if (encoder != nullptr) {
    out["voice_cloning"]["min_seconds"] = encoder->min_s;
    out["voice_cloning"]["max_seconds"] = encoder->max_s;
  }
  return out;
}

ordered_json recogniser_object(const RecogniserInfo& info) {
  return {{"id", info.name},
          {"object", "model"},
          {"created", 0},
          {"owned_by", info.family},
          {"loaded", true},
          {"speaks", false},
          {"writes", false},
          {"hears", true},
          {"languages", info.languages},
          {"word_times", info.word_times},
          {"translates", info.translates}};
}

}  // namespace

Reply models_reply(const ServerView& server) {
  ordered_json models = ordered_json::array();
  for (const auto& model : server.models->list()) {
    if (model.trouble.empty()) models.push_back(model_object(model));
  }
  if (server.ears != nullptr) {
    for (const auto& each : server.ears->list()) models.push_back(recogniser_object(each->info()));
  }
  return json_reply({{"object", "list"}, {"data", models}});
}

Reply elevenlabs_models_reply(const ServerView& server) {
  ordered_json models = ordered_json::array();
  for (const auto& model : server.models->list()) {
    if (!model.backend || !model.backend->info().speaks) continue;
    const PipelineInfo& info = model.backend->info();
    ordered_json languages = ordered_json::array();
    for (const std::string& each : info.speech.languages) {
      if (is_any_language(each)) continue;
      const std::string code = each.find('-') == each.npos ? language_code(each) : each;
      languages.push_back({{"language_id", code}, {"name", each}});
    }
    models.push_back({{"model_id", model.name},
                      {"name", model.name},
                      {"description", info.family},
                      {"can_do_text_to_speech", true},
                      {"can_do_voice_conversion", false},
                      {"can_be_finetuned", false},
                      {"can_use_style", false},
                      {"can_use_speaker_boost", false},
                      {"serves_pro_voices", false},
                      {"requires_alpha_access", false},
                      {"token_cost_factor", 1.0},
                      {"maximum_text_length_per_request", info.max_text_bytes},
                      {"max_characters_request_free_user", info.max_text_bytes},
                      {"max_characters_request_subscribed_user", info.max_text_bytes},
                      {"languages", std::move(languages)}});
  }
  return json_reply(models);
}

Reply no_such_model(std::string_view name) {
  return reply_of(
      {.status = 404,
       .message = concat("The model '", name.substr(0, 200), "' is not served by this server."),
       .param = "model",
       .code = "model_not_found"});
}

Reply model_reply(std::string_view name, const ServerView& server) {
  if (const auto model = server.models->look_up(name)) return json_reply(model_object(*model));
  if (takes_any_ear(name) &&
      !(server.ears != nullptr && server.ears->asked_for() && !server.ears->list().empty())) {
    if (const auto hearer = server.models->hearer()) return json_reply(model_object(*hearer));
  }
  const auto heard = server.ears == nullptr ? Result<std::shared_ptr<Recogniser>>(Error{})
                                            : server.ears->find(name);
  return heard ? json_reply(recogniser_object(heard.value()->info())) : no_such_model(name);
}

Reply audio_models_reply(const ServerView& server) {
  ordered_json models = ordered_json::array();
  for (const auto& model : server.models->list()) {
    if (model.trouble.empty()) models.push_back({{"id", model.name}});
  }
  return json_reply({{"models", models}});
}

}  // namespace syrinx
