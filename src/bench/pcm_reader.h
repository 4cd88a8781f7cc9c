// Converts the bytes of an answer to 16-bit mono samples, for pieces of any size. Also accepts a
// WAV file, as some servers send one although PCM without a header was requested. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

class PcmReader {
 public:
  /// `rate_hz`: the sample rate of PCM without a header.
  explicit PcmReader(int rate_hz) : rate_hz_(rate_hz) {}

  /// Returns the samples that are complete now; valid until the next call. Empty after a fault().
  std::span<const int16_t> take(std::string_view bytes);
  int rate_hz() const { return rate_hz_; }
  /// Returns why the bytes cannot be read; an empty string if they can.
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
