#include "kernels/cpu/gemm.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/gemm_sets.h"

namespace syrinx::cpu {
namespace {

constexpr int64_t kPanel = PackedMatrix::kPanel;
constexpr int kMaxPanels = 4;  // limit of panels per work item

/// A call divided into work items: blocks of rows (outer) times groups of panels (inner).
struct Plan {
  int64_t rows = 0, block_rows = 0, blocks = 0;
  int64_t first_panel = 0, panels = 0, group = 0, groups = 0;
};

/// Returns the bytes of a row of activations as the products read it.
int64_t row_bytes(const GemmCall& call) {
  const int64_t padded = call.weight->padded_k();
  switch (call.weight->type) {
    case WeightType::kQ8:
      return padded * 2;
    case WeightType::kQ8A8:
      return gemm_group_row_bytes(padded);
    case WeightType::kQ4:
      return gemm_q4_row_bytes(padded);
    default:
      return call.x_stride * static_cast<int64_t>(sizeof(float));
  }
}

Plan plan_call(const GemmCall& call, int threads) {
  Plan plan;
  for (const GemmSegment& s : call.segments) plan.rows += s.rows;
  const GemmPart& last = call.parts.back();
  plan.first_panel = call.parts.front().first_panel;
  const int64_t pairs = call.store == GemmStore::kSiluGate ? 2 : 1;
  plan.panels = last.first_panel + (last.width + kPanel - 1) / kPanel * pairs - plan.first_panel;
  if (plan.rows == 0) return plan;
  // The rows of a block stay in the L2 cache while all panels are processed.
  constexpr int64_t kCacheBytes = 384 * 1024;
  const int64_t fit =
      std::clamp<int64_t>(kCacheBytes / std::max<int64_t>(row_bytes(call), 1), 24, kMaxRows);
  plan.blocks = (plan.rows + fit - 1) / fit;
  const int64_t even = (plan.rows + plan.blocks - 1) / plan.blocks;
  plan.block_rows = std::min<int64_t>((even + kTileRows - 1) / kTileRows * kTileRows, kMaxRows);
  plan.blocks = (plan.rows + plan.block_rows - 1) / plan.block_rows;
  // With one row, an item has four panels instead of two, if every thread still gets enough items.
  const bool enough = plan.panels >= 2 * kMaxPanels * threads;
  plan.group = plan.rows == 1 && (enough || threads == 1) ? kMaxPanels : 2;
  plan.groups = (plan.panels + plan.group - 1) / plan.group;
  return plan;
}

/// Where the numbers of the rows are: in the segments' x or, rounded, in the arena.
struct Source {
  std::span<const char*> rounded;  // first number of the first row of each segment
  int64_t bytes = sizeof(float);   // bytes per number

  const void* row(const GemmCall& call, size_t segment, int64_t r) const {
    if (!rounded.empty()) return rounded[segment] + r * call.x_stride * bytes;
    return call.segments[segment].x + r * call.x_stride + call.x_offset;
  }
};

/// Rows [begin, begin + count) of the call, with the addresses of their inputs and outputs.
struct BlockRows {
  GemmRows rows;
  float* out[kMaxRows];  // column 0 of the row; null if the parts have their own `out`
  int64_t begin = 0;

  void fill(const GemmCall& call, const Source& source, int64_t first, int count) {
    begin = first;
    rows.count = count;
    const int64_t out_stride = call.parts.front().out_stride;
    int done = 0;
    for (size_t i = 0; i < call.segments.size(); ++i) {
      const GemmSegment& s = call.segments[i];
      for (; done < count && first < s.rows; ++first, ++done) {
        rows.x[done] = source.row(call, i, first);
        out[done] = s.out ? s.out + first * out_stride : nullptr;
      }
      if (done == count) return;
      first -= s.rows;
    }
  }
};

/// The rows of the part that a panel belongs to.
class PartRows {
 public:
  /// Finds the part of panel `panel` of the matrix for the rows of `block`.
  void find(const GemmCall& call, const BlockRows& block, int64_t panel) {
    const GemmPart* part = call.parts.data();
    const GemmPart* const last = &call.parts.back();
    while (part != last && part[1].first_panel <= panel) ++part;
    if (part == part_ && block.begin == begin_) return;
    part_ = part, begin_ = block.begin;
    for (int r = 0; part->out && r < block.rows.count; ++r)
      own_[r] = part->out + (block.begin + r) * part->out_stride;
    out_ = part->out ? own_ : block.out;
  }
  float* const* out() const { return out_; }
  const GemmPart& part() const { return *part_; }

