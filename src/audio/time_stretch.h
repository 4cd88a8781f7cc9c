// Changes the speed of a mono stream without changing its pitch (libsonic). n samples become about
// n / speed. The output does not depend on how the stream is cut into calls. One thread.
#pragma once

#include <memory>
#include <span>
#include <vector>

struct sonicStreamStruct;

namespace syrinx {

class TimeStretch {
 public:
  static constexpr double kMinSpeed = 0.25, kMaxSpeed = 4.0;

  /// Throws InternalError if the speed is out of range.
  TimeStretch(int rate_hz, double speed);
  ~TimeStretch();

  /// Appends the samples that became ready to `out`.
  void push(std::span<const float> samples, std::vector<float>& out);
  /// Appends the remaining samples; push() must not be called afterwards.
  void flush(std::vector<float>& out);

 private:
  void drain(std::vector<float>& out);
  struct Free {
    void operator()(sonicStreamStruct* stream) const;
  };
  std::unique_ptr<sonicStreamStruct, Free> stream_;
  // Samples that wait for a full block, because libsonic's result depends on the sizes of its
  // input.
  std::vector<float> block_;
};

}  // namespace syrinx
