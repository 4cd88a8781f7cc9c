#include "families/qwen3_tts/frontend.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/ascii.h"

namespace syrinx::qwen3_tts {
namespace {

constexpr std::string_view kUser = "user\n";

/// Returns the name of a language as checkpoints write it. Clients often send language codes.
std::string language_name(std::string name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kCodes{
      {{"en", "english"},
       {"de", "german"},
       {"es", "spanish"},
       {"zh", "chinese"},
       {"ja", "japanese"},
       {"fr", "french"},
       {"ko", "korean"},
       {"ru", "russian"},
       {"it", "italian"},
       {"pt", "portuguese"}}};
  for (const auto& [code, full] : kCodes) {
    if (name == code) return std::string(full);
  }
  return name;
}

std::string list(const std::map<std::string, int64_t>& names) {
  std::string out;
  for (const auto& [name, id] : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

}  // namespace

Frontend::Frontend(const ModelConfig& config, Tokenizer tokenizer)
    : config_(config), tokenizer_(std::move(tokenizer)) {
  role_ = encode(std::string(kRoleText));
  if (role_.size() != kRoleIds) {
    throw LoadError("the tokenizer cuts \"assistant\" and a newline into " +
                    std::to_string(role_.size()) + " ids, but the model needs 2");
  }
  role_.insert(role_.begin(), config_.text.im_start);
}

std::string Frontend::default_voice() const {
  if (config_.speakers.empty()) return "none";
  return config_.speakers.contains("vivian") ? "vivian" : config_.speakers.begin()->first;
}

Result<VoiceChoice> Frontend::choose(const std::string& voice, const std::string& language) const {
  VoiceChoice choice;
  const std::string speaker = lower_ascii(voice.empty() ? default_voice() : voice);
  if (speaker != "none") {
    const auto found = config_.speakers.find(speaker);
    if (found == config_.speakers.end()) {
      const std::string known = config_.speakers.empty()
                                    ? "; this model has no named voices: leave it out, and "
                                      "describe the voice in the instructions"
                                    : "; it has " + list(config_.speakers);
      return Error{ErrorCode::kNotFound, "the model has no voice \"" + voice + "\"" + known,
                   "voice"};
    }
    choice.speaker = static_cast<int32_t>(found->second);
  }
  const std::string name = language_name(lower_ascii(language.empty() ? "auto" : language));
  if (name != "auto") {
    const auto found = config_.languages.find(name);
    if (found == config_.languages.end()) {
      return Error{ErrorCode::kUnsupported,
                   "the model does not speak \"" + language + "\"; it speaks auto, " +
                       list(config_.languages),
                   "language"};
    }
    choice.language = static_cast<int32_t>(found->second);
  }
  // A speaker of a dialect uses the dialect unless the request names a language besides Chinese.
  if (const auto dialect = config_.dialects.find(speaker);
      dialect != config_.dialects.end() && (name == "auto" || name == "chinese")) {
    choice.language = static_cast<int32_t>(config_.languages.at(dialect->second));
  }
  return choice;
}

std::vector<int32_t> Frontend::encode(const std::string& text) const {
  return tokenizer_.encode(text, false);
}

std::vector<int32_t> Frontend::text_ids(std::string_view text) const {
  std::vector<int32_t> ids = encode(std::string(kRoleText) + std::string(text));
  ids.erase(ids.begin(), ids.begin() + std::min<size_t>(kRoleIds, ids.size()));
  return ids;
}

std::string_view Frontend::turn_text(std::string_view text) {
  const size_t word = std::min(text.find_first_not_of(" \t\r\n\v\f"), text.size());
  const size_t line = text.substr(0, word).find_last_of("\r\n");
  return line == text.npos ? text : text.substr(line + 1);
}

StreamEncoder Frontend::stream() const { return StreamEncoder(tokenizer_, false); }

std::vector<PromptRow> Frontend::head(const VoiceChoice& voice,
                                      std::string_view instructions) const {
  std::vector<PromptRow> rows;
  if (!instructions.empty() && config_.instructions()) {
    for (const int32_t id : instruction_ids(instructions)) rows.push_back({id, -1});
  }
  for (const int32_t id : role_) rows.push_back({id, -1});
  const CodecIds& c = config_.codec;
  std::vector<int32_t> codec;
  if (voice.language < 0) {
    codec = {c.nothink, c.think_bos, c.think_eos};
  } else {
    codec = {c.think, c.think_bos, voice.language, c.think_eos};
  }
  if (voice.by_vector) {
    codec.push_back(kVectorRow);
  } else if (voice.speaker >= 0) {
    codec.push_back(voice.speaker);
  }
  for (const int32_t id : codec) rows.push_back({config_.text.tts_pad, id});
  rows.push_back({config_.text.tts_bos, c.pad});
  return rows;
}

void Frontend::add_whole_text(std::span<const int32_t> text, int32_t frames,
                              std::vector<PromptRow>& rows) const {
  for (const int32_t id : text) rows.push_back({id, config_.codec.pad});
  rows.push_back({config_.text.tts_eos, config_.codec.pad});
  rows.push_back({config_.text.tts_pad, config_.codec.bos});
  for (int32_t frame = 0; frame < frames; ++frame) {
    rows.push_back({config_.text.tts_pad, -1, frame});
  }
}

void Frontend::add_beside_text(int32_t frames, std::vector<PromptRow>& rows) const {
  rows.push_back({-1, config_.codec.bos});
  for (int32_t frame = 0; frame < frames; ++frame) rows.push_back({-1, -1, frame});
}

std::vector<int32_t> Frontend::instruction_ids(std::string_view instructions) const {
  std::vector<int32_t> ids = encode(std::string(kUser) + std::string(instructions));
  ids.insert(ids.begin(), config_.text.im_start);
  ids.push_back(config_.text.im_end);
  for (const int32_t id : encode("\n")) ids.push_back(id);
  return ids;
}

}  // namespace syrinx::qwen3_tts
