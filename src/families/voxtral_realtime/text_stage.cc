#include "families/voxtral_realtime/text_stage.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "families/voxtral_realtime/transcription.h"
#include "kernels/embedding.h"
#include "nn/layers.h"
#include "nn/stream_pass.h"

namespace syrinx::voxtral_realtime {
namespace {

constexpr double kTimeTheta = 10000;  // base of the sinusoids of a delay

double gelu(double x) { return x / 2 * (1 + std::erf(x / std::numbers::sqrt2)); }

}  // namespace

TextStage::TextStage(const ModelConfig& config, const Weights& weights, WeightType type)
    : config_(config) {
  const Weights model = weights.scope("model");
  const int64_t width = config.lm.hidden;
  decoder_ = StreamDecoder(config.lm, model, type, config.prompt(ModelConfig::kMostDelay),
                           type == WeightType::kF32 ? DType::kF32 : DType::kF16);
  for (int i = 0; i < config.lm.layers; ++i) {
    const Weights block = model.scope("layers", i), ada = block.scope("ada_rms_norm");
    conditions_.push_back({block.f32(std::string(config.lm.names.mlp_norm) + ".weight", {width}),
                           ada.f32("linear1.weight", {kInner, width}),
                           ada.f32("linear2.weight", {width, kInner})});
  }
  table_ = model.take("embed_tokens.weight", {config.vocab, width});
  weights.ignore("lm_head.weight");  // a copy of the table
  head_ = PackedLinear::pack(table_, at_least_8_bits(type));
  traits_.hidden = config.lm.hidden;
  traits_.vocab = {static_cast<int>(config.vocab)};
  traits_.max_positions = Transcription::kSteps + 1;
  traits_.writes = true;  // writes keys and values to the sequences
}

Tensor TextStage::norms(int delay) const {
  const int64_t width = traits_.hidden, half = width / 2;
  std::vector<float> time(static_cast<size_t>(width));
  for (int64_t i = 0; i < half; ++i) {
    const auto rate = static_cast<float>(
        std::exp(-std::log(kTimeTheta) * static_cast<double>(i) / static_cast<double>(half)));
    time[i] = std::cos(static_cast<float>(delay) * rate);
    time[half + i] = std::sin(static_cast<float>(delay) * rate);
  }
  Tensor out({std::ssize(conditions_), width}, DType::kF32);
  float* to = out.f32();
  for (const Condition& each : conditions_) {
    double inner[kInner];
    for (int64_t r = 0; r < kInner; ++r) {
      const float* row = each.down.f32() + r * width;
      inner[r] = gelu(std::inner_product(time.begin(), time.end(), row, 0.0));
    }
    for (int64_t i = 0; i < width; ++i) {
      const double scale =
          std::inner_product(inner, inner + kInner, each.up.f32() + i * kInner, 1.0);
      *to++ = static_cast<float>(each.norm.f32()[i] * scale);
    }
  }
  return out;
}

/// Runs the first rows of a prompt, those of silence, or takes their keys and values from an
/// earlier recording with equal rows. Returns their number.
int64_t TextStage::begin_silent(StepContext& ctx, Transcription& sequence) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t width = traits_.hidden, count = config_.left_pad - 1;
  if (count <= 0) return 0;
  const std::span heard(sequence.rows().heard, static_cast<size_t>(count * width));
  const auto known = silences_.find(sequence.delay());
  if (known && std::ranges::equal(known->rows, heard)) {
    sequence.kv() = known->kv.clone();
    return count;
  }
  const View x = take_rows(ctx, count, width);
  std::ranges::copy(heard, x.f32());
  const auto ids = take_array<int32_t>(ctx, count);
  for (int64_t i = 0; i < count; ++i) ids[i] = sequence.id_of(i);
  embed(ctx, table_, ids, x, true);
  const StreamRows rows{&sequence.kv(), count, sequence.norms()};
  decoder_.forward(ctx, x, std::span(&rows, 1));
  auto made = std::make_shared<Silence>();
  made->rows.assign(heard.begin(), heard.end());
  made->kv = sequence.kv().clone();
  silences_.keep(sequence.delay(), std::move(made), x.bytes());
  return count;
}

void TextStage::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t width = traits_.hidden;
  int64_t most = 0;
  for (const ArSeq& seq : batch.seqs) {
    if (seq.emits > 0) most += static_cast<const Transcription&>(*seq.state).rows().count;
  }
  const auto streams = take_array<StreamRows>(ctx, batch.emits);
  const auto places = take_array<float*>(ctx, batch.emits);  // rows of `hidden`
  const auto ids = take_array<int32_t>(ctx, most);
  const View all = take_rows(ctx, most, width);
  int64_t running = 0, rows = 0, at = 0;
  for (const ArSeq& seq : batch.seqs) {
    if (seq.emits == 0) continue;
    auto& sequence = static_cast<Transcription&>(*seq.state);
    float* to = hidden.f32() + at++ * width;
    const Transcription::Rows next = sequence.rows();
    std::fill_n(to, width, 0.f);
    if (next.count == 0) continue;  // the step after the last row
    decoder_.room(ctx, sequence.kv());
    const int64_t first = sequence.kv().position() == 0 ? begin_silent(ctx, sequence) : 0;
    const int64_t count = next.count - first;
    std::copy_n(next.heard + first * width, count * width, all.f32() + rows * width);
    for (int64_t i = 0; i < count; ++i) ids[rows + i] = sequence.id_of(first + i);
    streams[running] = {&sequence.kv(), count, sequence.norms()};
    places[running++] = to;
    rows += count;
  }
  if (running == 0) return;
  const View x = all.slice(0, rows);
  embed(ctx, table_, ids.first(static_cast<size_t>(rows)), x, true);
  decoder_.forward(ctx, x, streams.first(static_cast<size_t>(running)));
  const View last = take_rows(ctx, running, width);
  for (int64_t i = 0, end = 0; i < running; ++i) {
    end += streams[i].rows;
    std::copy_n(x.f32() + (end - 1) * width, width, last.f32() + i * width);
  }
  decoder_.norm(ctx, last, last);
  for (int64_t i = 0; i < running; ++i)
    std::copy_n(last.f32() + i * width, width, places[static_cast<size_t>(i)]);
}

void TextStage::logits(StepContext& ctx, int, const ArBatch&, View hidden, View, View out) const {
  linear(ctx, head_, hidden, out);
}

}  // namespace syrinx::voxtral_realtime
