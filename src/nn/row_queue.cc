#include "nn/row_queue.h"

#include <algorithm>

#include "kernels/copy.h"

namespace syrinx {

/// The copies that move rows through queues. Rows leave first. Then each queue moves its remaining
/// rows to its front, and fresh rows follow them.
class QueueMoves {
 public:
  QueueMoves(StepContext& ctx, int64_t most)
      : ctx_(ctx),
        leaving_(take_array<CopySpan>(ctx, 2 * most)),
        early_(take_array<CopySpan>(ctx, most)),
        late_(take_array<CopySpan>(ctx, 2 * most)) {}

  /// Pushes the rows `fresh`, and removes the oldest rows; copies or adds them to `out`.
  void add(RowQueue& queue, const View& fresh, const View& out) {
    const int64_t width = queue.width_, wanted = out.shape[0];
    SYRINX_CHECK(fresh.shape[1] == width && out.shape[1] == width,
                 "[row_queue] rows have the widths ", fresh.shape[1], " and ", out.shape[1],
                 ", expected ", width);
    const int64_t old = std::min(wanted, queue.held_), through = wanted - old;
    SYRINX_CHECK(through <= fresh.shape[0], "[row_queue] cannot remove ", wanted, " of ",
                 queue.held_ + fresh.shape[0], " rows");
    const int64_t stay = queue.held_ - old, enter = fresh.shape[0] - through;
    const float* oldest = old + stay > 0 ? queue.rows_.f32() : nullptr;
    leaving_[leaves_++] = {oldest, out.f32(), old * width};
    leaving_[leaves_++] = {fresh.f32(), out.f32() + old * width, through * width};
    const int64_t room = queue.rows_.empty() ? 0 : queue.rows_.shape()[0];
    if (stay + enter > room) {
      if (room > 0) queue.outgrown_.push_back(std::move(queue.rows_));
      queue.rows_ = Tensor({std::max(stay + enter, 2 * room), width}, DType::kF32, queue.device_);
      early_[moves_++] = {oldest + old * width, queue.rows_.f32(), stay * width};
    } else if (old > 0 && stay > 0) {
      const View between = ctx_.arena.take({stay, width}, DType::kF32);
      early_[moves_++] = {oldest + old * width, between.f32(), stay * width};
      late_[enters_++] = {between.f32(), queue.rows_.f32(), stay * width};
    }
    if (enter > 0) {
      late_[enters_++] = {fresh.f32() + through * width, queue.rows_.f32() + stay * width,
                          enter * width};
    }
    queue.held_ = stay + enter;
  }
  void copy() { move(copy_spans); }
  void sum() { move(add_spans); }

 private:
  void move(void (*leave)(StepContext&, std::span<const CopySpan>)) {
    leave(ctx_, leaving_.first(leaves_));
    copy_spans(ctx_, early_.first(moves_));
    copy_spans(ctx_, late_.first(enters_));
  }

  StepContext& ctx_;
  std::span<CopySpan> leaving_, early_, late_;
  size_t leaves_ = 0, moves_ = 0, enters_ = 0;
};

void add_oldest(StepContext& ctx, std::span<const QueueSum> jobs) {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  QueueMoves moves(ctx, std::ssize(jobs));
  for (const QueueSum& job : jobs) moves.add(*job.queue, job.fresh, job.sum);
  moves.sum();
}

void copy_oldest(StepContext& ctx, std::span<const QueueSum> jobs) {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  QueueMoves moves(ctx, std::ssize(jobs));
  for (const QueueSum& job : jobs) moves.add(*job.queue, job.fresh, job.sum);
  moves.copy();
}

RowQueue RowQueue::clone() const {
  RowQueue copy(width_, device_);
  if (!rows_.empty()) copy.rows_ = rows_.clone();
  copy.held_ = held_;
  return copy;
}

void RowQueue::push(StepContext& ctx, const View& x) {
  const QueueSum job{this, x, {nullptr, DType::kF32, {0, width_}}};
  add_oldest(ctx, {&job, 1});
}

View RowQueue::pop(StepContext& ctx, int64_t count) {
  const View out = ctx.arena.take({count, width_}, DType::kF32);
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  QueueMoves moves(ctx, 1);
  moves.add(*this, {nullptr, DType::kF32, {0, width_}}, out);
  moves.copy();
  return out;
}

void RowQueue::pop_into_sum(StepContext& ctx, const View& x) {
  const QueueSum job{this, {nullptr, DType::kF32, {0, width_}}, x};
  add_oldest(ctx, {&job, 1});
}

}  // namespace syrinx
