// Changes the sample rate of a mono stream while the stream is being made. The output does not
// depend on how the stream is cut into calls; its length is exact (see Resampling). One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

struct SwrContext;

namespace syrinx {

/// Method of resampling. A model's tokens of a recording depend on the method, so each family uses
/// the method of its authors' program.
enum class Resampling {
  kFfmpeg,  ///< FFmpeg's own filter, round(n * out / in) samples
  /// Like librosa: libsoxr with 20 bits, called by FFmpeg; ceil(n * out / in) samples. Uses
  /// FFmpeg's own filter if FFmpeg was built without libsoxr.
  kSoxr,
  kHann,  ///< like torchaudio: audio/hann_resampler.h; only for whole recordings
};

/// Resamples one mono stream. Contains the filter and the input samples that later output needs.
class Resampler {
 public:
  /// Rates are in Hz. Throws InternalError if a rate is not in [1000, 384000].
  Resampler(int in_rate_hz, int out_rate_hz, Resampling how = Resampling::kFfmpeg);
  ~Resampler();

  /// Appends the samples that became ready to `out`.
  void push(std::span<const float> samples, std::vector<float>& out);
  /// Appends the remaining samples; push() must not be called afterwards.
  void flush(std::vector<float>& out);

 private:
  /// Passes samples to swr_convert() and appends the result to `out`. Null data ends the stream.
  void convert(const float* data, int count, std::vector<float>& out);
  struct Free {
    void operator()(SwrContext* context) const;
  };
  std::unique_ptr<SwrContext, Free> context_;
  const int in_rate_hz_, out_rate_hz_;
  const Resampling how_;
  int64_t in_ = 0, out_ = 0;  // samples received and returned so far
};

/// Resamples a whole recording; returns a copy if the rates are equal.
std::vector<float> resampled(std::span<const float> samples, int in_rate_hz, int out_rate_hz,
                             Resampling how = Resampling::kFfmpeg);

}  // namespace syrinx
