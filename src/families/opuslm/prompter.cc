#include "families/opuslm/prompter.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "model/past_context.h"

namespace syrinx::opuslm {
namespace {

using Json = nlohmann::json;

constexpr int64_t kLeastRoom = 64;  // steps that a prompt must leave free

Error wrong(const std::string& what) { return {ErrorCode::kInvalid, what, "messages"}; }

std::string member(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// A part of a message: a text or a recording.
struct Part {
  bool text = true;
  std::string words;
};

/// Returns the parts of a message; neighbouring texts become one part.
Result<std::vector<Part>> parts_of(const Json& message) {
  std::vector<Part> parts{{}};
  const auto content = message.find("content");
  if (content == message.end() || content->is_null()) return parts;
  if (content->is_string()) parts.back().words = content->get<std::string>();
  if (content->is_string()) return parts;
  if (!content->is_array()) return wrong("the content of a message must be a text or a list");
  for (const Json& part : *content) {
    const std::string type = member(part, "type");
    if (type == "text" && part.contains("text") && part["text"].is_string()) {
      if (!parts.back().text) parts.emplace_back();
      parts.back().words += part["text"].get<std::string>();
    } else if (type == "audio") {
      if (parts.back().text && parts.back().words.empty()) parts.pop_back();
      parts.push_back({false, ""});
    } else {
      return Error{ErrorCode::kUnsupported,
                   "this model accepts messages of text and recordings only", "messages"};
    }
  }
  return parts;
}

}  // namespace

Rows& Rows::id(int32_t id) {
  ids_.push_back(id);
  ids_.resize(ids_.size() + static_cast<size_t>(config_->streams - 1), config_->ids.pad);
  return *this;
}

Rows& Rows::ids(std::span<const int32_t> ids) {
  for (const int32_t each : ids) id(each);
  return *this;
}

Rows& Rows::frames(std::span<const int32_t> frames) {
  ids_.insert(ids_.end(), frames.begin(), frames.end());
  return pads(config_->streams - 1);
}

Rows& Rows::heard(int64_t frames, bool ends) {
  for (int64_t i = 0; i < frames; ++i) unheard_.push_back(count() + i);
  pads(frames);
  if (ends) id(config_->ids.speech);
  return pads(config_->streams - 1);
}

void Rows::tell(std::span<const int32_t> frames) {
  const auto streams = static_cast<size_t>(config_->streams);
  SYRINX_CHECK(frames.size() / streams <= unheard_.size() - next_,
               "[opuslm] more frames than rows");
  for (size_t at = 0; at < frames.size(); at += streams, ++next_) {
    const auto row = static_cast<size_t>(unheard_[next_]);
    std::copy_n(frames.begin() + at, streams, ids_.begin() + row * streams);
  }
}

Rows& Rows::pads(int64_t count) {
  ids_.resize(ids_.size() + static_cast<size_t>(count * config_->streams), config_->ids.pad);
  return *this;
}

Prompt Rows::delayed() const {
  const int64_t streams = config_->streams;
  Prompt out(static_cast<int>(streams));
  for (int64_t row = 0; row < count(); ++row) {
    const std::span<int32_t> ids = out.add_row(ids_[static_cast<size_t>(row * streams)]);
    for (int64_t s = 0; s < streams; ++s) {
      const int64_t from = row - s;
      ids[s] = from < 0 ? config_->ids.pad : ids_[static_cast<size_t>(from * streams + s)];
    }
  }
  return out;
}

Prompter::Prompter(const ModelConfig& config, Tokenizer tokenizer)
    : config_(config), tokenizer_(std::move(tokenizer)) {}

std::vector<int32_t> Prompter::words(std::string_view text) const {
  std::vector<int32_t> ids = tokenizer_.encode(text, false);
  for (int32_t& id : ids) id += config_.first_word;
  return ids;
}

std::string Prompter::bytes(int32_t id) const {
  const int32_t own = id - config_.first_word;
  if (own < 0 || own >= tokenizer_.size() || tokenizer_.is_special(own)) return "";
  return tokenizer_.bytes(own);
}

void Prompter::add_voice(Rows& rows, std::span<const int32_t> voice) const {
  const int64_t streams = config_.streams;
  const int64_t kept = std::min(std::ssize(voice) / streams, config_.speaker_frames);
  rows.id(config_.ids.speaker)
      .frames(voice.first(static_cast<size_t>(kept * streams)))
      .pads(config_.speaker_frames - kept);
}

Rows Prompter::speech(std::span<const int32_t> words, std::span<const int32_t> voice) const {
  const ControlIds& c = config_.ids;
  Rows rows(config_);
  rows.id(c.end).id(voice.empty() ? c.plain_tts : c.tts);
  rows.id(c.text).ids(words).pads(config_.streams - 1);
  if (!voice.empty()) add_voice(rows, voice);
  rows.id(c.speech);
  return rows;
}

/// Returns the rows that precede the recording in a prompt for transcribing.
Rows Prompter::before_recognition() const {
  const ControlIds& c = config_.ids;
  Rows rows(config_);
  rows.id(c.end).id(config_.dialogue ? c.audio_dialogue : c.asr);
  if (config_.dialogue) rows.id(c.user);
  rows.id(c.speech);
  return rows;
}

void Prompter::after_recognition(Rows& rows) const {
  const ControlIds& c = config_.ids;
  if (config_.dialogue) rows.id(c.user);
  rows.id(c.text);
}

Rows Prompter::recognition(std::span<const int32_t> heard) const {
  Rows rows = recognition(std::ssize(heard) / config_.streams);
  rows.tell(heard);
  return rows;
}

Rows Prompter::recognition(int64_t heard) const {
  Rows rows = before_recognition();
  rows.heard(heard, !config_.dialogue);
  after_recognition(rows);
  return rows;
}

Result<Rows> Prompter::conversation(const Chat& chat, bool spoken, std::span<const int32_t> voice,
                                    std::span<const int64_t> heard) const {
  if (!chat.tools.empty()) {
    return Error{ErrorCode::kUnsupported, "this model cannot call tools", "tools"};
  }
  const Json messages = Json::parse(chat.messages, nullptr, false);
  if (!messages.is_array() || messages.empty()) return wrong("'messages' must be a list");
  const ControlIds& c = config_.ids;
  Rows rows(config_);
  rows.id(c.end).id(spoken || !heard.empty() ? c.audio_dialogue : c.text_dialogue);
  if (!voice.empty()) {
    rows.id(c.system);
    add_voice(rows, voice);
  }
  size_t recordings = 0;
  for (const Json& message : messages) {
    if (!message.is_object()) return wrong("'messages' must be a list of objects");
    const std::string role = member(message, "role");
    const int32_t id = role == "system" || role == "developer" ? c.system
                       : role == "user"                        ? c.user
                       : role == "assistant"                   ? c.assistant
                                                               : -1;
    if (id < 0) return wrong("roles are system, user and assistant, not \"" + role + "\"");
    auto parts = parts_of(message);
    if (!parts.ok()) return parts.error();
    for (const Part& part : parts.value()) {
      if (part.text) {
        rows.id(id).id(c.text);
        add_words(rows, words(part.words), id == c.assistant);
        continue;
      }
      if (id != c.user) return wrong("only a user's message may have a recording");
      if (recordings == heard.size())
        return wrong(
            "the messages have more places for recordings than the request has recordings");
      rows.id(id).id(c.speech).heard(heard[recordings++], false);
      if (config_.dialogue) continue;
      if (messages.size() > 1 || parts.value().size() > 1) {
        return Error{ErrorCode::kUnsupported,
                     "this model transcribes a recording only if it is sent alone; it does not "
                     "accept recordings in "
                     "conversations",
                     "messages"};
      }
      if (heard.size() == 1) return recognition(heard[0]);
    }
    if (rows.count() > config_.max_positions) return rows;  // too many rows already
  }
  if (recordings < heard.size())
    return wrong("the request has more recordings than the messages have places for them");
  answer(rows, false);
  return rows;
}

void Prompter::answer(Rows& rows, bool speech) const {
  rows.id(config_.ids.assistant).id(speech ? config_.ids.speech : config_.ids.text);
}

void Prompter::add_words(Rows& rows, std::span<const int32_t> words, bool answer) const {
  rows.ids(words);
  if (answer) rows.id(config_.ids.end);
  rows.pads(config_.streams - 1);
}

void Prompter::answered(Rows& rows, std::span<const int32_t> words) const {
  add_words(rows, words, true);
}

Status Prompter::fits(int64_t rows, const char* param) const {
  const int64_t most = config_.max_positions - kLeastRoom;
  if (rows <= most) return ok_status();
  return past_context(config_.max_positions, rows, param, kLeastRoom);
}

Result<std::vector<int32_t>> Prompter::ids_of(std::span<const int32_t> frames,
                                              const char* param) const {
  const int64_t streams = config_.streams;
  if (frames.empty() || std::ssize(frames) % streams != 0) {
    return Error{
        ErrorCode::kInvalid,
        concat(frames.size(), " codes are not whole frames: each frame needs ", streams, " codes"),
        param};
  }
  std::vector<int32_t> ids(frames.begin(), frames.end());
  for (size_t i = 0; i < ids.size(); ++i) {
    const int64_t s = static_cast<int64_t>(i) % streams;
    const int64_t most = s == 0 ? config_.units : config_.codes;
    if (ids[i] < 0 || ids[i] >= most) {
      return Error{ErrorCode::kInvalid,
                   concat("stream ", s, " has the code ", ids[i], "; expected 0 to ", most - 1),
                   param};
    }
    ids[i] = s == 0 ? ids[i] + config_.first_unit : config_.id_of(s, ids[i] + 1);
  }
  return ids;
}

}  // namespace syrinx::opuslm
