// One request: its prompt, the text that is read beside the frames, and the frames so far. The
// first frame needs 12 ids of the text, or all ids of a shorter text. Each later frame has the next
// id beside it. All rows have keys, so the next turn of a conversation finds this turn in the
// cache. Made on the caller's thread, then used by one thread at a time. C: codes per frame.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "families/moss_tts/prompter.h"
#include "model/input_rows.h"
#include "model/request.h"
#include "model/sequence.h"

namespace syrinx::moss_tts {

class State : public Sequence {
 public:
  // Bounds of this program, for speech that does not end by itself.
  static constexpr int64_t kFramesPerId = 15, kSpareFrames = 125;

  /// Opens a request. Without a voice, the model makes one up. Returns an Error if the request has
  /// options, turns or a voice that the model does not support.
  static Result<std::unique_ptr<Sequence>> open(const ModelConfig& config, const Prompter& prompter,
                                                const SpeechRequest& request);

  int prompt_rows() const override { return prompt_.size(); }
  int known_rows() const override { return begun_ ? prompt_rows() : head_rows_; }
  int max_steps() const override;
  bool ready() const override;
  std::span<const int32_t> prompt_ids() const override { return prompt_.written(); }
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override;
  void step_keys(bool companion, std::vector<uint64_t>& keys) const override;
  void rows(int first, bool companion, InputRows& out) const override;
  const SampleParams& sampling(int) const override { return sampling_; }
  SampleRule rule(int k) const override;
  std::span<const int32_t> history(int k) const override {
    return columns_[static_cast<size_t>(k)];
  }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status append_text(std::string_view text, bool last) override;

 private:
  State(const ModelConfig& config, const Prompter& prompter, const SpeechRequest& request);
  Status add_past(const SpeechRequest& request);
  Status take_text(std::string_view text, bool last);
  void write_step_row(int step, std::span<int32_t> ids) const;
  int64_t room() const { return config_.max_positions - prompt_rows(); }
  int steps() const { return static_cast<int>(columns_.front().size()); }

  const ModelConfig& config_;
  const Prompter& prompter_;
  const SampleParams sampling_;
  const int max_frames_;
  const bool ignore_stop_, kept_;  // kept_: a later turn continues this one
  Prompt prompt_;
  int head_rows_ = 0;                                  // number of rows before the text
  bool begun_ = false, open_ = false, words_ = false;  // words_: whether the text is not blank
  std::optional<StreamEncoder> stream_;
  std::vector<int32_t> text_;                  // ids of the text so far
  size_t placed_ = 0;                          // number of ids in the prompt
  std::vector<std::vector<int32_t>> columns_;  // codes of each codebook, one per step
};

}  // namespace syrinx::moss_tts
