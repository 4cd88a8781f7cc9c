#include "families/kyutai_tts/state.h"

#include <algorithm>

#include "families/spoken/spoken_model.h"
#include "text/segment_queue.h"

namespace syrinx::kyutai_tts {
namespace {

// Sampling of the authors' program (moshi:moshi/models/{tts,lm}.py, TTSModel and LMGen).
constexpr float kTemperature = 0.6f;
constexpr int kTextTopK = 25, kCodeTopK = 250;

}  // namespace

State::State(const ModelConfig& config, const Unigram& tokenizer,
             std::shared_ptr<const SpeakerRows> voice, int guidance, StreamKv kv,
             const SpeechRequest& request)
    : config_(config),
      voice_(std::move(voice)),
      guidance_(guidance),
      kv_(std::move(kv)),
      text_draws_(asked({.temperature = kTemperature, .top_k = kTextTopK}, request)),
      code_draws_(asked({.temperature = kTemperature, .top_k = kCodeTopK}, request)),
      ignore_stop_(request.terms.ignore_stop && request.terms.max_frames > 0),
      max_frames_(request.terms.max_frames),
      reader_(tokenizer),
      text_(config.ahead),
      ids_{static_cast<int32_t>(config.text_in), -1},
      codes_(config.delays.size(), static_cast<int32_t>(config.card)),
      history_(static_cast<size_t>(config.tail() + 1) * config.delays.size()),
      frame_(config.delays.size()) {}

Result<std::unique_ptr<State>> State::open(const ModelConfig& config, const Unigram& tokenizer,
                                           std::shared_ptr<const SpeakerRows> voice, int guidance,
                                           StreamKv kv, const SpeechRequest& request) {
  std::unique_ptr<State> state(
      new State(config, tokenizer, std::move(voice), guidance, std::move(kv), request));
  state->take_words(request.say.text, !request.say.open);
  if (state->text_.closed() && state->text_.blank()) return nothing_to_say();
  return state;
}

void State::take_words(std::string_view text, bool last) {
  for (Word& word : reader_.push(text, last)) text_.push(std::move(word));
  if (last) text_.close();
}

Status State::append_text(std::string_view text, bool last) {
  if (text_.closed()) return text_is_complete();
  take_words(text, last);
  return last && text_.blank() ? nothing_to_say() : ok_status();
}

void State::prefix_keys(bool, std::vector<uint64_t>& keys) const {
  for (int at = 0; at < memory_rows(); ++at)
    keys.push_back(voice_->hash + static_cast<uint64_t>(at));
}

SampleRule State::rule(int k) const {
  SampleRule rule;
  if (k == 0) {
    const TextMachine::Next next = text_.next();
    if (next == TextMachine::Next::kFrame) rule.forced = kPad;
    if (next == TextMachine::Next::kWord) rule.forced = kNewWord;
  } else if (!makes_codes()) {
    rule.forced = 0;
  }
  return rule;
}

/// Sends the frame whose last code the current step made.
void State::send_frame(StepOutput& out) {
  const size_t count = frame_.size(), ring = history_.size() / count;
  for (size_t q = 0; q < count; ++q) {
    const auto made = static_cast<size_t>(step_ - config_.tail() + config_.delays[q]);
    frame_[q] = history_[made % ring * count + q];
  }
  out.frame(frame_);
  ++frames_;
}

Verdict State::advance(std::span<const int32_t> codes, StepOutput& out) {
  const bool drew_word = codes[0] == kNewWord;
  ids_ = text_.peek(drew_word);
  const bool had_ended = text_.ended();
  if (const std::optional<Word> word = text_.take(drew_word))
    out.word({word->begin, word->end, step_});
  if (text_.ended() && !had_ended) end_ = step_;
  const size_t count = codes_.size(), ring = history_.size() / count;
  for (size_t q = 0; q < count; ++q) {
    // Until its delay has passed, a codebook's codes only affect later codes of the same step.
    const int32_t code = makes(q) ? codes[q + 1] : -1;
    history_[static_cast<size_t>(step_) % ring * count + q] = code;
    // In its first steps a codebook reads the code before its first frame.
    codes_[q] = step_ + 1 <= config_.delays[q] ? static_cast<int32_t>(config_.card) : code;
  }
  if (step_ - config_.tail() >= config_.delay) send_frame(out);
  ++step_;
  if (max_frames_ > 0 && frames_ >= max_frames_) return {Verdict::kFinished, FinishReason::kLength};
  if (end_ >= 0 && step_ >= end_ + config_.delay + kLastSteps && !ignore_stop_)
    return {Verdict::kFinished, FinishReason::kStop};
  if (++segment_steps_ < kSteps) return {};
  segment_steps_ = 0;
  return {.next = Verdict::kNextSegment, .kept = memory_rows()};
}

}  // namespace syrinx::kyutai_tts
