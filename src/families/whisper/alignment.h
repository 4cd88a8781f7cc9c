// Computes the time in its window of each id of a text, from the cross-attention of some of the
// decoder's heads. The text runs once more, as one prompt, with which the weights are computed, so
// that decoding itself stores nothing. Source: whisper:whisper/timing.py, find_alignment(), up to
// its matrix; the steps after the matrix are in ears/whisper_words.h.
#pragma once

#include <string>
#include <vector>

#include "families/whisper/decoder_text.h"
#include "tensor/context.h"

namespace syrinx::whisper {

/// The SpeechRequest::task that aligns a text with its window. Results are ready after the request.
struct Alignment : FamilyTask {
  WindowRows rows;            ///< Heard::rows of the window
  int frames = 0;             ///< mel frames of the window that the recording fills, at least 2
  std::string language;       ///< ISO 639; empty for a model of English only
  bool translate = false;     ///< the text is a translation
  std::vector<int32_t> text;  ///< text ids, below Generation::end; at least one

  /// [text + 1, columns()]: row i is the attention to each 20 ms of the window when id i was
  /// written, relative to the other rows; the last row belongs to the end id.
  std::vector<float> weights;
  std::vector<float> probabilities;  ///< of each id of the text, among all text ids

  int columns() const { return frames / 2; }
};

/// The sequence of an alignment: start, language, task, no timestamps, the text, the end. Each
/// row's queries are stored when the row is run. After the prompt, each step computes the weights
/// of a few heads, so that no batch takes long.
class AlignedText : public DecoderText {
 public:
  /// The arguments must outlive it. Whisper::open() must have accepted the alignment.
  AlignedText(const ModelConfig& config, const Generation& generation,
              std::shared_ptr<Alignment> alignment);

  AlignedText* aligned() override { return this; }
  int max_steps() const override;
  const SampleParams& sampling(int) const override { return sampling_; }
  SampleRule rule(int) const override { return {.forced = generation_.end}; }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;

  // Stores `q` [width], a row's queries in a layer; `row` counts ids. Batch's executor only.
  void note_queries(int layer, int row, const float* q);
  /// Returns the id of the text that row `row` predicts; -1: none.
  int32_t predicts(int row) const;
  /// Stores the probability of that id, from the row's `logits` [V].
  void note_probability(int row, std::span<const float> logits);
  /// Computes the next step's heads, from the KV cache in `pages`.
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
