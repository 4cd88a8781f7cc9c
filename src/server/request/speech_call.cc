// SpeechBody::call(): converts fields to a SpeechCall.
#include "server/request/speech_call.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "audio/volume.h"
#include "base/check.h"
#include "model/language.h"
#include "model/markup.h"
#include "server/models/vendor_names.h"
#include "server/request/object_fields.h"
#include "server/request/option_fields.h"
#include "server/request/voice_fields.h"
#include "text/ssml.h"

namespace syrinx {
namespace {

constexpr int kPcmHz = 24000;
constexpr int kMinHz = 8000, kMaxHz = 48000;  // bounds of "sample_rate"
constexpr size_t kMaxInstructionBytes = 16 << 10;
constexpr size_t kMaxPronunciations = 1000;

void read_input(const JsonFields& fields, const PipelineInfo& info, SpeechRequest& request) {
  auto text = fields.text("input");
  if (!text || text->find_first_not_of(" \t\r\n\v\f") == std::string::npos) {
    fields.refuse("input", "'input' must be the text to speak.");
  }
  if (text->size() > info.max_text_bytes) {
    fields.refuse("input",
                  concat("'input' has ", text->size(), " bytes; this model takes at most ",
                         info.max_text_bytes, " in one request."),
                  "string_above_max_length");
  }
  request.say.text = std::move(*text);
}

void read_format(const JsonFields& fields, const PipelineInfo& info, SpeechCall& call) {
  call.audio = {.format = AudioFormat::kMp3, .in_rate_hz = info.speech.sample_rate};
  if (const auto name = fields.text("response_format")) {
    const auto format = audio_format(*name);
    if (!format) {
      fields.refuse("response_format",
                    concat("Unknown format '", *name,
                           "'; 'response_format' must be mp3, opus, aac, m4a, flac, wav or pcm."));
    }
    call.audio.format = *format;
  }
  call.sse = fields.choice("stream_format", {"audio", "sse"}) == "sse";
  const auto volume = [&](const char* name) { return fields.number(name, kMinVolume, kMaxVolume); };
  const auto multiplier = volume("volume_multiplier");  // Kokoro-FastAPI's name of "volume"
  call.audio.volume = static_cast<float>(volume("volume").value_or(multiplier.value_or(1)));
  share_speed(info, call);
  const bool samples =
      call.audio.format == AudioFormat::kPcm || call.audio.format == AudioFormat::kWav;
  if (const auto name = fields.text("encoding"); name && samples) {
    const auto coding = sample_coding(*name);
    if (!coding) {
      fields.refuse("encoding", "'encoding' must be pcm_s16le, pcm_f32le, pcm_mulaw or pcm_alaw.");
    }
    call.audio.coding = *coding;
  }
  const bool telephone =
      call.audio.coding == SampleCoding::kMulaw || call.audio.coding == SampleCoding::kAlaw;
  const int default_hz = call.audio.format != AudioFormat::kPcm ? 0 : telephone ? 8000 : kPcmHz;
  call.audio.out_rate_hz =
      static_cast<int>(fields.integer("sample_rate", kMinHz, kMaxHz).value_or(default_hz));
}

/// Checks a field that requests times. Times are in the last event, which only event streams have.
void check_times(const JsonFields& fields, const char* name, const char* what, bool known,
                 const PipelineInfo& info, bool events) {
  if (!known) {
    fields.unsupported(
        name, concat("The model '", info.model, "' does not report the times of its ", what, "."));
  }
  if (!events) {
    fields.unsupported(
        name, concat("'", name, "' are sent in the last event: set 'stream_format' to 'sse'."));
  }
}

/// Reads how the answer is sent. Also checks fields of other servers that are unsupported here or
/// have no effect.
void read_answer(const JsonFields& fields, const Speaker& speaker, SpeechCall& call) {
  const PipelineInfo& info = *speaker.info;
  if (const auto task = fields.text("task_type")) {
    if (*task != "CustomVoice" && !(*task == "VoiceDesign" && info.offers.has("instructions")) &&
        !(*task == "Base" && speaker.encoder != nullptr)) {
      fields.unsupported("task_type", concat("The model '", info.model,
                                             "' does not support the task '", *task, "'."));
    }
  }
  call.whole = !fields.flag("stream").value_or(true) && !call.sse;
  call.request.terms.offline = call.whole;
  call.words = fields.flag("word_timestamps").value_or(true);
  if (call.words && fields.find("word_timestamps") != nullptr) {
    check_times(fields, "word_timestamps", "words", info.speech.word_times, info, call.sse);
  }
  call.request.terms.phone_times = fields.flag("phone_timestamps").value_or(false);
  if (call.request.terms.phone_times) {
    check_times(fields, "phone_timestamps", "phones", info.speech.phone_times, info, call.sse);
  }
}

/// Reads "instructions", which OpenAI's clients send for every model.
void read_instructions(const JsonFields& fields, const PipelineInfo& info, bool strict,
                       SpeechCall& call) {
  auto text = fields.text("instructions");
  if (!text || text->empty()) return;
  if (!info.offers.has("instructions")) {
    const std::string why = concat("The model '", info.model, "' does not follow instructions");
    if (strict) fields.unsupported("instructions", why + ".");
    call.warnings.push_back(why + "; 'instructions' were ignored.");
    return;
  }
  if (text->size() > kMaxInstructionBytes) {
    fields.refuse("instructions",
                  concat("'instructions' may have at most ", kMaxInstructionBytes, " bytes."),
                  "string_above_max_length");
  }
  call.request.say.instructions = std::move(*text);
}

/// Reads pronunciations: an object of words, each with /IPA/, {ARPAbet} or other words.
void read_pronunciations(const JsonFields& fields, SpeechRequest& request) {
  const JsonIn* given = fields.find("pronunciations");
  if (given == nullptr) return;
  if (!given->is_object() || given->size() > kMaxPronunciations) {
    fields.refuse("pronunciations",
                  concat("'pronunciations' must be an object of at most ", kMaxPronunciations,
                         " words, each with its pronunciation."));
  }
  std::vector<std::pair<std::string, std::string>> entries;
  for (const auto& [word, how] : given->items()) {
    if (!how.is_string()) fields.wrong_type("pronunciations", "an object of strings", how);
    entries.emplace_back(word, how.get<std::string>());
  }
  auto lexicon = Lexicon::of(entries);
  if (!lexicon) throw to_api_error(lexicon.error());
  request.say.lexicon = lexicon.take();
}

/// Reads SSML, marked by "ssml" or by the beginning of the text.
void read_markup(const JsonFields& fields, const PipelineInfo& info, bool strict,
                 SpeechCall& call) {
  if (!fields.flag("ssml").value_or(is_ssml(call.request.say.text))) return;
  auto markup = take_ssml(info, call.request);
  if (!markup) throw to_api_error(markup.error());
  if (strict && !markup.value().warnings.empty()) {
    fields.unsupported("input", markup.value().warnings.front() + ".");
  }
  call.ssml = true;
  call.marks = std::move(markup.value().marks);
  for (const std::string& warning : markup.value().warnings) call.warnings.push_back(warning + ".");
}

/// Reads the language. A "language_hint" that the model does not support is ignored with a warning,
/// because its clients always send one; an unsupported "language" is refused.
void take_language(const JsonFields& fields, const PipelineInfo& info, SpeechCall& call) {
  const std::string asked = fields.text("language").value_or("");
  std::string hint = fields.text("language_hint").value_or("");
  if (hint.empty()) hint = kokoro_language(fields.text("lang_code").value_or(""));
  if (asked.empty() && info.speech.languages.empty()) return;
  Result<std::string> language = read_language(info, asked.empty() ? hint : asked);
  if (language) {
    call.request.say.language = language.take();
  } else if (!asked.empty()) {
    throw to_api_error(language.error());
  } else if (!finds_language_alone(info)) {
    call.warnings.push_back(concat("The model '", info.model, "' does not speak the language '",
                                   hint.substr(0, 40), "'; it was ignored."));
  }
}

}  // namespace

void share_speed(const PipelineInfo& info, SpeechCall& call) {
  const double speed = call.request.voice.speed * call.audio.speed;
  call.request.voice.speed = info.offers.of("speed")->nearest(static_cast<float>(speed));
  call.audio.speed = speed / call.request.voice.speed;
}

std::variant<SpeechCall, ApiError> SpeechBody::call(const Speaker& speaker, bool strict) const try {
  const PipelineInfo& info = *speaker.info;
  const JsonFields fields(*fields_);
  SpeechCall call;
  fields.text("model");  // the model is chosen elsewhere; checks only the type
  read_input(fields, info, call.request);
  read_voice_fields(fields, speaker, call);
  read_instructions(fields, info, strict, call);
  call.request.sampling.seed = random_seed();
  read_options(fields, kSpeechBody, call.request);
  read_format(fields, info, call);
  read_answer(fields, speaker, call);
  read_context(fields, speaker, call);
  take_language(fields, info, call);
  read_pronunciations(fields, call.request);
  read_markup(fields, info, strict, call);
  return call;
} catch (const ApiError& error) {
  return error;
}

}  // namespace syrinx
