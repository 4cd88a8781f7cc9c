#include "families/opuslm/prompter.h"

#include <algorithm>

#include "base/check.h"
#include "families/voice_chat/chat_reader.h"
#include "model/past_context.h"

namespace syrinx::opuslm {
namespace {

constexpr int64_t kLeastRoom = 64;  // steps that a prompt must leave free

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
  const Result<ChatJson> messages = messages_without_tools(chat);
  if (!messages) return messages.error();
  const ControlIds& c = config_.ids;
  Rows rows(config_);
  rows.id(c.end).id(spoken || !heard.empty() ? c.audio_dialogue : c.text_dialogue);
  if (!voice.empty()) {
    rows.id(c.system);
    add_voice(rows, voice);
  }
  ChatReader reader(heard.size(), {});
  for (const ChatJson& message : messages.value()) {
    const Result<int32_t> role = role_id(message, c.system, c.user, c.assistant);
    if (!role) return role.error();
    const Result<std::vector<ChatPart>> parts = parts_of(message, "");
    if (!parts) return parts.error();
    const int32_t id = role.value();
    for (const ChatPart& part : parts.value()) {
      if (!part.recording) {
        // An empty text before a recording has no rows.
        if (part.text.empty() && &part != &parts.value().back()) continue;
        rows.id(id).id(c.text);
        add_words(rows, words(part.text), id == c.assistant);
        continue;
      }
      const Result<size_t> recording = reader.recording();
      if (!recording) return recording.error();
      rows.id(id).id(c.speech).heard(heard[recording.value()], false);
      if (config_.dialogue) continue;
      if (messages.value().size() > 1 || parts.value().size() > 1) {
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
  if (const Status fault = reader.end(); !fault) return fault.error();
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
