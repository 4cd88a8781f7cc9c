#include "kernels/experts.h"

#include <algorithm>
#include <vector>

#include "kernels/cuda/kernels.h"

namespace syrinx {
namespace {

ExpertTable::Matrices matrices_of(std::span<const PackedLinear* const> linears, bool gated) {
  const PackedMatrix& first = linears[0]->matrix();
  for (const PackedLinear* w : linears) {
    SYRINX_CHECK(w->device() == Device::kCuda && w->gated() == gated && w->bias() == nullptr &&
                     w->type() == first.type && w->in() == first.k && w->matrix().out == first.out,
                 "[experts] the linears of experts differ, have biases or are on the CPU");
  }
  return {first.type, first.panels() * PackedMatrix::kPanel, first.k};
}

}  // namespace

ExpertTable::ExpertTable(std::span<const PackedLinear* const> up,
                         std::span<const PackedLinear* const> down)
    : experts_(static_cast<int>(up.size())),
      up_(matrices_of(up, true)),
      down_(matrices_of(down, false)) {
  SYRINX_CHECK(up.size() == down.size() && experts_ <= kMost && up[0]->out() == down_.k &&
                   down[0]->out() == up_.k,
               "[experts] ", up.size(), " and ", down.size(), " linears do not fit together");
  std::vector<const void*> addresses;
  for (const auto& linears : {up, down})
    for (const PackedLinear* w : linears) addresses.push_back(w->matrix().data.view().data);
  const auto bytes = static_cast<int64_t>(addresses.size() * sizeof(void*));
  addresses_ = copy_to({addresses.data(), DType::kU8, {bytes}}, up[0]->device());
}

void add_experts(StepContext& ctx, const ExpertTable& table, const View& x, const View& logits,
                 int top_k, bool normalised, const View& out) {
  const int64_t n = x.shape[0], width = table.up().k;
  expect_shape("experts x", x, {n, width});
  expect_shape("experts logits", logits, {n, table.experts()});
  expect_shape("experts out", out, {n, width});
  SYRINX_CHECK(0 < top_k && top_k <= std::min(table.experts(), ExpertTable::kMostChosen),
               "[experts] ", top_k, " of ", table.experts());
  if (n > 0) cuda::add_experts(ctx, table, x, logits, top_k, normalised, out);
}

}  // namespace syrinx
