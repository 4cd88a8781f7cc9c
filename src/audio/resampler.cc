#include "audio/resampler.h"

#include <algorithm>

#include "audio/hann_resampler.h"
#include "audio/libav_versions.h"
#include "base/check.h"

extern "C" {
#include <libavutil/opt.h>
#include <libswresample/swresample.h>
}

namespace syrinx {
namespace {

constexpr size_t kPiece = 4096;  // most samples per swresample call
constexpr int kSoxrBits = 20;    // "high quality", as in librosa

/// Opens a resampling engine; null if this FFmpeg lacks it.
SwrContext* opened(int in_rate_hz, int out_rate_hz, SwrEngine engine) {
  SwrContext* context = mono_resampler(in_rate_hz, out_rate_hz);
  if (context == nullptr) return nullptr;
  if (engine == SWR_ENGINE_SOXR) {
    av_opt_set_int(context, "resampler", engine, 0);
    av_opt_set_double(context, "precision", kSoxrBits, 0);
  }
  if (swr_init(context) < 0) swr_free(&context);
  return context;
}

}  // namespace

void Resampler::Free::operator()(SwrContext* context) const { swr_free(&context); }

Resampler::Resampler(int in_rate_hz, int out_rate_hz, Resampling how)
    : in_rate_hz_(in_rate_hz), out_rate_hz_(out_rate_hz), how_(how) {
  for (const int rate : {in_rate_hz, out_rate_hz}) {
    SYRINX_CHECK(rate >= 1000 && rate <= 384'000, "[resampler] unsupported ", rate, " Hz");
  }
  SYRINX_CHECK(how != Resampling::kHann, "[resampler] kHann does not support streams");
  if (how == Resampling::kSoxr) context_.reset(opened(in_rate_hz, out_rate_hz, SWR_ENGINE_SOXR));
  if (!context_) context_.reset(opened(in_rate_hz, out_rate_hz, SWR_ENGINE_SWR));
  SYRINX_CHECK(context_, "[resampler] cannot change ", in_rate_hz, " Hz to ", out_rate_hz);
}

Resampler::~Resampler() = default;

void Resampler::convert(const float* data, int count, std::vector<float>& out) {
  const int room = swr_get_out_samples(context_.get(), count) + 64;
  const size_t begin = out.size();
  out.resize(begin + room);
  auto* to = reinterpret_cast<uint8_t*>(out.data() + begin);
  const auto* from = reinterpret_cast<const uint8_t*>(data);
  const int made = swr_convert(context_.get(), &to, room, data == nullptr ? nullptr : &from, count);
  SYRINX_CHECK(made >= 0 && made <= room, "[resampler] swr_convert returned ", made);
  out.resize(begin + made);
  out_ += made;
}

void Resampler::push(std::span<const float> samples, std::vector<float>& out) {
  in_ += static_cast<int64_t>(samples.size());
  while (!samples.empty()) {
    const auto piece = samples.first(std::min(samples.size(), kPiece));
    convert(piece.data(), static_cast<int>(piece.size()), out);
    samples = samples.subspan(piece.size());
  }
}

void Resampler::flush(std::vector<float>& out) {
  if (in_ == 0) return;
  convert(nullptr, 0, out);
  // The filter may return one sample more or less than `want`.
  const int64_t up = how_ == Resampling::kSoxr ? in_rate_hz_ - 1 : in_rate_hz_ / 2;
  const int64_t want = (in_ * out_rate_hz_ + up) / in_rate_hz_;
  if (out_ > want) out.resize(out.size() - std::min<size_t>(out.size(), out_ - want));
  if (out_ < want) out.resize(out.size() + static_cast<size_t>(want - out_), 0.0f);
  out_ = want;
}

std::vector<float> resampled(std::span<const float> samples, int in_rate_hz, int out_rate_hz,
                             Resampling how) {
  if (in_rate_hz == out_rate_hz) return {samples.begin(), samples.end()};
  if (how == Resampling::kHann) return hann_resampled(samples, in_rate_hz, out_rate_hz);
  std::vector<float> out;
  Resampler resampler(in_rate_hz, out_rate_hz, how);
  resampler.push(samples, out);
  resampler.flush(out);
  return out;
}

}  // namespace syrinx
