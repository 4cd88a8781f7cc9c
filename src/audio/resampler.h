// Changes the sample rate of a mono stream while it is being made. How the stream is cut into calls
// never changes what comes out, and its length is exact: n samples become round(n * out / in).
// One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

struct SwrContext;

namespace syrinx {

class Resampler {
 public:
  /// Rates in Hz. Throws InternalError when a rate is not in [1000, 384000].
  Resampler(int in_rate_hz, int out_rate_hz);
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
  int64_t in_ = 0, out_ = 0;  // samples so far
};

/// A whole recording at another rate, round(n * out / in) samples; at its own as it is.
std::vector<float> resampled(std::span<const float> samples, int in_rate_hz, int out_rate_hz);

}  // namespace syrinx
