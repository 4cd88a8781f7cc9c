#include "families/voxtral_tts/speech_lm.h"

#include <algorithm>
#include <cstring>

#include "families/spoken/spoken_sequence.h"
#include "kernels/copy.h"
#include "kernels/levels.h"
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

/// Returns whether any of the frames whose numbers these are is guided; the last 2 E of the numbers
/// are the factors of the estimates.
bool is_guided(std::span<const float> numbers, int emits) {
  const auto factors = numbers.last(2 * static_cast<size_t>(emits));
  return std::ranges::any_of(factors.first(static_cast<size_t>(emits)),
                             [](float with) { return with != 1; });
}

}  // namespace

SpeechLm::SpeechLm(const ModelConfig& config, const Weights& weights, WeightType type)
    : CodecLm(load_lm(config, weights, type)),
      acoustic_(config.codec.acoustic()),
      flow_(config, weights.scope("acoustic_transformer"), type) {}

void SpeechLm::move_to(Device device) {
  CodecLm::move_to(device);
  flow_.move_to(device);
}

size_t SpeechLm::scratch_bytes(int emits) const {
  return sizeof(float) * static_cast<size_t>(emits * acoustic_);
}

int64_t SpeechLm::fill_size(int rows) const {
  return CodecLm::fill_size(rows) + rows * (acoustic_ + 2);
}

bool SpeechLm::fill(StepContext& ctx, const ArBatch& batch, std::span<int32_t> out,
                    std::vector<uint64_t>& key) const {
  const auto size = static_cast<size_t>(CodecLm::fill_size(batch.rows));
  if (!CodecLm::fill(ctx, batch, out.first(size), key)) return false;
  const Arena::Mark host_mark(ctx.host);
  const std::span<const float> numbers = flow_numbers(ctx, batch);
  std::memcpy(out.data() + size, numbers.data(), numbers.size_bytes());
  key.push_back(is_guided(numbers, batch.emits) ? 1 : 0);
  return true;
}

/// The noise of a frame depends on the request's seed and on the number of frames before it.
std::span<float> SpeechLm::flow_numbers(StepContext& ctx, const ArBatch& batch) const {
  const auto width = static_cast<size_t>(acoustic_), emits = static_cast<size_t>(batch.emits);
  const std::span<float> numbers = take_array<float>(ctx, batch.emits * (acoustic_ + 2));
  const auto sequences = emitting<SpokenSequence>(ctx, batch);
  for (size_t e = 0; e < sequences.size(); ++e) {
    const SpokenSequence& sequence = *sequences[e];
    philox_normal(sequence.seed(), static_cast<uint32_t>(sequence.frames()), kNoiseStream,
                  numbers.subspan(e * width, width));
    numbers[emits * width + e] = sequence.scale();
    numbers[emits * (width + 1) + e] = 1 - sequence.scale();
  }
  return numbers;
}

void SpeechLm::logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
                      View out) const {
  if (k == 0) return CodecLm::logits(ctx, k, batch, hidden, codes, out);
  const View x{batch.scratch.data, DType::kF32, {batch.emits, acoustic_}, batch.scratch.device};
  if (k == 1) run_flow(ctx, batch, hidden, x);
  level_logits(ctx, x, k - 1, ModelConfig::kMarks, out);
}

/// Computes the numbers of the codes after the first, x [E, A].
void SpeechLm::run_flow(StepContext& ctx, const ArBatch& batch, const View& hidden,
                        const View& x) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t emits = batch.emits, noise = emits * acoustic_;
  std::span<float> numbers;
  if (batch.filled.empty()) {
    numbers = flow_numbers(ctx, batch);
  } else {
    const int64_t size = CodecLm::fill_size(batch.rows);
    numbers = {reinterpret_cast<float*>(batch.filled.data() + size), size_t(noise + 2 * emits)};
  }
  copy(ctx, upload(ctx, {numbers.data(), DType::kF32, x.shape}), x);
  View guidance;
  if (is_guided(numbers, batch.emits))
    guidance = upload(ctx, {numbers.data() + noise, DType::kF32, {2, emits}});
  flow_.run(ctx, hidden, guidance, x);
}

}  // namespace syrinx::voxtral_tts
