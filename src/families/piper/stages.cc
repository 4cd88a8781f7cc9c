#include "families/piper/stages.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "families/piper/state.h"
#include "kernels/sample.h"

namespace syrinx::piper {
namespace {

// Numbers of random streams that sampling does not use.
constexpr uint32_t kDurationNoise = 0x70697064, kFrameNoise = 0x70697066;
constexpr uint64_t kMostSentences = 1 << 20;  // sentences before the noise repeats itself

void draw_frames(StepContext& ctx, const Network& network, State& state) {
  const int64_t width = network.latent();
  int64_t count = 0;
  for (const int32_t frames : state.durations) {
    if (frames < 0) {
      state.durations.clear();
      return;
    }
    count += frames;
  }
  if (count == 0 && !state.durations.empty()) state.durations.back() = 1, count = 1;
  state.frames.resize(static_cast<size_t>(count * width));
  const std::span<int32_t> id_of = take_array<int32_t>(ctx, count);
  int64_t t = 0;
  for (size_t id = 0; id < state.durations.size(); ++id) {
    for (int32_t i = 0; i < state.durations[id]; ++i) id_of[t++] = static_cast<int32_t>(id);
  }
  // A frame's noise depends on the seed, the sentence, and the frame's index in the sentence.
  const uint64_t seed = state.seed() ^ (uint64_t{state.sentence() % kMostSentences} << 40);
  ctx.pool.parallel_for(count, 8, [&](int64_t begin, int64_t end) {
    for (int64_t frame = begin; frame < end; ++frame) {
      float* out = state.frames.data() + frame * width;
      philox_normal(seed, static_cast<uint32_t>(frame), kFrameNoise,
                    {out, static_cast<size_t>(width)});
      network.draw(state.prior.data() + 2 * width * id_of[frame], out, state.manner().noise_scale,
                   out);
    }
  });
}

}  // namespace

Reader::Reader(const Network& network) : network_(network) {
  traits_.hidden = 1;
  traits_.vocab = {1};
  traits_.kv = {{1, 1, 8, DType::kF16}};  // required, but never written
  traits_.max_positions = kMostIds + 1;
  traits_.values = 1;
  traits_.writes = true;
}

void Reader::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  std::fill_n(hidden.f32(), hidden.count(), 0.f);
  const Arena::Mark mark(ctx.arena);
  const auto states = emitting<State>(ctx, batch);  // the last row of a text reads the whole text
  const std::span jobs = take_array<TextJob>(ctx, std::ssize(states));
  for (size_t i = 0; i < states.size(); ++i) {
    State& state = *states[i];
    const std::span<const int32_t> ids = state.ids();
    const std::span<float> noise = take_array<float>(ctx, 2 * std::ssize(ids));
    philox_normal(state.seed(), state.sentence(), kDurationNoise, noise);
    const Manner& manner = state.manner();
    jobs[i] = {
        ids,         noise, manner.condition, manner.noise_w, manner.length_scale, &state.durations,
        &state.prior};
  }
  network_.read(ctx, jobs);
  auto* values = static_cast<float*>(batch.scratch.data);
  for (size_t i = 0; i < states.size(); ++i) {
    draw_frames(ctx, network_, *states[i]);
    const bool read = !states[i]->durations.empty();
    values[i] = read ? static_cast<float>(states[i]->frames.size() / network_.latent())
                     : std::numeric_limits<float>::quiet_NaN();
  }
}

void Reader::logits(StepContext&, int, const ArBatch&, View, View, View out) const {
  std::fill_n(out.f32(), out.count(), 0.f);
}

void Reader::values(StepContext&, const ArBatch& batch, View, View, View out) const {
  std::copy_n(static_cast<const float*>(batch.scratch.data), batch.emits, out.f32());
}

struct Speaker::Stream : StreamState {
  Network::Stream network;
  int64_t ahead = 0;  // lookahead frames that the network has already read
};

Bundle Speaker::bundle(const Sequence& sequence) const {
  Bundle bundle;
  bundle.set("speaker", static_cast<const State&>(sequence).manner().embedding);
  return bundle;
}

std::unique_ptr<StreamState> Speaker::open(Bundle bundle) const {
  auto stream = std::make_unique<Stream>();
  stream->network = network_.open(bundle.floats("speaker", network_.embedding_width()));
  return stream;
}

void Speaker::run(StepContext& ctx, std::span<ChunkJob> jobs) const {
  const Arena::Mark mark(ctx.host);
  const std::span frames = take_array<Network::FrameJob>(ctx, std::ssize(jobs));
  const int64_t width = network_.latent();
  for (size_t i = 0; i < jobs.size(); ++i) {
    const ChunkJob& job = jobs[i];
    auto& stream = static_cast<Stream&>(*job.state);
    const int64_t known = job.left + stream.ahead, window = job.left + job.fresh + job.ahead;
    SYRINX_CHECK(known <= window, "[piper] window of ", window, " frames lacks known ", known);
    float* first = const_cast<float*>(job.values.data()) + known * width;
    frames[i] = {&stream.network, {first, DType::kF32, {window - known, width}}, job.last};
    stream.ahead = window - job.left - job.fresh;
  }
  network_.speak(ctx, frames);
  for (ChunkJob& job : jobs) {
    std::vector<float>& samples = static_cast<Stream&>(*job.state).network.samples;
    SYRINX_CHECK(samples.size() >= job.out.size(), "[piper] made ", samples.size(), " samples of ",
                 job.out.size());
    std::copy_n(samples.begin(), job.out.size(), job.out.begin());
    samples.erase(samples.begin(), samples.begin() + std::ssize(job.out));
  }
}

}  // namespace syrinx::piper
