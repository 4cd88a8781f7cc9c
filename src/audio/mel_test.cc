// Compares mel spectrograms with torchaudio and librosa (tests/parity/mel); checks computation in
// parts.
#include "audio/mel.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/worst.h"
#include "io/safetensors.h"

namespace syrinx {
namespace {

struct Golden {
  Golden() : file(std::string(SYRINX_BINARY_DIR) + "/parity/mel/golden/golden.safetensors") {}
  std::span<const float> signal() const {
    const View x = file.view("signal");
    return {x.f32(), static_cast<size_t>(x.count())};
  }
  Safetensors file;
};

void expect_same(const MelOptions& options, const std::string& name, float bound,
                 bool whisper = false) {
  const Golden golden;
  const MelSpectrogram mel(options);
  std::vector<float> got = mel(golden.signal());
  if (whisper) {
    got.resize(got.size() - options.mels);
    whisper_compress(got);
  }
  const View want = golden.file.view(name);
  ASSERT_EQ(static_cast<int64_t>(got.size()), want.count()) << want.shape.str();
  ASSERT_EQ(want.shape[1], options.mels);
  float worst = 0;
  for (size_t i = 0; i < got.size(); ++i) worst = worse(worst, std::abs(got[i] - want.f32()[i]));
  EXPECT_LT(worst, bound) << name;
  ::testing::Test::RecordProperty(name, std::to_string(worst));
}

TEST(Mel, Whisper) { expect_same(whisper_mel(128), "whisper", 2e-5f, true); }

// f32 is compared with f64. The tolerance is wide, because in bands weaker than the window's
// leakage large numbers cancel, which magnifies rounding errors.
TEST(Mel, Kaldi) { expect_same(kaldi_fbank(80), "kaldi", 5e-4f); }

TEST(Mel, KaldiWithOtherOptions) {
  MelOptions o = kaldi_fbank(40);
  o.shape = MelWindow::kHamming;
  o.low_hz = 0, o.preemphasis = 0, o.remove_mean = false;
  expect_same(o, "kaldi_hamming", 1e-4f);
}

TEST(Mel, HifiGan) {
  MelOptions o;
  o.sample_rate = 24000, o.n_fft = 1920, o.hop = 480, o.high_hz = 8000;
  o.framing = MelFraming::kHalfHop;
  o.power = MelPower::kSoftMagnitude;
  expect_same(o, "hifi_gan", 1e-4f);
}

TEST(Mel, LibrosaWithoutLogarithm) {
  MelOptions o;
  o.mels = 40, o.high_hz = 8000;
  o.log = MelLog::kNone;
  expect_same(o, "librosa", 1e-5f);
}

TEST(Mel, HtkBandsAShortWindowZerosAndAnOffset) {
  MelOptions o;
  o.n_fft = 512, o.window = 400;
  o.framing = MelFraming::kZero;
  o.power = MelPower::kMagnitude;
  o.scale = MelScale::kHtk, o.area_norm = false;
  o.offset = 1e-6f, o.floor = 0;
  expect_same(o, "htk", 1e-3f);
}

TEST(Mel, AnyCutGivesTheSameBits) {
  const Golden golden;
  for (const MelOptions& o : {whisper_mel(80), kaldi_fbank(80)}) {
    const MelSpectrogram mel(o);
    const std::vector<float> whole = mel(golden.signal());
    const int64_t frames = mel.frames(static_cast<int64_t>(golden.signal().size()));
    std::vector<float> pieces(whole.size());
    for (int64_t begin = 0; begin < frames; begin += 7)
      mel.run(golden.signal(), begin, std::min(begin + 7, frames), &pieces[begin * o.mels]);
    EXPECT_EQ(pieces, whole);
  }
}

TEST(Mel, SignalsTooShortHaveNoFrames) {
  EXPECT_EQ(MelSpectrogram(whisper_mel(80)).frames(200), 0);
  EXPECT_EQ(MelSpectrogram(whisper_mel(80)).frames(201), 2);
  EXPECT_EQ(MelSpectrogram(kaldi_fbank(80)).frames(399), 0);
  EXPECT_EQ(MelSpectrogram(kaldi_fbank(80)).frames(400), 1);
  EXPECT_EQ(MelSpectrogram(kaldi_fbank(80)).frames(0), 0);
}

TEST(Mel, ContradictingOptionsAreABug) {
  MelOptions o;
  o.window = 500;
  EXPECT_THROW(MelSpectrogram{o}, InternalError);
  o = {};
  o.low_hz = 9000;
  EXPECT_THROW(MelSpectrogram{o}, InternalError);
}

}  // namespace
}  // namespace syrinx
