// One request of Chatterbox: the parts of its text, each a segment with a prompt of its own, and
// the speech tokens so far. Made on the caller's thread, then touched by the engine's thread only.
#pragma once

#include <string>
#include <vector>

#include "families/chatterbox/text.h"
#include "families/chatterbox/voice.h"
#include "families/s3/state.h"
#include "model/input_rows.h"
#include "model/request.h"

namespace syrinx::chatterbox {

class State : public Sequence, public S3State {
 public:
  /// Checks the request; `voice` is who speaks.
  static Result<std::unique_ptr<Sequence>> open(const ModelConfig& config,
                                                const TextTokenizer& tokenizer,
                                                std::shared_ptr<const Voice> voice,
                                                const SpeechRequest& request);

  int prompt_rows() const override;
  int max_steps() const override;
  std::optional<float> guidance() const override { return guidance_; }
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override;
  std::span<const int32_t> prompt_ids() const override { return text_; }
  const SampleParams& sampling(int) const override { return sampling_; }
  SampleRule rule(int k) const override;
  std::span<const int32_t> history(int) const override { return history_; }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;

  /// A row is a vector of the voice, or ids [4]: text, its position, speech, its position.
  void rows(int first, bool companion, InputRows& out) const override;

 private:
  State(const ModelConfig& config, const TextTokenizer& tokenizer)
      : config_(config), tokenizer_(tokenizer) {}
  void begin_segment();
  Verdict end_segment();
  void row(int pos, bool companion, std::span<int32_t> ids) const;
  int voice_count() const { return static_cast<int>(voice_->rows.view().shape[0]); }

  const ModelConfig& config_;
  const TextTokenizer& tokenizer_;
  std::shared_ptr<const Voice> voice_;
  std::optional<float> guidance_;
  SampleParams sampling_;
  int max_frames_ = 0;
  bool ignore_stop_ = false;

  std::vector<std::vector<int32_t>> later_;  // ids of the parts to come, last first
  std::vector<int32_t> text_;                // of this part, with start and stop
  std::vector<int32_t> history_;             // start of speech, then the codes of this part
  int64_t frames_ = 0, frames_before_ = 0;   // emitted, of all parts and of earlier ones
  bool begins_ = false;                      // no frame of this part yet, but of earlier ones
};

}  // namespace syrinx::chatterbox
