#include "codec/espnet_encoder.h"

#include <algorithm>

#include "base/check.h"
#include "nn/stream_pass.h"

namespace syrinx {
namespace {

constexpr int64_t kEncodedFrames = 8;  // frames of a piece; the last piece has up to twice as many

}  // namespace

EspnetEncoder::EspnetEncoder(const EspnetCodecConfig& config, const Weights& generator)
    : config_(config), encoder_(config.decoder, generator.scope("encoder")) {
  for (Tensor& book : load_codebooks(config, generator)) quantizer_.add(std::move(book));
  generator.ignore("decoder.*");
}

int64_t EspnetEncoder::pieces(int64_t samples) const {
  return std::max<int64_t>(1, samples / (kEncodedFrames * config_.hop()));
}

Pieces EspnetEncoder::run(StepContext* const& ctx, std::span<const float> samples,
                          Tensor& codes) const {
  const int64_t books = config_.codebooks, piece = kEncodedFrames * config_.hop();
  const int64_t count = std::ssize(samples), total = frames(count);
  codes = Tensor({total, books}, DType::kI32);
  seanet::Stream stream = encoder_.open();
  int64_t made = 0;
  for (int64_t at = 0; at < count;) {
    StepContext& now = *ctx;
    const int64_t n = count - at < 2 * piece ? count - at : piece;
    const View x = take_rows(now, n, 1);
    std::copy_n(samples.begin() + at, n, x.f32());
    at += n;
    const View latent = encoder_.run(now, x, at == count, stream);
    const int64_t fresh = latent.shape[0];
    SYRINX_CHECK(made + fresh <= total, "[espnet encoder] more than ", total, " frames");
    quantizer_.run(now, latent, {codes.i32() + made * books, static_cast<size_t>(fresh * books)});
    made += fresh;
    co_await PieceEnd();
  }
  SYRINX_CHECK(made == total, "[espnet encoder] made ", made, " frames, expected ", total);
}

}  // namespace syrinx
