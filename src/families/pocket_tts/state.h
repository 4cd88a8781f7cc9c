// One request: its text in chunks, and the latents of the current chunk. The prompt of a chunk has
// the voice, the chunk's ids and the learned first latent. Chunks do not depend on each other. Made
// on the caller's thread, then used by the engine's thread only.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "families/latent_noise.h"
#include "families/pocket_tts/flow_lm.h"
#include "families/pocket_tts/text.h"
#include "families/spoken/text_plan.h"
#include "model/request.h"
#include "model/sequence.h"

namespace syrinx::pocket_tts {

class State : public Sequence {
 public:
  // Values of the authors' code (pocket_tts/models/tts_model.py).
  static constexpr int kStepsBeforeEnd = 6;
  static constexpr double kIdsPerSecond = 3, kSpareSeconds = 2;

  /// Opens a request. If `voice` is null, the model makes up a voice.
  static Result<std::unique_ptr<Sequence>> open(const ModelConfig& config, const TextReader& reader,
                                                const FlowLm& lm,
                                                std::shared_ptr<const VoiceRows> voice,
                                                const SpeechRequest& request);

  int prompt_rows() const override { return std::max(1, voice_rows() + rows_behind_voice()); }
  int max_steps() const override { return max_steps_; }
  bool ready() const override { return !ids_.empty(); }
  /// Returns the ids of the current chunk's text.
  std::span<const int32_t> prompt_ids() const override { return ids_; }
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override;
  const SampleParams& sampling(int) const override { return greedy_; }
  SampleRule rule(int k) const override;
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status append_text(std::string_view text, bool last) override;
  void rows(int first, bool companion, InputRows& out) const override;

  /// Returns the number of steps of the request so far.
  int64_t steps() const { return steps_before_ + steps_; }
  LatentNoise noise() const { return {seed_, steps(), noise_scale_}; }

 private:
  State(const ModelConfig& config, const TextReader& reader, const FlowLm& lm,
        std::shared_ptr<const VoiceRows> voice, const SpeechRequest& request);
  bool begin_chunk();
  Verdict end_chunk();
  int voice_rows() const { return voice_ ? voice_->size() : 0; }
  /// Returns the number of prompt rows after the voice: the ids and the first latent. 0: no chunk.
  int rows_behind_voice() const {
    return ids_.empty() ? 0 : static_cast<int>(std::ssize(ids_)) + 1;
  }

  const ModelConfig& config_;
  const FlowLm& lm_;
  const std::shared_ptr<const VoiceRows> voice_;
  SampleParams greedy_;

  std::deque<int> tails_;  // Ids::tail of each waiting chunk
  TextPlan text_;
  const uint64_t seed_;
  const float noise_scale_;
  const bool ignore_stop_;
  const int max_frames_;
  std::vector<int32_t> ids_;  // ids of this chunk
  int tail_ = 0;              // steps of this chunk after the code that announces its end
  std::vector<float> said_;   // latents of this chunk so far
  int steps_ = 0, max_steps_ = 1;
  int end_step_ = -1;  // step whose code announced the end; -1: no step so far
  int64_t steps_before_ = 0;
};

}  // namespace syrinx::pocket_tts
