// The host code of sampling: uploads rows and histories, downloads ids and status.
#include <algorithm>
#include <vector>

#include "kernels/cuda/gpu.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/sample_call.h"
#include "kernels/cuda/state.h"

namespace syrinx::cuda {
namespace {

/// Describes the rows in host scratch memory, without their ranges, histories and masks.
std::span<DeviceSampleRow> describe(StepContext& ctx, std::span<const SampleRow> rows) {
  std::span<DeviceSampleRow> specs =
      take_array<DeviceSampleRow>(ctx, static_cast<int64_t>(rows.size()));
  for (size_t i = 0; i < rows.size(); ++i) {
    const SampleRow& row = rows[i];
    specs[i].params = row.params;
    specs[i].forced = row.rule.forced, specs[i].wanted = row.rule.wanted;
    specs[i].wanted_among = row.rule.wanted_among;
    specs[i].seed = row.seed, specs[i].step = row.step, specs[i].codebook = row.codebook;
    specs[i].place = static_cast<int32_t>(i);
  }
  return specs;
}

bool looks_back(const SampleRow& row) {
  return row.params.repetition_penalty != 1 || row.params.ras_window > 0;
}

/// Space for the histories of a call whose draws use the history. Its constant size keeps the
/// upload addresses of a recorded step (Stream::repeat) the same while histories grow.
constexpr int64_t kLeastHistory = 2048;

/// Returns the part of a row's history that its draw needs: the last ids that penalise() and
/// repeats() read.
std::span<const int32_t> looked_at(const SampleRow& row) {
  const SampleParams& p = row.params;
  const size_t all = row.history.size();
  const bool bounded = p.penalty_window > 0 && !p.penalty_last;
  const size_t window = bounded ? static_cast<size_t>(p.penalty_window) : all;
  const size_t punished = p.repetition_penalty == 1 ? 0 : window;
  const size_t counted = static_cast<size_t>(std::max(0, p.ras_window));
  return row.history.last(std::min(all, std::max(punished, counted)));
}

/// Returns the allowed ranges of all rows, clipped to the vocabulary, in host scratch.
std::span<const IdRange> ranges_of(StepContext& ctx, int64_t vocabulary,
                                   std::span<const SampleRow> rows,
                                   std::span<DeviceSampleRow> specs) {
  constexpr int64_t kUsual = 4;  // ranges of a row, for uploads of a constant size
  int64_t most = 0;
  for (const SampleRow& row : rows) most += std::max(1, row.rule.ranges);
  most = std::max(most, kUsual * std::ssize(rows));
  std::span<IdRange> ranges = take_array<IdRange>(ctx, most);
  const auto last = static_cast<int32_t>(vocabulary);
  size_t used = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const SampleRule& rule = rows[i].rule;
    specs[i].range_begin = static_cast<int32_t>(used);
    if (rule.ranges == 0) ranges[used++] = {0, last};
    for (int r = 0; r < rule.ranges; ++r) {
      const IdRange& own = rule.allowed[static_cast<size_t>(r)];
      const IdRange inside{std::max(0, own.begin), std::min(last, own.end)};
      if (inside.begin < inside.end) ranges[used++] = inside;
    }
    specs[i].range_count = static_cast<int32_t>(used) - specs[i].range_begin;
  }
  return ranges;
}

/// Uploads rows, ranges, histories and masks, and launches. `call` already has its outputs.
void queue(StepContext& ctx, SampleCall call, const View& logits, std::span<const SampleRow> rows,
           std::span<DeviceSampleRow> specs) {
  int64_t total = 0, words = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    specs[i].mask_begin = static_cast<int32_t>(words);
    specs[i].mask_count = static_cast<int32_t>(rows[i].rule.mask.size());
    words += specs[i].mask_count;
    specs[i].history_begin = static_cast<int32_t>(total);
    specs[i].history_count = static_cast<int32_t>(looked_at(rows[i]).size());
    total += specs[i].history_count;
  }
  const int64_t room = std::ranges::any_of(rows, looks_back) ? std::max(total, kLeastHistory) : 0;
  std::span<int32_t> history = take_array<int32_t>(ctx, room);
  for (size_t i = 0; i < rows.size(); ++i)
    std::ranges::copy(looked_at(rows[i]), history.begin() + specs[i].history_begin);
  if (words > 0) {
    std::span<uint64_t> masks = take_array<uint64_t>(ctx, words);
    for (size_t i = 0; i < rows.size(); ++i)
      std::ranges::copy(rows[i].rule.mask, masks.begin() + specs[i].mask_begin);
    call.masks = upload(ctx, std::span<const uint64_t>(masks));
  }
  call.logits = logits.f32();
  call.vocabulary = logits.shape[1];
  call.ranges = upload(ctx, ranges_of(ctx, call.vocabulary, rows, specs));
  call.rows = upload(ctx, std::span<const DeviceSampleRow>(specs));
  call.history = upload(ctx, std::span<const int32_t>(history));
  const auto count = static_cast<int64_t>(rows.size());
  if (call.vocabulary > kSharedVocabulary) call.work = take<float>(ctx, count * call.vocabulary);
  launch_sample(ctx, call, count);
}

}  // namespace

void sample(StepContext& ctx, const View& logits, std::span<const SampleRow> rows,
            std::span<int32_t> ids, std::span<SampleStatus> status) {
  if (rows.empty()) return;
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const auto count = static_cast<int64_t>(rows.size());
  SampleCall call;
  call.ids = take<int32_t>(ctx, count);
  call.status = take<int32_t>(ctx, count);
  queue(ctx, call, logits, rows, describe(ctx, rows));
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
  std::span<DeviceSampleRow> specs = describe(ctx, rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    specs[i].place = places[i].row * per_step + column;
    specs[i].again = places[i].guided ? specs[i].place + per_step : -1;
  }
  SampleCall call;
  call.ids = codes.i32();
  call.status = status.i32() + column;
  call.status_stride = per_step;
  call.failed = 0;
  queue(ctx, call, logits, rows, specs);
}

}  // namespace syrinx::cuda
