// One request: its text in windows, and the latents so far. A segment begins with a window of
// text and has six latents. Its last step only checks whether the speech ends, and the next
// segment keeps all rows of this one. Without further text, a segment continues until the speech
// ends. A text that needs too many positions is spoken in parts. Each part begins anew: the voice's
// rows, but no rows of earlier parts, come before it. Made on the caller's thread, then used by one
// thread at a time. D: width of a latent.
#pragma once

#include <memory>
#include <vector>

#include "families/latent_noise.h"
#include "families/vibevoice/text.h"
#include "families/vibevoice/voice.h"
#include "model/input_rows.h"
#include "model/request.h"
#include "model/sequence.h"

namespace syrinx::vibevoice {

class State : public Sequence {
 public:
  // Values of the authors' code (modeling_vibevoice_streaming_inference.py,
  // realtime_model_inference_from_file.py).
  static constexpr int kLatents = 6;  ///< latents of a window (TTS_SPEECH_WINDOW_SIZE)
  static constexpr float kGuidance = 1.5f;
  static constexpr int32_t kEnd = 1;  ///< this code means that the previous latent was the last
  // Bounds of this program, for speech that does not end by itself:
  static constexpr int64_t kFramesPerId = 8, kSpareFrames = 40;

  static Result<std::unique_ptr<Sequence>> open(const ModelConfig& config,
                                                const Tokenizer& tokenizer,
                                                std::shared_ptr<const VoiceRows> voice,
                                                const SpeechRequest& request);

  int prompt_rows() const override { return prompt_; }
  int companion_rows() const override { return companion_prompt_; }
  int max_steps() const override { return max_steps_; }
  bool ready() const override { return begun_; }
  std::optional<float> guidance() const override { return guidance_; }
  float step_guidance(int k) const override;
  /// Returns the ids of the current part's text so far.
  std::span<const int32_t> prompt_ids() const override { return ids_; }
  const SampleParams& sampling(int) const override { return greedy_; }
  SampleRule rule(int k) const override;
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status append_text(std::string_view text, bool last) override;
  void rows(int first, bool companion, InputRows& out) const override;

  /// Returns the number of latents that the request has so far.
  int64_t frames() const { return frames_before_ + part_frames(); }
  LatentNoise noise() const { return {seed_, frames(), noise_scale_}; }
  /// Returns whether the next step only checks whether the speech ends.
  bool looking() const { return windowed_ && steps_ == kLatents; }

 private:
  /// The input of a row after the rows of the voice. With id >= 0: a text id and its position `at`
  /// in the text model. Otherwise: latent `at` of the part.
  struct Row {
    int32_t id = -1, at = 0;
  };
  State(const ModelConfig& config, const Tokenizer& tokenizer,
        std::shared_ptr<const VoiceRows> voice, const SpeechRequest& request);
  void begin_part();
  bool begin_window();
  Verdict next_window();
  Verdict end_part();
  int64_t part_frames() const { return std::ssize(said_) / config_.latent(); }
  std::span<const float> latent(int at) const;

  const ModelConfig& config_;
  const std::shared_ptr<const VoiceRows> voice_;
  SampleParams greedy_;
  const uint64_t seed_;
  std::optional<float> guidance_;
  const float noise_scale_;
  const bool ignore_stop_;
  const int max_frames_;

  TextWindows text_;
  std::vector<Row> rows_;     // rows of this part, after those of the voice
  std::vector<int32_t> ids_;  // ids of this part
  std::vector<float> said_;   // latents of this part
  int prompt_ = 1, companion_prompt_ = 1;
  bool begun_ = false;     // whether a window has begun
  bool windowed_ = false;  // whether more text of the part follows this window
  int steps_ = 0, max_steps_ = 1;
  int64_t frames_before_ = 0;  // number of frames of earlier parts
};

}  // namespace syrinx::vibevoice
