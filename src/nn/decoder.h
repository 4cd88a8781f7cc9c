// Stacks of transformer blocks of the llama and qwen3 kind over a paged cache: for AR stages, depth
// transformers and codec transformers. Const after construction, shared by threads. A row's result
// has the same bits in any batch, chunk of its prompt, and number of threads. Legend: N rows of the
// ragged batch, H hidden, D head size.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/activation.h"
#include "kernels/attention.h"
#include "kernels/rope.h"
#include "nn/layers.h"
#include "nn/moe.h"

namespace syrinx {

/// The kind of norm: RMS norm, or LayerNorm with bias.
enum class NormKind : uint8_t { kRms, kLayer };
/// Whether a branch (attention or MLP) norms its input, its output before the addition, or both.
enum class NormOrder : uint8_t { kBefore, kAfter, kBoth };
/// The formula of an MLP: down(silu(gate x) * up x), down(gelu_tanh(gate x) * up x), fc2(gelu(fc1
/// x)), or fc2 with the tanh approximation of gelu.
enum class MlpKind : uint8_t { kSwiGlu, kGeGlu, kGelu, kGeluTanh };
/// Returns whether the inner activation is multiplied by a gate.
constexpr bool is_gated(MlpKind kind) {
  return kind == MlpKind::kSwiGlu || kind == MlpKind::kGeGlu;
}

/// Names of a block's parts and of the final norm in a checkpoint; by default those of Llama.
struct DecoderNames {
  const char* blocks = "layers";
  const char* attention_norm = "input_layernorm";
  const char* q = "self_attn.q_proj";
  const char* k = "self_attn.k_proj";
  const char* v = "self_attn.v_proj";
  const char* qkv = nullptr;  ///< linear of q, k and v, in this order; null: three linears
  const char* o = "self_attn.o_proj";
  const char* mlp_norm = "post_attention_layernorm";
  const char* gate = "mlp.gate_proj";
  const char* up = "mlp.up_proj";
  const char* up_gate = nullptr;  ///< linear of up and gate, in this order; null: two linears
  const char* gate_up = nullptr;  ///< linear of gate and up, in this order; null: two linears
  const char* down = "mlp.down_proj";
  const char* fc1 = "mlp.fc1";
  const char* fc2 = "mlp.fc2";
  const char* attention_after = "post_attention_layernorm";  ///< used with NormOrder::kBoth
  const char* mlp_after = "post_feedforward_layernorm";      ///< used with NormOrder::kBoth
  const char* final_norm = "norm";
  const char* q_norm = "self_attn.q_norm";
  const char* k_norm = "self_attn.k_norm";
  const char* cross_norm =
      "cross_attn_norm";  ///< this name and the next four: with cross_attention
  const char* cross_q = "cross_attn.q_proj";
  const char* cross_k = "cross_attn.k_proj";
  const char* cross_v = "cross_attn.v_proj";
  const char* cross_o = "cross_attn.o_proj";
  const char* attention_scale = "self_attn_layer_scale.scale";  ///< used with layer_scale
  const char* mlp_scale = "mlp_layer_scale.scale";
};

/// The window and rotation of one layer, for decoders whose layers differ. Plain data.
struct LayerKind {
  enum class Rope : uint8_t { kNone, kMain, kLocal };
  int window = 0;  ///< positions to which a row attends; 0: all
  Rope rope = Rope::kMain;
};

/// Sizes and variants of the transformer. Plain data.
struct DecoderConfig {
  int layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0, ffn = 0;
  float norm_eps = 1e-6f;
  bool rotary = true;
  RopeSpec rope = {};             ///< a dim of 0 means head_dim
  int64_t rope_positions = 4096;  ///< positions with cached angles; later positions are slower
  bool qk_norm = false;           ///< RMS norm of q and k for each head
  bool qk_norm_wide = false;      ///< with qk_norm: one norm over all heads together (OLMo 2)
  float qk_norm_eps = 0;          ///< with qk_norm: 0 means norm_eps
  bool attention_bias = false;    ///< whether q, k and v have a bias
  bool key_bias = true;           ///< whether k has a bias; used with attention_bias
  bool output_bias = false;       ///< whether o has a bias
  bool mlp_bias = false;          ///< whether all linears of the MLP have a bias
  bool down_bias = false;         ///< whether only the MLP's last linear has a bias
  bool layer_scale = false;       ///< whether both branches have a gain for each channel
  int window = 0;                 ///< positions to which a row attends; 0: all
  /// One entry per layer, in place of `window` and `rotary`. If empty, all layers are equal.
  std::vector<LayerKind> layer_kinds = {};
  /// rotation of layers with Rope::kLocal; `dim` means the same as in `rope`
  std::optional<RopeSpec> local_rope = {};
  float query_scale = 0;           ///< factor of the scores; 0 means 1 / sqrt(head_dim)
  float score_cap = 0;             ///< as AttentionSpec::cap
  std::vector<float> slopes = {};  ///< as AttentionSpec::slopes
  bool causal = true;
  std::optional<WeightType> qkv = {};  ///< the type of q, k and v, unless it is that of the others
  DType whole_cache = DType::kF32;     ///< type of run_whole()'s cache on a CPU; on a GPU it is f32
  NormKind norm = NormKind::kRms;
  float norm_offset = 0;  ///< number added to the weights of all RMS norms
  NormOrder norm_order = NormOrder::kBefore;
  MlpKind mlp = MlpKind::kSwiGlu;
  /// Whether each block has cross-attention to a DecoderMemory, between attention and MLP. Its
  /// input has a LayerNorm of epsilon 1e-5.
  bool cross_attention = false;
  bool final_norm = true;
  bool transposed = false;  ///< whether linears are stored as [in, out], as in GPT-2
  MoeConfig moe = {};       ///< if it has experts, they replace gate, up and down in each block
  DecoderNames names = {};

