#include "audio/wav.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace syrinx {
namespace {

uint32_t le32(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i)
    value |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[at + i])) << (8 * i);
  return value;
}

int16_t s16(const std::string& bytes, size_t index) {
  return static_cast<int16_t>(static_cast<uint8_t>(bytes[2 * index]) |
                              static_cast<uint8_t>(bytes[2 * index + 1]) << 8);
}

TEST(Wav, SamplesAreRoundedAndClipped) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> samples = {0, 1, -1, 2, -2, nan, inf, -inf, 0.5f / 32767, 1.6f / 32767};
  std::string out = "x";
  append_s16(samples, out);
  ASSERT_EQ(out.size(), 1 + 2 * samples.size());
  out.erase(0, 1);
  const int16_t want[] = {0, 32767, -32767, 32767, -32767, 0, 32767, -32767, 0, 2};
  for (size_t i = 0; i < samples.size(); ++i) EXPECT_EQ(s16(out, i), want[i]) << i;
}

TEST(Wav, HeaderOfKnownLength) {
  const std::string header = wav_header(24000, 1000);
  ASSERT_EQ(header.size(), static_cast<size_t>(kWavHeaderBytes));
  EXPECT_EQ(header.substr(0, 4), "RIFF");
  EXPECT_EQ(le32(header, 4), 2036u);
  EXPECT_EQ(header.substr(8, 8), "WAVEfmt ");
  EXPECT_EQ(le32(header, 24), 24000u);
  EXPECT_EQ(le32(header, 28), 48000u);
  EXPECT_EQ(header.substr(36, 4), "data");
  EXPECT_EQ(le32(header, 40), 2000u);
}

TEST(Wav, HeaderOfUnknownLength) {
  for (const int64_t samples : {int64_t{-1}, kWavMaxSamples + 1}) {
    const std::string header = wav_header(24000, samples);
    EXPECT_EQ(le32(header, 4), 0xFFFFFFFFu);
    EXPECT_EQ(le32(header, 40), 0xFFFFFFFFu);
  }
  EXPECT_NE(le32(wav_header(24000, kWavMaxSamples), 40), 0xFFFFFFFFu);
}

}  // namespace
}  // namespace syrinx
