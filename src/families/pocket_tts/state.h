// One request: its text in chunks, each with a prompt of the voice, the chunk's ids and the latent
// before the first one, and the latents so far. Chunks do not hear each other. Made on the caller's
// thread, then touched by the engine's thread only.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "families/pocket_tts/flow_lm.h"
#include "families/pocket_tts/text.h"
#include "families/spoken/text_plan.h"
#include "model/request.h"
#include "model/sequence.h"

namespace syrinx::pocket_tts {

class State : public Sequence {
 public:
  // The authors' (pocket_tts/models/tts_model.py).
  static constexpr int kStepsBeforeEnd = 6;
  static constexpr double kIdsPerSecond = 3, kSpareSeconds = 2;

  /// `voice` may be null: the model makes one up.
  static Result<std::unique_ptr<Sequence>> open(const ModelConfig& config, const TextReader& reader,
                                                const FlowLm& lm,
                                                std::shared_ptr<const VoiceRows> voice,
                                                const SpeechRequest& request);

  int prompt_rows() const override { return std::max(1, voice_rows() + rows_behind_voice()); }
  int max_steps() const override { return max_steps_; }
  bool ready() const override { return !ids_.empty(); }
  /// Those of the text.
  std::span<const int32_t> prompt_ids() const override { return ids_; }
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override;
  const SampleParams& sampling(int) const override { return greedy_; }
  SampleRule rule(int k) const override;
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status append_text(std::string_view text, bool last) override;
  void rows(int first, bool companion, InputRows& out) const override;

  uint64_t seed() const { return seed_; }
  /// Returns the steps of the request so far.
  int64_t steps() const { return steps_before_ + steps_; }
  float noise_scale() const { return noise_scale_; }

 private:
  State(const ModelConfig& config, const TextReader& reader, const FlowLm& lm,
        std::shared_ptr<const VoiceRows> voice, const SpeechRequest& request);
  Status set_options(const SpeechRequest& request);
  bool begin_chunk();
  Verdict end_chunk();
  int voice_rows() const { return voice_ ? voice_->size() : 0; }
  /// The ids and the latent before the first one; 0: no chunk waits.
  int rows_behind_voice() const {
    return ids_.empty() ? 0 : static_cast<int>(std::ssize(ids_)) + 1;
  }

  const ModelConfig& config_;
  const FlowLm& lm_;
  const std::shared_ptr<const VoiceRows> voice_;
  SampleParams greedy_;
  uint64_t seed_ = 0;
  float noise_scale_ = 1;
  bool ignore_stop_ = false;
  int max_frames_ = 0;

  std::deque<int> tails_;  // of the chunks that wait
  TextPlan text_;
  std::vector<int32_t> ids_;  // of this chunk
  int tail_ = 0;              // of this chunk, steps
  std::vector<float> said_;   // latents of this chunk
  int steps_ = 0, max_steps_ = 1;
  int end_step_ = -1;  // the one that said the end
  int64_t steps_before_ = 0;
};

}  // namespace syrinx::pocket_tts
