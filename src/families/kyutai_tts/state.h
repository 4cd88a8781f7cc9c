// One request: its words, the codes of its last steps, and the keys and values of its last steps.
// The prompt is the memory of the voice, one position for each of its rows, and one position for
// the first step; so requests with the same voice share the memory. Later positions only count the
// steps of a segment. A step makes the codes of one moment; the codes of a frame are complete some
// steps later. Made on the caller's thread, then used by one thread at a time. Q: codebooks.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "families/kyutai_tts/voice.h"
#include "families/kyutai_tts/words.h"
#include "model/pipeline.h"
#include "model/request.h"
#include "model/sequence.h"
#include "nn/stream_decoder.h"

namespace syrinx::kyutai_tts {

class State : public Sequence {
 public:
  static constexpr int kSteps = 64;      ///< steps of a segment; segments are not limited
  static constexpr int kLastSteps = 4;   ///< steps after the last word's audio (run_tts.py)
  static constexpr float kGuidance = 2;  ///< default scale (tts.py, simple_generate)

  /// `config` and `tokenizer` must outlive the sequence. `guidance`: index of the scale.
  static Result<std::unique_ptr<State>> open(const ModelConfig& config, const Unigram& tokenizer,
                                             std::shared_ptr<const SpeakerRows> voice, int guidance,
                                             StreamKv kv, const SpeechRequest& request);

  int prompt_rows() const override { return memory_rows() + 1; }
  int max_steps() const override { return kSteps; }
  bool ready() const override { return text_.ready(); }
  int known_rows() const override { return memory_rows(); }
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override;
  const SampleParams& sampling(int k) const override { return k == 0 ? text_draws_ : code_draws_; }
  SampleRule rule(int k) const override;
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status append_text(std::string_view text, bool last) override;

  int memory_rows() const { return voice_->memory_rows(); }
  /// Returns row `at` of the voice's memory. Empty: no voice is there.
  std::span<const float> memory(int at) const { return voice_->row(at); }
  int guidance_index() const { return guidance_; }
  StreamKv& kv() { return kv_; }
  /// Returns what the next step reads: codes [Q], where -1 means none, and ids of the text.
  std::span<const int32_t> codes() const { return codes_; }
  TextIds text() const { return ids_; }
  /// Returns the ids that follow if the next step draws `id` from the text's head.
  TextIds text_after(int32_t id) const { return text_.peek(id == kNewWord); }
  /// Returns whether the next step makes codes.
  bool makes_codes() const { return makes(0); }

 private:
  State(const ModelConfig& config, const Unigram& tokenizer,
        std::shared_ptr<const SpeakerRows> voice, int guidance, StreamKv kv,
        const SpeechRequest& request);
  /// Returns whether the next step makes a code of codebook q.
  bool makes(size_t q) const { return step_ >= config_.delay + config_.delays[q]; }
  void take_words(std::string_view text, bool last);
  void send_frame(StepOutput& out);

  const ModelConfig& config_;
  const std::shared_ptr<const SpeakerRows> voice_;
  const int guidance_;
  StreamKv kv_;
  SampleParams text_draws_, code_draws_;
  const bool ignore_stop_;
  const int64_t max_frames_;

  WordReader reader_;
  TextMachine text_;
  TextIds ids_;
  std::vector<int32_t> codes_;    // [Q]
  std::vector<int32_t> history_;  // [tail + 1, Q], a ring of the codes of the last steps
  std::vector<int32_t> frame_;    // [Q]
  int64_t step_ = 0, frames_ = 0;
  int64_t end_ = -1;       // the step that asked for a word after the last one
  int segment_steps_ = 0;  // number of steps of this segment
};

}  // namespace syrinx::kyutai_tts