  KvSpec kv_spec(DType dtype = DType::kF16) const { return {layers, kv_heads, head_dim, dtype}; }
};

/// The blocks [begin, end) of a decoder, for callers that use the rows between two blocks.
struct BlockRange {
  int begin = 0, end = 0;
};

/// Sequences of a batch with pages in one pool: rows [begin, begin + ragged.rows()) of x.
struct DecoderPart {
  int64_t begin = 0;
  Ragged ragged;
  const KvPool* pool = nullptr;
  /// f32 [layers, H], weights of the norms before the MLPs in place of the decoder's own, for rows
  /// with a condition (adaptive RMS norm); empty: the decoder's own
  View mlp_norms = {};
};

/// Rows to which all rows of a call attend by cross-attention, as keys and values in a cache whose
/// layers are the blocks. `ragged`: rows of x, and in kv_len the memory rows of each sequence.
struct DecoderMemory {
  Ragged ragged;
  const KvPool* pool = nullptr;
};

/// A stack of blocks with its weights. The caller owns the cache.
class Decoder {
 public:
  Decoder() = default;
  /// Loads from `weights`, by transformers' names or config.names: layers.N.{input_layernorm,
  /// self_attn.{q,k,v,o}_proj, self_attn.{q,k}_norm, post_attention_layernorm,
  /// mlp.{gate,up,down}_proj | mlp.{fc1,fc2}} and norm. With experts, loads the names of Moe from
  /// the scope mlp. The checkpoint may be closed afterwards.
  Decoder(const DecoderConfig& config, const Weights& weights, WeightType type);

  const DecoderConfig& config() const { return config_; }
  const RopeTable& rope_table() const { return rope_; }
  size_t bytes() const;
  /// Moves the weights to a GPU, for rows on the GPU.
  void move_to(Device device);

  /// Runs the blocks over the residual stream x [N, H], in place. Writes keys and values of the
  /// rows to layers [first_layer, first_layer + layers) of the pool. Does not apply the final norm:
  /// select the rows that need it first, then call norm().
  void forward(StepContext& ctx, const View& x, const Ragged& ragged, const KvPool& pool,
               int first_layer = 0) const;
  /// Runs the blocks for sequences in several pools. The parts are consecutive and cover x.
  void forward(StepContext& ctx, const View& x, std::span<const DecoderPart> parts,
               int first_layer = 0) const;
  /// Runs only `blocks`. The cache of their first block is layer `first_layer`. Running all blocks
  /// in several calls gives the bits of one call.
  /// `memory`: required with cross_attention, else null.
  void forward(StepContext& ctx, const View& x, std::span<const DecoderPart> parts, int first_layer,
               BlockRange blocks, const DecoderMemory* memory = nullptr) const;
  /// Writes keys and values of memory rows [N, H] for the cross-attention of all blocks to the last
  /// positions of `to`.
  void remember(StepContext& ctx, const View& rows, const DecoderMemory& to) const;

