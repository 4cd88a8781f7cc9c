// Transcribes one window, whose rows come from the encoder. The prompt is the text before the
// window and the start id. Steps yield the language (given or found), the task, "no timestamps" if
// none are wanted, then the sampled ids.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "families/whisper/decoder_text.h"
#include "families/whisper/token_rules.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::whisper {

class Dictation : public DecoderText {
 public:
  /// The arguments must outlive the Dictation. open_window() must have accepted the window.
  Dictation(const ModelConfig& config, const Generation& generation, const Tokenizer& tokenizer,
            std::shared_ptr<Window> window, uint64_t most_ids);

  int max_steps() const override { return static_cast<int>(std::ssize(forced_)) + most_; }
  int scores() const override { return 0; }
  const SampleParams& sampling(int) const override { return sampling_; }
  SampleRule rule(int) const override { return {.forced = forced()}; }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status take(int port, const Frames& frames) override;

  IdLimits limits() override;
  int32_t noted() const override { return step_ == 0 ? generation_.no_speech() : -1; }
  void note(float probability) override { window_->heard.no_speech_prob = probability; }
  const WhisperWindow* audio() const override { return window_->rows ? nullptr : &window_->audio; }

 private:
  static constexpr int32_t kFound = -1;  // entry of forced_: the model finds the language
  using Coming = std::shared_ptr<std::vector<float>>;
  Dictation(const ModelConfig& config, const Generation& generation, const Tokenizer& tokenizer,
            std::shared_ptr<Window> window, uint64_t most_ids, Coming rows);
  /// Returns the id that the next step must yield. A negative value means that the id is sampled.
  int32_t forced() const { return step_ < std::ssize(forced_) ? forced_[step_] : -1; }
  Verdict end(FinishReason reason, StepOutput& out);
  void tell(int32_t id, StepOutput& out);

  const Generation& generation_;
  const Tokenizer& tokenizer_;
  const std::shared_ptr<Window> window_;
  const Coming rows_;  // rows of the memory so far; unused if Window::rows is set
  IdSet allowed_;
  SampleParams sampling_;
  std::vector<int32_t> forced_;  // ids of the first steps
  int most_ = 1;
  int64_t step_ = 0;
  std::string unfinished_;  // bytes of an incomplete character
};

}  // namespace syrinx::whisper
