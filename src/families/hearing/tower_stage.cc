#include "families/hearing/tower_stage.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace syrinx {
namespace {

struct TowerStream : StreamState {
  std::vector<Heard> recordings;
  std::vector<uint64_t> keys;  // keys of the windows of all recordings
  size_t window = 0;           // index of the window among those of all recordings
  size_t number = 0;           // index of the recording that is being encoded
  int64_t frame = 0;           // index of the next frame of that recording
};

}  // namespace

FrameType TowerStage::in() const {
  return {Flow::kSamples, static_cast<int>(tower_.chunk_samples())};
}
FrameType TowerStage::out() const {
  return {Flow::kRows, static_cast<int>(adaptor_ ? adaptor_->out() : tower_.config().out)};
}
int TowerStage::most_out() const {
  return static_cast<int>(tower_.window_rows(0, tower_.chunk_samples()));
}
int64_t TowerStage::frames(int64_t samples) const {
  return (samples + tower_.chunk_samples() - 1) / tower_.chunk_samples();
}

std::unique_ptr<StreamState> TowerStage::open(Bundle bundle) const {
  auto stream = std::make_unique<TowerStream>();
  stream->recordings = take_heard(bundle, std::numeric_limits<int32_t>::max());
  stream->keys = take_keys(bundle);
  return stream;
}

int TowerStage::cut(const StreamState& state, const WaitingFrames& waiting, int planned) const {
  if (planned == 0) return 0;
  const auto& stream = static_cast<const TowerStream&>(state);
  SYRINX_CHECK(stream.number < stream.recordings.size(), "[tower] more frames than recordings");
  const int64_t there = std::ssize(waiting.values) / in_width();
  const int64_t rest = frames(stream.recordings[stream.number].samples) - stream.frame;
  return static_cast<int>(std::min({rest, tower_.window_chunks(), there}));
}

void TowerStage::run(StepContext& ctx, std::span<ChunkJob> jobs) const {
  for (ChunkJob& job : jobs) run(ctx, job);
}

void TowerStage::run(StepContext& ctx, ChunkJob& job) const {
  auto& stream = *static_cast<TowerStream*>(job.state);
  SYRINX_CHECK(stream.number < stream.recordings.size(), "[tower] more frames than recordings");
  const Heard& recording = stream.recordings[stream.number];
  const int64_t chunk = tower_.chunk_samples(), number = stream.frame / tower_.window_chunks();
  // The window begins with this recording's previous chunk, if any, and ends with its next one.
  const int64_t back = stream.frame > 0 ? 1 : 0, offset = (stream.frame - back) * chunk;
  SYRINX_CHECK(job.left >= back, "[tower] no chunk before window ", number);
  const auto window = job.values.subspan(static_cast<size_t>((job.left - back) * chunk));
  const int64_t length = std::min(std::ssize(window), recording.samples - offset);
  const int64_t rows = tower_.window_rows(number, recording.samples);
  job.made = static_cast<int>(rows);
  if (rows > 0) {  // an incomplete last second may be too short for any row
    SYRINX_CHECK(stream.window < stream.keys.size(), "[tower] more windows than keys");
    const uint64_t key = stream.keys[stream.window++];
    const std::span<float> out = job.out.first(static_cast<size_t>(rows * out_width()));
    if (const auto known = before_.find(key); known && known->size() == out.size()) {
      std::copy(known->begin(), known->end(), out.begin());
    } else {
      encode(ctx,
             {number, recording.samples, recording.loudest, offset,
              window.first(static_cast<size_t>(length))},
             out);
      before_.keep(key, std::make_shared<const std::vector<float>>(out.begin(), out.end()),
                   out.size_bytes());
    }
  }
  follow(stream, job);
}

/// Writes the rows of a window to `out`, complete when it returns.
void TowerStage::encode(StepContext& ctx, const Qwen3AudioTower::Window& window,
                        std::span<float> out) const {
  const Arena::Mark mark(ctx.arena);
  const int64_t rows = std::ssize(out) / out_width();
  View x = ctx.arena.take({rows, tower_.config().out}, DType::kF32);
  tower_.encode(ctx, window, x);
  if (adaptor_ != nullptr) {
    const View encoded = x;
    x = ctx.arena.take({rows, out_width()}, DType::kF32);
    linear(ctx, *adaptor_, encoded, x);
  }
  fetch(ctx, x, out);
  synchronize(ctx);
}

void TowerStage::follow(StreamState& state, const ChunkJob& job) const {
  auto& stream = static_cast<TowerStream&>(state);
  stream.frame += job.fresh;
  if (stream.frame < frames(stream.recordings[stream.number].samples)) return;
  ++stream.number;
  stream.frame = 0;
}

}  // namespace syrinx
