#include "families/piper/network.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "kernels/copy.h"

namespace syrinx::piper {
namespace {

constexpr int64_t kPieceFrames = 128;  // frames of all streams per pass, to limit the scratch
constexpr int64_t kLanePiece = 32;     // frames of one stream per pass
constexpr int64_t kGpuPieces = 4;      // a GPU takes this many times as many, for fewer launches
constexpr int64_t kCachedFrames = 8;   // frames per generator call that fit the CPU's cache

/// The next frames of N streams; one lane (row_batch.h) per stream. The arenas of a step own it.
struct FrameBatch {
  std::span<StreamMemory*> memory;               ///< [N]
  std::span<bool> last;                          ///< [N], whether no frame follows in the stream
  std::span<std::span<const float>> conditions;  ///< [N]
  RowBatch latents;                              ///< copies of the latents of the jobs
};

/// Collects the jobs' frames of `width` numbers on the context's device, and the named members of
/// their streams.
FrameBatch batch_of(StepContext& ctx, std::span<const Network::FrameJob> jobs, int64_t width,
                    StreamMemory Network::Stream::*memory,
                    std::vector<float> Network::Stream::*condition) {
  const auto count = std::ssize(jobs);
  const std::span counts = take_array<int64_t>(ctx, count);
  for (size_t i = 0; i < jobs.size(); ++i) counts[i] = jobs[i].latents.shape[0];
  FrameBatch out{take_array<StreamMemory*>(ctx, count), take_array<bool>(ctx, count),
                 take_array<std::span<const float>>(ctx, count), take_batch(ctx, counts, width)};
  const std::span copies = take_array<CopySpan>(ctx, count);
  for (size_t i = 0; i < jobs.size(); ++i) {
    expect_shape("piper latents", jobs[i].latents, Shape{counts[i], width});
    out.memory[i] = &(jobs[i].stream->*memory);
    out.last[i] = jobs[i].last;
    out.conditions[i] = jobs[i].stream->*condition;
    const View lane = out.latents.lane(i);
    copies[i] = {jobs[i].latents.f32(), lane.f32(), lane.count()};
  }
  copy_spans(ctx, copies);
  return out;
}

}  // namespace

Network::Network(const std::string& path, WeightType type) {
  const VoiceParts parts(path, type);
  parts.weights().build([&] {
    encoder_.emplace(parts);
    latent_ = encoder_->latent();
    if (parts.has("emb_g.weight")) {
      const Shape table = parts.shape("emb_g.weight", 2);
      speakers_ = parts.f32("emb_g.weight", table);
    }
    durations_.emplace(parts, encoder_->hidden(), embedding_width());
    flow_.emplace(parts, latent_, embedding_width());
    generator_.emplace(parts, latent_, embedding_width());
  });
  constexpr int64_t kManyFrames = 4096;
  const int64_t certain = generator_->certain(flow_->certain(kManyFrames));
  if (certain <= 0) parts.fail("dec", "looks too far ahead to be streamed");
  lookahead_ = kManyFrames - certain / hop();
}

std::vector<float> Network::embedding(std::span<const float> shares) const {
  const int64_t width = embedding_width();
  std::vector<float> out(static_cast<size_t>(width));
  for (size_t s = 0; width > 0 && s < shares.size(); ++s) {
    if (shares[s] == 0) continue;
    const float* row = speakers_.f32() + static_cast<int64_t>(s) * width;
    for (int64_t i = 0; i < width; ++i) out[i] += shares[s] * row[i];
  }
  return out;
}

void Network::read(StepContext& ctx, std::span<TextJob> jobs) const {
  const Arena::Mark mark(ctx.arena);
  const std::span texts = take_array<std::span<const int32_t>>(ctx, std::ssize(jobs));
  const std::span conditions = take_array<std::span<const float>>(ctx, std::ssize(jobs));
  for (size_t i = 0; i < jobs.size(); ++i) {
    texts[i] = jobs[i].ids, conditions[i] = jobs[i].condition;
  }
  const TextEncoder::Read read = encoder_->run(ctx, texts);
  const RowBatch noise = rows_like(ctx, read.hidden, 2);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const TextJob& job = jobs[i];
    SYRINX_CHECK(job.noise.size() == 2 * job.ids.size(), "[piper] wrong noise: ", job.noise.size());
    float* to = noise.lane(i).f32();
    for (const float value : job.noise) *to++ = value * job.deviation;
  }
  const View logs = durations_->run(ctx, read.hidden, conditions, noise.all);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const TextJob& job = jobs[i];
    const float* log = logs.f32() + read.hidden.begin[i];
    job.durations->resize(job.ids.size());
    for (size_t p = 0; p < job.ids.size(); ++p) {
      const float frames = std::ceil(std::exp(log[p]) * job.length);
      const bool number = !std::isnan(frames);
      (*job.durations)[p] =
          number ? static_cast<int32_t>(std::min<float>(frames, kMostIdFrames)) : -1;
    }
    const View prior = read.prior.lane(i);
    job.prior->assign(prior.f32(), prior.f32() + prior.count());
  }
}

