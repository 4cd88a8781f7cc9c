#include "server/request/speech_call.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "audio/volume.h"
#include "base/ascii.h"
#include "base/check.h"
#include "model/language.h"
#include "model/markup.h"
#include "server/models/backend.h"
#include "server/models/vendor_names.h"
#include "server/request/fields.h"
#include "server/request/service_tier.h"
#include "server/request/wire.h"
#include "text/ssml.h"
#include "text/surrogates.h"

namespace syrinx {
namespace {

using nlohmann::json;

constexpr int kPcmHz = 24000;
constexpr int kMinHz = 8000, kMaxHz = 48000;  // of "sample_rate"
constexpr size_t kMaxInstructionBytes = 16 << 10;
constexpr size_t kMaxReferenceTextBytes = 16 << 10;
constexpr size_t kMaxTurns = 32;
constexpr size_t kMaxPronunciations = 1000;
constexpr size_t kMinAudioBytes = 64;
/// Values in a body: each takes far more memory than its bytes.
constexpr size_t kMaxValues = 200'000;

template <size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Reads the fields of one body. The first fault is kept; later reads are harmless.
class Fields {
 public:
  explicit Fields(const json& body) : body_(body) {}

  const std::optional<ApiError>& fault() const { return fault_; }
  void fail(ApiError error) {
    if (!fault_) fault_ = std::move(error);
  }
  /// Null when the field is absent or null.
  const json* find(const char* name) const {
    const auto at = body_.find(name);
    return at == body_.end() || at->is_null() ? nullptr : &*at;
  }

  std::optional<std::string> text(const char* name) {
    const json* value = find(name);
    if (value == nullptr) return {};
    if (!value->is_string()) return wrong(name, "a string", *value), std::nullopt;
    return value->get<std::string>();
  }

  /// A number in [low, high].
  std::optional<float> number(const char* name, double low, double high) {
    const json* value = find(name);
    if (value == nullptr) return {};
    if (!value->is_number()) return wrong(name, "a number", *value), std::nullopt;
    const auto number = value->get<double>();
    if (!(number >= low && number <= high)) {
      fail(bad_field(name, concat("'", name, "' must be between ", shown_number(low), " and ",
                                  shown_number(high), ".")));
      return {};
    }
    return static_cast<float>(number);
  }

  std::optional<bool> flag(const char* name) {
    const json* value = find(name);
    if (value == nullptr) return {};
    if (!value->is_boolean()) return wrong(name, "true or false", *value), std::nullopt;
    return value->get<bool>();
  }

  /// An integer in [low, high].
  std::optional<int> integer(const char* name, int low, int high) {
    const json* value = find(name);
    if (value == nullptr) return {};
    if (!is_whole(*value)) return wrong(name, "an integer", *value), std::nullopt;
    const double number = value->get<double>();
    if (number < low || number > high) {
      fail(bad_field(name, concat("'", name, "' must be between ", shown_number(low), " and ",
                                  shown_number(high), ".")));
      return {};
    }
    return static_cast<int>(number);
  }

  void wrong(const char* name, const char* want, const json& got) {
    ApiError error = bad_field(name, concat("'", name, "' must be ", want, ", not ",
                                            article(got.type_name()), got.type_name(), "."));
    error.code = "invalid_type";
    fail(std::move(error));
  }

