// One request: its prompt, the tokens so far, and the text that is still to be spoken. A token is
// one step; the tokens of a frame fill four latent frames of the codec, and each of those goes on
// as soon as its codes are there, not when the frame is complete. Made on the caller's thread, then
// touched by the engine's thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "families/orpheus/config.h"
#include "model/input_rows.h"
#include "model/request.h"
#include "text/segment_queue.h"

namespace syrinx::orpheus {

class State : public Sequence {
 public:
  /// Checks the request.
  static Result<std::unique_ptr<Sequence>> open(const ModelConfig& config,
                                                const Tokenizer& tokenizer,
                                                const SpeechRequest& request);

  int prompt_rows() const override { return static_cast<int>(prompt_.size()); }
  int max_steps() const override;
  bool ready() const override { return speaking_; }
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override;
  std::span<const int32_t> prompt_ids() const override { return prompt_; }
  const SampleParams& sampling(int) const override { return sampling_; }
  SampleRule rule(int k) const override;
  std::span<const int32_t> history(int) const override { return spoken_; }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status append_text(std::string_view text, bool last) override;

  /// A row is an id: ids [1].
  void rows(int first, bool companion, InputRows& out) const override;
  /// Of the codec's noise.
  uint64_t seed() const { return seed_; }

 private:
  State(const ModelConfig& config, const Tokenizer& tokenizer, const SpeechRequest& request);
  bool begin_segment();
  Verdict end_segment();
  void tell_latent(StepOutput& out);
  std::vector<int32_t> text_ids(std::string_view text) const;
  void set_prompt(std::string_view text);
  int32_t row(int pos) const;
  int place() const { return static_cast<int>(spoken_.size() % kFrameTokens); }

  const ModelConfig& config_;
  const Tokenizer& tokenizer_;
  std::string voice_;  // empty: none
  SampleParams sampling_;
  uint64_t seed_ = 0;
  int max_frames_ = 0;  // latent frames of the request; 0: a bound by the text
  bool ignore_stop_ = false;

  SegmentQueue text_;                       // still to be spoken
  bool speaking_ = false;                   // there is a prompt with text
  int64_t frames_ = 0, frames_before_ = 0;  // latent frames, of all segments and of earlier ones
  std::vector<int32_t> prompt_;
  std::vector<int32_t> spoken_;  // ids of this segment, counted from audio_begin()
};

}  // namespace syrinx::orpheus
