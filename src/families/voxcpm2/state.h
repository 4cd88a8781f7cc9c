// One request: its text in parts, each with a prompt of text and patches, and the patches so far. A
// complete text is one part, as in the authors' code, unless it is long. Each sentence of late text
// is one part. A part continues the part before it, as if that were a recording. Its prompt also
// has a reference of the voice's sound: the recording or, without a recording, the beginning of the
// first part. So prompts do not grow with the spoken text. Made on the caller's thread, then used
// by the engine's thread only. P * D: values of a patch.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "families/latent_noise.h"
#include "families/spoken/prompt.h"
#include "families/voxcpm2/prompter.h"
#include "model/input_rows.h"
#include "model/request.h"
#include "model/sequence.h"
#include "text/segment_queue.h"

namespace syrinx::voxcpm2 {

class State : public Sequence {
 public:
  // Values of the authors' code (VoxCPM:src/voxcpm/core.py).
  static constexpr float kGuidance = 2;
  static constexpr int kLeastSteps = 3;  ///< steps before the end can be sampled
  static constexpr int64_t kMostSteps = 4096;
  static constexpr int64_t kStepsPerId = 6, kSpareSteps = 10;
  static constexpr int64_t kContext = 3;  ///< last patches of the prompt, decoded before speech
  // Bounds of this program, which the authors' code does not have:
  static constexpr int64_t kMostPartBytes = 2000;   ///< bytes of text, about 150 s of English
  static constexpr int64_t kMostLikePatches = 188;  ///< earlier speech (30 s) used as the voice

  static Result<std::unique_ptr<Sequence>> open(const ModelConfig& config, const Prompter& prompter,
                                                const SpeechRequest& request);

  int prompt_rows() const override { return std::max(1, prompt_.size()); }
  int max_steps() const override { return max_steps_; }
  bool ready() const override { return !prompt_.empty(); }
  /// Returns the ids of the prompt. The id of a patch is 0, as in the authors' code.
  std::span<const int32_t> prompt_ids() const override { return prompt_.written(); }
  void prefix_keys(bool, std::vector<uint64_t>& keys) const override { prompt_.append_keys(keys); }
  const SampleParams& sampling(int) const override { return greedy_; }
  SampleRule rule(int k) const override;
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status append_text(std::string_view text, bool last) override;

  /// Writes each row of text as its id, and each row of a patch as a vector [P * D].
  void rows(int first, bool companion, InputRows& out) const override;
  /// Returns the patch before the next one. Empty if the prompt ends with text.
  std::span<const float> last_patch() const;
  /// Returns the last patches of the recording that the speech continues: [*, P * D], may be empty.
  /// Valid only before the first step.
  std::span<const float> context() const;
  /// Returns the number of steps of the request so far.
  int64_t steps() const { return steps_before_ + part_steps(); }
  LatentNoise noise() const { return {seed_, steps(), noise_scale_}; }
  float guidance_scale() const { return guidance_; }

 private:
  /// Words, and the patches of their sound.
  struct Spoken {
    std::string text;
    std::vector<float> patches;
    bool here = false;  ///< true: an earlier part of this request; false: a recording
  };

  State(const ModelConfig& config, const Prompter& prompter, const SpeechRequest& request);
  Status set_voice(const SpeechRequest& request);
  Status take_text(std::string_view text, bool last);
  bool begin_part();
  std::string words() const;
  void make_prompt();
  Verdict end_part();
  int64_t least_steps() const { return config_.max_positions / 16; }
  int64_t most_like_patches() const;
  void add_patches(std::span<const float> patches);
  int part_steps() const { return static_cast<int>(std::ssize(said_) / config_.patch_width()); }
  std::span<const float> step_patch(int step) const;

  const ModelConfig& config_;
  const Prompter& prompter_;
  SampleParams greedy_;
  const uint64_t seed_;
  const float noise_scale_;
  float guidance_ = kGuidance;
  const bool ignore_stop_;
  const int max_frames_;

  SegmentQueue text_;                // text that was not cut into parts yet
  bool begun_ = false;               // whether a part of the text was cut
  std::string description_;          // description in brackets, before the words of the request
  std::deque<std::string> waiting_;  // later parts of the text
  std::vector<float> like_;          // patches of the voice's reference
  Spoken before_;                    // words and patches that the speech continues
  std::string now_;                  // words of the current part

  Prompt prompt_{1};          // prompt of the part with the patches above; empty: no part waits
  std::vector<float> said_;   // patches of this part's steps
  int max_steps_ = 1;         // largest number of steps of this part
  int64_t steps_before_ = 0;  // number of steps of earlier parts
};

}  // namespace syrinx::voxcpm2
