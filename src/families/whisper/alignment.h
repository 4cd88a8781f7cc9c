// Computes the attention of each id of a text to its window, from the cross-attention of some of
// the decoder's heads. A separate request runs the decoded text as a prompt, so that decoding need
// not store attention. Source: whisper:whisper/timing.py, find_alignment(), up to its matrix.
// ears/whisper_words.h computes the times from it.
#pragma once

#include <string>
#include <vector>

#include "families/whisper/decoder_text.h"
#include "tensor/context.h"

namespace syrinx::whisper {

/// The SpeechRequest::task that aligns a text with its window. Read results after the request.
struct Alignment : FamilyTask {
  Alignment() : FamilyTask("whisper") {}
  WindowRows rows;            ///< Heard::rows of the same window
  int frames = 0;             ///< mel frames of the window that the recording fills, at least 2
  std::string language;       ///< ISO 639; empty for an English-only model
  bool translate = false;     ///< whether the text is a translation
  std::vector<int32_t> text;  ///< ids of the text, below Generation::end; at least one

  /// Output [text + 1, columns()]: row i is the attention to each 20 ms of the window when id i was
  /// written, relative to the other rows. The last row belongs to the end id.
  std::vector<float> weights;
  std::vector<float> probabilities;  ///< probability of each text id, among all text ids

  int columns() const { return frames / 2; }
};

/// The sequence of an alignment: start, language, task, no timestamps, the text, the end. The
/// queries of a row are stored when the row runs. After the prompt, each step computes the weights
/// of a few heads, so that no batch takes long.
class AlignedText : public DecoderText {
 public:
  /// The arguments must outlive the sequence. Whisper::open() must have accepted the alignment.
  AlignedText(const ModelConfig& config, const Generation& generation,
              std::shared_ptr<Alignment> alignment);

  AlignedText* aligned() override { return this; }
  int max_steps() const override;
  const SampleParams& sampling(int) const override { return sampling_; }
  SampleRule rule(int) const override { return {.forced = generation_.end}; }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;

  // Stores the queries `q` [width] of a layer for the id with index `row`. For the executor only.
  void note_queries(int layer, int row, const float* q);
  /// Returns the id of the text that row `row` predicts; -1 if it predicts no id of the text.
  int32_t predicts(int row) const;
  /// Stores the probability of the predicted id, computed from the row's `logits` [V].
  void note_probability(int row, std::span<const float> logits);
  /// Computes the heads of the next step from the KV cache in `pages`.
  void weigh(StepContext& ctx, const KvPool& pool, std::span<const int32_t> pages);

 private:
  int first_row() const { return prompt_ - 2 - static_cast<int>(alignment_->text.size()); }
  int heads_a_step() const;
  void add_head(StepContext& ctx, const View& weights);

  const ModelConfig& config_;
  const Generation& generation_;
  const std::shared_ptr<Alignment> alignment_;
  SampleParams sampling_;
  std::vector<float> queries_;  // [heads, prompt ids, D]
  int step_ = 0;
};

}  // namespace syrinx::whisper
