#include "families/chatterbox/state.h"

#include <algorithm>
#include <functional>

#include "families/cut.h"
#include "text/sentences.h"

namespace syrinx::chatterbox {
namespace {

constexpr size_t kPartChars = 300;  // about 20 s; the authors' bound is 40 s a call
constexpr int kStarts = 2;          // rows of the start of speech, as the authors feed it

bool blank(std::string_view text) { return text.find_first_not_of(" \t\r\n\v\f") == text.npos; }

/// The text in parts of whole sentences.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  if (text.size() <= kPartChars) {
    parts.push_back(text);
  } else {
    for (const Sentence& s : split_sentences(text, {.max_chars = kPartChars})) {
      const std::string sentence = text.substr(s.begin, s.end - s.begin);
      if (!parts.empty() && parts.back().size() + sentence.size() <= kPartChars) {
        parts.back() += sentence;
      } else {
        parts.push_back(sentence);
      }
    }
  }
  std::erase_if(parts, blank);
  return parts;
}

}  // namespace

Result<std::unique_ptr<Sequence>> State::open(const ModelConfig& config,
                                              const TextTokenizer& tokenizer,
                                              std::shared_ptr<const Voice> voice,
                                              const SpeechRequest& request) {
  if (request.text_open) {
    return Error{ErrorCode::kUnsupported, "this model takes the whole text at once", "input"};
  }
  if (!request.instructions.empty()) {
    return Error{ErrorCode::kUnsupported, "this model takes no instructions", "instructions"};
  }
  if (request.top_k.value_or(0) > 0) {
    return Error{ErrorCode::kUnsupported, "this model is sampled without top-k", "top_k"};
  }
  if (!request.language.empty() && request.language != "auto" && request.language != "en" &&
      request.language != "english") {
    return Error{ErrorCode::kUnsupported, "this model speaks English", "language"};
  }
  std::unique_ptr<State> state(new State(config, tokenizer));
  state->flow_voice_ = voice->flow;
  state->voice_ = std::move(voice);
  state->seed_ = request.seed;
  // The authors' package attends to the whole, in training and in speaking.
  state->full_flow_ =
      request.flow == FlowMode::kFull || (request.flow == FlowMode::kAuto && request.offline);
  state->max_frames_ = request.max_frames;
  state->ignore_stop_ = request.ignore_stop;
  const float scale = request.guidance.value_or(1.5f);
  if (scale != 1) state->guidance_ = scale;
  state->sampling_ = {.temperature = request.temperature.value_or(0.8f),
                      .top_p = request.top_p.value_or(1.f),
                      .min_p = request.min_p.value_or(0.05f),
                      .repetition_penalty = request.repetition_penalty.value_or(1.2f)};
  state->sampling_.min_p_first = true;
  for (const std::string& part : parts_of(request.text)) {
    std::vector<int32_t> ids = tokenizer.encode(clean(part));
    if (static_cast<int64_t>(ids.size()) + 2 > config.text_positions) {
      return Error{ErrorCode::kInvalid,
                   "a part of the text has " + std::to_string(ids.size()) +
                       " ids, the model takes " + std::to_string(config.text_positions - 2),
                   "input"};
    }
    ids.insert(ids.begin(), kStartText);
    ids.push_back(kStopText);
    state->later_.push_back(std::move(ids));
  }
  if (state->later_.empty()) {
    return Error{ErrorCode::kInvalid, "there is nothing to say", "input"};
  }
  std::reverse(state->later_.begin(), state->later_.end());
  state->begin_segment();
  return std::unique_ptr<Sequence>(std::move(state));
}

void State::begin_segment() {
  text_ = std::move(later_.back());
  later_.pop_back();
  frames_before_ = frames_;
  begins_ = frames_ > 0;
  history_.assign(1, kStartSpeech);
  history_.reserve(static_cast<size_t>(max_steps()) + 1);  // steps then allocate nothing
}

int State::prompt_rows() const { return voice_count() + static_cast<int>(text_.size()) + kStarts; }

int State::max_steps() const {
  int64_t limit = std::min<int64_t>(kMostSteps, config_.speech_positions - 1);
  if (full_flow_) limit = std::min<int64_t>(limit, kMostFullTokens);
  if (max_frames_ > 0) {
    const int64_t left = std::max<int64_t>(1, max_frames_ - frames_before_);
    limit = std::min(limit, left);
  }
  return static_cast<int>(limit);
}

void State::prefix_keys(bool companion, std::vector<uint64_t>& keys) const {
  // A voice's vectors are its own.
  for (int i = 0; i < voice_count(); ++i) keys.push_back(voice_->key * 64 + i);
  for (size_t i = 0; i < text_.size(); ++i) {
    keys.push_back(companion ? uint64_t{1} << 32 : static_cast<uint64_t>(text_[i]));
  }
}

SampleRule State::rule(int) const {
  SampleRule rule;
  if (ignore_stop_) {
    rule.allowed[0] = {0, kSpeechCodes};
    rule.ranges = 1;
  }
  return rule;
}

Verdict State::advance(std::span<const int32_t> codes, StepOutput& out) {
  const int32_t code = codes[0];
  if (code == kStopSpeech) return end_segment();
  history_.push_back(code);
  if (code < kSpeechCodes) {  // others are fed back but never spoken
    const int32_t frame[] = {code | (begins_ ? kS3SegmentStart : 0)};
    out.frame(frame);
    begins_ = false;
    ++frames_;
  }
  return std::ssize(history_) <= max_steps() ? Verdict{} : cut(end_segment());
}

Verdict State::end_segment() {
  if (later_.empty()) return {Verdict::kFinished, FinishReason::kStop};
  if (max_frames_ > 0 && frames_ >= max_frames_) {
    return {Verdict::kFinished, FinishReason::kLength};
  }
  begin_segment();
  return {Verdict::kNextSegment, FinishReason::kStop};
}

/// Every prompt begins with the rows of the voice.
void State::rows(int first, bool companion, InputRows& out) const {
  const View& voice = voice_->rows.view();
  const int64_t width = voice.shape[1];
  for (int i = 0; i < out.count(); ++i) {
    const int64_t pos = first + i;
    if (pos >= voice.shape[0]) {
      row(first + i, companion, out.ids(i));
    } else {
      out.give(i, {voice.f32() + pos * width, static_cast<size_t>(width)});
    }
  }
}

void State::row(int pos, bool companion, std::span<int32_t> ids) const {
  const int text = pos - voice_count(), speech = text - static_cast<int>(text_.size());
  if (speech < 0) {
    if (!companion) ids[0] = text_[static_cast<size_t>(text)];
    ids[1] = text;
    return;
  }
  const auto step = static_cast<size_t>(std::max(0, speech - kStarts + 1));  // into history_
  SYRINX_CHECK(step < history_.size(), "row ", pos, " of ", prompt_rows(), " + ",
               history_.size() - 1);
  ids[2] = history_[step];
  ids[3] = static_cast<int32_t>(step);
}

}  // namespace syrinx::chatterbox
