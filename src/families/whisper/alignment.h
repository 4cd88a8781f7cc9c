// Where in its window each id of a text was heard, by the attention across of some of the decoder's
// heads: the text is run once more, all of it as a prompt, and the heads' weights are computed
// anew, so that decoding itself notes nothing. Source: whisper:whisper/timing.py, find_alignment(),
// up to its matrix; what follows is for hosts (ears/whisper_words.h).
#pragma once

#include <string>
#include <vector>

#include "families/whisper/decoder_text.h"
#include "tensor/context.h"

namespace syrinx::whisper {

/// SpeechRequest::task of a text to be held against the window that it was heard in. The results
/// may be read when the request has finished.
struct Alignment : FamilyTask {
  WindowRows rows;            ///< Heard::rows
  int frames = 0;             ///< of mel that the recording has of the window, at least 2
  std::string language;       ///< ISO 639; empty for a model of English only
  bool translate = false;     ///< the text is a translation
  std::vector<int32_t> text;  ///< ids below Generation::end, at least one

  /// [text + 1, columns()]: row i is how much was heard, when id i was written, in each 20 ms of
  /// the window, relative to the other rows there; the last row is that of the end.
  std::vector<float> weights;
  std::vector<float> probabilities;  ///< of each id of the text, among all ids of text

  int columns() const { return frames / 2; }
};

/// The pass: start, language, task, no timestamps, the text, the end. A row's queries are noted
/// when it is run; when all have been, each step weighs a few heads, so that no batch takes long.
class AlignedText : public DecoderText {
 public:
  /// The arguments must outlive it. The alignment must be one that Whisper::open() let pass.
  AlignedText(const ModelConfig& config, const Generation& generation,
              std::shared_ptr<Alignment> alignment);

  AlignedText* aligned() override { return this; }
  int max_steps() const override;
  const SampleParams& sampling(int) const override { return sampling_; }
  SampleRule rule(int) const override { return {.forced = generation_.end}; }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;

  // By the executor that runs a batch with it. `q` is [width], a row's queries in a layer; `row`
  // counts ids.
  void note_queries(int layer, int row, const float* q);
  /// The id of the text that row `row` predicts; -1: none.
  int32_t predicts(int row) const;
  /// `logits` [V] of that row.
  void note_probability(int row, std::span<const float> logits);
  /// The part of the next step, from the cache's memory in `pages`.
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
