#include "families/qwen3_tts/frontend.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace syrinx::qwen3_tts {
namespace {

constexpr std::string_view kAssistant = "assistant\n", kUser = "user\n";

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char ch) { return static_cast<char>(std::tolower(ch)); });
  return text;
}

/// The checkpoints name languages in full; clients often send codes.
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

bool ascii_alnum(unsigned char ch) { return std::isalnum(ch) != 0; }
bool ascii_space(unsigned char ch) { return ch == ' ' || (ch >= 9 && ch <= 13); }

/// Ideographic and full-width punctuation: U+3001..U+3002, U+FF01, U+FF0C, U+FF1A..B, U+FF1F.
bool wide_punctuation(std::string_view at) {
  if (at.size() < 3) return false;
  const std::string_view ch = at.substr(0, 3);
  return ch == "\u3001" || ch == "\u3002" || ch == "\uff01" || ch == "\uff0c" || ch == "\uff1a" ||
         ch == "\uff1b" || ch == "\uff1f";
}

}  // namespace

Frontend::Frontend(const ModelConfig& config, TextEncoder encode)
    : config_(config), encode_(std::move(encode)) {
  role_ = encode_(kAssistant);
  if (role_.size() != 2) {
    throw LoadError("the tokenizer cuts \"assistant\" and a newline into " +
                    std::to_string(role_.size()) + " ids, the model was made for 2");
  }
  role_.insert(role_.begin(), config_.text.im_start);
}

std::string Frontend::default_voice() const {
  if (config_.speakers.empty()) return "none";
  return config_.speakers.contains("vivian") ? "vivian" : config_.speakers.begin()->first;
}

Result<VoiceChoice> Frontend::choose(const std::string& voice, const std::string& language) const {
  VoiceChoice choice;
  const std::string speaker = lower(voice.empty() ? default_voice() : voice);
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
  const std::string name = language_name(lower(language.empty() ? "auto" : language));
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
  // A speaker of a dialect keeps it, where the language leaves room for that.
  if (const auto dialect = config_.dialects.find(speaker);
      dialect != config_.dialects.end() && (name == "auto" || name == "chinese")) {
    choice.language = static_cast<int32_t>(config_.languages.at(dialect->second));
  }
  return choice;
}

std::vector<int32_t> Frontend::first_text(std::string_view text) const {
  // The role's newline and newlines of the text may become one id: the model's turn always has
  // three ids of role, so cut after encoding.
  std::vector<int32_t> ids = encode_(std::string(kAssistant) + std::string(text));
  ids.erase(ids.begin(), ids.begin() + std::min<ptrdiff_t>(2, static_cast<ptrdiff_t>(ids.size())));
  return ids;
}

size_t Frontend::cut(std::string_view text) {
  // Words end before a space or a mark that follows a letter or a digit: whatever comes next
  // cannot reach back over it.
  for (size_t i = text.size(); i-- > 1;) {
    const auto here = static_cast<unsigned char>(text[i]);
    const auto before = static_cast<unsigned char>(text[i - 1]);
    const bool mark =
        here < 0x80 ? !ascii_alnum(here) && here >= 0x20 : wide_punctuation(text.substr(i));
    if (here == ' ' ? !ascii_space(before) : mark && (before >= 0x80 || ascii_alnum(before))) {
      return i;
    }
  }
  return 0;
}

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
  if (voice.speaker >= 0) codec.push_back(voice.speaker);
  for (const int32_t id : codec) rows.push_back({config_.text.tts_pad, id});
  rows.push_back({config_.text.tts_bos, c.pad});
  return rows;
}

void Frontend::add_whole_text(const std::vector<int32_t>& text,
                              std::vector<PromptRow>& rows) const {
  for (const int32_t id : text) rows.push_back({id, config_.codec.pad});
  rows.push_back({config_.text.tts_eos, config_.codec.pad});
  rows.push_back({config_.text.tts_pad, config_.codec.bos});
}

void Frontend::add_first_text(int32_t id, std::vector<PromptRow>& rows) const {
  rows.push_back({id, config_.codec.bos});
}

std::vector<int32_t> Frontend::turn_ids(std::string_view text) const {
  std::vector<int32_t> ids{config_.text.im_start};
  const auto add = [&](const std::vector<int32_t>& more) {
    ids.insert(ids.end(), more.begin(), more.end());
  };
  add(encode_(std::string(kAssistant) + std::string(text)));
  ids.push_back(config_.text.im_end);
  add(encode_("\n"));
  add(role_);
  return ids;
}

std::vector<int32_t> Frontend::instruction_ids(std::string_view instructions) const {
  std::vector<int32_t> ids = encode_(std::string(kUser) + std::string(instructions));
  ids.insert(ids.begin(), config_.text.im_start);
  ids.push_back(config_.text.im_end);
  for (const int32_t id : encode_("\n")) ids.push_back(id);
  return ids;
}

}  // namespace syrinx::qwen3_tts