 private:
  static const char* article(std::string_view noun) {
    return noun == "array" || noun == "object" ? "an " : "a ";
  }
  const json& body_;
  std::optional<ApiError> fault_;
};

void read_input(Fields& fields, const PipelineInfo& info, SpeechRequest& request) {
  auto text = fields.text("input");
  if (fields.fault()) return;
  if (!text || text->find_first_not_of(" \t\r\n\v\f") == std::string::npos) {
    return fields.fail(bad_field("input", "'input' must hold the text to speak."));
  }
  if (text->size() > info.max_text_bytes) {
    ApiError error =
        bad_field("input", concat("'input' has ", text->size(), " bytes; this model takes at most ",
                                  info.max_text_bytes, " in one request."));
    error.code = "string_above_max_length";
    return fields.fail(std::move(error));
  }
  request.text = std::move(*text);
}

/// Of the model, of the store, a mix; vendors' names mean the default.
void read_voice(Fields& fields, const Speaker& speaker, SpeechCall& call) {
  const json* voice = fields.find("voice");
  if (voice == nullptr || fields.fault()) return;
  if (voice->is_object()) {
    const auto id = voice->find("id");
    if (id == voice->end() || !id->is_string()) {
      return fields.fail(bad_field("voice.id", "'voice' as an object must have a string 'id'."));
    }
    voice = &*id;
  }
  if (!voice->is_string()) return fields.wrong("voice", "a string or {\"id\": string}", *voice);
  const auto name = voice->get<std::string>();
  if (trimmed(name).empty()) return;  // as unset: the default
  auto wishes = find_voices(speaker, name);
  if (!wishes && is_vendor_voice(name)) {
    call.request.voice = speaker.info->default_voice;
    return;
  }
  if (!wishes) return fields.fail(to_api_error(wishes.error()));
  call.voices = wishes.take();
  const bool at_hand = std::none_of(call.voices.begin(), call.voices.end(),
                                    [](const VoiceWish& wish) { return wish.source != nullptr; });
  if (!at_hand) return;
  put_voices(call.voices, {}, call.request);
  call.voices.clear();
}

void refuse(Fields& fields, const char* param, std::string message) {
  ApiError error = bad_field(param, std::move(message));
  error.code = "unsupported_value";
  fields.fail(std::move(error));
}

void read_format(Fields& fields, const PipelineInfo& info, SpeechCall& call) {
  call.audio = {.format = AudioFormat::kMp3, .in_rate_hz = info.sample_rate};
  if (const auto name = fields.text("response_format")) {
    const auto format = audio_format(*name);
    if (format) {
      call.audio.format = *format;
    } else {
      fields.fail(
          bad_field("response_format",
                    concat("There is no format '", *name,
                           "'; 'response_format' must be mp3, opus, aac, m4a, flac, wav or pcm.")));
    }
  }
  if (const auto stream = fields.text("stream_format")) {
    call.sse = *stream == "sse";
    if (!call.sse && *stream != "audio") {
      fields.fail(bad_field("stream_format", "'stream_format' must be 'audio' or 'sse'."));
    }
  }
  call.audio.speed = fields.number("speed", 0.25, 4.0).value_or(1.0f);
  call.audio.volume = fields.number("volume", kMinVolume, kMaxVolume).value_or(1.0f);
  share_speed(info, call);
  const bool samples =
      call.audio.format == AudioFormat::kPcm || call.audio.format == AudioFormat::kWav;
  if (const auto name = fields.text("encoding"); name && samples) {
    if (const auto coding = sample_coding(*name)) {
      call.audio.coding = *coding;
    } else {
      fields.fail(
          bad_field("encoding", "'encoding' must be pcm_s16le, pcm_f32le, pcm_mulaw or pcm_alaw."));
    }
  }
  const bool telephone =
      call.audio.coding == SampleCoding::kMulaw || call.audio.coding == SampleCoding::kAlaw;
  const int default_hz = call.audio.format != AudioFormat::kPcm ? 0 : telephone ? 8000 : kPcmHz;
  call.audio.out_rate_hz = fields.integer("sample_rate", kMinHz, kMaxHz).value_or(default_hz);
}

/// The bytes of a recording in a data: URI or in base64. Nothing else is opened: not files of this
/// machine, not addresses.
std::optional<std::string> read_audio(Fields& fields, const char* name, const json& value) {
  if (!value.is_string()) {
    fields.wrong(name, "a string", value);
    return {};
  }
  std::string_view text = value.get_ref<const std::string&>();
  if (text.starts_with("data:")) {
    const size_t comma = text.find(',');
    const bool base64 =
        comma != std::string_view::npos && text.substr(0, comma).ends_with(";base64");
    text = base64 ? text.substr(comma + 1) : std::string_view();
  }
  auto bytes = base64_decoded(text);
  // A path such as "/etc/motd" is base64 too, but no recording is as short as that.
  if (!bytes || bytes->size() < kMinAudioBytes) {
    fields.fail(bad_field(
        name, concat("'", name,
                     "' must be a recording in base64, bare or as a data: URI. This "
                     "server opens neither files nor addresses for its clients; a voice can be "
                     "kept by POST /v1/audio/voices.")));
    return {};
  }
  return bytes;
}

/// The only item of a list, or the value itself. Null, and a fault, for a list of more.
const json* only_one(Fields& fields, const char* name, const json* value) {
  if (value == nullptr || !value->is_array()) return value;
  if (value->size() == 1) return &value->front();
  refuse(fields, name, concat("'", name, "' must hold one recording, not ", value->size(), "."));
  return nullptr;
}

std::vector<float> read_embedding(Fields& fields, const json& value) {
  std::vector<float> out;
  const bool good = value.is_array() && !value.empty() && value.size() <= kMaxEmbedding &&
                    std::all_of(value.begin(), value.end(), [](const json& number) {
                      return number.is_number() && std::isfinite(number.get<float>());
                    });
  if (!good) {
    fields.fail(bad_field("speaker_embedding", concat("'speaker_embedding' must be a list of 1 to ",
                                                      kMaxEmbedding, " numbers.")));
    return out;
  }
  for (const json& number : value) out.push_back(number.get<float>());
  return out;
}

/// A voice that comes with the request, in the words of vLLM-Omni and SGLang-Omni; then "voice" is
/// not asked for. True when there is one, or when something is wrong with it.
bool read_reference(Fields& fields, const Speaker& speaker, SpeechCall& call) {
  for (const char* name :
       {"ref_audio", "ref_text", "ref_mode", "references", "x_vector_only_mode"}) {
    const json* value = fields.find(name);
    if (value == nullptr || *value == false || speaker.encoder != nullptr) continue;
    fields.fail(to_api_error(cannot_clone(*speaker.info, name)));
    return true;
  }
  const bool only_speaker = fields.flag("x_vector_only_mode").value_or(false);
  auto source = std::make_shared<VoiceSource>();
  const json* audio = only_one(fields, "ref_audio", fields.find("ref_audio"));
  const json* reference = only_one(fields, "references", fields.find("references"));
  const json* embedding = fields.find("speaker_embedding");
  source->text = fields.text("ref_text").value_or("");
  source->mode = fields.text("ref_mode").value_or("");
  source->trim = fields.flag("ref_trim").value_or(false);
  const char* named = audio != nullptr        ? "ref_audio"
                      : reference != nullptr  ? "references"
                      : embedding != nullptr  ? "speaker_embedding"
                      : !source->text.empty() ? "ref_text"
                      : !source->mode.empty() ? "ref_mode"
                      : only_speaker          ? "x_vector_only_mode"
                                              : nullptr;
  if (fields.fault()) return true;
  if (named == nullptr) return false;
  if (embedding != nullptr) {
    source->embedding = read_embedding(fields, *embedding);
  } else if (reference != nullptr) {
    const auto path = reference->is_object() ? reference->find("audio_path") : reference->end();
    if (path == reference->end() || !reference->is_object()) {
      fields.fail(bad_field("references", "'references' must hold {\"audio_path\", \"text\"}."));
      return true;
    }
    source->audio = read_audio(fields, "references", *path).value_or("");
    if (const auto text = reference->find("text"); text != reference->end() && text->is_string()) {
      source->text = text->get<std::string>();
    }
  } else if (audio != nullptr) {
    source->audio = read_audio(fields, "ref_audio", *audio).value_or("");
  } else {
    fields.fail(bad_field(named, concat("'", named, "' needs the recording, 'ref_audio'.")));
  }
  if (source->text.size() > kMaxReferenceTextBytes) {
    fields.fail(bad_field(
        "ref_text", concat("'ref_text' may have at most ", kMaxReferenceTextBytes, " bytes.")));
  }
  if (only_speaker && source->mode.empty() && speaker.encoder != nullptr) {
    for (const VoiceMode& mode : speaker.encoder->modes) {
      if (source->mode.empty() && !mode.needs_text) source->mode = mode.name;
    }
    if (source->mode.empty()) {
      refuse(fields, "x_vector_only_mode",
             concat("The model '", speaker.info->model, "' clones only with 'ref_text'."));
    }
  }
  call.voices = {VoiceWish{.own = "", .source = std::move(source)}};
  return true;
}

/// Fields of other servers that ask for what no model here can do, or that change nothing here.
void read_foreign(Fields& fields, const Speaker& speaker, SpeechCall& call) {
  const PipelineInfo& info = *speaker.info;
  if (const auto task = fields.text("task_type")) {
    if (*task != "CustomVoice" && !(*task == "VoiceDesign" && info.instructions) &&
        !(*task == "Base" && speaker.encoder != nullptr)) {
      refuse(fields, "task_type",
             concat("The model '", info.model, "' does not do the task '", *task, "'."));
    }
  }
  call.whole = !fields.flag("stream").value_or(true) && !call.sse;
  if (const auto words = fields.flag("word_timestamps")) {
    call.words = *words;
    if (*words && !info.word_times) {
      refuse(fields, "word_timestamps",
             concat("The model '", info.model, "' does not know when its words begin."));
    } else if (*words && !call.sse) {
      refuse(fields, "word_timestamps",
             "'word_timestamps' come in the last event: ask for 'stream_format': 'sse'.");
    }
  }
  call.request.phone_times = fields.flag("phone_timestamps").value_or(false);
  if (call.request.phone_times && !info.phone_times) {
    refuse(fields, "phone_timestamps",
           concat("The model '", info.model, "' does not know when its phones begin."));
  } else if (call.request.phone_times && !call.sse) {
    refuse(fields, "phone_timestamps",
           "'phone_timestamps' come in the last event: ask for 'stream_format': 'sse'.");
  }
}

/// Clients of OpenAI's send instructions whatever the model is.
void read_instructions(Fields& fields, const PipelineInfo& info, bool strict, SpeechCall& call) {
  auto text = fields.text("instructions");
  if (!text || text->empty()) return;
  if (!info.instructions) {
    const std::string why = concat("The model '", info.model, "' does not follow instructions");
    if (strict) return refuse(fields, "instructions", why + ".");
    call.warnings.push_back(why + "; 'instructions' were left out.");
    return;
  }
  if (text->size() > kMaxInstructionBytes) {
    ApiError error = bad_field("instructions", concat("'instructions' may have at most ",
                                                      kMaxInstructionBytes, " bytes."));
    error.code = "string_above_max_length";
    return fields.fail(std::move(error));
  }
  call.request.instructions = std::move(*text);
}

/// -1 is the largest one; an integer may come as 7.0.
std::optional<uint64_t> seed_of(const json& seed) {
  if (seed.is_number_unsigned()) return seed.get<uint64_t>();
  if (seed.is_number_integer()) return static_cast<uint64_t>(seed.get<int64_t>());
  const double number = is_whole(seed) ? seed.get<double>() : -INFINITY;
  if (number < -0x1p63 || number >= 0x1p64) return {};
  return number < 0 ? static_cast<uint64_t>(static_cast<int64_t>(number))
                    : static_cast<uint64_t>(number);
}

void read_sampling(Fields& fields, SpeechRequest& request) {
  request.temperature = fields.number("temperature", 0, 2);
  request.top_p = fields.number("top_p", 0, 1);
  request.min_p = fields.number("min_p", 0, 1);
  request.repetition_penalty = fields.number("repetition_penalty", 0.1, 10);
  request.top_k = fields.integer("top_k", -1, 1'000'000);
  if (request.top_k == -1) request.top_k = 0;  // other servers' word for "off"
  request.max_frames = fields.integer("max_new_tokens", 1, 1'000'000).value_or(0);
  request.initial_chunk_frames = fields.integer("initial_codec_chunk_frames", 0, 1000).value_or(0);
  if (const auto tier = fields.text("service_tier")) {
    const auto background = in_background(*tier);
    if (!background) return fields.fail(bad_field("service_tier", kServiceTiers));
    request.background = *background;
  }
  const json* seed = fields.find("seed");
  if (seed == nullptr) {
    request.seed = random_seed();
  } else if (const auto number = seed_of(*seed)) {
    request.seed = *number;
  } else {
    fields.wrong("seed", "an integer", *seed);
  }
}

/// Options that few models have: what a model lacks is refused where the request is opened.
void read_model_options(Fields& fields, SpeechCall& call) {
  SpeechRequest& request = call.request;
  request.inner_temperature = fields.number("inner_temperature", 0, 2);
  request.inner_top_p = fields.number("inner_top_p", 0, 1);
  request.inner_top_k = fields.integer("inner_top_k", 0, 1'000'000);
  request.exaggeration = fields.number("exaggeration", 0, 2);
  request.spell_numbers = fields.flag("spell_numbers");
  request.guidance = fields.number("guidance", 0, 20);
  request.speaker = fields.integer("speaker", 0, 1'000'000).value_or(-1);
  request.offline = call.whole;
  if (const auto flow = fields.text("flow")) {
    request.flow = *flow == "full" ? FlowMode::kFull : FlowMode::kCausal;
    if (*flow == "auto") request.flow = FlowMode::kAuto;
    if (*flow != "auto" && *flow != "full" && *flow != "causal") {
      fields.fail(bad_field("flow", "'flow' must be 'auto', 'causal' or 'full'."));
    }
  }
}

/// Earlier turns of the conversation; their recordings are fetched beside the voices.
void read_context(Fields& fields, const Speaker& speaker, SpeechCall& call) {
  const json* turns = fields.find("context");
  if (turns == nullptr || fields.fault()) return;
  if (!speaker.info->context) {
    return refuse(fields, "context",
                  concat("The model '", speaker.info->model, "' does not hear earlier turns."));
  }
  if (!turns->is_array() || turns->size() > kMaxTurns) {
    return fields.fail(
        bad_field("context", concat("'context' must be a list of at most ", kMaxTurns, " turns.")));
  }
  for (size_t i = 0; i < turns->size(); ++i) {
    const std::string at = concat("context[", i, "]");
    if (!(*turns)[i].is_object()) return fields.wrong(at.c_str(), "an object", (*turns)[i]);
    Fields turn((*turns)[i]);
    ContextTurn said;
    said.voice = std::to_string(turn.integer("speaker", 0, 1'000'000).value_or(0));
    said.text = turn.text("text").value_or("");
    if (said.text.empty() || said.text.size() > kMaxReferenceTextBytes) {
      turn.fail(bad_field("text", concat("'text' of a turn is needed, and may have at most ",
                                         kMaxReferenceTextBytes, " bytes.")));
    }
    if (const json* audio = turn.find("audio"); audio != nullptr && !turn.fault()) {
      if (speaker.encoder == nullptr)
        return fields.fail(to_api_error(cannot_clone(*speaker.info, "context")));
      auto source = std::make_shared<VoiceSource>();
      source->audio = read_audio(turn, "audio", *audio).value_or("");
      source->text = said.text;
      call.voices.push_back({.source = std::move(source), .turn = static_cast<int>(i)});
    }
    if (turn.fault()) {
      ApiError error = *turn.fault();
      error.param = concat(at, ".", error.param);
      return fields.fail(std::move(error));
    }
    call.request.context.push_back(std::move(said));
  }
}

/// How words are said: an object of words, each with /IPA/, {ARPAbet} or other words.
void read_pronunciations(Fields& fields, SpeechRequest& request) {
  const json* given = fields.find("pronunciations");
  if (given == nullptr || fields.fault()) return;
  if (!given->is_object() || given->size() > kMaxPronunciations) {
    return fields.fail(bad_field("pronunciations",
                                 concat("'pronunciations' must be an object of at most ",
                                        kMaxPronunciations, " words, each with how it is said.")));
  }
  std::vector<std::pair<std::string, std::string>> entries;
  for (const auto& [word, how] : given->items()) {
    if (!how.is_string()) return fields.wrong("pronunciations", "an object of strings", how);
    entries.emplace_back(word, how.get<std::string>());
  }
  auto lexicon = Lexicon::of(entries);
  if (!lexicon) return fields.fail(to_api_error(lexicon.error()));
  request.lexicon = lexicon.take();
}

/// A text in SSML, told by "ssml" or by how it begins.
void read_markup(Fields& fields, const PipelineInfo& info, bool strict, SpeechCall& call) {
  const auto wanted = fields.flag("ssml");
  if (fields.fault() || !wanted.value_or(is_ssml(call.request.text))) return;
  auto markup = take_ssml(info, call.request);
  if (!markup) return fields.fail(to_api_error(markup.error()));
  if (strict && !markup.value().warnings.empty()) {
    return refuse(fields, "input", markup.value().warnings.front() + ".");
  }
  call.ssml = true;
  call.marks = std::move(markup.value().marks);
  for (const std::string& warning : markup.value().warnings) call.warnings.push_back(warning + ".");
}

/// A "language_hint" comes from clients that always send a language: it is left out with a warning
/// where the model lacks it. Such a "language" is refused.
void take_language(Fields& fields, const PipelineInfo& info, SpeechCall& call) {
  const std::string asked = fields.text("language").value_or("");
  const std::string hint = fields.text("language_hint").value_or("");
  if (asked.empty() && info.languages.empty()) return;
  Result<std::string> language = read_language(info, asked.empty() ? hint : asked);
  if (language) {
    call.request.language = language.take();
  } else if (!asked.empty()) {
    fields.fail(to_api_error(language.error()));
  } else if (!finds_language_alone(info)) {
    call.warnings.push_back(concat("The model '", info.model, "' does not speak the language '",
                                   hint.substr(0, 40), "'; it was left out."));
  }
}

}  // namespace

uint64_t random_seed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32 | device()) >> 11;
}

