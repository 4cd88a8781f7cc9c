#include "families/transducer/hearing_stage.h"

#include <algorithm>
#include <cmath>

#include "families/transducer/transcription.h"

namespace syrinx::transducer {
namespace {

constexpr int64_t kMostRows = 128;  // most rows of a chunk; bounds the wait of other streams
constexpr float kDeviationGuard = 1e-5f;

struct HearingStream : StreamState {
  int64_t chunk = 1;  // number of rows of a chunk
  int64_t hops = 0;   // number of hops taken so far
  ConvSubsampling::State subsampling;
  FastConformer::State conformer;
};

/// Returns whether the recording ends with the new hops of a chunk.
bool ends(const ChunkJob& job) { return job.last && job.ahead == 0; }

/// Scales each band of a whole recording to mean 0 and deviation 1.
void normalise(const View& x) {
  const int64_t rows = x.shape[0], mels = x.shape[1];
  for (int64_t b = 0; b < mels; ++b) {
    double sum = 0, squares = 0;
    for (int64_t t = 0; t < rows; ++t) sum += x.f32()[t * mels + b];
    const double mean = sum / static_cast<double>(rows);
    for (int64_t t = 0; t < rows; ++t) {
      const double off = x.f32()[t * mels + b] - mean;
      squares += off * off;
    }
    const double deviation =
        std::sqrt(squares / static_cast<double>(std::max<int64_t>(1, rows - 1)));
    for (int64_t t = 0; t < rows; ++t) {
      float& value = x.f32()[t * mels + b];
      value = static_cast<float>((value - mean) / (deviation + kDeviationGuard));
    }
  }
}

}  // namespace

HearingStage::HearingStage(const ModelConfig& config, const Weights& root, WeightType type)
    : config_(config), mel_(config.mel) {
  const Weights weights = root.scope("encoder");
  subsampling_ = ConvSubsampling(config.subsampling, weights, type);
  conformer_ = FastConformer(config.conformer, weights, type);
  project_ =
      load_linear(root, "encoder_projector", config.hidden, config.conformer.width, true, type);
}

ChunkPolicy HearingStage::policy() const {
  const int half = config_.mel.window / 2, hop = config_.mel.hop;
  return {.initial = 1, .steady = 1, .left = (half + hop) / hop, .lookahead = (half - 1) / hop};
}

Bundle HearingStage::bundle(const Sequence& sequence) const {
  Bundle bundle;
  const int lookahead = static_cast<const LiveSequence&>(sequence).delay();
  bundle.set("chunk", static_cast<uint64_t>(lookahead) + 1);
  return bundle;
}

std::unique_ptr<StreamState> HearingStage::open(Bundle bundle) const {
  auto stream = std::make_unique<HearingStream>();
  stream->chunk =
      static_cast<int64_t>(bundle.number("chunk", static_cast<uint64_t>(config_.conformer.chunk)));
  if (stream->chunk == 0) throw LoadError("a chunk of a stream needs at least one row");
  stream->subsampling = subsampling_.open();
  if (config_.streams) stream->conformer = conformer_.open(stream->chunk);
  return stream;
}

int HearingStage::cut(const StreamState& state, const WaitingFrames& waiting, int) const {
  const auto& stream = static_cast<const HearingStream&>(state);
  const int64_t hops = std::ssize(waiting.values) / config_.mel.hop;
  if (!config_.streams) return waiting.closed ? static_cast<int>(hops) : 0;
  // A chunk's last row reads only the first of its `factor` mel frames, not the `spare` others.
  const int64_t factor = config_.factor();
  const int64_t needed_each = factor * stream.chunk, spare = factor - 1;
  const int64_t ready = stream.hops + hops - (waiting.closed ? 0 : policy().lookahead);
  const int64_t have = (stream.hops + spare) / needed_each;
  const int64_t most = have + std::max<int64_t>(1, kMostRows / stream.chunk);
  const int64_t whole = (std::max<int64_t>(0, ready) + spare) / needed_each;
  if (waiting.closed && whole <= most) return static_cast<int>(hops);
  const int64_t chunks = std::min(whole, most);
  return chunks > have ? static_cast<int>(chunks * needed_each - spare - stream.hops) : 0;
}

void HearingStage::follow(StreamState& state, const ChunkJob& job) const {
  static_cast<HearingStream&>(state).hops += job.fresh;
}

/// Computes the mel frames [fresh, mels] of a chunk's new hops, without those of its context, on
/// device().
View HearingStage::mels(StepContext& ctx, const ChunkJob& job) const {
  const View out = ctx.host.take({job.fresh, config_.mel.mels}, DType::kF32);
  const Arena::Mark mark(ctx.host);
  const auto count = static_cast<int64_t>(job.values.size());
  const View signal = ctx.host.take({count}, DType::kF32);
  for (int64_t i = 0; i < count; ++i) {
    signal.f32()[i] = job.values[i] - (i > 0 ? config_.preemphasis * job.values[i - 1] : 0);
  }
  const std::span<const float> all{signal.f32(), static_cast<size_t>(count)};
  ctx.pool.parallel_for(job.fresh, 4, [&](int64_t begin, int64_t end) {
    mel_.run(all, job.left + begin, job.left + end, out.f32() + begin * config_.mel.mels);
  });
  if (!config_.streams) normalise(out);
  return upload(ctx, out);
}

void HearingStage::run(StepContext& ctx, std::span<ChunkJob> jobs) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const auto count = std::ssize(jobs);
  const auto heard = take_array<ConvSubsampling::Job>(ctx, count);
  const auto rows = take_array<int64_t>(ctx, count);
  const auto parts = take_array<FastConformer::Job>(ctx, count);
  for (int64_t j = 0; j < count; ++j) {
    auto& stream = static_cast<HearingStream&>(*jobs[j].state);
    follow(stream, jobs[j]);
    heard[j] = {mels(ctx, jobs[j]), &stream.subsampling, ends(jobs[j])};
  }
  const View x = subsampling_.run(ctx, heard, rows);
  if (config_.scale_input) {
    scale_inplace(ctx, x, std::sqrt(static_cast<float>(config_.conformer.width)));
  }
  for (int64_t j = 0; j < count; ++j) {
    auto& stream = static_cast<HearingStream&>(*jobs[j].state);
    if (!config_.streams) stream.conformer = conformer_.open(std::max<int64_t>(1, rows[j]));
    parts[j] = {rows[j], &stream.conformer, ends(jobs[j])};
  }
  conformer_.run(ctx, x, parts);
  const View out = ctx.arena.take({x.shape[0], config_.hidden}, DType::kF32);
  if (x.shape[0] > 0) linear(ctx, project_, x, out);
  for (int64_t j = 0, from = 0; j < count; ++j) {
    const int64_t values = rows[j] * config_.hidden;
    SYRINX_CHECK(values <= std::ssize(jobs[j].out), "[hearing_stage] no space: ", rows[j],
                 " rows, ", jobs[j].fresh, " hops");
    fetch(ctx, out.slice(from, from + rows[j]), jobs[j].out.first(static_cast<size_t>(values)));
    jobs[j].made = static_cast<int>(rows[j]);
    from += rows[j];
  }
  if (config_.streams) return;
  synchronize(ctx);
  for (const ChunkJob& job : jobs) static_cast<HearingStream&>(*job.state).conformer = {};
}

}  // namespace syrinx::transducer
