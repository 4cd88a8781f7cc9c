#include "codec/espnet_codec.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/embedding.h"

namespace syrinx {
namespace {

// Frames per call of the decoder. Limits the scratch memory (0.5 MB a frame of the published
// model).
constexpr int64_t kSeanetFrames = 32;

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

void EspnetCodec::run(StepContext& ctx, const EspnetCodecJob& job) const {
  const int64_t q = config_.codebooks, hop = config_.hop(), width = config_.decoder.latent;
  EspnetCodecState& state = *job.state;
  const auto window = std::ssize(job.codes) / q;
  const int64_t fresh = std::max<int64_t>(0, state.taken_ + window - state.fed_);
  SYRINX_CHECK(window * q == std::ssize(job.codes) && job.fresh <= window &&
                   std::ssize(job.out) == job.fresh * hop &&
                   (job.last || job.fresh == 0 || window - job.fresh >= config_.lookahead()),
               "[espnet_codec] sizes do not match: ", job.codes.size(), " codes, ", job.fresh,
               " fresh frames, ", job.out.size(), " samples");
  SYRINX_CHECK(!state.ended_ || fresh == 0, "[espnet_codec] frames follow the last frame");
  const std::span<const int32_t> codes = job.codes.last(static_cast<size_t>(fresh * q));
  for (const int32_t code : codes) {
    SYRINX_CHECK(code >= 0 && code < config_.codebook_size, "[espnet_codec] code ", code,
                 " must be below ", config_.codebook_size);
  }
  const bool end = job.last && !state.ended_;
  for (int64_t at = 0; at < fresh || (end && !state.ended_);) {
    const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
    const int64_t n = std::min(kSeanetFrames, fresh - at);
    const View latent = ctx.arena.take({n, width}, DType::kF32);
    embed_sum(ctx, tables_, codes.subspan(static_cast<size_t>(at * q), static_cast<size_t>(n * q)),
              latent);
    at += n;
    const bool last = end && at == fresh;
    const View made = decoder_.run(ctx, latent, last, state.decoder_);
    state.ready_.insert(state.ready_.end(), made.f32(), made.f32() + made.count());
    state.ended_ |= last;
  }
  state.fed_ += fresh;
  state.taken_ += job.fresh;
  SYRINX_CHECK(state.ready_.size() >= job.out.size(), "[espnet_codec] decoded ",
               state.ready_.size(), " samples, but `out` has space for ", job.out.size());
  std::copy_n(state.ready_.begin(), job.out.size(), job.out.begin());
  state.ready_.erase(state.ready_.begin(), state.ready_.begin() + std::ssize(job.out));
}

}  // namespace syrinx