  /// Computes out [N, H] = the final norm of x.
  void norm(StepContext& ctx, const View& x, const View& out) const;
  /// Computes out [B, H] = the final norm of the rows `rows` of x.
  void norm_rows(StepContext& ctx, const View& x, std::span<const int32_t> rows,
                 const View& out) const;
  /// Computes out [B, O] = w(the final norm of the rows `rows` of x). Without a final norm, w reads
  /// the rows as they are.
  void norm_rows(StepContext& ctx, const View& x, std::span<const int32_t> rows,
                 const PackedLinear& w, const View& out) const;

 private:
  struct Norm {
    Norm() = default;
    Norm(const Weights& weights, const DecoderConfig& config);
    bool empty() const { return rms.empty() && layer.empty(); }
    void operator()(StepContext& ctx, const View& x, const View& out) const;
    void move_to(Device device);
    RmsNorm rms;
    LayerNorm layer;
  };
  struct Block {
    Block(const Weights& weights, const DecoderConfig& config, WeightType type);
    Norm attention_norm, mlp_norm;    // norms of the branches' inputs; empty with kAfter
    Norm attention_after, mlp_after;  // norms of the branches' outputs; empty with kBefore
    PackedLinear qkv, o, up, down;    // `up`: gate and up as one linear
    Moe moe;                          // empty if the config has no experts
    RmsNorm q_norm, k_norm;
    LayerNorm cross_norm;  // this and the next three: empty without cross_attention
    PackedLinear cross_q, cross_kv, cross_o;
  };

  /// Computes out = w(norm(x)), or w(x) if the norm is empty.
  static void project(StepContext& ctx, const Norm& norm, const PackedLinear& w, const View& x,
                      const View& out);
  /// Adds to x the output of the linear w for `in`, after the norm `after` unless it is empty.
  static void add_branch(StepContext& ctx, const PackedLinear& w, const Norm& after, const View& in,
                         const View& x);
  void check_pool(const KvPool& pool, int first_layer, int layers) const;
  /// Runs the attention of block `block`. Its cache is layer `layer` of the pool.
  void attend(StepContext& ctx, int block, const View& qkv, std::span<const DecoderPart> parts,
              std::span<const int32_t> positions, int layer, const View& out) const;
  void attend_memory(StepContext& ctx, int block, const DecoderMemory& memory, const View& q,
                     const View& mixed, const View& x) const;
  /// Returns whether any part has norms of its own.
  static bool has_norms(std::span<const DecoderPart> parts);
  void norm_mlp(StepContext& ctx, int block, const View& x, std::span<const DecoderPart> parts,
                const View& normed) const;
  void run_mlp(StepContext& ctx, int block, const View& x, std::span<const DecoderPart> parts,
               const View& inner) const;
  LayerKind kind_of(int block) const;

  DecoderConfig config_;
  std::vector<Block> blocks_;
  Norm final_;
  RopeTable rope_, local_rope_;
  Tensor slopes_;  // config_.slopes, on the device of the weights
};

/// Runs blocks of an encoder (not causal) in place over x [N, H]: the rows of one sequence, or of
/// sequences of `length` rows each. The cache exists only during the call.
void run_whole(StepContext& ctx, const Decoder& encoder, const View& x, BlockRange blocks,
               int64_t length = 0);
/// Does the same for sequences of different lengths, whose sum is N.
void run_whole(StepContext& ctx, const Decoder& encoder, const View& x, BlockRange blocks,
               std::span<const int64_t> lengths);

/// Writes the index of the last row of each sequence that has rows, in the order of sequences.
/// Returns the number of these sequences.
int64_t last_rows(const Ragged& ragged, std::span<int32_t> out);

}  // namespace syrinx
