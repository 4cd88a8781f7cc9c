// Compares Mimi's encoder with codes of transformers' MimiModel.
#include "codec/mimi_encoder.h"

#include <gtest/gtest.h>

#include "audio/wav_file.h"
#include "io/file.h"
#include "io/parity_dir.h"
#include "io/safetensors.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

class MimiEncoderGolden : public fixture::OnDevice {
 protected:
  void compare(const std::string& checkpoint) const;
};

void MimiEncoderGolden::compare(const std::string& checkpoint) const {
  const std::string parity = parity_dir() + "mimi/";
  const std::string dir = parity + "golden/" + checkpoint;
  const Weights weights(open_weights(dir));
  MimiEncoder encoder(MimiConfig::load(Config::load(dir + "/config.json")), weights);
  EXPECT_EQ(weights.report().missing.size(), 0u);
  const Safetensors golden(dir + "/encode.safetensors");
  const std::vector<float> speech = read_wav(parity + "speech.wav").samples;
  const View noise = golden.view("noise");
  if (GetParam() != Device::kCpu) encoder.move_to(GetParam());
  fixture::Bench bench(2, GetParam());
  const bool on_gpu = GetParam() != Device::kCpu;
  int compared = 0;
  for (const std::string& name : golden.names()) {
    const size_t cut = name.find('_');
    if (cut == name.npos) continue;
    const size_t length = std::stoul(name.substr(cut + 1));
    const std::span<const float> signal =
        name.starts_with("speech")
            ? std::span(speech)
            : std::span<const float>(noise.f32(), static_cast<size_t>(noise.count()));
    ASSERT_LE(length, signal.size());
    if (on_gpu && length > 2000) continue;  // minutes on the emulation
    const std::vector<int32_t> codes = encoder.encode(bench.ctx, signal.first(length));
    const View want = golden.view(name);
    EXPECT_EQ(encoder.frames(static_cast<int64_t>(length)), want.shape[0]);
    ASSERT_EQ(static_cast<int64_t>(codes.size()), want.count()) << name;
    int64_t wrong = 0;
    for (size_t i = 0; i < codes.size(); ++i) wrong += codes[i] != want.i32()[i];
    EXPECT_EQ(wrong, 0) << name << ", of " << codes.size();
    ++compared;
  }
  EXPECT_EQ(compared, on_gpu ? 8 : 10);
  EXPECT_TRUE(encoder.encode(bench.ctx, {}).empty());
}

TEST_P(MimiEncoderGolden, CodesOfSpeechAndNoiseAreTheOriginals) {
  if (!is_directory(parity_dir() + "mimi")) GTEST_SKIP() << "the kit has no such checkpoint";
  compare("published_rates");
  compare("other_shapes");
}

INSTANTIATE_TEST_SUITE_P(Devices, MimiEncoderGolden, testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

}  // namespace
}  // namespace syrinx
