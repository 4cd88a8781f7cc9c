// One request: its text in parts, each with a prompt of text and patches, and the patches so far. A
// complete text is one part, as in the authors' code, unless it is long; late text is one part for
// each sentence. A part continues the part before it, as if that were a recording. It also gets a
// reference for the voice's sound: the recording or, without one, the beginning of the first part.
// So prompts do not grow with the spoken text. Made on the caller's thread, then touched by the
// engine's thread only. P * D numbers of a patch.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "families/spoken/prompt.h"
#include "families/voxcpm2/prompter.h"
#include "model/input_rows.h"
#include "model/request.h"
#include "model/sequence.h"
#include "text/segment_queue.h"

namespace syrinx::voxcpm2 {

class State : public Sequence {
 public:
  // The authors' values (VoxCPM:src/voxcpm/core.py).
  static constexpr float kGuidance = 2;
  static constexpr int kLeastSteps = 3;  ///< steps before the end may be sampled
  static constexpr int64_t kMostSteps = 4096;
  static constexpr int64_t kStepsPerId = 6, kSpareSteps = 10;
  static constexpr int64_t kContext = 3;  ///< patches of the prompt that are decoded first
  // Bounds chosen here:
  static constexpr int64_t kMostPartBytes = 2000;   ///< two minutes and a half of English
  static constexpr int64_t kMostLikePatches = 188;  ///< 30 s of speech that serve as the voice

  static Result<std::unique_ptr<Sequence>> open(const ModelConfig& config, const Prompter& prompter,
                                                const SpeechRequest& request);

  int prompt_rows() const override { return std::max(1, prompt_.size()); }
  int max_steps() const override { return max_steps_; }
  bool ready() const override { return !prompt_.empty(); }
  /// Returns the ids of the prompt; a patch has the id 0, as in the authors' code.
  std::span<const int32_t> prompt_ids() const override { return prompt_.written(); }
  void prefix_keys(bool, std::vector<uint64_t>& keys) const override { prompt_.append_keys(keys); }
  const SampleParams& sampling(int) const override { return greedy_; }
  SampleRule rule(int k) const override;
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status append_text(std::string_view text, bool last) override;

  /// Writes rows of an id, ids [1], or of a patch [P * D] as the vector.
  void rows(int first, bool companion, InputRows& out) const override;
  /// Returns the patch before the next one; empty if the prompt ends in text.
  std::span<const float> last_patch() const;
  /// Returns the last patches of the recording that the speech continues: [*, P * D], may be empty.
  /// Valid before the first step.
  std::span<const float> context() const;
  uint64_t seed() const { return seed_; }
  /// Returns the number of steps of the request so far.
  int64_t steps() const { return steps_before_ + part_steps(); }
  float noise_scale() const { return noise_scale_; }
  float guidance_scale() const { return guidance_; }

 private:
  /// Words and their sound.
  struct Spoken {
    std::string text;
    std::vector<float> patches;
    bool here = false;  ///< in this request, after its description; false: in a recording
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

  SegmentQueue text_;                // text that is not yet cut into parts
  bool begun_ = false;               // a part of the text was cut
  std::string description_;          // description in brackets, before the words of this request
  std::deque<std::string> waiting_;  // parts to come
  std::vector<float> like_;          // patches of the voice's reference
  Spoken before_;                    // the words and patches that the speech continues
  std::string now_;                  // words of this part

  Prompt prompt_{1};         // the part's prompt, including the patches above; empty: no part waits
  std::vector<float> said_;  // patches of this part's steps
  int max_steps_ = 1;        // bound of this part
  int64_t steps_before_ = 0;  // steps of earlier parts
};

}  // namespace syrinx::voxcpm2