void share_speed(const PipelineInfo& info, SpeechCall& call) {
  const double speed = call.request.speed * call.audio.speed;
  call.request.speed = std::clamp(static_cast<float>(speed), info.slowest, info.fastest);
  call.audio.speed = speed / call.request.speed;
}

/// More or less how many values the parser would make.
static size_t count_values(std::string_view body) {
  size_t count = 0;
  bool in_string = false;
  for (size_t i = 0; i < body.size(); ++i) {
    const char c = body[i];
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\') ++i;
    if (!in_string && (c == ',' || c == '[' || c == '{')) ++count;
  }
  return count;
}

SpeechBody::SpeechBody(json fields) {
  if (const auto model = fields.find("model"); model != fields.end() && model->is_string()) {
    model_ = model->get<std::string>();
  }
  fields_ = std::make_shared<const json>(std::move(fields));
}

std::variant<SpeechBody, ApiError> SpeechBody::parse(std::string_view body) {
  if (count_values(body) > kMaxValues) {
    return ApiError{.message = "The body holds too many values.", .code = "invalid_json"};
  }
  const std::optional<std::string> mended = mend_halves(body);
  if (mended) body = *mended;
  json parsed;
  try {
    parsed = json::parse(body);
  } catch (const json::parse_error& error) {
    return ApiError{
        .message = concat("The body is not valid JSON in UTF-8 (near byte ", error.byte, ")."),
        .code = "invalid_json"};
  } catch (const json::exception&) {  // a number too large for any type
    return ApiError{.message = "The body holds a number that is out of range.",
                    .code = "invalid_json"};
  }
  if (!parsed.is_object()) {
    return ApiError{.message = "The body must be a JSON object.", .code = "invalid_json"};
  }
  return SpeechBody(std::move(parsed));
}

