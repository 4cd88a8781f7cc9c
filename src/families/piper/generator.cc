#include "families/piper/generator.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/activation.h"

namespace syrinx::piper {
namespace {

constexpr float kLeak = 0.1f, kLastLeak = 0.01f;
constexpr int64_t kMostHop = 4096;

RowBatch leaky(StepContext& ctx, const RowBatch& x, float slope) {
  const RowBatch out = rows_like(ctx, x, x.all.shape[1]);
  leaky_relu(ctx, x.all, slope, out.all);
  return out;
}

}  // namespace

Generator::Generator(const VoiceParts& parts, int64_t latent, int64_t speaker)
    : speaker_(speaker), first_(parts.stream_conv("dec.conv_pre", latent)) {
  if (speaker > 0) {
    const LinearPart condition = parts.one_tap("dec.cond", speaker, first_.out());
    condition_weight_ = to_f32(condition.weight);
    condition_bias_ = to_f32(condition.bias);
  }
  const int64_t count = parts.count("dec.ups", "weight");
  int64_t all_blocks = 0;
  const auto module = [](int64_t i) { return "dec.resblocks." + std::to_string(i); };
  const auto is_block = [&](int64_t i) {
    return parts.has(module(i) + ".convs.0.weight") || parts.has(module(i) + ".convs1.0.weight");
  };
  while (all_blocks < 64 && is_block(all_blocks)) ++all_blocks;
  if (count == 0) parts.shape("dec.ups.0.weight", 3);  // this throws LoadError
  if (all_blocks == 0 || all_blocks % count != 0) {
    parts.fail("dec.resblocks", concat("expected the same number of blocks for each of ", count,
                                       " rates, got ", all_blocks));
  }
  const int64_t each = all_blocks / count;
  int64_t width = first_.out();
  for (int64_t i = 0; i < count; ++i) {
    Stage stage;
    stage.up = parts.upsampling("dec.ups." + std::to_string(i), width);
    width = stage.up.out();
    hop_ *= stage.up.stride();
    if (hop_ > kMostHop) {
      parts.fail("dec.ups", concat("expected at most ", kMostHop, " samples a row"));
    }
    for (int64_t b = 0; b < each; ++b) {
      stage.blocks.push_back(load_block(parts, module(i * each + b), width));
    }
    stages_.push_back(std::move(stage));
  }
  last_ = parts.stream_conv("dec.conv_post", width, 1, false);
}

Generator::Block Generator::load_block(const VoiceParts& parts, const std::string& module,
                                       int64_t width) {
  Block block;
  const bool pairs = parts.has(module + ".convs1.0.weight");
  const std::string first = module + (pairs ? ".convs1" : ".convs");
  for (int64_t i = 0; i < parts.count(first, "weight"); ++i) {
    const std::string number = concat(".", i);
    std::vector<CausalConv1d> convs;
    convs.push_back(parts.stream_conv(first + number, width, width));
    if (pairs) convs.push_back(parts.stream_conv(module + ".convs2" + number, width, width));
    block.parts.push_back(std::move(convs));
  }
  return block;
}

void Generator::open(StreamMemory& memory) const {
  memory.convs.push_back(first_.open());
  for (const Stage& stage : stages_) {
    memory.convs.push_back(stage.up.open());
    for (const Block& block : stage.blocks) {
      for (const auto& convs : block.parts) {
        memory.queues.emplace_back(stage.up.out(), device());
        for (const CausalConv1d& conv : convs) memory.convs.push_back(conv.open());
      }
      // Rows that wait for those of slower blocks.
      memory.queues.emplace_back(stage.up.out(), device());
    }
  }
  memory.convs.push_back(last_.open());
}

std::vector<float> Generator::condition(std::span<const float> embedding) const {
  if (speaker_ == 0) return {};
  SYRINX_CHECK(std::ssize(embedding) == speaker_, "[piper] wrong embedding: ", embedding.size());
  std::vector<float> out(condition_bias_.f32(), condition_bias_.f32() + first_.out());
  for (size_t o = 0; o < out.size(); ++o) {
    const float* row = condition_weight_.f32() + static_cast<int64_t>(o) * speaker_;
    for (int64_t i = 0; i < speaker_; ++i) out[o] += row[i] * embedding[i];
  }
  return out;
}

RowBatch Generator::run_block(LanePass& pass, const Block& block, RowBatch x) const {
  for (const auto& convs : block.parts) {
    const size_t held = pass.hold(x);
    for (const CausalConv1d& conv : convs) x = pass.convolve(conv, x, kLeak);
    pass.add_held(held, x);
  }
  return x;
}

RowBatch Generator::run(LanePass& pass, const RowBatch& z,
                        std::span<const std::span<const float>> conditions) const {
  StepContext& ctx = pass.ctx();
  RowBatch x = pass.convolve(first_, z);
  add_to_lanes(ctx, x, conditions);
  for (const Stage& stage : stages_) {
    x = pass.convolve(stage.up, leaky(ctx, x, kLeak));
    const std::span<size_t> made = take_array<size_t>(ctx, std::ssize(stage.blocks));
    for (size_t b = 0; b < made.size(); ++b) {
      made[b] = pass.hold(run_block(pass, stage.blocks[b], x));
    }
    x = pass.sum_held(made, stage.up.out());
    scale_inplace(ctx, x.all, 1.f / static_cast<float>(stage.blocks.size()));
  }
  const RowBatch out = pass.convolve(last_, x, kLastLeak);
  activate(ctx, Activation::kTanh, out.all, out.all);
  return out;
}

int64_t Generator::certain(int64_t rows) const {
  rows = certain_rows(first_, rows);
  for (const Stage& stage : stages_) {
    rows = certain_rows(stage.up, rows);
    int64_t slowest = rows;
    for (const Block& block : stage.blocks) {
      int64_t some = rows;
      for (const auto& convs : block.parts) {
        for (const CausalConv1d& conv : convs) some = certain_rows(conv, some);
      }
      slowest = std::min(slowest, some);
    }
    rows = slowest;
  }
  return certain_rows(last_, rows);
}

void Generator::move_to(Device device) {
  first_.move_to(device);
  last_.move_to(device);
  for (Stage& stage : stages_) {
    stage.up.move_to(device);
    for (Block& block : stage.blocks) {
      for (auto& convs : block.parts) {
        for (CausalConv1d& conv : convs) conv.move_to(device);
      }
    }
  }
}

size_t Generator::bytes() const {
  size_t sum = first_.bytes() + last_.bytes();
  for (const Stage& stage : stages_) {
    sum += stage.up.bytes();
    for (const Block& block : stage.blocks) {
      for (const auto& convs : block.parts) {
        for (const CausalConv1d& conv : convs) sum += conv.bytes();
      }
    }
  }
  return sum;
}

}  // namespace syrinx::piper
