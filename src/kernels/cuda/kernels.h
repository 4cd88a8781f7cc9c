// The CUDA kernels for the functions of kernels/*.h. Those functions check their arguments and,
// if the operands are on a GPU, call the kernels. kernels/*.h specifies shapes, types and results;
// the comments here describe only differences. Work is queued on ctx.stream; scratch is memory of
// ctx.arena. Spans are host memory and are uploaded by the call. Builds without CUDA use
// no_cuda/kernels.cc.
//
// A row has the same bits in any batch.
#pragma once

#include <complex>
#include <span>

#include "kernels/activation.h"
#include "kernels/attention.h"
#include "kernels/conv.h"
#include "kernels/copy.h"
#include "kernels/guidance.h"
#include "kernels/id_limits.h"
#include "kernels/linear.h"
#include "kernels/lstm.h"
#include "kernels/rel_attention.h"
#include "kernels/rope.h"
#include "kernels/sample.h"

namespace syrinx {
class ExpertTable;
class StepDraws;
}  // namespace syrinx

namespace syrinx::cuda {

/// Adds delta to x first, unless delta is empty.
void rms_norm(StepContext& ctx, const View& x, const View& delta, const View& weight, float eps,
              const View& out);
void layer_norm(StepContext& ctx, const View& x, const View& weight, const View& bias, float eps,
                const View& out);
void rms_norm_heads(StepContext& ctx, const HeadsView& x, const View& weight, float eps);

void activate(StepContext& ctx, Activation f, const View& x, const View& out);
void gelu_tanh_mul(StepContext& ctx, const View& x, const View& out);
void silu_mul(StepContext& ctx, const View& x, const View& out);
void tanh_sigmoid_mul(StepContext& ctx, const View& x, const View& out);
void snake(StepContext& ctx, const View& x, const View& alpha, const View& inv_beta,
           ChannelAxis axis, const View& out);
void normalising_scale(StepContext& ctx, const View& x, const View& gain, const View& shift,
                       float eps, const View& factor, const View& summand);
void group_norm(StepContext& ctx, const View& x, const View& weight, const View& bias,
                int64_t groups, float eps);
/// Applies a snake, too, unless alpha is empty.
void scale_channels(StepContext& ctx, const View& x, const View& factor, const View& summand,
                    const View& alpha, const View& inv_beta, const View& out);
void clamp(StepContext& ctx, const View& x, float low, float high, const View& out);
void leaky_relu(StepContext& ctx, const View& x, float slope, const View& out);
void scale(StepContext& ctx, const View& x, float factor);
/// Computes x[i, j] += y * gain[j]. y is [N, H] or, with `one_row`, [H]; gain may be empty.
void add(StepContext& ctx, const View& x, const View& y, const View& gain, bool one_row);

void copy_spans(StepContext& ctx, std::span<const CopySpan> spans);
void add_spans(StepContext& ctx, std::span<const CopySpan> spans);
void copy_columns(StepContext& ctx, const View& x, int64_t column, const View& out);
void add_rows_scaled(StepContext& ctx, const View& x, const View& y, const View& factors);

/// Has a thread for each number of `out`.
void gather_patches(StepContext& ctx, const View& planes, int64_t first, const View& out);
/// Does the same.
void depthwise_patches(StepContext& ctx, const View& x, const View& taps, const View& bias,
                       int64_t lead, const View& out);
/// Does the same.
void channels_first(StepContext& ctx, const View& x, const View& out);
/// Does the same.
void multiply(StepContext& ctx, const View& x, const View& y);
/// Computes the means of each `each` rows.
void mean_rows(StepContext& ctx, const View& x, int64_t each, const View& out);
/// Chooses codes; subtracts entries only if x is not empty.
void subtract_largest(StepContext& ctx, const View& scores, const View& entries, const View& x,
                      const View& codes, int64_t column);

/// Has a block for each row and head; scale: 1 / sqrt(D).
void rel_attention(StepContext& ctx, const View& q, const View& u, const View& v,
                   std::span<const RelSegment> streams, float scale, const View& out);
/// Has a thread for each number of `out`.
void encode_distances(StepContext& ctx, int64_t first, const View& out);

void embed(StepContext& ctx, const View& table, std::span<const int32_t> ids, const View& out,
           bool add);
void embed_column(StepContext& ctx, const View& table, const View& codes, int column,
                  const View& out);
void embed_sum(StepContext& ctx, std::span<const View> tables, const View& codes, const View& out);
void to_f32(StepContext& ctx, const View& x, const View& out);
void merge_guidance(StepContext& ctx, const View& logits, std::span<const GuidedRow> rows);

void rope(StepContext& ctx, const HeadsView& x, std::span<const int32_t> positions,
          const RopeTable& table);

/// The destination of a product's rows. cpu::GemmPart explains the fields of a part.
struct GemmOut {
  static constexpr int kMaxParts = 8;
  struct Part {
    int first_row = 0, width = 0;  ///< first matrix row, number of outputs
    float* out = nullptr;
    int64_t stride = 0, column = 0;
  };
  enum class Store : uint8_t { kSet, kAdd, kSiluGate };
  Part parts[kMaxParts];
  int count = 0;
  const float* bias = nullptr;  ///< one number per matrix row, or null without a bias
  Store store = Store::kSet;
  bool rounded = false;  ///< kSiluGate only: the single part's `out` is an array of bf16
};

/// The RMS norm of a product's rows; weight [I], null without a norm.
struct GemmNorm {
  const float* weight = nullptr;
  float eps = 0;
};

/// Multiplies x [N, I] by the matrix. With weights of bf16 and 8 bits, x is rounded to bf16. If I
/// is a multiple of 64, x may already be bf16. `norm` only if norms_in_product() (matrix_layout.h).
void linear(StepContext& ctx, const PackedMatrix& w, const View& x, const GemmOut& out,
            const GemmNorm& norm = {});

void add_experts(StepContext& ctx, const ExpertTable& table, const View& x, const View& logits,
                 int top_k, bool normalised, const View& out);

void conv1d(StepContext& ctx, const PackedConv1d& w, std::span<const ConvSegment> segments,
            int64_t phases, int64_t dilation, int64_t stride);

/// Has a thread for each number that is copied.
void copy_cached_rows(StepContext& ctx, std::span<const CachedRowCopy> copies, int64_t pages,
                      const KvPool& pool);
void lstm(StepContext& ctx, const PackedLinear& recurrent, std::span<const LstmSteps> streams);

/// Uploads a batch for Ragged::on_device, once for all layers; valid until the arena releases it.
const int32_t* upload_ragged(StepContext& ctx, const Ragged& ragged);
void write_kv(StepContext& ctx, const HeadsView& k, const HeadsView& v, const KvPool& pool,
              int layer, const Ragged& ragged);
void paged_attention(StepContext& ctx, const HeadsView& q, const KvPool& pool, int layer,
                     const Ragged& ragged, const AttentionSpec& spec, const View& out);

/// Waits for the stream, because ids and status are written to host memory.
void sample(StepContext& ctx, const View& logits, std::span<const SampleRow> rows,
            std::span<int32_t> ids, std::span<SampleStatus> status);
void sample_codes(StepContext& ctx, const View& logits, std::span<const SampleRow> rows,
                  std::span<const GuidedRow> places, int column, const View& codes,
                  const View& status);

void limit_ids(StepContext& ctx, const View& logits, std::span<const IdLimits> rows);
void log_probabilities(StepContext& ctx, const View& logits, const View& ids, int column,
                       const View& out);

void draw_code(StepContext& ctx, const View& logits, const StepDraws& draws, const void* there,
               int k, const View& codes, const View& status);

/// Converts spectra [F, bins] complex (as f32 [F, 2 * bins]) to F * hop samples; state [2, n_fft].
/// Adds frames in the order in which InverseStft of fft.h adds them.
void inverse_stft(StepContext& ctx, const View& spectrum, int n_fft, int hop,
                  std::span<const float> window, const View& state, const View& out);

}  // namespace syrinx::cuda