std::variant<SpeechCall, ApiError> SpeechBody::call(const Speaker& speaker, bool strict) const {
  const PipelineInfo& info = *speaker.info;
  Fields fields(*fields_);
  SpeechCall call;
  fields.text("model");  // only its type is of interest here
  read_input(fields, info, call.request);
  if (!read_reference(fields, speaker, call)) read_voice(fields, speaker, call);
  read_instructions(fields, info, strict, call);
  read_format(fields, info, call);
  read_foreign(fields, speaker, call);
  read_sampling(fields, call.request);
  read_model_options(fields, call);
  read_context(fields, speaker, call);
  take_language(fields, info, call);
  read_pronunciations(fields, call.request);
  read_markup(fields, info, strict, call);
  if (fields.fault()) return *fields.fault();
  return call;
}

std::variant<std::vector<SpeechBody>, ApiError> SpeechBody::items() const {
  const auto items = fields_->find("items");
  if (items == fields_->end() || !items->is_array() || items->empty() ||
      items->size() > kMaxItems) {
    return bad_field("items", concat("'items' must be a list of 1 to ", kMaxItems, " requests."));
  }
  json common = *fields_;
  common.erase("items");
  std::vector<SpeechBody> out;
  for (const json& item : *items) {
    if (!item.is_object()) return bad_field("items", "Every item must be a JSON object.");
    json fields = common;
    for (const auto& [name, value] : item.items()) {
      if (!value.is_null()) fields[name] = value;
    }
    fields["model"] = common.value("model", json());  // one model speaks a batch
    fields["stream"] = false;                         // and nobody hears it before its end
    out.push_back(SpeechBody(std::move(fields)));
  }
  return out;
}

}  // namespace syrinx
