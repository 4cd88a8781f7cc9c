// Speaks a mono stream faster or slower and keeps its pitch (libsonic). n samples become about
// n / speed; how the stream is cut into calls never changes what comes out. One thread.
#pragma once

#include <memory>
#include <span>
#include <vector>

struct sonicStreamStruct;

namespace syrinx {

class TimeStretch {
 public:
  static constexpr double kMinSpeed = 0.25, kMaxSpeed = 4.0;

  /// Throws InternalError for a speed out of range.
  TimeStretch(int rate_hz, double speed);
  ~TimeStretch();

  /// Appends to `out` what became ready.
  void push(std::span<const float> samples, std::vector<float>& out);
  /// Appends the rest; nothing may be pushed after it.
  void flush(std::vector<float>& out);

 private:
  void drain(std::vector<float>& out);
  struct Free {
    void operator()(sonicStreamStruct* stream) const;
  };
  std::unique_ptr<sonicStreamStruct, Free> stream_;
  std::vector<float> block_;  // not yet given: libsonic's result depends on how it is fed
};

}  // namespace syrinx
