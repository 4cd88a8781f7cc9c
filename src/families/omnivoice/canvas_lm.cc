#include "families/omnivoice/canvas_lm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "families/omnivoice/state.h"
#include "kernels/copy.h"
#include "kernels/embedding.h"
#include "kernels/sample.h"
#include "nn/stream_pass.h"

namespace syrinx::omnivoice {
namespace {

// Settings of the authors' program (OmniVoiceGenerationConfig).
constexpr double kTimeShift = 0.1;
constexpr float kLayerPenalty = 5, kPlaceTemperature = 5, kLikeliest = 0.1f;

constexpr int64_t kRowsTogether =
    1024;                            // most rows that run together; a single canvas may have more
constexpr int64_t kRowsAStep = 512;  // rows whose layers all run in one step
constexpr int64_t kFramesOfLogits = 64;  // frames whose logits exist at a time
/// philox() streams of the noise of places and of choices. The key is the request's seed; the step
/// is the number of the pass in the request.
constexpr uint32_t kPlaceNoise = 0x4F560001, kChoiceNoise = 0x4F560002;

/// Returns Gumbel noise by index, made from the same uniform numbers as philox_uniforms() has.
class Gumbel {
 public:
  Gumbel(const CanvasPass& canvas, uint32_t stream) : canvas_(canvas), stream_(stream) {}
  float operator()(int64_t index) {
    const auto quad = static_cast<uint32_t>(index / 4);
    if (!known_ || quad != quad_) {
      bits_ = philox({canvas_.step, quad, stream_, 2}, {static_cast<uint32_t>(canvas_.seed),
                                                        static_cast<uint32_t>(canvas_.seed >> 32)});
      quad_ = quad, known_ = true;
    }
    const float u = static_cast<float>(bits_[static_cast<size_t>(index % 4)] >> 8) * 0x1p-24f;
    return -std::log(-std::log(u + 1e-10f) + 1e-10f);
  }

