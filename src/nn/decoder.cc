#include "nn/decoder.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/product_rows.h"
#include "kernels/qkv.h"
#include "nn/mixed_weights.h"

namespace syrinx {
namespace {

constexpr int64_t kMostCachedAngles = 1 << 17;  // limit of cached positions; a config may have more

/// Loads a linear of a block, stored as [out, in] or, if config.transposed, as [in, out].
PackedLinear load(const Weights& block, const std::string& name, int64_t out, int64_t in, bool bias,
                  const DecoderConfig& config, WeightType type) {
  if (!config.transposed) return load_linear(block, name, out, in, bias, type);
  const Weights scope = block.scope(name);
  const Tensor weight = transposed(scope.take("weight", {in, out}));
  return PackedLinear::pack(weight, type, bias ? scope.take("bias", {out}) : View{});
}

/// Loads a linear whose outputs are multiplied by `scale` if the config has layer_scale.
PackedLinear load_branch_end(const Weights& block, const std::string& name,
                             const std::string& scale, int64_t out, int64_t in, bool bias,
                             const DecoderConfig& config, WeightType type) {
  if (!config.layer_scale) return load(block, name, out, in, bias, config, type);
  const Tensor gain = block.f32(scale, {out});
  return load_linear_scaled(block, name, out, in, bias, gain, type);
}

/// Returns how many of `rows` rows run through an MLP together. On a CPU the wide rows between its
/// products then stay in the L2 cache. 96 rows are a block of the products (kernels/cpu/gemm.cc).
int64_t mlp_rows(const StepContext& ctx, int64_t rows) {
  const int64_t piece = int64_t{96} * ctx.pool.size();
  return ctx.device == Device::kCpu && rows >= 2 * piece ? piece : rows;
}

/// Returns the rows `rows` of x: x itself if they are all its rows, else copies in the arena.
View picked_rows(StepContext& ctx, const View& x, std::span<const int32_t> rows) {
  const int64_t count = std::ssize(rows);
  bool all = count == x.shape[0];
  for (int64_t i = 0; all && i < count; ++i) all = rows[static_cast<size_t>(i)] == i;
  if (all) return x;
  const View some = ctx.arena.take({count, x.shape[1]}, DType::kF32);
  gather_rows(ctx, x, rows, some);
  return some;
}

}  // namespace

Decoder::Norm::Norm(const Weights& weights, const DecoderConfig& config) {
  if (config.norm == NormKind::kRms) {
    rms = RmsNorm(weights, config.hidden, config.norm_eps, config.norm_offset);
  } else {
    layer = LayerNorm(weights, config.hidden, config.norm_eps);
  }
}

void Decoder::Norm::operator()(StepContext& ctx, const View& x, const View& out) const {
  if (layer.empty()) {
    rms(ctx, x, out);
  } else {
    layer(ctx, x, out);
  }
}

void Decoder::Norm::move_to(Device device) { syrinx::move_to(device, rms, layer); }

Decoder::Block::Block(const Weights& weights, const DecoderConfig& c, WeightType type) {
  const DecoderNames& names = c.names;
  const auto norm = [&](const char* name) { return Norm(weights.scope(name), c); };
  if (c.norm_order == NormOrder::kAfter) {
    attention_after = norm(names.attention_norm), mlp_after = norm(names.mlp_norm);
  } else {
    attention_norm = norm(names.attention_norm), mlp_norm = norm(names.mlp_norm);
  }
  if (c.norm_order == NormOrder::kBoth) {
    attention_after = norm(names.attention_after), mlp_after = norm(names.mlp_after);
  }
  const int64_t q = int64_t{c.heads} * c.head_dim, kv = int64_t{c.kv_heads} * c.head_dim;
  const WeightType most = all_but_down(type);
  const WeightType of_qkv = c.qkv.value_or(most);
  if (names.qkv) {
    qkv = load(weights, names.qkv, q + 2 * kv, c.hidden, c.attention_bias, c, of_qkv);
  } else {
    const LinearPart parts[] = {
        take_linear(weights, names.q, q, c.hidden, c.attention_bias),
        take_linear(weights, names.k, kv, c.hidden, c.attention_bias && c.key_bias),
        take_linear(weights, names.v, kv, c.hidden, c.attention_bias)};
    qkv = PackedLinear::pack(parts, of_qkv);
  }
  o = load_branch_end(weights, names.o, names.attention_scale, c.hidden, q, c.output_bias, c, most);
  if (c.qk_norm) {
    const auto heads_norm = [&](const char* name, int64_t width) {
      const float eps = c.qk_norm_eps > 0 ? c.qk_norm_eps : c.norm_eps;
      return RmsNorm(weights.scope(name), width, eps, c.norm_offset);
    };
    q_norm = heads_norm(names.q_norm, c.qk_norm_wide ? q : c.head_dim);
    k_norm = heads_norm(names.k_norm, c.qk_norm_wide ? kv : c.head_dim);
  }
  if (c.cross_attention) {
    cross_norm = LayerNorm(weights.scope(names.cross_norm), c.hidden, 1e-5f);
    cross_q = load(weights, names.cross_q, q, c.hidden, false, c, most);
    const LinearPart memory[] = {take_linear(weights, names.cross_k, kv, c.hidden, false),
                                 take_linear(weights, names.cross_v, kv, c.hidden, false)};
    cross_kv = PackedLinear::pack(memory, most);
    cross_o = load(weights, names.cross_o, c.hidden, q, false, c, most);
  }
  if (c.moe.experts > 0) {
    moe = Moe(c.moe, c.hidden, weights.scope("mlp"), type);
    return;
  }
  if (!is_gated(c.mlp)) {
    up = load(weights, names.fc1, c.ffn, c.hidden, c.mlp_bias, c, most);
  } else {
    LinearPart gate_and_up[2];
    if (names.up_gate || names.gate_up) {
      const char* name = names.up_gate ? names.up_gate : names.gate_up;
      const LinearPart both = take_linear(weights, name, 2 * c.ffn, c.hidden, c.mlp_bias);
      for (int i = 0; i < 2; ++i) {
        const int64_t begin = i * int64_t{c.ffn};
        gate_and_up[names.up_gate ? 1 - i : i] = {
            both.weight.slice(begin, begin + c.ffn),
            c.mlp_bias ? both.bias.slice(begin, begin + c.ffn) : View{}};
      }
    } else {
      gate_and_up[0] = take_linear(weights, names.gate, c.ffn, c.hidden, c.mlp_bias);
      gate_and_up[1] = take_linear(weights, names.up, c.ffn, c.hidden, c.mlp_bias);
    }
    up = c.mlp == MlpKind::kSwiGlu ? PackedLinear::pack_gated(gate_and_up[0], gate_and_up[1], most)
                                   : PackedLinear::pack(gate_and_up, most);
  }
  down = load_branch_end(weights, is_gated(c.mlp) ? names.down : names.fc2, names.mlp_scale,
                         c.hidden, c.ffn, c.mlp_bias || c.down_bias, c, type);
}

Decoder::Decoder(const DecoderConfig& config, const Weights& weights, WeightType type)
    : config_(config) {
  SYRINX_CHECK(config.layers > 0 && config.hidden > 0 && config.heads > 0 &&
                   (config.ffn > 0 || config.moe.experts > 0) && config.kv_heads > 0 &&
                   config.heads % config.kv_heads == 0,
               "[decoder] ", config.layers, " layers, hidden ", config.hidden, ", ", config.heads,
               " heads over ", config.kv_heads, ", ffn ", config.ffn);
  SYRINX_CHECK(config.norm_order == NormOrder::kBefore || config.moe.experts == 0,
               "[decoder] experts require NormOrder::kBefore");
  SYRINX_CHECK(config.layer_kinds.empty() || std::ssize(config.layer_kinds) == config.layers,
               "[decoder] ", config.layer_kinds.size(), " layer_kinds, but ", config.layers,
               " layers");
  if (config_.rope.dim == 0) config_.rope.dim = config_.head_dim;
  blocks_.reserve(config.layers);
  for (int i = 0; i < config.layers; ++i)
    blocks_.emplace_back(weights.scope(config_.names.blocks, i), config_, type);
  weights.ignore("layers.*.self_attn.rotary_emb.inv_freq");  // tensors of older exports
  if (!config_.slopes.empty()) {
    slopes_ = Tensor({std::ssize(config_.slopes)}, DType::kF32);
    std::ranges::copy(config_.slopes, slopes_.f32());
  }
  if (config.final_norm) final_ = Norm(weights.scope(config_.names.final_norm), config_);
  const int64_t cached = std::min(config.rope_positions, kMostCachedAngles);
  if (config.rotary) rope_ = RopeTable(config_.rope, cached);
  if (config_.local_rope) {
    if (config_.local_rope->dim == 0) config_.local_rope->dim = config_.rope.dim;
    local_rope_ = RopeTable(*config_.local_rope, cached);
  }
}

LayerKind Decoder::kind_of(int block) const {
  if (!config_.layer_kinds.empty()) return config_.layer_kinds[static_cast<size_t>(block)];
  return {config_.window, config_.rotary ? LayerKind::Rope::kMain : LayerKind::Rope::kNone};
}

size_t Decoder::bytes() const {
  size_t total = 0;
  for (const Block& b : blocks_) {
    total += weight_bytes(b.qkv, b.o, b.up, b.down, b.moe, b.cross_q, b.cross_kv, b.cross_o);
  }
  return total;
}

void Decoder::move_to(Device device) {
  for (Block& b : blocks_) {
    syrinx::move_to(device, b.attention_norm, b.mlp_norm, b.attention_after, b.mlp_after, b.qkv,
                    b.o, b.up, b.down, b.moe, b.q_norm, b.k_norm);
    syrinx::move_to(device, b.cross_norm, b.cross_q, b.cross_kv, b.cross_o);
  }
  syrinx::move_to(device, final_, slopes_);
  if (config_.rotary) rope_ = rope_.on_device(device);
  if (config_.local_rope) local_rope_ = local_rope_.on_device(device);
}

void Decoder::attend(StepContext& ctx, int number, const View& qkv,
                     std::span<const DecoderPart> parts, std::span<const int32_t> positions,
                     int layer, const View& out) const {
  const DecoderConfig& c = config_;
  const Block& block = blocks_[static_cast<size_t>(number)];
  const LayerKind kind = kind_of(number);
  const RopeTable* turned = kind.rope == LayerKind::Rope::kMain    ? &rope_
                            : kind.rope == LayerKind::Rope::kLocal ? &local_rope_
                                                                   : nullptr;
  const int64_t q_width = int64_t{c.heads} * c.head_dim;
  AttentionSpec spec{c.query_scale, kind.window, c.causal};
  if (spec.scale == 0) spec.scale = 1.f / std::sqrt(static_cast<float>(c.head_dim));
  spec.cap = c.score_cap;
  spec.slopes = slopes_;
  if (c.qk_norm_wide) {
    block.q_norm.heads(ctx, {qkv, 0, 1, static_cast<int>(q_width)});
    block.k_norm.heads(ctx, {qkv, q_width, 1, c.kv_heads * c.head_dim});
  }
  const bool norms_heads = c.qk_norm && !c.qk_norm_wide;
  if (ctx.device == Device::kCuda) {
    for (const DecoderPart& part : parts) {
      const int64_t end = part.begin + part.ragged.rows();
      Qkv heads{qkv.slice(part.begin, end), c.heads, c.kv_heads, c.head_dim};
      if (norms_heads) {
        heads.q_norm = block.q_norm.weight(), heads.q_eps = block.q_norm.eps();
        heads.k_norm = block.k_norm.weight(), heads.k_eps = block.k_norm.eps();
      }
      heads.rope = turned;
      attend_qkv(ctx, heads, *part.pool, layer, part.ragged, spec, out.slice(part.begin, end));
    }
    return;
  }
  if (norms_heads) {
    block.q_norm.heads(ctx, {qkv, 0, c.heads, c.head_dim});
    block.k_norm.heads(ctx, {qkv, q_width, c.kv_heads, c.head_dim});
  }
  if (turned) {
    // q and k are adjacent, so one pass rotates both.
    rope(ctx, {qkv, 0, c.heads + c.kv_heads, c.head_dim}, positions, *turned);
  }
  for (const DecoderPart& part : parts) {
    const int64_t end = part.begin + part.ragged.rows();
    const View rows = qkv.slice(part.begin, end);
    write_and_attend(ctx, {rows, 0, c.heads, c.head_dim}, {rows, q_width, c.kv_heads, c.head_dim},
                     {rows, q_width + int64_t{c.kv_heads} * c.head_dim, c.kv_heads, c.head_dim},
                     *part.pool, layer, part.ragged, spec, out.slice(part.begin, end));
  }
}

void Decoder::remember(StepContext& ctx, const View& rows, const DecoderMemory& to) const {
  SYRINX_CHECK(config_.cross_attention, "[decoder] the config has no cross-attention");
  check_pool(*to.pool, 0, config_.layers);
  const Arena::Mark mark(ctx.arena);
  const Ragged ragged = resident(ctx, to.ragged);
  const int heads = config_.kv_heads, dim = config_.head_dim;
  const int64_t width = int64_t{heads} * dim;
  const View kv = ctx.arena.take({rows.shape[0], 2 * width}, DType::kF32);
  for (int i = 0; i < config_.layers; ++i) {
    linear(ctx, blocks_[static_cast<size_t>(i)].cross_kv, rows, kv);
    write_kv(ctx, {kv, 0, heads, dim}, {kv, width, heads, dim}, *to.pool, i, ragged);
  }
}

void Decoder::attend_memory(StepContext& ctx, int number, const DecoderMemory& memory,
                            const View& q, const View& mixed, const View& x) const {
  const Block& block = blocks_[static_cast<size_t>(number)];
  const AttentionSpec spec{.scale = 1.f / std::sqrt(static_cast<float>(config_.head_dim)),
                           .causal = false};
  const Arena::Mark mark(ctx.arena);
  const View normed = ctx.arena.take(x.shape, product_rows(block.cross_q, x.shape[0]));
  block.cross_norm(ctx, x, normed);
  linear(ctx, block.cross_q, normed, q);
  paged_attention(ctx, {q, 0, config_.heads, config_.head_dim}, *memory.pool, number, memory.ragged,
                  spec, mixed);
  linear_add(ctx, block.cross_o, mixed, x);
}

void Decoder::project(StepContext& ctx, const Norm& norm, const PackedLinear& w, const View& x,
                      const View& out) {
  if (norm.empty()) return linear(ctx, w, x, out);
  if (!norm.rms.empty()) return norm.rms.then(ctx, w, x, out);
  const Arena::Mark mark(ctx.arena);
  const View normed = ctx.arena.take(x.shape, product_rows(w, x.shape[0]));
  norm.layer(ctx, x, normed);
  linear(ctx, w, normed, out);
}

void Decoder::add_branch(StepContext& ctx, const PackedLinear& w, const Norm& after, const View& in,
                         const View& x) {
  if (after.empty()) return linear_add(ctx, w, in, x);
  const Arena::Mark mark(ctx.arena);
  const View scratch = ctx.arena.take(x.shape, DType::kF32);
  linear(ctx, w, in, scratch);
  after(ctx, scratch, scratch);
  add_inplace(ctx, x, scratch);
}

bool Decoder::has_norms(std::span<const DecoderPart> parts) {
  return std::ranges::any_of(parts, [](const DecoderPart& p) { return !p.mlp_norms.empty(); });
}

/// Norms the rows of each part with the part's own weights, if it has any.
void Decoder::norm_mlp(StepContext& ctx, int number, const View& x,
                       std::span<const DecoderPart> parts, const View& normed) const {
  const Block& block = blocks_[static_cast<size_t>(number)];
  if (!has_norms(parts)) return block.mlp_norm(ctx, x, normed);
  for (const DecoderPart& part : parts) {
    const int64_t end = part.begin + part.ragged.rows();
    const View from = x.slice(part.begin, end), to = normed.slice(part.begin, end);
    if (part.mlp_norms.empty()) {
      block.mlp_norm(ctx, from, to);
    } else {
      const View weight = part.mlp_norms.slice(number, number + 1).reshape({config_.hidden});
      rms_norm(ctx, from, weight, config_.norm_eps, to);
    }
  }
}

void Decoder::run_mlp(StepContext& ctx, int number, const View& x,
                      std::span<const DecoderPart> parts, const View& inner) const {
  const Block& block = blocks_[static_cast<size_t>(number)];
  const Arena::Mark mark(ctx.arena);
  if (!block.moe.empty()) {
    const View normed = ctx.arena.take(x.shape, DType::kF32);
    norm_mlp(ctx, number, x, parts, normed);
    return block.moe.add(ctx, normed, x);
  }
  View normed;
  if (has_norms(parts)) {
    normed = ctx.arena.take(x.shape, product_rows(block.up, x.shape[0]));
    norm_mlp(ctx, number, x, parts, normed);
  }
  for (int64_t begin = 0, end; begin < x.shape[0]; begin = end) {
    end = std::min(begin + inner.shape[0], x.shape[0]);
    const View piece = x.slice(begin, end), made = inner.slice(0, end - begin);
    const auto up = [&](const View& out) {
      if (normed.empty()) return project(ctx, block.mlp_norm, block.up, piece, out);
      linear(ctx, block.up, normed.slice(begin, end), out);
    };
    if (config_.mlp == MlpKind::kGeGlu) {
      const Arena::Mark both_mark(ctx.arena);
      const View both = ctx.arena.take({end - begin, 2 * int64_t{config_.ffn}}, DType::kF32);
      up(both);
      gelu_tanh_mul(ctx, both, made);
    } else {
      up(made);
      if (!is_gated(config_.mlp)) {
        const bool tanh = config_.mlp == MlpKind::kGeluTanh;
        activate(ctx, tanh ? Activation::kGeluTanh : Activation::kGelu, made, made);
      }
    }
    add_branch(ctx, block.down, block.mlp_after, made, piece);
  }
}

void Decoder::check_pool(const KvPool& pool, int first_layer, int layers) const {
  const DecoderConfig& c = config_;
  const KvSpec& s = pool.spec();
  SYRINX_CHECK(s.kv_heads == c.kv_heads && s.head_dim == c.head_dim && first_layer >= 0 &&
                   first_layer + layers <= s.layers,
               "[decoder] the pool has ", s.layers, " layers of ", s.kv_heads, " x ", s.head_dim,
               ", expected ", layers, " of ", c.kv_heads, " x ", c.head_dim, " from ", first_layer);
}

void Decoder::forward(StepContext& ctx, const View& x, const Ragged& ragged, const KvPool& pool,
                      int first_layer) const {
  const DecoderPart all{0, ragged, &pool};
  forward(ctx, x, std::span(&all, 1), first_layer);
}

void Decoder::forward(StepContext& ctx, const View& x, std::span<const DecoderPart> parts,
                      int first_layer) const {
  forward(ctx, x, parts, first_layer, {0, config_.layers});
}

void Decoder::forward(StepContext& ctx, const View& x, std::span<const DecoderPart> parts,
                      int first_layer, BlockRange blocks, const DecoderMemory* memory) const {
  const DecoderConfig& c = config_;
  SYRINX_CHECK(c.cross_attention == (memory != nullptr),
               "[decoder] cross-attention needs a memory, other blocks need none");
  SYRINX_CHECK(0 <= blocks.begin && blocks.begin <= blocks.end && blocks.end <= c.layers,
               "[decoder] no blocks [", blocks.begin, ", ", blocks.end, ") in ", c.layers);
  int64_t n = 0;
  for (const DecoderPart& part : parts) {
    check_pool(*part.pool, first_layer, blocks.end - blocks.begin);
    SYRINX_CHECK(part.begin == n, "[decoder] a part begins at row ", part.begin, ", not ", n);
    if (!part.mlp_norms.empty()) expect_shape("decoder", part.mlp_norms, {c.layers, c.hidden});
    n += part.ragged.rows();
  }
  expect_shape("decoder", x, {n, c.hidden});
  if (memory) {
    check_pool(*memory->pool, 0, c.layers);
    SYRINX_CHECK(memory->ragged.rows() == n, "[decoder] memory only for ", memory->ragged.rows(),
                 " of ", n, " rows");
  }
  if (n == 0) return;
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t q_width = int64_t{c.heads} * c.head_dim;
  const int64_t kv_width = int64_t{c.kv_heads} * c.head_dim;
  const Block& any = blocks_.front();
  const DType inner_type = c.mlp == MlpKind::kSwiGlu ? product_rows(any.down, n) : DType::kF32;
  const View qkv = ctx.arena.take({n, q_width + 2 * kv_width}, DType::kF32);
  const View mixed = ctx.arena.take({n, q_width}, product_rows(any.o, n));
  const View inner =
      c.moe.experts > 0 ? View{} : ctx.arena.take({mlp_rows(ctx, n), c.ffn}, inner_type);
  const View q = memory ? ctx.arena.take({n, q_width}, DType::kF32) : View{};
  const std::span<int32_t> at = take_array<int32_t>(ctx, n);
  if (ctx.device == Device::kCpu) {
    for (const DecoderPart& part : parts) {
      ragged_positions(part.ragged, at.subspan(part.begin, part.ragged.rows()));
    }
  } else {  // one upload of the batch's arrays serves all layers
    const std::span<DecoderPart> placed = take_array<DecoderPart>(ctx, std::ssize(parts));
    for (size_t i = 0; i < parts.size(); ++i) {
      placed[i] = parts[i];
      if (!placed[i].ragged.on_device) placed[i].ragged = resident(ctx, parts[i].ragged);
    }
    parts = placed;
  }
  DecoderMemory near;
  if (memory) {
    near = {resident(ctx, memory->ragged), memory->pool};
    memory = &near;
  }

  for (int i = blocks.begin; i < blocks.end; ++i) {
    const Block& block = blocks_[i];
    project(ctx, block.attention_norm, block.qkv, x, qkv);
    attend(ctx, i, qkv, parts, at, first_layer + i - blocks.begin, mixed);
    add_branch(ctx, block.o, block.attention_after, mixed, x);
    if (memory) attend_memory(ctx, i, *memory, q, mixed, x);
    run_mlp(ctx, i, x, parts, inner);
  }
}

void Decoder::norm(StepContext& ctx, const View& x, const View& out) const {
  SYRINX_CHECK(config_.final_norm, "[decoder] the config has no final norm");
  final_(ctx, x, out);
}

void Decoder::norm_rows(StepContext& ctx, const View& x, std::span<const int32_t> rows,
                        const View& out) const {
  const Arena::Mark mark(ctx.arena);
  norm(ctx, picked_rows(ctx, x, rows), out);
}

void Decoder::norm_rows(StepContext& ctx, const View& x, std::span<const int32_t> rows,
                        const PackedLinear& w, const View& out) const {
  const Arena::Mark mark(ctx.arena);
  project(ctx, final_, w, picked_rows(ctx, x, rows), out);
}

void run_whole(StepContext& ctx, const Decoder& encoder, const View& x, BlockRange blocks,
               int64_t length) {
  const Arena::Mark host_mark(ctx.host);
  if (length == 0) length = x.shape[0];
  const std::span<int64_t> lengths =
      take_array<int64_t>(ctx, length == 0 ? 0 : x.shape[0] / length);
  std::ranges::fill(lengths, length);
  run_whole(ctx, encoder, x, blocks, lengths);
}

void run_whole(StepContext& ctx, const Decoder& encoder, const View& x, BlockRange blocks,
               std::span<const int64_t> lengths) {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t count = std::ssize(lengths);
  const std::span<int32_t> row_begin = take_array<int32_t>(ctx, count + 1);
  const std::span<int32_t> kv_len = take_array<int32_t>(ctx, count);
  int64_t most = 0, held = 0;
  for (int64_t i = 0; i < count; ++i) {
    kv_len[i] = static_cast<int32_t>(lengths[i]);
    row_begin[i + 1] = row_begin[i] + kv_len[i];
    most = std::max(most, KvPool::pages_for(lengths[i]));
    held += KvPool::pages_for(lengths[i]);
  }
  SYRINX_CHECK(row_begin[count] == x.shape[0], "[run_whole] ", x.shape[0],
               " rows, the sequences have ", row_begin[count]);
  const DecoderConfig& config = encoder.config();
  KvSpec spec = config.kv_spec(ctx.device == Device::kCpu ? config.whole_cache : DType::kF32);
  spec.layers = 1;
  spec.byte_products = true;  // did not increase the error of an encoder's rows (decision 0012)
  const View memory =
      ctx.arena.take({held * static_cast<int64_t>(KvPool::page_bytes(spec))}, DType::kU8);
  const KvPool pool(spec, held, memory);
  const std::span<int32_t> pages = take_array<int32_t>(ctx, count * most);
  for (int64_t i = 0, page = 0; i < count; ++i) {
    const int64_t own = KvPool::pages_for(lengths[i]);
    std::iota(pages.begin() + i * most, pages.begin() + i * most + own, static_cast<int32_t>(page));
    page += own;
  }
  const Ragged ragged = resident(ctx, {row_begin, kv_len, pages, static_cast<int>(most)});
  const DecoderPart part{0, ragged, &pool};
  for (int block = blocks.begin; block < blocks.end; ++block)
    encoder.forward(ctx, x, std::span(&part, 1), 0, {block, block + 1});
}

int64_t last_rows(const Ragged& ragged, std::span<int32_t> out) {
  int64_t count = 0;
  for (int64_t b = 0; b < ragged.sequences(); ++b)
    if (ragged.row_begin[b] < ragged.row_begin[b + 1]) out[count++] = ragged.row_begin[b + 1] - 1;
  return count;
}

}  // namespace syrinx
