// The host's side of sampling: draws go to the device in one piece, ids and status come back.
#include "kernels/cuda/gpu.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/sample_call.h"
#include "kernels/cuda/state.h"
#include "kernels/step_draws.h"

namespace syrinx::cuda {
namespace {

/// Uploads the numbers of the draws.
const void* upload_draws(StepContext& ctx, const StepDraws& draws) {
  std::span<char> all = take_array<char>(ctx, static_cast<int64_t>(draws.bytes()));
  draws.write(all.data());
  return upload(ctx, std::span<const char>(all));
}

/// Launches the draws of code k; the call has its outputs already.
void launch(StepContext& ctx, SampleCall call, const View& logits, const StepDraws& draws,
            const void* there, int k) {
  draws.locate(k, there, call);
  call.logits = logits.f32();
  call.vocabulary = logits.shape[1];
  if (call.vocabulary > kSharedVocabulary)
    call.work = take<float>(ctx, draws.rows() * call.vocabulary);
  launch_sample(ctx, call, draws.rows());
}

}  // namespace

void sample(StepContext& ctx, const View& logits, std::span<const SampleRow> rows,
            std::span<int32_t> ids, std::span<SampleStatus> status) {
  if (rows.empty()) return;
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const auto count = static_cast<int64_t>(rows.size());
  StepDraws draws;
  draws.begin(count, 1);
  for (int64_t i = 0; i < count; ++i)
    draws.set(i, 0, rows[i], logits.shape[1], static_cast<int32_t>(i), -1);
  SampleCall call;
  call.ids = take<int32_t>(ctx, count);
  call.status = take<int32_t>(ctx, count);
  launch(ctx, call, logits, draws, upload_draws(ctx, draws), 0);
  std::span<int32_t> found = take_array<int32_t>(ctx, count);
  Stream& stream = stream_of(ctx);
  stream.download(call.ids, ids.data(), ids.size_bytes());
  stream.download(call.status, found.data(), found.size_bytes());
  stream.synchronize();
  for (int64_t i = 0; i < count; ++i) status[i] = static_cast<SampleStatus>(found[i]);
}

void sample_codes(StepContext& ctx, const View& logits, std::span<const SampleRow> rows,
                  std::span<const GuidedRow> places, int column, const View& codes,
                  const View& status) {
  if (rows.empty()) return;
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const auto per_step = static_cast<int32_t>(codes.shape[1]);
  StepDraws draws;
  draws.begin(static_cast<int64_t>(rows.size()), 1);
  for (size_t i = 0; i < rows.size(); ++i) {
    const int32_t place = places[i].row * per_step + column;
    draws.set(static_cast<int64_t>(i), 0, rows[i], logits.shape[1], place,
              places[i].guided ? place + per_step : -1);
  }
  SampleCall call;
  call.ids = codes.i32();
  call.status = status.i32() + column;
  call.status_stride = per_step;
  call.failed = 0;
  launch(ctx, call, logits, draws, upload_draws(ctx, draws), 0);
}

void draw_code(StepContext& ctx, const View& logits, const StepDraws& draws, const void* there,
               int k, const View& codes, const View& status) {
  if (draws.rows() == 0) return;
  const Arena::Mark mark(ctx.arena);
  SampleCall call;
  call.ids = codes.i32();
  call.status = status.i32() + k;
  call.status_stride = codes.shape[1];
  call.failed = 0;
  launch(ctx, call, logits, draws, there, k);
}

}  // namespace syrinx::cuda
