// Bytes of an answer to 16-bit mono samples, in whatever pieces they come. Servers that send a WAV
// file though bare samples were asked for are understood. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

class PcmReader {
 public:
  /// `rate_hz` of bare samples.
  explicit PcmReader(int rate_hz) : rate_hz_(rate_hz) {}

  /// The samples that are complete now; valid until the next call. None once there is a fault().
  std::span<const int16_t> take(std::string_view bytes);
  int rate_hz() const { return rate_hz_; }
  /// Why the bytes cannot be read; empty: they can.
  const std::string& fault() const { return fault_; }

 private:
  enum class State { kStart, kHeader, kSamples };
  void read_header();

  int rate_hz_;
  State state_ = State::kStart;
  std::string pending_;  // bytes of an unfinished sample or header
  std::vector<int16_t> samples_;
  std::string fault_;
};

}  // namespace syrinx