 private:
  const CanvasPass& canvas_;
  const uint32_t stream_;
  std::array<uint32_t, 4> bits_{};
  uint32_t quad_ = 0;
  bool known_ = false;
};

/// A mask that a pass may replace.
struct Candidate {
  float score = 0;
  int32_t place = 0;  // in the frames [T, C]
  int32_t code = 0;
};

/// Returns the number of layers that each step of a pass runs, if the pass has `rows` rows.
int64_t layers_a_step(const ModelConfig& config, int64_t rows) {
  return std::clamp<int64_t>(kRowsAStep * config.lm.layers / rows, 1, config.lm.layers);
}

/// Chooses the code of a place from its guided logits `l` [V], which are overwritten, as is
/// `sorted` [V]. Returns its score, the logarithm of the largest probability.
float choose(std::span<float> l, const ModelConfig& config, const CanvasPass& canvas,
             int64_t noise_at, Gumbel& noise, std::span<float> sorted, int32_t& code) {
  const float top = *std::ranges::max_element(l);
  double sum = 0;
  for (const float value : l) sum += std::exp(double{value} - top);
  const auto norm = static_cast<float>(top + std::log(sum));
  for (float& value : l) value -= norm;
  l[static_cast<size_t>(config.mask)] = -std::numeric_limits<float>::infinity();
  const auto best = std::ranges::max_element(l);
  code = static_cast<int32_t>(best - l.begin());
  const float score = *best;
  if (canvas.temperature <= 0) return score;
  const auto kept =
      static_cast<std::ptrdiff_t>(std::ceil(kLikeliest * static_cast<float>(l.size())));
  std::ranges::copy(l, sorted.begin());
  std::nth_element(sorted.begin(), sorted.begin() + kept - 1, sorted.end(), std::greater<>());
  const float least = sorted[static_cast<size_t>(kept) - 1];
  float most = -std::numeric_limits<float>::infinity();
  for (size_t v = 0; v < l.size(); ++v) {
    if (l[v] < least || !std::isfinite(l[v])) continue;
    const float drawn = l[v] / canvas.temperature + noise(noise_at + static_cast<int64_t>(v));
    if (drawn > most) most = drawn, code = static_cast<int32_t>(v);
  }
  return score;
}

}  // namespace

int64_t rows_of_pass(const ModelConfig& config, const CanvasPass& canvas) {
  const int64_t times = canvas.guidance != 0 ? 2 : 1;
  return std::ssize(canvas.ids) +
         (std::ssize(canvas.recorded) + times * std::ssize(canvas.frames)) / config.codebooks;
}

int steps_of_pass(const ModelConfig& config, int64_t rows) {
  const int64_t each = layers_a_step(config, rows);
  return static_cast<int>((config.lm.layers + each - 1) / each);
}

int64_t unmasked_in(int pass, int64_t codes) {
  // The authors compute these times in float32.
  const auto time = [](int i) {
    const float t = static_cast<float>(i) / kPasses;
    return static_cast<double>(static_cast<float>(kTimeShift) * t /
                               (1.f + static_cast<float>(kTimeShift - 1) * t));
  };
  int64_t left = codes, now = 0;  // rounded up, so nothing is left after the last pass
  for (int i = 0; i <= pass; ++i) {
    now = std::min(left, static_cast<int64_t>(
                             std::ceil(static_cast<double>(codes) * (time(i + 1) - time(i)))));
    left -= now;
  }
  return now;
}

CanvasLm::CanvasLm(const ModelConfig& config, const Weights& weights, WeightType type)
    : config_(config), decoder_(config.lm, weights.scope("llm"), type) {
  const int64_t width = config.lm.hidden, rows = config.codebooks * config.choices;
  ids_ = weights.scope("llm").take("embed_tokens.weight", {config.vocab, width});
  const View all = weights.take("audio_embeddings.weight", {rows, width});
  for (int64_t c = 0; c < config.codebooks; ++c)
    tables_.push_back(all.slice(c * config.choices, (c + 1) * config.choices));
  heads_ = load_linear(weights, "audio_heads", rows, width, false, at_least_8_bits(type));
  weights.ignore("codebook_layer_offsets");
}

int64_t CanvasLm::Rows::before(int64_t codebooks) const {
  return with_text ? std::ssize(canvas->ids) + std::ssize(canvas->recorded) / codebooks : 0;
}

void CanvasLm::embed_rows(StepContext& ctx, const Rows& rows, const View& x) const {
  int64_t at = rows.begin;
  const auto next = [&](int64_t count) {
    at += count;
    return x.slice(at - count, at);
  };
  const auto add_frames = [&](std::span<const int32_t> frames) {
    if (!frames.empty())
      embed_sum(ctx, tables_, frames, next(std::ssize(frames) / config_.codebooks));
  };
  if (rows.with_text) {
    embed(ctx, ids_, rows.canvas->ids, next(std::ssize(rows.canvas->ids)));
    add_frames(rows.canvas->recorded);
  }
  add_frames(rows.canvas->frames);
}

void CanvasLm::run(StepContext& ctx, std::span<const CanvasPass> canvases,
                   std::span<float> sums) const {
  const auto joins = [&](const CanvasPass& canvas, int64_t rows) {
    return canvas.parts == 1 && rows + rows_of_pass(config_, canvas) <= kRowsTogether;
  };
  for (size_t begin = 0; begin < canvases.size();) {
    size_t end = begin + 1;
    int64_t rows = rows_of_pass(config_, canvases[begin]);
    while (canvases[begin].parts == 1 && end < canvases.size() && joins(canvases[end], rows))
      rows += rows_of_pass(config_, canvases[end++]);
    run_together(ctx, canvases.subspan(begin, end - begin), sums.subspan(begin, end - begin));
    begin = end;
  }
}

void CanvasLm::run_together(StepContext& ctx, std::span<const CanvasPass> canvases,
                            std::span<float> sums) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const auto most = 2 * std::ssize(canvases);
  const std::span<Rows> parts = take_array<Rows>(ctx, most);
  const std::span<int64_t> lengths = take_array<int64_t>(ctx, most);
  int64_t total = 0;
  size_t count = 0;
  const auto add = [&](const CanvasPass& canvas, bool with_text) {
    Rows& part = parts[count] = {&canvas, with_text, total, 0};
    part.count = part.before(config_.codebooks) + std::ssize(canvas.frames) / config_.codebooks;
    lengths[count++] = part.count;
    total += part.count;
  };
  for (const CanvasPass& canvas : canvases) {
    add(canvas, true);
    if (canvas.guidance != 0) add(canvas, false);
  }
  const CanvasPass& first = canvases.front();
  const View x = take_rows(ctx, total, config_.lm.hidden);
  if (first.part > 0) {
    store(ctx, first.kept, x);
  } else {
    for (const Rows& part : parts.first(count)) embed_rows(ctx, part, x);
  }
  const int layers = config_.lm.layers;
  const int each = first.parts > 1 ? static_cast<int>(layers_a_step(config_, total)) : layers;
  const BlockRange blocks{first.part * each, std::min(layers, (first.part + 1) * each)};
  run_whole(ctx, decoder_, x, blocks, lengths.first(count));
  std::ranges::fill(sums, 0.f);
  if (first.part + 1 < first.parts) return fetch(ctx, x, first.kept);
  for (size_t i = 0, at = 0; i < canvases.size(); ++i) {
    const Rows& with_text = parts[at++];
    sums[i] = unmask(ctx, x, with_text, canvases[i].guidance != 0 ? &parts[at++] : nullptr);
  }
}

