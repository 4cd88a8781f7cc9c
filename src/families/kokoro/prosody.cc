#include "families/kokoro/prosody.h"

#include <algorithm>
#include <cmath>

#include "kernels/activation.h"

namespace syrinx::kokoro {
namespace {

constexpr float kTextLeak = 0.2f;

/// Writes [x | style] in every row. x [T, C] -> out [T, C + style].
void beside(const View& x, std::span<const float> style, const View& out) {
  const int64_t width = x.shape[1];
  float* to = out.f32();
  for (int64_t t = 0; t < x.shape[0]; ++t) {
    to = std::copy_n(x.f32() + t * width, width, to);
    to = std::copy(style.begin(), style.end(), to);
  }
}

}  // namespace

Prosody::Prosody(const KokoroConfig& config, const Weights& weights, WeightType type)
    : hidden_(config.hidden), style_(config.style), longest_(config.longest) {
  bert_ = Albert(config.bert, config.tokens, weights.scope("bert"), type);
  const Weights text = weights.scope("text_encoder"), predictor = weights.scope("predictor");
  bert_out_ = load_linear(weights, "bert_encoder", hidden_, config.bert.hidden, true, type);
  phonemes_ = Embedding(text.scope("embedding"), config.tokens, hidden_, DType::kF32);
  for (int64_t i = 0; i < config.layers; ++i) {
    const Weights layer = text.scope("cnn", i);
    convs_.push_back({PaddedConv(layer.scope("0"), hidden_, hidden_, {.taps = config.text_taps}),
                      layer.f32("1.gamma", {hidden_}), layer.f32("1.beta", {hidden_})});
  }
  text_lstm_ = BiLstm(text.scope("lstm"), hidden_, hidden_ / 2);
  for (int64_t i = 0; i < config.layers; ++i) {
    const Weights lstms = predictor.scope("text_encoder.lstms");
    layers_.push_back({BiLstm(lstms.scope(std::to_string(2 * i)), hidden_ + style_, hidden_ / 2),
                       load_linear(lstms, std::to_string(2 * i + 1) + ".fc", 2 * hidden_, style_,
                                   true, WeightType::kF32)});
  }
  duration_lstm_ = BiLstm(predictor.scope("lstm"), hidden_ + style_, hidden_ / 2);
  duration_ = load_linear(predictor, "duration_proj.linear_layer", longest_, hidden_, true,
                          WeightType::kF32);
}

/// Runs the text encoder, which computes the features of each phoneme; out [T, H].
void Prosody::read_text(StepContext& ctx, std::span<const int32_t> ids, const View& out) const {
  const Arena::Mark mark(ctx.arena);
  View x = take_rows(ctx, std::ssize(ids), hidden_);
  phonemes_(ctx, ids, x);
  for (const TextConv& layer : convs_) {
    x = layer.conv.run(ctx, x);
    layer_norm(ctx, x, layer.gamma, layer.beta, kNormEps, x);
    leaky_relu(ctx, x, kTextLeak, x);
  }
  text_lstm_.run(ctx, x, out);
}

/// Computes the prosody and the length of each phoneme. `meant` [T, H]: the output of PL-BERT.
void Prosody::read_prosody(StepContext& ctx, const View& meant, ProsodyJob& job) const {
  const Arena::Mark mark(ctx.arena);
  const int64_t rows = meant.shape[0];
  const View x = take_rows(ctx, rows, hidden_), wide = take_rows(ctx, rows, hidden_ + style_);
  const View style = take_rows(ctx, 1, style_);
  std::copy(job.style.begin(), job.style.end(), style.f32());
  beside(meant, job.style, wide);
  for (const DurationLayer& layer : layers_) {
    layer.lstm.run(ctx, wide, x);
    layer_norm(ctx, x, {}, {}, kNormEps, x);
    const Arena::Mark inner(ctx.arena);
    const Affine affine = style_affine(ctx, layer.style, style);
    for (int64_t i = 0; i < x.count(); ++i) {
      const int64_t c = i % hidden_;
      x.f32()[i] = x.f32()[i] * affine.factor.f32()[c] + affine.summand.f32()[c];
    }
    beside(x, job.style, wide);
  }
  for (int64_t t = 0; t < rows; ++t) {
    std::copy_n(x.f32() + t * hidden_, hidden_, job.features.data() + t * 2 * hidden_);
  }
  duration_lstm_.run(ctx, wide, x);
  const View parts = take_rows(ctx, rows, longest_);
  linear(ctx, duration_, x, parts);
  activate(ctx, Activation::kSigmoid, parts, parts);
  for (int64_t t = 0; t < rows; ++t) {
    double sum = 0;
    for (int64_t i = 0; i < longest_; ++i) sum += parts.f32()[t * longest_ + i];
    const auto duration = static_cast<float>(sum / job.speed);
    job.durations.push_back(duration);
    job.frames.push_back(std::max(1, static_cast<int32_t>(std::nearbyint(duration))));
  }
}

void Prosody::run(StepContext& ctx, std::span<ProsodyJob> jobs) const {
  const Arena::Mark mark(ctx.arena);
  std::vector<int32_t> ids, row_begin{0};
  for (const ProsodyJob& job : jobs) {
    ids.insert(ids.end(), job.ids.begin(), job.ids.end());
    row_begin.push_back(static_cast<int32_t>(ids.size()));
  }
  const auto rows = static_cast<int64_t>(ids.size());
  const View deep = take_rows(ctx, rows, bert_out_.in()), meant = take_rows(ctx, rows, hidden_);
  bert_.run(ctx, ids, row_begin, deep);
  linear(ctx, bert_out_, deep, meant);
  for (size_t b = 0; b < jobs.size(); ++b) {
    const Arena::Mark inner(ctx.arena);
    ProsodyJob& job = jobs[b];
    const int64_t count = std::ssize(job.ids);
    job.features.resize(static_cast<size_t>(count * 2 * hidden_));
    job.frames.clear(), job.durations.clear();
    read_prosody(ctx, meant.slice(row_begin[b], row_begin[b + 1]), job);
    const View text = take_rows(ctx, count, hidden_);
    read_text(ctx, job.ids, text);
    for (int64_t t = 0; t < count; ++t) {
      std::copy_n(text.f32() + t * hidden_, hidden_,
                  job.features.data() + t * 2 * hidden_ + hidden_);
    }
  }
}

size_t Prosody::bytes() const {
  size_t sum = bert_.bytes() + bert_out_.bytes() + phonemes_.bytes() + text_lstm_.bytes() +
               duration_lstm_.bytes() + duration_.bytes();
  for (const TextConv& layer : convs_) sum += layer.conv.bytes();
  for (const DurationLayer& layer : layers_) sum += layer.lstm.bytes() + layer.style.bytes();
  return sum;
}

}  // namespace syrinx::kokoro