void Network::draw(const float* prior, const float* noise, float scale, float* out) const {
  const float* log = prior + latent_;
  for (int64_t i = 0; i < latent_; ++i) out[i] = prior[i] + noise[i] * std::exp(log[i]) * scale;
}

Network::Stream Network::open(std::span<const float> embedding) const {
  Stream stream;
  flow_->open(stream.flow_memory);
  generator_->open(stream.generator_memory);
  stream.flow = flow_->condition(embedding);
  stream.generator = generator_->condition(embedding);
  return stream;
}

void Network::move_to(Device device) {
  flow_->move_to(device);
  generator_->move_to(device);
}

void Network::speak(StepContext& ctx, std::span<const FrameJob> jobs) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const std::span uploaded = take_array<FrameJob>(ctx, std::ssize(jobs));
  for (size_t i = 0; i < jobs.size(); ++i) {
    uploaded[i] = jobs[i];
    uploaded[i].latents = upload(ctx, jobs[i].latents);
    // A copy from a GPU needs memory that stays where it is.
    std::vector<float>& samples = jobs[i].stream->samples;
    samples.reserve(samples.size() + (jobs[i].latents.shape[0] + lookahead_) * hop());
  }
  speak_pieces(ctx, uploaded);
  synchronize(ctx);
}

/// Does the same for latents on the context's device.
void Network::speak_pieces(StepContext& ctx, std::span<const FrameJob> jobs) const {
  const std::span piece = take_array<FrameJob>(ctx, std::ssize(jobs));
  const int64_t lanes = std::max<int64_t>(1, std::ssize(jobs));
  const int64_t scale = device() == Device::kCpu ? 1 : kGpuPieces;
  const int64_t most = std::clamp<int64_t>(scale * kPieceFrames / lanes, 4, scale * kLanePiece);
  bool more = !jobs.empty();
  for (int64_t begin = 0; more; begin += most) {
    more = false;
    size_t used = 0;
    for (const FrameJob& job : jobs) {
      const int64_t frames = job.latents.shape[0], end = std::min(begin + most, frames);
      const bool ends = job.last && end == frames && !job.stream->ended;
      if (begin >= frames && !ends) continue;
      const int64_t from = std::min(begin, frames);
      piece[used++] = {job.stream, job.latents.slice(from, end), ends};
      if (ends) job.stream->ended = true;
      more = more || end < frames;
    }
    if (used > 0) speak_piece(ctx, piece.first(used));
  }
}

void Network::speak_piece(StepContext& ctx, std::span<const FrameJob> jobs) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const FrameBatch in = batch_of(ctx, jobs, latent_, &Stream::flow_memory, &Stream::flow);
  LanePass pass(ctx, in.memory, in.last);
  const RowBatch made = flow_->run(pass, in.latents, in.conditions);
  // The generator has many rows and few weights. So on a CPU, each call processes as many rows as
  // fit the cache.
  const int64_t most = device() == Device::kCpu ? kCachedFrames : made.rows() + 1;
  const std::span group = take_array<FrameJob>(ctx, std::ssize(jobs));
  size_t used = 0;
  int64_t frames = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const View rows = made.lane(i);
    for (int64_t begin = 0; begin < rows.shape[0] || (begin == 0 && in.last[i]);) {
      const int64_t end = std::min(begin + most - frames, rows.shape[0]);
      group[used++] = {jobs[i].stream, rows.slice(begin, end), in.last[i] && end == rows.shape[0]};
      frames += end - begin;
      begin = std::max<int64_t>(end, 1);
      if (frames < most) continue;
      generate(ctx, group.first(used));
      used = 0, frames = 0;
    }
  }
  if (used > 0) generate(ctx, group.first(used));
}

/// Turns rows of the flow into samples. `jobs` must contain each stream at most once.
void Network::generate(StepContext& ctx, std::span<const FrameJob> jobs) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const FrameBatch in = batch_of(ctx, jobs, latent_, &Stream::generator_memory, &Stream::generator);
  LanePass pass(ctx, in.memory, in.last);
  const RowBatch out = generator_->run(pass, in.latents, in.conditions);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const View made = out.lane(i);
    std::vector<float>& samples = jobs[i].stream->samples;
    const size_t before = samples.size(), count = static_cast<size_t>(made.count());
    SYRINX_CHECK(before + count <= samples.capacity(), "[piper] ", count, " samples too many");
    samples.resize(before + count);
    fetch(ctx, made, std::span(samples).subspan(before));
  }
}

Network::Bytes Network::bytes() const {
  return {encoder_->bytes() + speakers_.bytes(), durations_->bytes(), flow_->bytes(),
          generator_->bytes()};
}

}  // namespace syrinx::piper
