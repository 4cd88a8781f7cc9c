// One request: the rows of its prompt, the text that is read beside the audio, and the frames so
// far. Made on the caller's thread, then used by the engine's thread only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "families/qwen3_tts/frontend.h"
#include "families/qwen3_tts/voice.h"
#include "model/input_rows.h"
#include "model/request.h"
#include "model/sequence.h"

namespace syrinx::qwen3_tts {

class State : public Sequence {
 public:
  /// Checks the request and opens its sequence. `max_positions` limits prompt plus frames.
  static Result<std::unique_ptr<Sequence>> open(const ModelConfig& config, const Frontend& frontend,
                                                int64_t max_positions, VoicePrompt voice,
                                                const SpeechRequest& request);

  int prompt_rows() const override { return static_cast<int>(prompt_.size()); }
  int max_steps() const override;
  std::span<const int32_t> prompt_ids() const override { return prompt_ids_; }
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override;
  bool ready() const override;
  const SampleParams& sampling(int k) const override { return sampling_[k > 0]; }
  SampleRule rule(int k) const override;
  std::span<const int32_t> history(int k) const override;
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status append_text(std::string_view text, bool last) override;

  /// Writes rows of C codes and a text id: ids [C + 1]. A row of the prompt may also have the
  /// voice's vector.
  void rows(int first, bool companion, InputRows& out) const override;
  const std::vector<float>& vector() const { return voice_.vector; }
  /// Returns the frames [T, C] of the voice's recording, which the spoken frames continue.
  std::span<const int32_t> recording() const { return voice_.frames; }

 private:
  State(const ModelConfig& config, const Frontend& frontend, int64_t max_positions)
      : config_(config), frontend_(frontend), max_positions_(max_positions) {}
  void begin_segment();
  Verdict end_segment();
  int32_t row(int pos, std::span<int32_t> codes) const;
  void take_text(bool final);
  void put_beside(int32_t id);
  int64_t pending_rows() const { return static_cast<int64_t>(prompt_.size()) - head_rows_; }
  /// Returns whether more text of this segment may arrive.
  bool text_open() const { return open_ && later_.empty(); }
  int64_t steps() const { return static_cast<int64_t>(firsts_.size()); }

  const ModelConfig& config_;
  const Frontend& frontend_;
  int64_t max_positions_;
  VoicePrompt voice_;
  std::vector<int32_t> voice_text_;  // ids of the recording's words
  std::string instructions_;
  SampleParams sampling_[2];  // sampling of codebook 0 and of the other codebooks
  int max_frames_ = 0;
  bool ignore_stop_ = false;
  bool text_in_prompt_ = true;

  std::string waiting_;                  // text that was not encoded yet
  std::vector<std::string> later_;       // later segments, the last one first
  bool open_ = false;                    // more text may arrive
  std::optional<StreamEncoder> stream_;  // encoder of text beside the audio, once it has begun
  int role_ids_ = 0;                     // number of ids of the role that stream_ has made
  int64_t text_ids_ = 0;                 // number of text ids of this segment so far
  std::vector<PromptRow> prompt_;
  std::vector<int32_t> prompt_ids_;  // text ids of the prompt's rows; -1: unknown so far
  int64_t head_rows_ = 0;            // rows before the text
  int vector_row_ = -1;
  int64_t put_ = 0;              // number of text ids beside codec ids, in the prompt and after it
  std::vector<int32_t> beside_;  // text id in the row of each frame
  std::vector<int32_t> frames_;  // [steps, C]
  std::vector<int32_t> firsts_;  // code of codebook 0 of each frame
  int64_t frames_before_ = 0;    // number of frames of earlier segments
};

}  // namespace syrinx::qwen3_tts
