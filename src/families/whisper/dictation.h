// One window being written down: first the rows that the encoder made of it, which are the memory
// of the decoder; then ids: what was written before, the start; language, task and whether there
// are timestamps, which are forced or found; then what is drawn. One step an id. Made on the
// caller's thread, then touched by one thread at a time.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "families/whisper/config.h"
#include "families/whisper/window.h"
#include "model/request.h"
#include "text/tokenizer.h"

namespace syrinx::whisper {

class Dictation : public Sequence {
 public:
  /// What is given must outlive it. The window must be one that open_window() let pass.
  Dictation(const ModelConfig& config, const Generation& generation, const Tokenizer& tokenizer,
            std::shared_ptr<Window> window, uint64_t most_ids);

  int prompt_rows() const override { return WhisperEncoder::kRows + prompt_; }
  int max_steps() const override { return static_cast<int>(std::ssize(forced_)) + most_; }
  bool ready() const override { return known_rows() == WhisperEncoder::kRows; }
  int known_rows() const override { return static_cast<int>(memory_.size()) / width_; }
  std::span<const int32_t> prompt_ids() const override {
    return std::span(ids_).first(static_cast<size_t>(prompt_));
  }
  int scores() const override { return 0; }
  const SampleParams& sampling(int) const override { return sampling_; }
  SampleRule rule(int) const override { return {.forced = forced()}; }
  std::span<const int32_t> history(int) const override { return ids_; }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status take(int port, const Frames& frames) override;

  /// Row `pos` < WhisperEncoder::kRows of the memory: [width].
  std::span<const float> memory(int pos) const {
    return std::span(memory_).subspan(size_t(pos) * width_, width_);
  }
  /// The id of row `pos` behind it, and its place among the ids.
  int32_t input(int pos) const { return ids_[static_cast<size_t>(pos - WhisperEncoder::kRows)]; }
  /// The logits [V] of the next step, as the network made them: notes what is to be noted of them,
  /// and leaves only what may come. By the executor that runs the step.
  void shape(std::span<float> logits);
  const Window& window() const { return *window_; }

 private:
  static constexpr int32_t kFound = -1;  // among forced_: a language
  /// The id that the next step must give; < 0: it is drawn.
  int32_t forced() const { return step_ < std::ssize(forced_) ? forced_[step_] : -1; }
  Verdict end(FinishReason reason, StepOutput& out);
  void tell(int32_t id, StepOutput& out);

  const ModelConfig& config_;
  const Generation& generation_;
  const Tokenizer& tokenizer_;
  const std::shared_ptr<Window> window_;
  const int width_;
  SampleParams sampling_;
  std::vector<float> memory_;    // [rows, W]
  std::vector<int32_t> ids_;     // of the prompt, then of the steps
  std::vector<int32_t> forced_;  // of the first steps
  int prompt_ = 0, most_ = 1;
  int64_t step_ = 0;
  std::string unfinished_;  // bytes of a character that is not complete
};

}  // namespace syrinx::whisper