 private:
  float* own_[kMaxRows];  // the rows of a part that has its own `out`
  float* const* out_ = nullptr;
  const GemmPart* part_ = nullptr;
  int64_t begin_ = -1;
};

/// Writes sums to `out` for panels [panel, panel + count) of the matrix.
void write_out(const GemmKernels& kernels, const GemmCall& call, const BlockRows& block,
               PartRows& to, int64_t panel, int64_t count, const float* sums) {
  const int64_t pairs = call.store == GemmStore::kSiluGate ? 2 : 1;
  for (int64_t p = panel; p < panel + count; p += pairs) {
    to.find(call, block, p);
    const GemmPart& part = to.part();
    const int64_t column = (p - part.first_panel) / pairs * kPanel;
    GemmFinish f;
    f.sums = sums + (p - panel) * block.rows.count * kPanel;
    f.bias = call.bias ? call.bias + p * kPanel : nullptr;
    if (pairs == 2) {
      f.sums1 = f.sums + block.rows.count * kPanel;
      f.bias1 = call.bias ? f.bias + kPanel : nullptr;
    }
    f.out = to.out();
    f.column = part.column + column;
    f.rows = block.rows.count;
    f.width = static_cast<int>(std::min(kPanel, part.width - column));
    f.add = call.store == GemmStore::kAdd;
    kernels.finish(f);
  }
}

/// The activations for quantised weights, in the arena, as GemmRows specifies.
struct QuantizedRows {
  const uint8_t* q = nullptr;  // rows of row_bytes bytes
  int64_t row_bytes = 0;
  const float* scale = nullptr;
};

/// Estimates the time in microseconds on one core, to decide whether to wake other threads.
double estimate_us(const GemmCall& call, int64_t rows) {
  const double flops = 2.0 * rows * call.weight->k * call.weight->out;
  const double bytes = static_cast<double>(call.weight->data.bytes());
  return std::max(flops / 90e3, bytes / 40e3);
}

QuantizedRows quantize_rows(StepContext& ctx, const GemmKernels& kernels, const GemmCall& call,
                            int64_t rows, bool share) {
  const int64_t padded = call.weight->padded_k();
  const GemmSegment& s = call.segments.front();
  const WeightType type = call.weight->type;
  const int64_t step = row_bytes(call);
  auto* q = static_cast<uint8_t*>(ctx.arena.take(Shape{rows * step}, DType::kU8).data);
  float* scale = ctx.arena.take(Shape{rows}, DType::kF32).f32();
  auto some = [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const float* x = s.x + r * call.x_stride;
      uint8_t* to = q + r * step;
      if (type == WeightType::kQ4) {
        kernels.quantize_q4(x, call.weight->k, padded, to);
      } else if (type == WeightType::kQ8A8) {
        kernels.quantize_groups(x, call.weight->k, padded, to);
      } else {
        scale[r] = kernels.quantize(x, call.weight->k, padded, reinterpret_cast<int16_t*>(to));
      }
    }
  };
  if (share && rows * padded > 64 * 1024) {
    ctx.pool.parallel_for(rows, 4, some);
  } else {
    some(0, rows);
  }
  return {q, step, scale};
}

/// Rounds all inputs of the segments once, because neighbouring rows share most of their inputs.
Source round_segments(StepContext& ctx, const GemmKernels& kernels, const GemmCall& call,
                      bool share) {
  constexpr int64_t kPiece = 8192;
  const auto numbers = [&](const GemmSegment& s) {
    const int64_t row = (call.spans - 1) * call.span_step + call.span_len;
    return s.rows == 0 ? 0 : (s.rows - 1) * call.x_stride + row;
  };
  Source source;
  source.rounded = take_array<const char*>(ctx, std::ssize(call.segments));
  source.bytes = kernels.rounded_bytes;
  for (size_t i = 0; i < call.segments.size(); ++i) {
    const int64_t count = numbers(call.segments[i]);
    const float* from = call.segments[i].x + call.x_offset;
    char* to = static_cast<char*>(ctx.arena.take(Shape{count * source.bytes}, DType::kU8).data);
    source.rounded[i] = to;
    const auto some = [&](int64_t begin, int64_t end) {
      const int64_t last = std::min(end * kPiece, count);
      kernels.round(from + begin * kPiece, last - begin * kPiece,
                    to + begin * kPiece * source.bytes);
    };
    const int64_t pieces = (count + kPiece - 1) / kPiece;
    if (share && pieces > 8) {
      ctx.pool.parallel_for(pieces, 1, some);
    } else {
      some(0, pieces);
    }
  }
  return source;
}

}  // namespace

