// Changes the sample rate of a mono stream while it is being made. How the stream is cut into calls
// never changes what comes out, and its length is exact (Resampling).
// One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

struct SwrContext;

namespace syrinx {

/// How a recording's rate is changed. The tokens that a model makes of a recording depend on it, so
/// each family uses the method of its authors' program.
enum class Resampling {
  kFfmpeg,  ///< FFmpeg's own filter, round(n * out / in) samples
  kSoxr,    ///< as librosa: libsoxr's 20 bits through FFmpeg, ceil(n * out / in) samples; where
            ///< FFmpeg was built without libsoxr, its own filter
  kHann,    ///< as torchaudio: audio/hann_resampler.h; whole recordings only
};

/// Resamples one mono stream; holds its filter and the input that later output needs.
class Resampler {
 public:
  /// Rates in Hz. Throws InternalError when a rate is not in [1000, 384000].
  Resampler(int in_rate_hz, int out_rate_hz, Resampling how = Resampling::kFfmpeg);
  ~Resampler();

  /// Appends to `out` what became ready.
  void push(std::span<const float> samples, std::vector<float>& out);
  /// Appends the rest; nothing may be pushed after it.
  void flush(std::vector<float>& out);

 private:
  /// swr_convert() into `out`; no data means the end of the stream.
  void convert(const float* data, int count, std::vector<float>& out);
  struct Free {
    void operator()(SwrContext* context) const;
  };
  std::unique_ptr<SwrContext, Free> context_;
  const int in_rate_hz_, out_rate_hz_;
  const Resampling how_;
  int64_t in_ = 0, out_ = 0;  // samples so far
};

/// A whole recording at another rate; at its own as it is.
std::vector<float> resampled(std::span<const float> samples, int in_rate_hz, int out_rate_hz,
                             Resampling how = Resampling::kFfmpeg);

}  // namespace syrinx
