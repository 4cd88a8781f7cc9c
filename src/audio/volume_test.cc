#include "audio/volume.h"

#include <gtest/gtest.h>

#include <cmath>

#include "audio/make_encoder.h"

namespace syrinx {
namespace {

std::vector<float> ramp() {
  std::vector<float> out;
  for (int i = -1000; i <= 1000; ++i) out.push_back(static_cast<float>(i) / 1000);
  return out;
}

std::vector<float> changed(const std::vector<float>& samples, double volume) {
  std::vector<float> out;
  change_volume(samples, volume, out);
  return out;
}

TEST(Volume, SofterIsExact) {
  const std::vector<float> in = ramp(), out = changed(in, 0.25);
  for (size_t i = 0; i < in.size(); ++i) EXPECT_EQ(out[i], 0.25f * in[i]);
  EXPECT_EQ(changed(in, 1), in);
}

TEST(Volume, LouderIsNeverClipped) {
  for (const double volume : {1.1, 2.0, 4.0}) {
    const std::vector<float> in = ramp(), out = changed(in, volume);
    for (size_t i = 0; i < in.size(); ++i) {
      const double exact = volume * static_cast<double>(in[i]);
      if (std::fabs(exact) < 0.799) {
        EXPECT_FLOAT_EQ(out[i], static_cast<float>(exact));
      }
      EXPECT_LE(std::fabs(out[i]), 1);
      EXPECT_LE(std::fabs(out[i]), std::fabs(exact) + 1e-6);
      EXPECT_EQ(std::signbit(out[i]), std::signbit(in[i]));
      EXPECT_GE(out[i], out[i > 0 ? i - 1 : 0]);  // the output is monotonic
    }
  }
}

std::string coded(double volume, size_t step, const std::vector<float>& samples) {
  auto encoder =
      make_encoder({.format = AudioFormat::kWav, .in_rate_hz = 16000, .volume = volume}).take();
  std::string out;
  for (size_t at = 0; at < samples.size(); at += step) {
    encoder->encode(std::span(samples).subspan(at, std::min(step, samples.size() - at)), out);
  }
  encoder->flush(out);
  return out;
}

TEST(Volume, OfEncoders) {
  const std::vector<float> in = ramp();
  EXPECT_EQ(coded(0.5, in.size(), in), coded(1, in.size(), changed(in, 0.5)));
  EXPECT_EQ(coded(3, in.size(), in), coded(1, in.size(), changed(in, 3)));
  EXPECT_EQ(coded(3, 7, in), coded(3, in.size(), in));
  for (const double volume : {0.0, 0.09, 4.1, -1.0, std::nan("")}) {
    const auto made = make_encoder({.volume = volume});
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().param, "volume");
  }
}

}  // namespace
}  // namespace syrinx
