#include "server/realtime/realtime_config.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "server/realtime/beta_names.h"

namespace syrinx {
namespace {

constexpr size_t kMostTools = 128;
constexpr int64_t kMaxTokens = 1 << 24;
constexpr int kMaxPause_ms = 60'000;
constexpr int kLeastIdle_ms = 5'000, kMostIdle_ms = 30'000;

RealtimeFormat read_audio_format(const JsonFields& audio) {
  const auto format = audio.object("format");
  if (!format) return {};
  const auto name = format->choice("type", {"audio/pcm", "audio/pcmu", "audio/pcma"});
  if (!name) format->missing("type");
  const auto rate = format->integer("rate", 0, 1 << 20);
  if (*name == "audio/pcm" && rate && *rate != 24000) {
    format->refuse("rate", "The 'rate' of PCM must be 24000 (Hz).");
  }
  return *realtime_format(*name);
}

std::optional<TurnDetection> read_turns(const JsonFields& input) {
  const JsonIn* given = input.find("turn_detection");
  if (given == nullptr || *given == false) return {};  // some clients send false instead of null
  const JsonFields fields = input.need_object("turn_detection");
  TurnDetection out;
  out.semantic =
      fields.choice("type", {"server_vad", "semantic_vad"}).value_or("server_vad") != "server_vad";
  out.threshold = fields.number("threshold", 0, 1).value_or(out.threshold);
  const auto pause = [&](const char* name, int otherwise) {
    return static_cast<int>(fields.integer(name, 0, kMaxPause_ms).value_or(otherwise));
  };
  out.prefix_ms = pause("prefix_padding_ms", out.prefix_ms);
  out.silence_ms = pause("silence_duration_ms", out.silence_ms);
  out.idle_ms =
      static_cast<int>(fields.integer("idle_timeout_ms", kLeastIdle_ms, kMostIdle_ms).value_or(0));
  if (out.semantic && out.idle_ms > 0) {
    fields.refuse("idle_timeout_ms", "'idle_timeout_ms' requires the type server_vad.");
  }
  out.eagerness = fields.choice("eagerness", {"low", "medium", "high", "auto"}).value_or("auto");
  out.create_response = fields.flag("create_response").value_or(true);
  out.interrupt_response = fields.flag("interrupt_response").value_or(true);
  return out;
}

std::optional<TranscriptionWish> read_transcription_wish(const JsonFields& input) {
  const auto fields = input.object("transcription");
  if (!fields) return {};
  return TranscriptionWish{fields->text("model").value_or(""),
                           fields->text("language").value_or(""),
                           fields->text("prompt").value_or("")};
}

/// Reads a tool in the Realtime API's flat form: {"type", "name", "description", "parameters"}.
JsonIn read_tools(const JsonFields& fields) {
  const auto* tools = fields.list("tools");
  if (tools == nullptr) return JsonIn::array();
  if (tools->size() > kMostTools) {
    fields.refuse("tools", concat("'tools' may have at most ", kMostTools, " tools."));
  }
  for (size_t i = 0; i < tools->size(); ++i) {
    const JsonFields tool = JsonFields::of((*tools)[i], concat(fields.path("tools"), "[", i, "]"));
    tool.choice("type", {"function"});
    if (tool.need_text("name").empty()) tool.refuse("name", "A tool must have a name.");
    tool.text("description");
    tool.object("parameters");
  }
  return *fields.find("tools");
}

/// Reads `tool_choice`: a word, or {"type": "function", "name"}.
JsonIn read_tool_choice(const JsonFields& fields, const RealtimeAbility& ability) {
  const JsonIn* choice = fields.find("tool_choice");
  if (choice == nullptr) return "auto";
  if (*choice == "auto" || *choice == "none") return *choice;
  if (choice->is_object()) {
    const JsonFields named = fields.need_object("tool_choice");
    if (!named.choice("type", {"function"})) named.missing("type");
    if (named.need_text("name").empty()) named.refuse("name", "A tool must have a name.");
  } else if (*choice != "required") {
    fields.refuse("tool_choice", "'tool_choice' may be auto, none, required or a function.",
                  "unsupported_value");
  }
  if (!ability.calls_tools) {
    fields.refuse("tool_choice",
                  concat("The model '", ability.model,
                         "' cannot be required to call a tool; 'tool_choice' may be auto or none."),
                  "unsupported_value");
  }
  return *choice;
}

Truncation read_truncation(const JsonFields& session) {
  const JsonIn* given = session.find("truncation");
  if (given == nullptr) return {};
  Truncation out;
  out.as_given = *given;
  if (!given->is_object()) {
    out.disabled = session.choice("truncation", {"auto", "disabled"}) == "disabled";
    return out;
  }
  const JsonFields fields = session.need_object("truncation");
  if (!fields.choice("type", {"retention_ratio"})) fields.missing("type");
  const auto ratio = fields.number("retention_ratio", 0, 1);
  if (!ratio) fields.missing("retention_ratio");
  out.keep = *ratio;
  if (const auto limits = fields.object("token_limits")) {
    out.most = limits->integer("post_instructions", 1, kMaxTokens).value_or(0);
  }
  return out;
}

int read_max_tokens(const JsonFields& fields) {
  const JsonIn* most = fields.find("max_output_tokens");
  if (most == nullptr || *most == "inf") return 0;
  return static_cast<int>(fields.integer("max_output_tokens", 1, kMaxTokens).value_or(0));
}

bool read_spoken(const JsonFields& fields, const RealtimeAbility& ability) {
  const auto* kinds = fields.list("output_modalities");
  if (kinds == nullptr) return ability.speaks;
  bool text = false, audio = false;
  for (const JsonIn& kind : *kinds) {
    if (kind != "text" && kind != "audio") {
      fields.refuse("output_modalities", "Supported combinations are: ['text'] and ['audio'].");
    }
    (kind == "text" ? text : audio) = true;
  }
  if (!text && !audio) {
    fields.refuse("output_modalities", "Supported combinations are: ['text'] and ['audio'].");
  }
  // Clients of the API's beta name both modalities when they want audio.
  if (audio && !ability.speaks) {
    fields.refuse("output_modalities",
                  "This server has loaded no model that speaks; request ['text'].",
                  "unsupported_value");
  }
  return audio;
}

std::string read_voice(const JsonFields& output) {
  const JsonIn* voice = output.find("voice");
  if (voice == nullptr) return {};
  if (voice->is_object()) return output.need_object("voice").need_text("id");
  return output.need_text("voice");
}

/// Refuses the beta's fields in sessions without the beta, where they have no effect.
void refuse_beta_fields(const JsonFields& fields) {
  const auto found = beta_field_in(fields.json());
  if (!found) return;
  fields.refuse(found->name,
                concat("Unknown parameter: '", fields.path(found->name), "'. It is '",
                       fields.path(found->today.c_str()),
                       "'; names of the beta need the header 'OpenAI-Beta: realtime=v1'."),
                "unknown_parameter");
}

void merge_output(const JsonFields& fields, AnswerConfig& config) {
  const auto audio = fields.object("audio");
  const auto output = audio ? audio->object("output") : std::nullopt;
  if (!output) return;
  if (output->has("format")) config.format = read_audio_format(*output);
  if (output->has("voice")) config.voice = read_voice(*output);
  if (output->has("speed")) config.speed = output->number("speed", 0.25, 1.5).value_or(1);
}

void merge_input(const JsonFields& session, RealtimeConfig& config) {
  const auto audio = session.object("audio");
  const auto input = audio ? audio->object("input") : std::nullopt;
  if (!input) return;
  if (input->has("format")) config.input = read_audio_format(*input);
  if (input->has("transcription")) config.transcription = read_transcription_wish(*input);
  if (input->has("turn_detection")) config.turns = read_turns(*input);
  if (!input->has("noise_reduction")) return;
  const auto noise = input->object("noise_reduction");
  if (noise) noise->choice("type", {"near_field", "far_field"});
  config.noise_reduction = noise ? noise->json() : JsonIn();
}

/// Reads `predict`: true, false, or {"rule", "k", "draft_tokens", "hint"}. Absent fields keep the
/// server's values.
void merge_prediction(const JsonFields& session, const RealtimeAbility& ability,
                      RealtimeConfig& config) {
  const JsonIn* given = session.find("predict");
  const bool how = given != nullptr && given->is_object();
  config.predict = how || session.flag("predict").value_or(ability.predicts);
  config.prediction = ability.prediction;
  if (config.predict && !ability.may_predict) {
    session.refuse("predict", "This server does not predict answers.", "unsupported_value");
  }
  if (!how) return;
  const JsonFields fields = session.need_object("predict");
  Prediction& out = config.prediction;
  if (const auto rule = fields.choice("rule", {"greedy", "top_k", "reflection"})) {
    out.rule = *find_draft_rule(*rule);
  }
  if (const auto k = fields.integer("k", 1, Prediction::kMostAmong)) {
    out.among = static_cast<int>(*k);
  }
  if (const auto tokens = fields.integer("draft_tokens", 1, Prediction::kMostDraft)) {
    set_draft_length(out.drafts, static_cast<int>(*tokens));
  }
  if (auto hint = fields.text("hint")) {
    if (hint->size() > Prediction::kMostHint) {
      fields.refuse("hint", concat("'hint' may have at most ", Prediction::kMostHint, " bytes."));
    }
    out.hint = std::move(*hint);
  }
}

/// Returns whether `include` asks for log-probabilities of transcripts; ignores other values.
bool includes_scores(const JsonIn& include) {
  return include.is_array() &&
         std::find(include.begin(), include.end(), "item.input_audio_transcription.logprobs") !=
             include.end();
}

JsonOut prediction_object(const RealtimeConfig& config) {
  if (!config.predict) return false;
  const Prediction& how = config.prediction;
  JsonOut out = {{"rule", draft_rule_name(how.rule)}};
  if (how.rule == DraftRule::kTopK) out["k"] = how.among;
  out["draft_tokens"] = how.drafts.first;
  if (!how.hint.empty()) out["hint"] = how.hint;
  return out;
}

JsonOut or_null(const std::string& text) { return text.empty() ? JsonOut() : JsonOut(text); }

JsonOut format_object(RealtimeFormat format) {
  JsonOut out = {{"type", format.name()}};
  if (format.coding == SampleCoding::kS16) out["rate"] = format.rate_hz();
  return out;
}

JsonOut turns_object(const std::optional<TurnDetection>& turns) {
  if (!turns) return {};
  JsonOut out = {{"type", turns->semantic ? "semantic_vad" : "server_vad"}};
  if (turns->semantic) {
    out["eagerness"] = turns->eagerness;
  } else {
    out["threshold"] = turns->threshold;
    out["prefix_padding_ms"] = turns->prefix_ms;
    out["silence_duration_ms"] = turns->silence_ms;
    out["idle_timeout_ms"] = turns->idle_ms > 0 ? JsonOut(turns->idle_ms) : JsonOut();
  }
  out["create_response"] = turns->create_response;
  out["interrupt_response"] = turns->interrupt_response;
  return out;
}

JsonOut input_object(const RealtimeConfig& config) {
  JsonOut transcription;
  if (config.transcription) {
    const TranscriptionWish& wish = *config.transcription;
    transcription = JsonOut::object();  // empty, but an object, because clients check types
    if (!wish.model.empty()) transcription["model"] = wish.model;
    if (!wish.language.empty()) transcription["language"] = wish.language;
    if (!wish.prompt.empty()) transcription["prompt"] = wish.prompt;
  }
  return {{"format", format_object(config.input)},
          {"noise_reduction", config.noise_reduction},
          {"transcription", std::move(transcription)},
          {"turn_detection", turns_object(config.turns)}};
}

}  // namespace

Eagerness eagerness_of(const TurnDetection& turns) {
  if (turns.eagerness == "low") return Eagerness::kLow;
  return turns.eagerness == "high" ? Eagerness::kHigh : Eagerness::kMedium;
}

void merge_response(const JsonFields& fields, const RealtimeAbility& ability,
                    AnswerConfig& config) {
  refuse_beta_fields(fields);
  if (fields.has("output_modalities")) config.spoken = read_spoken(fields, ability);
  if (fields.has("instructions")) config.instructions = fields.text("instructions").value_or("");
  if (fields.has("tools")) config.tools = read_tools(fields);
  if (fields.has("tool_choice")) config.tool_choice = read_tool_choice(fields, ability);
  if (fields.has("max_output_tokens")) config.max_tokens = read_max_tokens(fields);
  if (fields.has("temperature")) config.temperature = fields.number("temperature", 0, 2);
  merge_output(fields, config);
}

void merge_session(const JsonFields& session, const RealtimeAbility& ability,
                   RealtimeConfig& config) {
  RealtimeConfig out = config;
  if (const auto type = session.choice("type", {"realtime", "transcription"})) {
    out.transcribes = *type == "transcription";
  }
  session.text("model");  // checked, then ignored: a connection's model does not change
  merge_response(session, ability, out.answer);
  merge_input(session, out);
  if (out.transcribes && !out.transcription) out.transcription.emplace();
  if (session.has("predict")) merge_prediction(session, ability, out);
  const auto keep = [&](const char* name, JsonIn& where, const JsonIn& otherwise) {
    if (!session.has(name)) return;
    const JsonIn* value = session.find(name);
    where = value == nullptr ? otherwise : *value;
  };
  keep("include", out.include, {});
  if (out.transcription) out.transcription->scores = includes_scores(out.include);
  keep("tracing", out.tracing, {});
  keep("prompt", out.prompt, {});
  keep("reasoning", out.reasoning, {});
  if (session.has("truncation")) out.truncation = read_truncation(session);
  config = std::move(out);
}

JsonOut modalities_of(const AnswerConfig& config) {
  return JsonOut::array({config.spoken ? "audio" : "text"});
}

JsonOut max_tokens_of(const AnswerConfig& config) {
  return config.max_tokens == 0 ? JsonOut("inf") : JsonOut(config.max_tokens);
}

JsonOut output_object(const AnswerConfig& config, const RealtimeAbility& ability, bool speed) {
  JsonOut output = {
      {"format", format_object(config.format)},
      {"voice", or_null(config.voice.empty() ? ability.default_voice : config.voice)}};
  if (speed) output["speed"] = config.speed;
  return output;
}

JsonOut session_object(const RealtimeConfig& config, const RealtimeAbility& ability,
                       const std::string& id) {
  JsonOut out = {
      {"type", config.transcribes ? "transcription" : "realtime"},
      {"object", config.transcribes ? "realtime.transcription_session" : "realtime.session"},
      {"id", id}};
  if (config.transcribes) {
    out["audio"] = {{"input", input_object(config)}};
    out["include"] = config.include;
    return out;
  }
  const AnswerConfig& answer = config.answer;
  out["model"] = ability.model;
  out["output_modalities"] = modalities_of(answer);
  out["instructions"] = answer.instructions;
  out["audio"] = {{"input", input_object(config)},
                  {"output", output_object(answer, ability, true)}};
  out["tools"] = answer.tools;
  out["tool_choice"] = answer.tool_choice;
  out["max_output_tokens"] = max_tokens_of(answer);
  if (answer.temperature) out["temperature"] = *answer.temperature;
  out["truncation"] = config.truncation.as_given;
  out["include"] = config.include;
  out["tracing"] = config.tracing;
  out["prompt"] = config.prompt;
  if (ability.may_predict) out["predict"] = prediction_object(config);
  if (!config.reasoning.is_null()) out["reasoning"] = config.reasoning;
  return out;
}

}  // namespace syrinx
