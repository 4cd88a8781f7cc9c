#include "audio/time_stretch.h"

#include <sonic.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace syrinx {
namespace {

constexpr size_t kBlock = 256;  // samples; 11 ms at 24 kHz

}  // namespace

void TimeStretch::Free::operator()(sonicStreamStruct* stream) const { sonicDestroyStream(stream); }

TimeStretch::TimeStretch(int rate_hz, double speed) : stream_(sonicCreateStream(rate_hz, 1)) {
  SYRINX_CHECK(speed >= kMinSpeed && speed <= kMaxSpeed, "[time_stretch] invalid speed ", speed);
  SYRINX_CHECK(stream_ != nullptr, "[time_stretch] out of memory");
  sonicSetSpeed(stream_.get(), static_cast<float>(speed));
  block_.reserve(kBlock);
}

TimeStretch::~TimeStretch() = default;

void TimeStretch::drain(std::vector<float>& out) {
  for (int waiting = sonicSamplesAvailable(stream_.get()); waiting > 0;) {
    const size_t begin = out.size();
    out.resize(begin + waiting);
    const int got = sonicReadFloatFromStream(stream_.get(), out.data() + begin, waiting);
    out.resize(begin + std::max(got, 0));
    if (got <= 0) break;
    waiting = sonicSamplesAvailable(stream_.get());
  }
}

void TimeStretch::push(std::span<const float> samples, std::vector<float>& out) {
  for (float sample : samples) {
    // libsonic converts to 16 bits without clipping, so samples out of range would wrap around.
    block_.push_back(std::isnan(sample) ? 0.0f : std::clamp(sample, -1.0f, 1.0f));
    if (block_.size() < kBlock) continue;
    const int ok =
        sonicWriteFloatToStream(stream_.get(), block_.data(), static_cast<int>(block_.size()));
    SYRINX_CHECK(ok != 0, "[time_stretch] out of memory");
    block_.clear();
    drain(out);
  }
}

void TimeStretch::flush(std::vector<float>& out) {
  const bool ok = block_.empty() || sonicWriteFloatToStream(stream_.get(), block_.data(),
                                                            static_cast<int>(block_.size())) != 0;
  SYRINX_CHECK(ok && sonicFlushStream(stream_.get()) != 0, "[time_stretch] out of memory");
  block_.clear();
  drain(out);
}

}  // namespace syrinx
