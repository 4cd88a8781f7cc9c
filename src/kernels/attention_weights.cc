#include "kernels/attention_weights.h"

#include <algorithm>
#include <cmath>

#include "base/float16.h"
#include "kernels/attention_impl.h"

namespace syrinx {
namespace {

constexpr int kPage = KvPool::kPageRows;

/// Computes the scores of one row with all keys [D][positions], and replaces them by the softmax.
void weigh_row(const float* q, const float* keys, int64_t dim, int64_t stride, float scale,
               std::span<float> out) {
  std::fill(out.begin(), out.end(), 0.f);
  for (int64_t d = 0; d < dim; ++d) {
    const float by = q[d] * scale;
    const float* column = keys + d * stride;
    for (size_t p = 0; p < out.size(); ++p) out[p] += by * column[p];
  }
  const float top = *std::max_element(out.begin(), out.end());
  double sum = 0;
  for (float& x : out) {
    x = std::exp(x - top);
    sum += x;
  }
  const auto share = static_cast<float>(1 / sum);
  for (float& x : out) x *= share;
}

/// Returns the keys of a head in each page, in host memory.
std::span<const void*> keys_on_host(StepContext& ctx, const KvPool& pool, int layer, int kv_head,
                                    std::span<const int32_t> pages) {
  const KvSpec& spec = pool.spec();
  const int64_t bytes = kv_part_bytes(spec.head_dim, spec.dtype);
  const std::span<const void*> keys = take_array<const void*>(ctx, std::ssize(pages));
  for (size_t i = 0; i < pages.size(); ++i) {
    keys[i] = pool.keys(layer, pages[i], kv_head);
    if (ctx.device == Device::kCpu) continue;
    const View copy = ctx.host.take({bytes}, DType::kU8);
    ctx.stream->download(keys[i], copy.data, static_cast<size_t>(bytes));
    keys[i] = copy.data;
  }
  synchronize(ctx);
  return keys;
}

/// Returns number `d` of the key in row `slot` of a page.
float key_number(const void* page, DType dtype, int64_t dim, int64_t d, int64_t slot) {
  if (dtype == DType::kI8) {
    const auto* numbers = static_cast<const int8_t*>(page);
    const auto* scales = reinterpret_cast<const float*>(numbers + dim * kPage);
    return static_cast<float>(numbers[(d / 2 * kPage + slot) * 2 + d % 2]) * scales[slot];
  }
  const int64_t at = d * kPage + slot;
  return dtype == DType::kF32 ? static_cast<const float*>(page)[at]
                              : f16_to_f32(static_cast<const uint16_t*>(page)[at]);
}

}  // namespace

void attention_weights(StepContext& ctx, const View& q, const KvPool& pool, int layer, int kv_head,
                       std::span<const int32_t> pages, float scale, const View& out) {
  const KvSpec& spec = pool.spec();
  const int64_t dim = spec.head_dim, rows = q.shape[0], positions = out.shape[1];
  const int64_t held = KvPool::pages_for(positions), stride = held * kPage;
  SYRINX_CHECK(pool.device() == ctx.device && spec.dtype != DType::kBF16,
               "[attention_weights] unsupported cache: ", dtype_name(spec.dtype), " on ",
               device_name(pool.device()));
  SYRINX_CHECK(layer >= 0 && layer < spec.layers && kv_head >= 0 && kv_head < spec.kv_heads,
               "[attention_weights] the cache lacks layer ", layer, " or head ", kv_head);
  SYRINX_CHECK(positions > 0 && held <= std::ssize(pages), "[attention_weights] ", positions,
               " positions do not fit in ", pages.size(), " pages");
  expect_shape("attention_weights", q, {rows, dim});
  expect_shape("attention_weights", out, {rows, positions});

  const Arena::Mark mark(ctx.host);
  float* keys = ctx.host.take({dim, stride}, DType::kF32).f32();
  const std::span<const void*> page_keys =
      keys_on_host(ctx, pool, layer, kv_head, pages.first(held));
  for (int64_t page = 0; page < held; ++page) {
    for (int64_t d = 0; d < dim; ++d) {
      for (int64_t i = 0; i < kPage; ++i)
        keys[d * stride + page * kPage + i] = key_number(page_keys[page], spec.dtype, dim, d, i);
    }
  }
  ctx.pool.parallel_for(rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      weigh_row(q.f32() + i * dim, keys, dim, stride, scale,
                {out.f32() + i * positions, static_cast<size_t>(positions)});
    }
  });
}

}  // namespace syrinx
