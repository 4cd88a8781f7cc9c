// One request of CosyVoice2: the parts of its text, each a segment with a prompt of its own, and
// the speech tokens so far. Made on the caller's thread, then touched by the engine's thread only.
#pragma once

#include <string>
#include <vector>

#include "families/cosyvoice2/frontend.h"
#include "families/s3/state.h"
#include "model/input_rows.h"
#include "model/request.h"

namespace syrinx::cosyvoice2 {

class State : public Sequence, public S3State {
 public:
  /// Checks the request; `voice` is who speaks.
  static Result<std::unique_ptr<Sequence>> open(const ModelConfig& config, const Frontend& frontend,
                                                std::shared_ptr<const Voice> voice,
                                                const SpeechRequest& request);

  int prompt_rows() const override { return static_cast<int>(prompt_.size()); }
  int max_steps() const override;
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override;
  std::span<const int32_t> prompt_ids() const override { return prompt_ids_; }
  const SampleParams& sampling(int) const override { return sampling_; }
  SampleRule rule(int k) const override;
  std::span<const int32_t> history(int) const override { return tokens_; }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;

  /// A row is an entry of one of the three tables: ids [3], by Table.
  void rows(int first, bool companion, InputRows& out) const override;

 private:
  State(const ModelConfig& config, const Frontend& frontend)
      : config_(config), frontend_(frontend) {}
  void begin_segment();
  int64_t steps() const { return static_cast<int64_t>(tokens_.size()); }
  /// Steps before speech may end, and steps that it may take, by the length of the text.
  int64_t least_steps() const { return 2 * text_ids_; }
  int64_t most_steps() const { return 20 * text_ids_; }
  Verdict next();
  Row row(int pos) const;

  const ModelConfig& config_;
  const Frontend& frontend_;
  std::shared_ptr<const Voice> voice_;
  std::string instructions_;
  SampleParams sampling_;
  int max_frames_ = 0;
  bool ignore_stop_ = false;

  std::vector<std::vector<int32_t>> later_;  // ids of the parts to come, last first
  int64_t text_ids_ = 0;                     // of this part
  std::vector<Row> prompt_;
  std::vector<int32_t> prompt_ids_;
  std::vector<int32_t> tokens_;  // of this segment
  int64_t spoken_ = 0;           // tokens of earlier segments
};

}  // namespace syrinx::cosyvoice2
