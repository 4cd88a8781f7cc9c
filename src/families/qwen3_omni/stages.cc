#include "families/qwen3_omni/stages.h"

#include <algorithm>

#include "families/qwen3_omni/talker_sequence.h"
#include "families/qwen3_omni/thinker_sequence.h"

namespace syrinx::qwen3_omni {
namespace {

struct WavStream : StreamState {
  explicit WavStream(Qwen3CodecState fresh) : state(std::move(fresh)) {}
  Qwen3CodecState state;
};

}  // namespace

// ---------------------------------------------------------------------------- thinker

ThinkerStage::ThinkerStage(const ModelConfig& config, const Thinker& thinker) : thinker_(thinker) {
  traits_.hidden = config.thinker.decoder.hidden;
  traits_.vocab = {static_cast<int>(config.thinker.vocab)};
  traits_.kv = {thinker.kv_spec()};
  traits_.max_positions = static_cast<int>(config.thinker.max_positions);
  traits_.drafts = true;
  if (config.speaks) traits_.tap = config.thinker.decoder.hidden;
}

void ThinkerStage::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t width = traits_.hidden;
  const std::span<int32_t> ids = take_array<int32_t>(ctx, batch.rows);
  int32_t heard = 0;
  size_t row = 0;
  for (const ArSeq& seq : batch.seqs) {
    const auto& sequence = static_cast<const ThinkerSequence&>(*seq.state);
    for (int i = 0; i < seq.rows; ++i) {
      const bool hears = !sequence.row(seq.first_pos + i).empty();
      ids[row++] = hears ? -1 - heard++ : sequence.input(seq.first_pos + i);
    }
  }
  const View rows = heard > 0 ? ctx.arena.take({heard, width}, DType::kF32) : View();
  float* to = heard > 0 ? rows.f32() : nullptr;
  for (const ArSeq& seq : batch.seqs) {
    const auto& sequence = static_cast<const ThinkerSequence&>(*seq.state);
    for (int i = 0; heard > 0 && i < seq.rows; ++i) {
      const std::span<const float> from = sequence.row(seq.first_pos + i);
      to = std::copy(from.begin(), from.end(), to);
    }
  }
  const View x = ctx.arena.take({batch.rows, width}, DType::kF32);
  thinker_.embed(ctx, ids, rows, x);
  thinker_.forward(ctx, x, batch.ragged, batch.kv[0], batch.taps);
  if (batch.emits == 0) return;
  thinker_.hidden(ctx, x, emitting_rows(ctx, batch), hidden);
}

void ThinkerStage::logits(StepContext& ctx, int, const ArBatch&, View hidden, View,
                          View out) const {
  thinker_.logits(ctx, hidden, out);
}

// ---------------------------------------------------------------------------- talker

TalkerStage::TalkerStage(const ModelConfig& config, const Talker& talker)
    : talker_(talker), told_width_(config.talker.thinker_hidden) {
  traits_.hidden = config.talker.decoder.hidden;
  traits_.vocab.assign(config.codec.codebooks,
                       static_cast<int>(config.talker.predictor.code_vocab));
  traits_.vocab[0] = static_cast<int>(config.talker.vocab);
  traits_.kv = {talker.kv_spec()};
  traits_.max_positions = static_cast<int>(config.talker.max_positions);
}

void TalkerStage::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t c = std::ssize(traits_.vocab);
  const std::span<int32_t> text = take_array<int32_t>(ctx, batch.rows);
  const std::span<int32_t> codes = take_array<int32_t>(ctx, batch.rows * c);
  int64_t told = 0, row = 0;
  for (const ArSeq& seq : batch.seqs) {
    const auto& sequence = static_cast<const TalkerSequence&>(*seq.state);
    for (int i = 0; i < seq.rows; ++i, ++row) {
      text[row] = sequence.input(seq.first_pos + i, codes.subspan(row * c, c));
      told += text[row] < 0 ? 1 : 0;
    }
  }
  const View rows = told > 0 ? ctx.arena.take({told, told_width_}, DType::kF32) : View();
  int32_t to = 0;
  row = 0;
  for (const ArSeq& seq : batch.seqs) {
    const auto& sequence = static_cast<const TalkerSequence&>(*seq.state);
    for (int i = 0; i < seq.rows; ++i, ++row) {
      if (text[row] >= 0) continue;
      const std::span<const float> from = sequence.row(-1 - text[row]);
      std::copy(from.begin(), from.end(), rows.f32() + told_width_ * to);
      text[row] = -1 - to++;
    }
  }
  const View x = ctx.arena.take({batch.rows, traits_.hidden}, DType::kF32);
  talker_.embed(ctx, text, codes, rows, x);
  talker_.forward(ctx, x, batch.ragged, batch.kv[0]);
  if (batch.emits == 0) return;
  talker_.hidden(ctx, x, emitting_rows(ctx, batch), hidden);
}

void TalkerStage::logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
                         View out) const {
  talker_.logits(ctx, k, hidden, codes, batch.scratch, out);
}

// ---------------------------------------------------------------------------- code2wav

FrameType Code2WavStage::in() const {
  return {Flow::kCodes, static_cast<int>(codec_.config().codebooks)};
}
FrameType Code2WavStage::out() const {
  return {Flow::kSamples, static_cast<int>(codec_.config().hop())};
}

std::unique_ptr<StreamState> Code2WavStage::open(Bundle) const {
  return std::make_unique<WavStream>(codec_.open());
}

void Code2WavStage::run(StepContext& ctx, std::span<ChunkJob> jobs) const {
  const Arena::Mark mark(ctx.host);
  const std::span<Qwen3CodecJob> inner = take_array<Qwen3CodecJob>(ctx, std::ssize(jobs));
  const auto width = static_cast<size_t>(in_width());
  for (size_t i = 0; i < jobs.size(); ++i) {
    const ChunkJob& job = jobs[i];
    inner[i] = {&static_cast<WavStream*>(job.state)->state,
                job.codes.subspan(job.left * width, job.fresh * width), job.out};
  }
  codec_.run(ctx, inner);
}

}  // namespace syrinx::qwen3_omni
