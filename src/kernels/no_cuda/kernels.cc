// Implements kernels/cuda/kernels.h in builds without the CUDA backend. These functions are never
// called, because no operand can be on a GPU in such a build.
#include "kernels/cuda/kernels.h"

#include "kernels/cuda/solver.h"

namespace syrinx::cuda {
namespace {
[[noreturn]] void missing() { throw InternalError("this build has no CUDA backend"); }
}  // namespace

void rms_norm(StepContext&, const View&, const View&, const View&, float, const View&) {
  missing();
}
void layer_norm(StepContext&, const View&, const View&, const View&, float, const View&) {
  missing();
}
void rms_norm_heads(StepContext&, const HeadsView&, const View&, float) { missing(); }
void activate(StepContext&, Activation, const View&, const View&) { missing(); }
void gelu_tanh_mul(StepContext&, const View&, const View&) { missing(); }
void silu_mul(StepContext&, const View&, const View&) { missing(); }
void tanh_sigmoid_mul(StepContext&, const View&, const View&) { missing(); }
void snake(StepContext&, const View&, const View&, const View&, ChannelAxis, const View&) {
  missing();
}
void clamp(StepContext&, const View&, float, float, const View&) { missing(); }
void leaky_relu(StepContext&, const View&, float, const View&) { missing(); }
void scale(StepContext&, const View&, float) { missing(); }
void add(StepContext&, const View&, const View&, const View&, bool) { missing(); }
void encode_distances(StepContext&, int64_t, const View&) { missing(); }
void copy_cached_rows(StepContext&, std::span<const CachedRowCopy>, int64_t, const KvPool&) {
  missing();
}
void copy_spans(StepContext&, std::span<const CopySpan>) { missing(); }
void add_spans(StepContext&, std::span<const CopySpan>) { missing(); }
void normalising_scale(StepContext&, const View&, const View&, const View&, float, const View&,
                       const View&) {
  missing();
}
void group_norm(StepContext&, const View&, const View&, const View&, int64_t, float) { missing(); }
void scale_channels(StepContext&, const View&, const View&, const View&, const View&, const View&,
                    const View&) {
  missing();
}
void copy_columns(StepContext&, const View&, int64_t, const View&) { missing(); }
void add_rows_scaled(StepContext&, const View&, const View&, const View&) { missing(); }
void gather_patches(StepContext&, const View&, int64_t, const View&) { missing(); }
void depthwise_patches(StepContext&, const View&, const View&, const View&, int64_t, const View&) {
  missing();
}
void channels_first(StepContext&, const View&, const View&) { missing(); }
void multiply(StepContext&, const View&, const View&) { missing(); }
void rel_attention(StepContext&, const View&, const View&, const View&, std::span<const RelSegment>,
                   float, const View&) {
  missing();
}
void mean_rows(StepContext&, const View&, int64_t, const View&) { missing(); }
void subtract_largest(StepContext&, const View&, const View&, const View&, const View&, int64_t) {
  missing();
}
void embed(StepContext&, const View&, std::span<const int32_t>, const View&, bool) { missing(); }
void embed_column(StepContext&, const View&, const View&, int, const View&) { missing(); }
void embed_sum(StepContext&, std::span<const View>, const View&, const View&) { missing(); }
void to_f32(StepContext&, const View&, const View&) { missing(); }
void merge_guidance(StepContext&, const View&, std::span<const GuidedRow>) { missing(); }
void rope(StepContext&, const HeadsView&, std::span<const int32_t>, const RopeTable&) { missing(); }
void linear(StepContext&, const PackedMatrix&, const View&, const GemmOut&, const GemmNorm&) {
  missing();
}
void add_experts(StepContext&, const ExpertTable&, const View&, const View&, int, bool,
                 const View&) {
  missing();
}
void conv1d(StepContext&, const PackedConv1d&, std::span<const ConvSegment>, int64_t, int64_t,
            int64_t) {
  missing();
}
void limit_ids(StepContext&, const View&, std::span<const IdLimits>) { missing(); }
void log_probabilities(StepContext&, const View&, const View&, int, const View&) { missing(); }
void lstm(StepContext&, const PackedLinear&, std::span<const LstmSteps>) { missing(); }
const int32_t* upload_ragged(StepContext&, const Ragged&) { missing(); }
void write_kv(StepContext&, const HeadsView&, const HeadsView&, const KvPool&, int, const Ragged&) {
  missing();
}
void paged_attention(StepContext&, const HeadsView&, const KvPool&, int, const Ragged&,
                     const AttentionSpec&, const View&) {
  missing();
}
void sample_codes(StepContext&, const View&, std::span<const SampleRow>, std::span<const GuidedRow>,
                  int, const View&, const View&) {
  missing();
}
void sample(StepContext&, const View&, std::span<const SampleRow>, std::span<int32_t>,
            std::span<SampleStatus>) {
  missing();
}
void draw_code(StepContext&, const View&, const StepDraws&, const void*, int, const View&,
               const View&) {
  missing();
}
void inverse_stft(StepContext&, const View&, int, int, std::span<const float>, const View&,
                  const View&) {
  missing();
}

}  // namespace syrinx::cuda
