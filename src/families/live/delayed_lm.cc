#include "families/live/delayed_lm.h"

#include <algorithm>
#include <utility>

#include "kernels/copy.h"
#include "kernels/embedding.h"
#include "kernels/linear.h"
#include "nn/stream_pass.h"

namespace syrinx {

StreamDecoder load_stream_decoder(const DecoderConfig& config, const Weights& weights,
                                  WeightType type, int64_t max_rows) {
  return {config, weights, type, static_cast<int>(max_rows),
          type == WeightType::kF32 ? DType::kF32 : DType::kF16};
}

DelayedLm::DelayedLm(StreamDecoder decoder, View table, PackedLinear head, int64_t silent,
                     PackedLinear pauses)
    : decoder_(std::move(decoder)),
      table_(table),
      head_(std::move(head)),
      pauses_(std::move(pauses)),
      silent_(silent) {
  traits_.hidden = decoder_.config().hidden;
  traits_.vocab = {static_cast<int>(head_.out())};
  traits_.max_positions = LiveSequence::kSteps + 1;
  traits_.values = pauses_.empty() ? 0 : static_cast<int>(pauses_.out());
  traits_.writes = true;  // writes keys and values to the sequences
}

/// Runs the silent rows of a first step, or takes their keys and values from an earlier recording
/// with equal rows. Returns their number.
int64_t DelayedLm::begin_silent(StepContext& ctx, DelayedSequence& sequence) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  if (silent_ <= 0) return 0;
  const auto heard = sequence.step_rows().first(static_cast<size_t>(silent_ * traits_.hidden));
  const auto known = silences_.find(sequence.delay());
  if (known && std::ranges::equal(known->rows, heard)) {
    sequence.kv() = known->kv.clone();
    return silent_;
  }
  const View x = take_rows(ctx, silent_, traits_.hidden);
  store(ctx, heard, x);
  const auto ids = take_array<int32_t>(ctx, silent_);
  for (int64_t i = 0; i < silent_; ++i) ids[i] = sequence.id_of(i);
  embed(ctx, table_, ids, x, true);
  const StreamRows rows{&sequence.kv(), silent_, sequence.norms()};
  decoder_.forward(ctx, x, std::span(&rows, 1));
  synchronize(ctx);  // clone() copies at once
  auto made = std::make_shared<Silence>();
  made->rows.assign(heard.begin(), heard.end());
  made->kv = sequence.kv().clone();
  silences_.keep(sequence.delay(), std::move(made), x.bytes());
  return silent_;
}

void DelayedLm::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t width = traits_.hidden;
  const auto sequences = emitting<DelayedSequence>(ctx, batch);
  int64_t most = 0;
  for (const DelayedSequence* each : sequences) most += std::ssize(each->step_rows()) / width;
  const auto streams = take_array<StreamRows>(ctx, batch.emits);
  const auto ends = take_array<int32_t>(ctx, batch.emits);  // last row of each stream
  const auto places = take_array<CopySpan>(ctx, batch.emits);
  const auto ids = take_array<int32_t>(ctx, most);
  const View all = take_rows(ctx, most, width), tops = take_rows(ctx, batch.emits, width);
  size_t running = 0, at = 0;
  int64_t rows = 0;
  for (DelayedSequence* sequence : sequences) {
    CopySpan& place = places[at];
    place = {nullptr, hidden.f32() + static_cast<int64_t>(at++) * width, width};
    const std::span<const float> heard = sequence->step_rows();
    if (heard.empty()) continue;  // the step after the last row
    decoder_.room(ctx, sequence->kv());
    const int64_t first = sequence->kv().position() == 0 ? begin_silent(ctx, *sequence) : 0;
    const int64_t count = std::ssize(heard) / width - first;
    store(ctx, heard.subspan(static_cast<size_t>(first * width)), all.slice(rows, rows + count));
    for (int64_t i = 0; i < count; ++i) ids[rows + i] = sequence->id_of(first + i);
    place.from = tops.f32() + static_cast<int64_t>(running) * width;
    streams[running] = {&sequence->kv(), count, sequence->norms()};
    rows += count;
    ends[running++] = static_cast<int32_t>(rows - 1);
  }
  if (running > 0) {
    const View x = all.slice(0, rows), last = tops.slice(0, static_cast<int64_t>(running));
    embed(ctx, table_, ids.first(static_cast<size_t>(rows)), x, true);
    decoder_.forward(ctx, x, streams.first(running));
    gather_rows(ctx, x, ends.first(running), last);
    decoder_.norm(ctx, last, last);
  }
  copy_spans(ctx, places);
}

void DelayedLm::logits(StepContext& ctx, int, const ArBatch&, View hidden, View, View out) const {
  linear(ctx, head_, hidden, out);
}

void DelayedLm::values(StepContext& ctx, const ArBatch&, View hidden, View, View out) const {
  linear(ctx, pauses_, hidden, out);
}

}  // namespace syrinx