void gemm(StepContext& ctx, const GemmCall& call) {
  const PackedMatrix& m = *call.weight;
  const Plan plan = plan_call(call, ctx.pool.size());
  if (plan.rows == 0) return;
  const bool narrow = is_quantized(m.type);
  SYRINX_CHECK(call.spans * call.span_len == m.k && (!narrow || call.segments.size() == 1),
               "gemm: ", call.spans, " spans of ", call.span_len, " must have k = ", m.k,
               " numbers");
  constexpr double kWorthSharing = 25;
  const bool share = ctx.pool.size() > 1 && estimate_us(call, plan.rows) > kWorthSharing;

  Arena::Mark mark(ctx.arena);
  const GemmKernels& kernels = gemm_kernels(plan.rows);
  Source source;
  if (m.type == WeightType::kBF16A16) source = round_segments(ctx, kernels, call, share);
  QuantizedRows quantized;
  if (narrow) quantized = quantize_rows(ctx, kernels, call, plan.rows, share);
  GemmWeights weights;
  weights.data = static_cast<const uint8_t*>(m.data.view().data);
  weights.type = static_cast<int>(m.type);
  weights.panels = m.panels();
  weights.panel_bytes = m.panel_bytes();
  weights.padded_k = m.padded_k();
  weights.spans = call.spans;
  weights.span_len = call.span_len;
  weights.span_step = call.span_step;
  if (call.spans == 1 || call.span_step == call.span_len) {
    weights.spans = 1;
    weights.span_len = m.k;
  }

  const GemmProducts products = m.type == WeightType::kQ8        ? kernels.products_q8
                                : m.type == WeightType::kQ8A8    ? kernels.products_q8a8
                                : m.type == WeightType::kQ4      ? kernels.products_q4
                                : m.type == WeightType::kBF16A16 ? kernels.products_bf16a16
                                                                 : kernels.products;
  const int64_t pairs = call.store == GemmStore::kSiluGate ? 2 : 1;
  auto items = [&](int64_t begin, int64_t end) {
    alignas(64) float sums[kMaxPanels / 2 * kMaxRows * kPanel];
    BlockRows block;
    PartRows to;
    int64_t filled = -1;
    for (int64_t item = begin; item < end; ++item) {
      const int64_t b = item / plan.groups, g = item % plan.groups;
      if (b != filled) {
        const int64_t first = b * plan.block_rows;
        block.fill(call, source, first,
                   static_cast<int>(std::min(plan.block_rows, plan.rows - first)));
        for (int r = 0; narrow && r < block.rows.count; ++r) {
          block.rows.x[r] = quantized.q + (first + r) * quantized.row_bytes;
          block.rows.scale[r] = quantized.scale[first + r];
        }
        filled = b;
      }
      const int64_t at = g * plan.group, count = std::min(plan.group, plan.panels - at);
      const int64_t panel = plan.first_panel + at;
      to.find(call, block, panel);
      block.rows.out = to.out();
      block.rows.column = to.part().column + (panel - to.part().first_panel) / pairs * kPanel;
      products(weights, block.rows, panel, static_cast<int>(count), sums);
      write_out(kernels, call, block, to, panel, count, sums);
    }
  };
  const int64_t count = plan.blocks * plan.groups;
  if (share) {
    ctx.pool.parallel_for(count, 1, items);
  } else {
    items(0, count);
  }
}

}  // namespace syrinx::cpu
