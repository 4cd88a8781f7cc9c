// Compares resampled recordings with results of torchaudio and librosa (tests/parity/resampling).
#include "audio/resampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>

#include "base/worst.h"
#include "io/safetensors.h"

namespace syrinx {
namespace {

struct RateGolden {
  RateGolden() : file(SYRINX_BINARY_DIR "/parity/resampling/golden/golden.safetensors") {}
  std::span<const float> of(const std::string& name) const {
    const View x = file.view(name);
    return {x.f32(), static_cast<size_t>(x.count())};
  }
  Safetensors file;
};

/// Compares all tensors named "KIND.FROM.TO"; returns their number.
int expect_same(const std::string& kind, Resampling how, float bound) {
  const RateGolden golden;
  int found = 0;
  float worst = 0;
  for (const std::string& name : golden.file.names()) {
    std::istringstream parts(name);
    std::string each, from, to;
    std::getline(parts, each, '.'), std::getline(parts, from, '.'), std::getline(parts, to, '.');
    if (each != kind) continue;
    ++found;
    const auto want = golden.of(name);
    const auto got = resampled(golden.of("signal"), std::stoi(from), std::stoi(to), how);
    EXPECT_EQ(got.size(), want.size()) << name;
    float here = 0;
    for (size_t i = 0; i < std::min(got.size(), want.size()); ++i)
      here = worse(here, std::abs(got[i] - want[i]));
    EXPECT_LT(here, bound) << name;
    worst = worse(worst, here);
  }
  ::testing::Test::RecordProperty(kind, std::to_string(worst * 1e6));
  return found;
}

TEST(Resampler, DoesAsTorchaudio) { EXPECT_EQ(expect_same("hann", Resampling::kHann, 4e-7f), 13); }

TEST(Resampler, DoesAsLibrosa) { EXPECT_EQ(expect_same("soxr", Resampling::kSoxr, 4e-7f), 13); }

TEST(Resampler, WhatHasNoSamplesStaysEmpty) {
  for (const Resampling how : {Resampling::kFfmpeg, Resampling::kSoxr, Resampling::kHann}) {
    EXPECT_TRUE(resampled({}, 44100, 16000, how).empty());
    const float one = 1;
    EXPECT_EQ(resampled({&one, 1}, 8000, 24000, how).size(), 3u);
  }
}

TEST(Resampler, CutsChangeNothing) {
  const RateGolden golden;
  const auto signal = golden.of("signal");
  for (const Resampling how : {Resampling::kFfmpeg, Resampling::kSoxr}) {
    const std::vector<float> whole = resampled(signal, 44100, 24000, how);
    std::vector<float> pieces;
    Resampler resampler(44100, 24000, how);
    for (size_t at = 0, size = 1; at < signal.size(); at += size, size = size % 97 + 1) {
      resampler.push(signal.subspan(at, std::min(size, signal.size() - at)), pieces);
    }
    resampler.flush(pieces);
    EXPECT_EQ(pieces, whole);
  }
}

}  // namespace
}  // namespace syrinx
