// One request: text and recordings as a prompt, and the patches so far. Made on the caller's
// thread, then touched by the engine's thread only. P * D numbers of a patch.
#pragma once

#include <string>
#include <vector>

#include "families/voxcpm2/prompter.h"
#include "model/request.h"

namespace syrinx::voxcpm2 {

class State : public Sequence {
 public:
  // The authors' (VoxCPM:src/voxcpm/core.py).
  static constexpr float kGuidance = 2;
  static constexpr int kLeastSteps = 3;  ///< before the end may be said
  static constexpr int64_t kMostSteps = 4096;
  static constexpr int64_t kStepsPerId = 6, kSpareSteps = 10;
  static constexpr int64_t kContext = 3;  ///< patches of the prompt that the decoder hears first

  static Result<std::unique_ptr<Sequence>> open(const ModelConfig& config, const Prompter& prompter,
                                                const SpeechRequest& request);

  int prompt_rows() const override { return static_cast<int>(prompt_.size()); }
  int max_steps() const override { return max_steps_; }
  /// 0 stands for a patch, as the authors have it.
  std::span<const int32_t> prompt_ids() const override { return ids_; }
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override;
  const SampleParams& sampling(int) const override { return greedy_; }
  SampleRule rule(int k) const override;
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;

  /// What a row is made of: an id, or else (id < 0) a patch [P * D].
  struct Input {
    int32_t id = -1;
    std::span<const float> patch = {};
  };
  Input input(int pos) const;
  /// The patch before the next one; empty where the prompt ends in text.
  std::span<const float> last_patch() const;
  /// The last patches of a prompt that the speech goes on from: [*, P * D], or empty.
  std::span<const float> context() const;
  uint64_t seed() const { return seed_; }
  int steps() const { return steps_; }
  float noise_scale() const { return noise_scale_; }
  float guidance_scale() const { return guidance_; }

 private:
  State(const ModelConfig& config, const Prompter& prompter)
      : config_(config), prompter_(prompter) {}
  Status set_options(const SpeechRequest& request);
  Status make_prompt(const SpeechRequest& request);
  void add_id(int32_t id);
  void add_patches(std::span<const float> patches);
  std::span<const float> patch(int64_t number) const;

  const ModelConfig& config_;
  const Prompter& prompter_;
  SampleParams greedy_;
  uint64_t seed_ = 0;
  float guidance_ = kGuidance, noise_scale_ = 1;
  bool ignore_stop_ = false;
  int max_steps_ = 1, steps_ = 0;

  std::vector<int32_t> prompt_;  // an id, or -1 - number of a patch
  std::vector<int32_t> ids_;
  std::vector<float> patches_;  // of the prompt, then of the steps
  int64_t prompt_patches_ = 0;
};

}  // namespace syrinx::voxcpm2