float CanvasLm::unmask(StepContext& ctx, const View& x, const Rows& with_text,
                       const Rows* alone) const {
  const CanvasPass& canvas = *with_text.canvas;
  const int64_t books = config_.codebooks, v = config_.choices;
  const int64_t frames = std::ssize(canvas.frames) / books;
  const int64_t wanted = unmasked_in(canvas.pass, frames * books);
  if (wanted <= 0) return 0;
  const Arena::Mark host_mark(ctx.host);
  std::span<int32_t> open = take_array<int32_t>(ctx, frames);  // frames with masks
  size_t opened = 0;
  for (int32_t t = 0; t < frames; ++t) {
    const auto codes =
        canvas.frames.subspan(static_cast<size_t>(t * books), static_cast<size_t>(books));
    if (std::ranges::find(codes, config_.mask) != codes.end()) open[opened++] = t;
  }
  open = open.first(opened);
  const float g = canvas.guidance;
  float sum = 0;
  const std::span<Candidate> places = take_array<Candidate>(ctx, std::ssize(open) * books);
  size_t found = 0;
  const std::span<float> l = take_array<float>(ctx, v), sorted = take_array<float>(ctx, v);
  const std::span<int32_t> rows = take_array<int32_t>(ctx, 2 * kFramesOfLogits);
  const std::span<float> scores = take_array<float>(ctx, 2 * kFramesOfLogits * books * v);
  Gumbel choice_noise(canvas, kChoiceNoise), place_noise(canvas, kPlaceNoise);
  for (size_t begin = 0; begin < open.size(); begin += kFramesOfLogits) {
    const Arena::Mark mark(ctx.arena);
    const auto some = open.subspan(begin, std::min<size_t>(kFramesOfLogits, open.size() - begin));
    const int64_t n = std::ssize(some), parts = alone ? 2 : 1;
    size_t row = 0;
    for (const Rows* part : {&with_text, alone}) {
      if (!part) continue;
      const int64_t first = part->begin + part->before(books);
      for (const int32_t t : some) rows[row++] = static_cast<int32_t>(first + t);
    }
    const View hidden = take_rows(ctx, parts * n, config_.lm.hidden);
    const View logits = take_rows(ctx, parts * n, books * v);
    decoder_.norm_rows(ctx, x, rows.first(row), hidden);
    linear(ctx, heads_, hidden, logits);
    fetch(ctx, logits, scores.first(static_cast<size_t>(logits.count())));
    synchronize(ctx);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t t = some[static_cast<size_t>(i)];
      for (int64_t c = 0; c < books; ++c) {
        const int64_t place = t * books + c;
        if (canvas.frames[static_cast<size_t>(place)] != config_.mask) continue;
        const float* own = scores.data() + (i * books + c) * v;
        const float* free = own + n * books * v;
        for (int64_t k = 0; k < v; ++k) l[k] = alone ? own[k] + g * (own[k] - free[k]) : own[k];
        Candidate next{.place = static_cast<int32_t>(place)};
        const int64_t at = c * frames + t;  // the authors' order of places
        const float sure = choose(l, config_, canvas, at * v, choice_noise, sorted, next.code);
        sum += sure;
        next.score =
            (sure - static_cast<float>(c) * kLayerPenalty) / kPlaceTemperature + place_noise(at);
        places[found++] = next;
      }
    }
  }
  if (!std::isfinite(sum)) return sum;
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.place < b.place;
  };
  const std::span<Candidate> candidates = places.first(found);
  const auto count = static_cast<std::ptrdiff_t>(std::min<int64_t>(wanted, std::ssize(candidates)));
  std::nth_element(candidates.begin(), candidates.begin() + count - 1, candidates.end(), better);
  for (const Candidate& each : candidates.first(static_cast<size_t>(count)))
    canvas.frames[static_cast<size_t>(each.place)] = each.code;
  return sum;
}

void CanvasLm::logits(StepContext& ctx, const CanvasPass& canvas, bool with_text,
                      const View& out) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  Rows part{&canvas, with_text, 0, 0};
  const int64_t before = part.before(config_.codebooks);
  part.count = before + std::ssize(canvas.frames) / config_.codebooks;
  const View x = take_rows(ctx, part.count, config_.lm.hidden);
  embed_rows(ctx, part, x);
  run_whole(ctx, decoder_, x, {0, config_.lm.layers});
  const View frames = x.slice(before, part.count);
  decoder_.norm(ctx, frames, frames);
  linear(ctx, heads_, frames, out);
}

CanvasStage::CanvasStage(const CanvasLm& lm) : lm_(lm) {
  traits_.hidden = 1;
  traits_.vocab = {1};
  traits_.max_positions = kPasses * lm.config().lm.layers + 1;
  traits_.writes = true;  // writes codes to the canvas of the sequence
}

void CanvasStage::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark host_mark(ctx.host);
  const std::span<CanvasPass> canvases = take_array<CanvasPass>(ctx, batch.emits);
  size_t count = 0;
  for (State* state : emitting<State>(ctx, batch)) canvases[count++] = state->next_pass();
  const std::span<float> sums = take_array<float>(ctx, batch.emits);
  lm_.run(ctx, canvases.first(count), sums);
  store(ctx, sums, hidden);
}

void CanvasStage::logits(StepContext& ctx, int, const ArBatch&, View hidden, View, View out) const {
  copy(ctx, hidden, out);
}

}  // namespace syrinx::omnivoice
