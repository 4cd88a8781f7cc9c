#include "codec/espnet_codec.h"

#include <algorithm>

#include "base/check.h"
#include "codec/codec_pass.h"
#include "kernels/embedding.h"

namespace syrinx {
namespace {

// Frames of a pass. They limit the scratch memory. On a GPU, a pass has hundreds of launches.
constexpr int64_t kSeanetFrames = 32, kSeanetGpuFrames = 256;

Weights espnet_codebook(const Weights& generator, int64_t q) {
  return generator.scope("quantizer").scope("vq").scope("layers", q).scope("_codebook");
}

}  // namespace

EspnetCodecConfig EspnetCodecConfig::of(const Weights& generator) {
  EspnetCodecConfig c;
  c.decoder = SeanetConfig::of(generator.scope("decoder"));
  const int64_t count = generator.scope("quantizer").scope("vq").count("layers");
  if (count > 0) c.codebooks = count;
  const auto book = espnet_codebook(generator, 0).shape("embed");
  if (book && book->dims() == 2) c.codebook_size = (*book)[0];
  return c;
}

std::vector<Tensor> load_codebooks(const EspnetCodecConfig& config, const Weights& generator) {
  std::vector<Tensor> books;
  for (int64_t q = 0; q < config.codebooks; ++q) {
    const Weights book = espnet_codebook(generator, q);
    books.push_back(book.f32("embed", {config.codebook_size, config.decoder.latent}));
    for (const char* buffer : {"inited", "cluster_size", "embed_avg"}) book.ignore(buffer);
  }
  return books;
}

EspnetCodec::EspnetCodec(const EspnetCodecConfig& config, const Weights& generator, WeightType type)
    : config_(config), decoder_(config.decoder, generator.scope("decoder"), type) {
  codebooks_ = load_codebooks(config, generator);
  for (const Tensor& book : codebooks_) tables_.push_back(book);
  generator.ignore("encoder.*");
}

EspnetCodecState EspnetCodec::open() const {
  EspnetCodecState state;
  state.decoder_ = decoder_.open();
  state.ready_.reserve(static_cast<size_t>((config_.lookahead() + 1) * config_.hop()));
  return state;
}

size_t EspnetCodec::bytes() const {
  size_t sum = decoder_.bytes();
  for (const Tensor& book : codebooks_) sum += book.bytes();
  return sum;
}

void EspnetCodec::move_to(Device device) {
  syrinx::move_to(device, codebooks_, decoder_);
  tables_.assign(codebooks_.begin(), codebooks_.end());
}

/// Checks a job. Returns the frames that the decoder has not read.
EspnetCodec::Work EspnetCodec::work_of(const EspnetCodecJob& job) const {
  const int64_t q = config_.codebooks;
  const EspnetCodecState& state = *job.state;
  const auto window = std::ssize(job.codes) / q;
  const int64_t fresh = std::max<int64_t>(0, state.taken_ + window - state.fed_);
  SYRINX_CHECK(window * q == std::ssize(job.codes) && job.fresh <= window &&
                   std::ssize(job.out) == job.fresh * config_.hop() &&
                   (job.last || job.fresh == 0 || window - job.fresh >= config_.lookahead()),
               "[espnet_codec] sizes do not match: ", job.codes.size(), " codes, ", job.fresh,
               " fresh frames, ", job.out.size(), " samples");
  SYRINX_CHECK(!state.ended_ || fresh == 0, "[espnet_codec] frames follow the last frame");
  const std::span<const int32_t> codes = job.codes.last(static_cast<size_t>(fresh * q));
  check_codes(codes, config_.codebook_size);
  return {job.state, codes, job.last && !state.ended_};
}

void EspnetCodec::run(StepContext& ctx, std::span<const EspnetCodecJob> jobs) const {
  const Arena::Mark host_mark(ctx.host);
  const auto most = device() == Device::kCpu ? kSeanetFrames : kSeanetGpuFrames;
  const std::span<Work> all = take_array<Work>(ctx, std::ssize(jobs));
  const std::span<Work> parts = take_array<Work>(ctx, std::ssize(jobs));
  for (size_t i = 0; i < jobs.size(); ++i) all[i] = work_of(jobs[i]);
  for (size_t first = 0; first < all.size();) {
    // A pass takes as many frames as its limit allows, beginning with the first unfinished job.
    size_t count = 0;
    int64_t frames = 0;
    for (size_t j = first; j < all.size() && frames < most; ++j) {
      Work& work = all[j];
      if (work.done()) continue;
      const int64_t left = std::ssize(work.codes) / config_.codebooks;
      const int64_t n = std::min(left, most - frames);
      const auto codes = static_cast<size_t>(n * config_.codebooks);
      parts[count++] = {work.state, work.codes.first(codes), work.last && n == left};
      work.codes = work.codes.subspan(codes);
      work.last &= n < left;
      frames += std::max<int64_t>(n, 1);
    }
    if (count > 0) run_pass(ctx, parts.first(count));
    while (first < all.size() && all[first].done()) ++first;
  }
  for (const EspnetCodecJob& job : jobs) {
    EspnetCodecState& state = *job.state;
    state.taken_ += job.fresh;
    SYRINX_CHECK(state.ready_.size() >= job.out.size(), "[espnet_codec] decoded ",
                 state.ready_.size(), " samples, but `out` has space for ", job.out.size());
    std::copy_n(state.ready_.begin(), job.out.size(), job.out.begin());
    state.ready_.erase(state.ready_.begin(), state.ready_.begin() + std::ssize(job.out));
  }
}

/// Decodes the frames of the parts, and appends their samples to those of the states.
void EspnetCodec::run_pass(StepContext& ctx, std::span<Work> parts) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const std::span<seanet::Part> streams = take_array<seanet::Part>(ctx, std::ssize(parts));
  const std::span<int64_t> frames = take_array<int64_t>(ctx, std::ssize(parts));
  int64_t total = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    streams[i] = {&parts[i].state->decoder_, parts[i].last};
    total += frames[i] = std::ssize(parts[i].codes) / config_.codebooks;
  }
  const std::span<int32_t> codes = take_array<int32_t>(ctx, total * config_.codebooks);
  auto to = codes.begin();
  for (const Work& part : parts) to = std::ranges::copy(part.codes, to).out;
  const View latent = ctx.arena.take({total, config_.decoder.latent}, DType::kF32);
  if (total > 0) embed_sum(ctx, tables_, codes, latent);
  const RowStack made = decoder_.run(ctx, {latent, frames}, streams);
  const std::span<float> samples = take_array<float>(ctx, made.x.count());
  fetch(ctx, made.x, samples);
  synchronize(ctx);
  auto from = samples.begin();
  for (size_t i = 0; i < parts.size(); ++i) {
    EspnetCodecState& state = *parts[i].state;
    state.ready_.insert(state.ready_.end(), from, from + made.rows[i]);
    from += made.rows[i];
    state.fed_ += frames[i];
    state.ended_ |= parts[i].last;
  }
}

}  // namespace syrinx
