#include "nn/row_queue.h"

#include <algorithm>

namespace syrinx {

void RowQueue::push(const View& x) {
  SYRINX_CHECK(x.shape[1] == width_, "[row_queue] rows have the width ", x.shape[1], ", expected ",
               width_);
  values_.insert(values_.end(), x.f32(), x.f32() + x.count());
}

void RowQueue::drop(int64_t count) {
  values_.erase(values_.begin(), values_.begin() + count * width_);
}

View RowQueue::pop(StepContext& ctx, int64_t count) {
  SYRINX_CHECK(count <= rows(), "[row_queue] cannot remove ", count, " of ", rows(), " rows");
  const View out = ctx.arena.take({count, width_}, DType::kF32);
  std::copy_n(values_.begin(), count * width_, out.f32());
  drop(count);
  return out;
}

void RowQueue::pop_into_sum(const View& x) {
  SYRINX_CHECK(x.shape[0] <= rows() && x.shape[1] == width_, "[row_queue] cannot add to ",
               x.shape.str(), " from ", rows(), " rows of ", width_);
  float* to = x.f32();
  const float* held = values_.data();
  const int64_t count = x.count();
  for (int64_t i = 0; i < count; ++i) to[i] += held[i];
  drop(x.shape[0]);
}

}  // namespace syrinx
