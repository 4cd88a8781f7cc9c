#include "families/voxtral_tts/speech_lm.h"

#include <algorithm>
#include <limits>

#include "families/spoken/spoken_sequence.h"
#include "kernels/sample.h"
#include "nn/stream_pass.h"

namespace syrinx::voxtral_tts {
namespace {

constexpr uint32_t kNoiseStream = 0x56580001;
constexpr int64_t kPadded = 128;  // tables and heads have multiples of this many rows

int64_t padded(int64_t rows) { return (rows + kPadded - 1) / kPadded * kPadded; }

/// Loads the language model. Tables: that of the text, then those of the codes of a frame.
CodecLmParts load_lm(const ModelConfig& config, const Weights& weights, WeightType type) {
  const int64_t width = config.lm.hidden, acoustic = config.codec.acoustic();
  const int64_t first = config.semantic_choices(), each = config.acoustic_choices();
  CodecLmParts parts = lm_parts(config.lm, weights, type, config.max_positions);
  const Weights tables = weights.scope("mm_audio_embeddings");
  parts.tables.push_back(tables.take("tok_embeddings.weight", {config.vocab, width}));
  const View all = tables.take("audio_codebook_embeddings.embeddings.weight",
                               {padded(first + acoustic * each), width});
  parts.tables.push_back(all.slice(0, first));
  for (const View& table : tables_in(all.slice(first, first + acoustic * each), acoustic))
    parts.tables.push_back(table);
  const View head = weights.scope("acoustic_transformer.semantic_codebook_output")
                        .take("weight", {padded(first), width});
  parts.heads.push_back(tied_head(head.slice(0, first), type));
  parts.inner_vocab.assign(static_cast<size_t>(acoustic), static_cast<int>(each));
  return parts;
}

}  // namespace

SpeechLm::SpeechLm(const ModelConfig& config, const Weights& weights, WeightType type)
    : CodecLm(load_lm(config, weights, type)),
      acoustic_(config.codec.acoustic()),
      flow_(config, weights.scope("acoustic_transformer"), type) {}

size_t SpeechLm::scratch_bytes(int emits) const {
  return sizeof(int32_t) * static_cast<size_t>(emits * acoustic_);
}

void SpeechLm::logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
                      View out) const {
  if (k == 0) return CodecLm::logits(ctx, k, batch, hidden, codes, out);
  const std::span made(static_cast<int32_t*>(batch.scratch.data),
                       static_cast<size_t>(batch.emits * acoustic_));
  if (k == 1) run_flow(ctx, batch, hidden, codes, made);
  std::fill_n(out.f32(), out.count(), -std::numeric_limits<float>::infinity());
  for (int64_t e = 0; e < batch.emits; ++e) {
    const int32_t code = made[static_cast<size_t>(e * acoustic_ + k - 1)];
    // The sampler fails the request of a number that is not finite.
    const float score = code < 0 ? std::numeric_limits<float>::quiet_NaN() : 0;
    out.f32()[e * out.shape[1] + std::max(code, ModelConfig::kMarks)] = score;
  }
}

/// Computes the codes after the first, `made` [E, A]. The noise of a frame depends on the request's
/// seed and on the number of frames before it.
void SpeechLm::run_flow(StepContext& ctx, const ArBatch& batch, const View& hidden,
                        const View& codes, std::span<int32_t> made) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  std::ranges::fill(made, ModelConfig::kMarks);
  const std::span<FrameJob> jobs = take_array<FrameJob>(ctx, batch.emits);
  const View noise = take_rows(ctx, batch.emits, acoustic_);
  size_t count = 0;
  int64_t e = 0;
  for (const ArSeq& seq : batch.seqs) {
    if (seq.emits == 0) continue;
    const int64_t row = e++;
    if (codes.i32()[row * codes.shape[1]] == ModelConfig::kEnd) continue;
    const auto& sequence = static_cast<const SpokenSequence&>(seq.state->here());
    const std::span<float> own(noise.f32() + row * acoustic_, static_cast<size_t>(acoustic_));
    philox_normal(sequence.seed(), static_cast<uint32_t>(sequence.frames()), kNoiseStream, own);
    jobs[count++] = {
        hidden.f32() + row * hidden.shape[1], own, sequence.scale(),
        made.subspan(static_cast<size_t>(row * acoustic_), static_cast<size_t>(acoustic_))};
  }
  flow_.run(ctx, jobs.first(count));
}

}  // namespace syrinx::voxtral_tts
