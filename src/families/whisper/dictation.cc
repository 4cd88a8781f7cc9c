#include "families/whisper/dictation.h"

#include <algorithm>

#include "text/utf8.h"

namespace syrinx::whisper {

Dictation::Dictation(const ModelConfig& config, const Generation& generation,
                     const Tokenizer& tokenizer, std::shared_ptr<Window> window, uint64_t most_ids)
    : Dictation(config, generation, tokenizer, std::move(window), most_ids,
                std::make_shared<std::vector<float>>()) {}

Dictation::Dictation(const ModelConfig& config, const Generation& generation,
                     const Tokenizer& tokenizer, std::shared_ptr<Window> window, uint64_t most_ids,
                     Coming rows)
    : DecoderText(config.width(), window->audio.rows, window->rows ? window->rows : rows),
      generation_(generation),
      tokenizer_(tokenizer),
      window_(std::move(window)),
      rows_(std::move(rows)),
      allowed_(config.vocab) {
  const Generation& g = generation_;
  const Window& w = *window_;
  // Half of the positions are for the text before the window, the other half for the window's text.
  const auto half = static_cast<size_t>(config.max_ids / 2);
  if (!w.before.empty()) {
    ids_.push_back(g.previous);
    const size_t kept = std::min(w.before.size(), half - 1);
    ids_.insert(ids_.end(), w.before.end() - static_cast<int64_t>(kept), w.before.end());
  }
  ids_.push_back(g.start);
  prompt_ = static_cast<int>(ids_.size());
  if (g.multilingual()) {
    forced_.push_back(w.language.empty() ? kFound : g.languages.at(w.language));
    if (!w.only_language) forced_.push_back(w.translate ? g.translate : g.transcribe);
  }
  if (!w.timestamps && !w.only_language) forced_.push_back(g.no_timestamps);
  const auto initial = ids_.size() + forced_.size();
  // As in the authors' code, sampling ends when there is one id more than positions.
  most_ = static_cast<int>(std::min(half, static_cast<size_t>(config.max_ids) + 1 - initial));
  if (most_ids > 0) most_ = static_cast<int>(std::min<uint64_t>(most_, most_ids));
  if (w.only_language) most_ = 0;
  ids_.reserve(initial + static_cast<size_t>(most_));
  window_->heard = {};
  window_->heard.language = w.language;
  sampling_.temperature = 0;
  if (forced_.empty()) sampling_.temperature = w.temperature;
}

Status Dictation::take(int, const Frames& frames) {
  rows_->insert(rows_->end(), frames.floats.begin(), frames.floats.end());
  return ok_status();
}

IdLimits Dictation::limits() {
  if (step_ >= std::ssize(forced_)) {
    const auto drawn = std::span<const int32_t>(ids_).subspan(size_t(prompt_) + forced_.size());
    return rules_after(generation_, window_->timestamps, drawn, allowed_);
  }
  if (forced_[step_] == kFound) return only_languages(generation_, allowed_);
  return {};
}

Verdict Dictation::advance(std::span<const int32_t> codes, StepOutput& out) {
  const int32_t id = codes[0];
  Heard& heard = window_->heard;
  ids_.push_back(id);
  const auto step = step_++;
  if (step_ == std::ssize(forced_)) sampling_.temperature = window_->temperature;
  if (step < std::ssize(forced_)) {
    if (forced_[step] == kFound) {
      for (const auto& [name, token] : generation_.languages)
        if (token == id) heard.language = name;
    }
    if (window_->only_language) return end(FinishReason::kStop, out);
    return {};
  }
  const float logprob = out.scores() != nullptr ? out.scores()->drawn.logprob : 0;
  heard.logprob_sum += logprob;
  if (id == generation_.end) {
    heard.ended = true;
    return end(FinishReason::kStop, out);
  }
  heard.ids.push_back(id);
  heard.logprobs.push_back(logprob);
  tell(id, out);
  if (std::ssize(heard.ids) == most_) return end(FinishReason::kLength, out);
  return {};
}

/// Sends text in whole characters. Does not send timestamps and other special ids.
void Dictation::tell(int32_t id, StepOutput& out) {
  if (id >= generation_.end) return;
  unfinished_ += tokenizer_.bytes(id);
  const size_t whole = unfinished_.size() - utf8_unfinished(unfinished_);
  if (whole > 0) out.text(utf8_repair(std::string_view(unfinished_).substr(0, whole)));
  unfinished_.erase(0, whole);
}

Verdict Dictation::end(FinishReason reason, StepOutput& out) {
  if (!unfinished_.empty()) out.text(utf8_repair(unfinished_));
  unfinished_.clear();
  if (window_->keep_rows) window_->heard.rows = window_->rows ? window_->rows : rows_;
  return {Verdict::kFinished, reason};
}

}  // namespace syrinx::whisper
