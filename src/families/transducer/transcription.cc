#include "families/transducer/transcription.h"

#include <algorithm>

namespace syrinx::transducer {

Transcription::Transcription(const ModelConfig& config, const Tokenizer& tokenizer,
                             const Hearing& task)
    : LiveSequence(task, config.hidden), config_(config), tokenizer_(tokenizer) {
  const auto width = static_cast<size_t>(config.hidden);
  predictor_.hidden.resize(width * static_cast<size_t>(config.lstm_layers));
  predictor_.cell.resize(predictor_.hidden.size());
  predictor_.out.resize(width);
  predictor_.next = config.blank;
}

/// Returns the number of rows by which a step moves. Counts the ids at one row.
int64_t Transcription::moved(std::span<const int32_t> codes) {
  const bool blank = codes[0] == config_.blank;
  int64_t frames = config_.durations.empty() ? (blank ? 1 : 0) : config_.durations[codes[1]];
  if (blank) frames = std::max<int64_t>(frames, 1);
  symbols_ = frames > 0 ? 0 : symbols_ + 1;
  if (symbols_ < config_.max_symbols) return frames;
  symbols_ = 0;
  return 1;
}

int64_t Transcription::step(std::span<const int32_t> codes, StepOutput& out) {
  const int32_t id = codes[0];
  const int64_t frames = moved(codes);
  if (id == config_.blank) return frames;
  predictor_.next = id;
  if (tokenizer_.is_special(id)) return frames;
  ScoredToken next = token(tokenizer_.bytes(id), out);
  if (next.drawn.bytes.empty()) return frames;
  next.start_s = time_of(at());
  next.end_s = time_of(at() + std::max<int64_t>(frames, 1));
  send(std::move(next), out);
  return frames;
}

}  // namespace syrinx::transducer
