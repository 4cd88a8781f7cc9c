// The talker's sequence of a request: a prompt that grows when the thinker sends rows and ids, the
// text beside its frames, and the frames. The talker waits for text that has not arrived; it does
// not pad. Made on the caller's thread, then used by one thread at a time.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "families/qwen3_omni/config.h"
#include "families/qwen3_omni/talker.h"
#include "model/input_rows.h"
#include "model/request.h"

namespace syrinx::qwen3_omni {

/// The default sampling of the authors' code.
inline constexpr SampleParams kTalkerSampling{
    .temperature = 0.9f, .top_k = 50, .repetition_penalty = 1.05f};
inline constexpr SampleParams kPredictorSampling{.top_k = 50, .top_p = 0.8f};
inline constexpr int kMostFrames = 4096;

class TalkerSequence : public Sequence {
 public:
  // Input ports: one for the thinker's rows of recordings, one for its ids.
  static constexpr int kHearing = 0, kText = 1;

  /// `ids`: the thinker's prompt. `config` must outlive this object. `max_frames`: 0 means the
  /// authors' bound.
  TalkerSequence(const ModelConfig& config, std::span<const int32_t> ids, int32_t speaker,
                 const SampleParams& sampling, int max_frames, bool ignore_stop);

  int prompt_rows() const override { return static_cast<int>(prompt_.size()); }
  int max_steps() const override { return max_steps_; }
  bool ready() const override;
  int known_rows() const override;
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override;
  const SampleParams& sampling(int k) const override {
    return k == 0 ? sampling_ : kPredictorSampling;
  }
  SampleRule rule(int k) const override;
  std::span<const int32_t> history(int k) const override {
    return k == 0 ? std::span<const int32_t>(firsts_) : std::span<const int32_t>();
  }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status take(int port, const Frames& frames) override;

  /// Writes rows that have C codes, and a text id or the thinker's row of a recording: ids [C + 1].
  void rows(int first, bool companion, InputRows& out) const override;

 private:
  /// Writes the codes [C] and the text of a row of the prompt, or of a row after it.
  void prompt_row(int pos, std::span<int32_t> ids, GivenRow& heard) const;
  void frame_row(int64_t frame, std::span<int32_t> ids) const;
  int64_t frames() const { return std::ssize(firsts_); }
  int64_t rows_heard() const { return std::ssize(rows_) / config_.talker.thinker_hidden; }

  const ModelConfig& config_;
  const SampleParams sampling_;
  const bool ignore_stop_;
  std::vector<TalkerRow> prompt_;  // `heard` is the number of a row of recordings; the text of the
                                   // last row comes late
  std::vector<int32_t> places_;    // positions in prompt_ of the rows of recordings
  int64_t rows_announced_ = 0;     // number of rows of recordings that the thinker has announced
  int max_steps_ = 1;
  std::vector<float> rows_;       // [rows_heard, thinker_hidden]
  std::vector<int32_t> written_;  // ids that the thinker has written
  bool ended_ = false;            // whether the thinker has ended
  std::vector<int32_t> codes_;    // [frames, C]
  std::vector<int32_t> firsts_;   // code of codebook 0 of each frame
};

}  // namespace syrinx::qwen3_omni
