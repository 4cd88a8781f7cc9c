#include "families/piper/prior_flow.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/activation.h"

namespace syrinx::piper {
namespace {

/// Computes tanh(a + b) * sigmoid(c + d). Rows of `x` [T, 2 H] are (a, c); overwrites x. `added` is
/// (b, d), or empty.
RowBatch gate(StepContext& ctx, const RowBatch& x, std::span<const std::span<const float>> added,
              size_t at) {
  const RowBatch out = rows_like(ctx, x, x.all.shape[1] / 2);
  add_to_lanes(ctx, x, added, at);
  tanh_sigmoid_mul(ctx, x.all, out.all);
  return out;
}

}  // namespace

PriorFlow::PriorFlow(const VoiceParts& parts, int64_t latent, int64_t speaker)
    : latent_(latent), speaker_(speaker) {
  if (latent % 2 != 0) parts.fail("enc_p.proj", "expected an even latent width");
  int64_t count = 0;
  while (count < 64 && parts.has("flow.flows." + std::to_string(2 * count) + ".pre.weight")) {
    ++count;
  }
  if (count == 0) parts.shape("flow.flows.0.pre.weight", 3);  // this throws LoadError
  if (count % 2 != 0) {
    parts.fail("flow.flows", concat("expected an even number of couplings, got ", count));
  }
  hidden_ = parts.shape("flow.flows.0.pre.weight", 3)[0];
  // The order of the channels is reversed before each coupling, so every second coupling reads the
  // channels in reverse. The weights include these reversals.
  for (int64_t i = count - 1; i >= 0; --i) {
    couplings_.push_back(load(parts, "flow.flows." + std::to_string(2 * i), i % 2 != 0));
  }
}

PriorFlow::Coupling PriorFlow::load(const VoiceParts& parts, const std::string& module,
                                    bool flipped) const {
  const int64_t half = latent_ / 2;
  Coupling out;
  // read(): a channel that the coupling reads. moved(): a channel that it changes.
  const auto read = [&](int64_t i) { return flipped ? latent_ - 1 - i : i; };
  const auto moved = [&](int64_t i) { return flipped ? half - 1 - i : half + i; };
  const LinearPart pre = parts.one_tap(module + ".pre", half, hidden_);
  const Tensor narrow = to_f32(pre.weight), pre_bias = to_f32(pre.bias);
  Tensor wide({hidden_, latent_}, DType::kF32);
  for (int64_t o = 0; o < hidden_; ++o) {
    for (int64_t i = 0; i < half; ++i) {
      wide.f32()[o * latent_ + read(i)] = narrow.f32()[o * half + i];
    }
  }
  out.pre = PackedLinear::pack(wide, parts.type(), pre_bias);
  const LinearPart post = parts.one_tap(module + ".post", hidden_, half);
  const Tensor some = to_f32(post.weight), some_bias = to_f32(post.bias);
  Tensor all({latent_, hidden_}, DType::kF32), all_bias({latent_}, DType::kF32);
  for (int64_t o = 0; o < half; ++o) {  // negated weights invert the coupling
    for (int64_t i = 0; i < hidden_; ++i) {
      all.f32()[moved(o) * hidden_ + i] = -some.f32()[o * hidden_ + i];
    }
    all_bias.f32()[moved(o)] = -some_bias.f32()[o];
  }
  out.post = PackedLinear::pack(all, parts.type(), all_bias);
  const int64_t layers = parts.count(module + ".enc.in_layers", "weight");
  for (int64_t i = 0; i < layers; ++i) {
    const std::string number = concat(".", i);
    Wave wave;
    wave.in = parts.stream_conv(module + ".enc.in_layers" + number, hidden_, 2 * hidden_);
    const bool last = i + 1 == layers;
    const LinearPart both = parts.one_tap(module + ".enc.res_skip_layers" + number, hidden_,
                                          last ? hidden_ : 2 * hidden_);
    const auto pack = [&](int64_t begin) {
      return PackedLinear::pack(both.weight.slice(begin, begin + hidden_), parts.type(),
                                both.bias.slice(begin, begin + hidden_));
    };
    if (!last) wave.residual = pack(0);
    wave.skip = pack(last ? 0 : hidden_);
    out.waves.push_back(std::move(wave));
  }
  if (layers == 0) parts.shape(module + ".enc.in_layers.0.weight", 3);
  if (speaker_ > 0) {
    const LinearPart condition =
        parts.one_tap(module + ".enc.cond_layer", speaker_, 2 * hidden_ * layers);
    out.condition_weight = to_f32(condition.weight);
    out.condition_bias = to_f32(condition.bias);
  }
  return out;
}

void PriorFlow::open(StreamMemory& memory) const {
  for (const Coupling& coupling : couplings_) {
    memory.queues.emplace_back(latent_, device());
    for (size_t i = 0; i < coupling.waves.size(); ++i) {
      memory.convs.push_back(coupling.waves[i].in.open());
      if (i + 1 == coupling.waves.size()) continue;
      memory.queues.emplace_back(hidden_, device());  // rows of the residual
      memory.queues.emplace_back(hidden_, device());  // rows of the skip outputs
    }
  }
}

std::vector<float> PriorFlow::condition(std::span<const float> embedding) const {
  std::vector<float> out;
  if (speaker_ == 0) return out;
  SYRINX_CHECK(std::ssize(embedding) == speaker_, "[piper] wrong embedding: ", embedding.size());
  for (const Coupling& coupling : couplings_) {
    for (int64_t o = 0; o < coupling.condition_bias.view().count(); ++o) {
      const float* row = coupling.condition_weight.f32() + o * speaker_;
      float sum = coupling.condition_bias.f32()[o];
      for (int64_t i = 0; i < speaker_; ++i) sum += row[i] * embedding[i];
      out.push_back(sum);
    }
  }
  return out;
}

RowBatch PriorFlow::couple(LanePass& pass, const Coupling& coupling, const RowBatch& z,
                           std::span<const std::span<const float>> conditions, size_t at) const {
  StepContext& ctx = pass.ctx();
  const size_t whole = pass.hold(z);
  RowBatch x = rows_like(ctx, z, hidden_), skipped;
  linear(ctx, coupling.pre, z.all, x.all);
  size_t residual = 0, sum = 0;
  for (size_t i = 0; i < coupling.waves.size(); ++i, at += 2 * static_cast<size_t>(hidden_)) {
    const Wave& wave = coupling.waves[i];
    const bool last = i + 1 == coupling.waves.size();
    if (!last) residual = pass.hold(x);
    const RowBatch acts = gate(ctx, pass.convolve(wave.in, x), conditions, at);
    skipped = rows_like(ctx, acts, hidden_);
    linear(ctx, wave.skip, acts.all, skipped.all);
    if (i > 0) pass.add_held(sum, skipped);
    if (last) break;
    sum = pass.hold(skipped);
    x = rows_like(ctx, acts, hidden_);
    linear(ctx, wave.residual, acts.all, x.all);
    pass.add_held(residual, x);
  }
  const RowBatch out = rows_like(ctx, skipped, latent_);
  linear(ctx, coupling.post, skipped.all, out.all);
  pass.add_held(whole, out);
  return out;
}

RowBatch PriorFlow::run(LanePass& pass, const RowBatch& z,
                        std::span<const std::span<const float>> conditions) const {
  RowBatch x = z;
  size_t at = 0;
  for (const Coupling& coupling : couplings_) {
    x = couple(pass, coupling, x, conditions, at);
    at += 2 * static_cast<size_t>(hidden_) * coupling.waves.size();
  }
  return x;
}

int64_t PriorFlow::certain(int64_t rows) const {
  for (const Coupling& coupling : couplings_) {
    for (const Wave& wave : coupling.waves) rows = certain_rows(wave.in, rows);
  }
  return rows;
}

void PriorFlow::move_to(Device device) {
  for (Coupling& coupling : couplings_) {
    syrinx::move_to(device, coupling.pre);
    syrinx::move_to(device, coupling.post);
    for (Wave& wave : coupling.waves) {
      wave.in.move_to(device);
      syrinx::move_to(device, wave.residual);
      syrinx::move_to(device, wave.skip);
    }
  }
}

size_t PriorFlow::bytes() const {
  size_t sum = 0;
  for (const Coupling& coupling : couplings_) {
    sum += coupling.pre.bytes() + coupling.post.bytes();
    for (const Wave& wave : coupling.waves) {
      sum += wave.in.bytes() + wave.residual.bytes() + wave.skip.bytes();
    }
  }
  return sum;
}

}  // namespace syrinx::piper
