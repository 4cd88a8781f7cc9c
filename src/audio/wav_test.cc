#include "audio/wav.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "audio/wav_file.h"

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

TEST(Wav, Codings) {
  const std::vector<float> in = {0.0f, 1.0f, -1.0f, -1.0f / 32767, 4660.0f / 32767};
  const auto coded = [&](SampleCoding coding) {
    std::string out;
    append_samples(in, coding, out);
    return out;
  };
  EXPECT_EQ(coded(SampleCoding::kS16), std::string("\x00\x00\xff\x7f\x01\x80\xff\xff\x34\x12", 10));
  EXPECT_EQ(coded(SampleCoding::kMulaw), std::string("\xff\x80\x00\x7f\xad", 5));
  EXPECT_EQ(coded(SampleCoding::kAlaw), "\xd5\xaa\x2a\x55\x87");
  EXPECT_EQ(coded(SampleCoding::kF32).substr(0, 12),
            std::string("\x00\x00\x00\x00\x00\x00\x80\x3f\x00\x00\x80\xbf", 12));
  std::string wild;
  append_samples(std::vector<float>{NAN, 2.0f}, SampleCoding::kF32, wild);
  EXPECT_EQ(wild, std::string("\x00\x00\x00\x00\x00\x00\x80\x3f", 8));
  for (const SampleCoding coding : {SampleCoding::kS16, SampleCoding::kF32}) {
    const Wav back = parse_wav(wav_header(8000, 5, coding) + coded(coding), "memory");
    EXPECT_EQ(back.rate, 8000u);
    ASSERT_EQ(back.samples.size(), 5u);
    EXPECT_NEAR(back.samples[4], in[4], 1e-4);
  }
  const std::string mulaw = wav_header(8000, 5, SampleCoding::kMulaw);
  EXPECT_EQ(mulaw.substr(20, 2), std::string("\x07\x00", 2));
  EXPECT_EQ(mulaw.substr(32, 8), std::string("\x01\x00\x08\x00"
                                             "data",
                                             8));
  EXPECT_EQ(mulaw.substr(40), std::string("\x05\x00\x00\x00", 4));
  EXPECT_EQ(sample_coding("ulaw"), SampleCoding::kMulaw);
  EXPECT_FALSE(sample_coding("mp3"));
}

}  // namespace
}  // namespace syrinx
