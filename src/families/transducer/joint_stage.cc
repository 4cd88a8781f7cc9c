#include "families/transducer/joint_stage.h"

#include <algorithm>

#include "families/transducer/transcription.h"

namespace syrinx::transducer {

JointStage::JointStage(const ModelConfig& config, const Weights& weights, WeightType type)
    : config_(config) {
  const Weights decoder = weights.scope("decoder");
  const int64_t width = config.hidden;
  table_ = Embedding(decoder.scope("embedding"), config.vocab, width,
                     type == WeightType::kF32 ? DType::kF32 : DType::kBF16);
  for (int64_t i = 0; i < config.lstm_layers; ++i) {
    lstm_.emplace_back(decoder.scope("lstm"), concat("_l", i), width, width);
  }
  project_ = load_linear(decoder, "decoder_projector", width, width, true, type);
  const auto durations = static_cast<int64_t>(config.durations.size());
  const Weights head = weights.scope("joint").scope("head");
  const View weight = head.take("weight", {config.vocab + durations, width});
  const View bias = head.take("bias", {config.vocab + durations});
  head_ = PackedLinear::pack(weight.slice(0, config.vocab), type, bias.slice(0, config.vocab));
  traits_.hidden = static_cast<int>(width);
  traits_.vocab = {static_cast<int>(config.vocab)};
  if (durations > 0) {
    durations_ = PackedLinear::pack(weight.slice(config.vocab, config.vocab + durations), type,
                                    bias.slice(config.vocab, config.vocab + durations));
    traits_.vocab.push_back(static_cast<int>(durations));
  }
  traits_.max_positions = 1024;
  traits_.writes = true;  // writes the state of the predictor to the sequences
}

/// Runs the predictor for sequences with an id that the predictor has not read.
void JointStage::predict(StepContext& ctx, std::span<Transcription* const> behind) const {
  const auto count = std::ssize(behind);
  const int64_t width = config_.hidden;
  const std::span<int32_t> ids = take_array<int32_t>(ctx, count);
  for (int64_t i = 0; i < count; ++i) ids[i] = std::exchange(behind[i]->predictor().next, -1);
  const View x = ctx.arena.take({count, width}, DType::kF32);
  const View hidden = ctx.arena.take({count, width}, DType::kF32);
  const View cell = ctx.arena.take({count, width}, DType::kF32);
  table_(ctx, ids, x);
  for (size_t layer = 0; layer < lstm_.size(); ++layer) {
    const auto at = static_cast<int64_t>(layer) * width;
    for (int64_t i = 0; i < count; ++i) {
      const Transcription::Predictor& p = behind[i]->predictor();
      std::copy_n(p.hidden.data() + at, width, hidden.f32() + i * width);
      std::copy_n(p.cell.data() + at, width, cell.f32() + i * width);
    }
    lstm_[layer].step(ctx, x, hidden, cell);
    for (int64_t i = 0; i < count; ++i) {
      Transcription::Predictor& p = behind[i]->predictor();
      std::copy_n(hidden.f32() + i * width, width, p.hidden.data() + at);
      std::copy_n(cell.f32() + i * width, width, p.cell.data() + at);
    }
    std::copy_n(hidden.f32(), count * width, x.f32());
  }
  linear(ctx, project_, x, hidden);
  for (int64_t i = 0; i < count; ++i) {
    std::copy_n(hidden.f32() + i * width, width, behind[i]->predictor().out.data());
  }
}

void JointStage::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const auto all = emitting<Transcription>(ctx, batch);
  const auto behind = take_array<Transcription*>(ctx, batch.emits);
  size_t late = 0;
  for (Transcription* each : all)
    if (each->predictor().next >= 0 && !each->step_rows().empty()) behind[late++] = each;
  if (late > 0) predict(ctx, behind.first(late));
  const int64_t width = config_.hidden;
  for (size_t e = 0; e < all.size(); ++e) {
    float* to = hidden.f32() + static_cast<int64_t>(e) * width;
    const std::span<const float> row = all[e]->step_rows();
    const std::vector<float>& out = all[e]->predictor().out;
    for (int64_t i = 0; i < width; ++i) to[i] = row.empty() ? 0 : row[i] + out[i];
  }
  activate(ctx, config_.joint, hidden, hidden);
}

void JointStage::logits(StepContext& ctx, int k, const ArBatch&, View hidden, View,
                        View out) const {
  linear(ctx, k == 0 ? head_ : durations_, hidden, out);
}

}  // namespace syrinx::transducer
