#include "server/request/voice_fields.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/ascii.h"
#include "base/check.h"
#include "server/models/backend.h"
#include "server/models/vendor_names.h"
#include "server/request/wire.h"

namespace syrinx {
namespace {

constexpr size_t kMaxReferenceTextBytes = 16 << 10;
constexpr size_t kMaxTurns = 32;
constexpr size_t kMinAudioBytes = 64;

/// Reads a voice: one of the model or the store, a mix, or a vendor's name (the default voice).
void read_voice(const JsonFields& fields, const Speaker& speaker, SpeechCall& call) {
  const JsonIn* voice = fields.find("voice");
  if (voice == nullptr) return;
  if (voice->is_object()) {
    const auto id = voice->find("id");
    if (id == voice->end() || !id->is_string()) {
      fields.refuse("voice.id", "'voice' as an object must have a string 'id'.");
    }
    voice = &*id;
  }
  if (!voice->is_string()) fields.wrong_type("voice", "a string or {\"id\": string}", *voice);
  const auto name = voice->get<std::string>();
  if (trimmed(name).empty()) return;  // an empty name means the default voice
  auto wishes = find_voices(speaker, name);
  if (!wishes && is_vendor_voice(name)) {
    call.request.voice.name = speaker.info->speech.default_voice;
    return;
  }
  if (!wishes) throw to_api_error(wishes.error());
  call.voices = wishes.take();
  const bool at_hand = std::none_of(call.voices.begin(), call.voices.end(),
                                    [](const VoiceWish& wish) { return wish.source != nullptr; });
  if (!at_hand) return;
  put_voices(call.voices, {}, call.request);
  call.voices.clear();
}

/// Returns the bytes of a recording in a data: URI or in base64. Never opens files of this machine
/// or network addresses.
std::string read_audio(const JsonFields& fields, const char* name, const JsonIn& value) {
  if (!value.is_string()) fields.wrong_type(name, "a string", value);
  std::string_view text = value.get_ref<const std::string&>();
  if (text.starts_with("data:")) {
    const size_t comma = text.find(',');
    const bool base64 =
        comma != std::string_view::npos && text.substr(0, comma).ends_with(";base64");
    text = base64 ? text.substr(comma + 1) : std::string_view();
  }
  auto bytes = base64_decoded(text);
  // A path such as "/etc/motd" is valid base64, too, but shorter than any recording.
  if (!bytes || bytes->size() < kMinAudioBytes) {
    fields.refuse(
        name,
        concat(
            "'", fields.path(name),
            "' must be a recording in base64, plain or as a data: URI. This server opens neither "
            "files nor addresses for its clients; POST /v1/audio/voices stores a voice."));
  }
  return std::move(*bytes);
}

/// Returns the only item of a list, or the value itself.
const JsonIn* only_one(const JsonFields& fields, const char* name) {
  const JsonIn* value = fields.find(name);
  if (value == nullptr || !value->is_array()) return value;
  if (value->size() == 1) return &value->front();
  fields.unsupported(name,
                     concat("'", name, "' must have one recording, not ", value->size(), "."));
}

std::vector<float> read_embedding(const JsonFields& fields, const JsonIn& value) {
  const bool good = value.is_array() && !value.empty() && value.size() <= kMaxEmbedding &&
                    std::all_of(value.begin(), value.end(), [](const JsonIn& number) {
                      return number.is_number() && std::isfinite(number.get<float>());
                    });
  if (!good) {
    fields.refuse("speaker_embedding", concat("'speaker_embedding' must be a list of 1 to ",
                                              kMaxEmbedding, " numbers."));
  }
  std::vector<float> out;
  for (const JsonIn& number : value) out.push_back(number.get<float>());
  return out;
}

void refuse_where_nothing_clones(const JsonFields& fields, const Speaker& speaker) {
  if (speaker.encoder != nullptr) return;
  for (const char* name :
       {"ref_audio", "ref_text", "ref_mode", "references", "x_vector_only_mode"}) {
    const JsonIn* value = fields.find(name);
    if (value != nullptr && *value != false) throw to_api_error(cannot_clone(*speaker.info, name));
  }
}

/// Returns the first cloning mode that needs no transcript of the recording.
std::string mode_without_text(const JsonFields& fields, const Speaker& speaker) {
  for (const VoiceMode& mode : speaker.encoder->modes) {
    if (!mode.needs_text) return mode.name;
  }
  fields.unsupported("x_vector_only_mode", concat("The model '", speaker.info->model,
                                                  "' needs 'ref_text' to clone a voice."));
}

/// Reads a voice that the request contains. Returns false if the request contains none.
bool read_reference(const JsonFields& fields, const Speaker& speaker, SpeechCall& call) {
  refuse_where_nothing_clones(fields, speaker);
  const bool only_speaker = fields.flag("x_vector_only_mode").value_or(false);
  auto source = std::make_shared<VoiceSource>();
  const JsonIn* audio = only_one(fields, "ref_audio");
  const JsonIn* reference = only_one(fields, "references");
  const JsonIn* embedding = fields.find("speaker_embedding");
  source->text = fields.text("ref_text").value_or("");
  source->mode = fields.text("ref_mode").value_or("");
  source->trim = fields.flag("ref_trim").value_or(false);
  if (embedding != nullptr) {
    source->embedding = read_embedding(fields, *embedding);
  } else if (reference != nullptr) {
    const auto path = reference->is_object() ? reference->find("audio_path") : reference->end();
    if (path == reference->end() || !reference->is_object()) {
      fields.refuse("references", "'references' must have {\"audio_path\", \"text\"}.");
    }
    source->audio = read_audio(fields, "references", *path);
    if (const auto text = string_at(*reference, "text")) source->text = *text;
  } else if (audio != nullptr) {
    source->audio = read_audio(fields, "ref_audio", *audio);
  } else {
    const char* alone = !source->text.empty()   ? "ref_text"
                        : !source->mode.empty() ? "ref_mode"
                        : only_speaker          ? "x_vector_only_mode"
                                                : nullptr;
    if (alone == nullptr) return false;
    fields.refuse(alone, concat("'", alone, "' needs the recording, 'ref_audio'."));
  }
  if (source->text.size() > kMaxReferenceTextBytes) {
    fields.refuse("ref_text",
                  concat("'ref_text' may have at most ", kMaxReferenceTextBytes, " bytes."));
  }
  if (only_speaker && source->mode.empty() && speaker.encoder != nullptr) {
    source->mode = mode_without_text(fields, speaker);
  }
  call.voices = {VoiceWish{.own = "", .source = std::move(source)}};
  return true;
}

}  // namespace

void read_voice_fields(const JsonFields& fields, const Speaker& speaker, SpeechCall& call) {
  if (!read_reference(fields, speaker, call)) read_voice(fields, speaker, call);
}

void read_context(const JsonFields& fields, const Speaker& speaker, SpeechCall& call) {
  const JsonIn* turns = fields.find("context");
  if (turns == nullptr) return;
  if (!speaker.info->speech.context) {
    fields.unsupported(
        "context", concat("The model '", speaker.info->model, "' does not support earlier turns."));
  }
  if (!turns->is_array() || turns->size() > kMaxTurns) {
    fields.refuse("context", concat("'context' must be a list of at most ", kMaxTurns, " turns."));
  }
  for (size_t i = 0; i < turns->size(); ++i) {
    const JsonFields turn = JsonFields::of((*turns)[i], concat("context[", i, "]"));
    ContextTurn said;
    said.voice = std::to_string(turn.integer("speaker", 0, 1'000'000).value_or(0));
    said.text = turn.text("text").value_or("");
    if (said.text.empty() || said.text.size() > kMaxReferenceTextBytes) {
      turn.refuse("text", concat("Each turn needs a 'text' of at most ", kMaxReferenceTextBytes,
                                 " bytes."));
    }
    if (const JsonIn* audio = turn.find("audio")) {
      if (speaker.encoder == nullptr) throw to_api_error(cannot_clone(*speaker.info, "context"));
      auto source = std::make_shared<VoiceSource>();
      source->audio = read_audio(turn, "audio", *audio);
      source->text = said.text;
      call.voices.push_back({.source = std::move(source), .turn = static_cast<int>(i)});
    }
    call.request.say.context.push_back(std::move(said));
  }
}

}  // namespace syrinx
