#include "kernels/fft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "base/cpu_features.h"
#include "kernels/fft_pass.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

using Complex = std::complex<float>;

TEST(Fft, AgreesWithTheSumsOfItsDefinition) {
  for (const int n : {2, 4, 6, 14, 16, 20, 30, 64, 240, 512, 1024, 1920}) {
    const RealFft fft(n);
    const Tensor x = fixture::random({n}, 1);
    std::vector<Complex> spectrum(fft.bins()), scratch(n);
    fft.forward(x.f32(), spectrum.data(), scratch.data());
    for (int k = 0; k < fft.bins(); k += std::max(1, n / 16)) {
      std::complex<double> want = 0;
      for (int i = 0; i < n; ++i)
        want += std::polar(1.0, -2 * std::numbers::pi * (int64_t{i} * k % n) / n) *
                static_cast<double>(x.f32()[i]);
      EXPECT_NEAR(spectrum[k].real(), want.real(), 2e-6 * n) << n;
      EXPECT_NEAR(spectrum[k].imag(), want.imag(), 2e-6 * n) << n;
    }
    std::vector<float> back(n);
    fft.inverse(spectrum.data(), back.data(), scratch.data());
    for (int i = 0; i < n; ++i) EXPECT_NEAR(back[i], x.f32()[i], 2e-6) << n;
  }
}

TEST(Fft, ImaginaryPartsOfTheEndsAreIgnored) {
  const RealFft fft(16);
  std::vector<Complex> a(9, {1, 0}), scratch(16);
  std::vector<float> x(16), y(16);
  fft.inverse(a.data(), x.data(), scratch.data());
  a[0] = {1, 5}, a[8] = {1, -3};
  fft.inverse(a.data(), y.data(), scratch.data());
  EXPECT_EQ(x, y);
}

TEST(InverseStft, GivesTheSignalBackInAnyChunks) {
  for (const auto& [n, hop] : {std::pair{16, 4}, {512, 128}, {1280, 320}}) {
    const InverseStft istft(n, hop);
    const int frames = 23, length = (frames - 1) * hop + n;
    const Tensor x = fixture::random({length}, 1);
    std::vector<Complex> spectra, scratch(istft.scratch_size()), one(istft.fft().bins());
    for (int f = 0; f < frames; ++f) {
      std::vector<float> windowed(n);
      for (int i = 0; i < n; ++i)
        windowed[i] = x.f32()[f * hop + i] *
                      static_cast<float>(0.5 - 0.5 * std::cos(2 * std::numbers::pi * i / n));
      istft.fft().forward(windowed.data(), one.data(), scratch.data());
      spectra.insert(spectra.end(), one.begin(), one.end());
    }
    std::vector<float> first;
    for (const int chunk : {frames, 1, 5}) {
      std::vector<float> state(istft.state_size()), out(length);
      for (int f = 0; f < frames; f += chunk)
        istft.push(spectra.data() + f * one.size(), std::min(chunk, frames - f), state.data(),
                   out.data() + f * hop, scratch.data());
      istft.flush(state.data(), out.data() + frames * hop);
      for (int i = 1; i < length - 1; ++i)
        if (i >= hop && i < length - hop) {
          ASSERT_NEAR(out[i], x.f32()[i], 2e-5) << n << " at " << i;
        }
      if (first.empty()) first = out;
      EXPECT_EQ(first, out) << chunk;
    }
  }
}

#if defined(__x86_64__)
TEST(Fft, HasTheSameBitsOnEveryProcessor) {
  if (!cpu_features().avx2) GTEST_SKIP() << "no AVX2";
  for (const auto& [p, left, done] : {std::tuple{4, 96, 1},
                                      {4, 6, 16},
                                      {4, 1, 96},
                                      {2, 15, 4},
                                      {2, 1, 7},
                                      {3, 1, 128},
                                      {3, 5, 3},
                                      {5, 2, 24}}) {
    const int half = p * left * done;
    const Tensor x = fixture::random({half, 2}, 1), turns = fixture::random({half, 2}, 2);
    for (const bool inverse : {false, true}) {
      Tensor want = fixture::poisoned({half, 2}), got = fixture::poisoned({half, 2});
      plain_fft::pass({x.f32(), want.f32(), p, left, done, turns.f32(), half, inverse});
      avx2_fft::pass({x.f32(), got.f32(), p, left, done, turns.f32(), half, inverse});
      EXPECT_EQ(std::memcmp(want.f32(), got.f32(), static_cast<size_t>(half) * 8), 0)
          << p << ", " << left << " left, " << done << " done";
    }
  }
}
#endif

class InverseStftTest : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, InverseStftTest, ::testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

TEST_P(InverseStftTest, AgreesWithPushInAnyChunks) {
  fixture::Bench bench(1, GetParam());
  for (const auto& [n, hop] : {std::pair{16, 4}, {120, 60}, {512, 128}}) {
    const InverseStft plan(n, hop);
    constexpr int kFrames = 11;
    const Tensor spectra = fixture::random({kFrames, n + 2}, 1);
    Tensor want_state({2, n}, DType::kF32), want({kFrames * hop}, DType::kF32);
    std::vector<Complex> scratch(plan.scratch_size());
    plan.push(reinterpret_cast<const Complex*>(spectra.f32()), kFrames, want_state.f32(),
              want.f32(), scratch.data());
    for (const int chunk : {kFrames, 1, 4}) {
      Tensor state({2, n}, DType::kF32), got = fixture::poisoned({kFrames * hop});
      for (int f = 0; f < kFrames; f += chunk) {
        const int end = std::min(f + chunk, kFrames);
        inverse_stft(bench.ctx, plan, bench.on(spectra.view().slice(f, end)), bench.on(state),
                     bench.on(got.view().slice(f * hop, end * hop)));
        bench.back();
      }
      EXPECT_LT(fixture::difference(got, want), 1e-5) << n << " in " << chunk;
      EXPECT_LT(fixture::difference(state, want_state), 1e-5) << n << " in " << chunk;
    }
  }
}

}  // namespace
}  // namespace syrinx
