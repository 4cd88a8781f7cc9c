// Compares the audio tower with transformers (tests/parity/qwen3_omni), whole and in pieces.
#include "codec/qwen3_audio_tower.h"

#include <gtest/gtest.h>

#include <map>

#include "codec/qwen3_audio_fixture.h"
#include "io/file.h"
#include "io/parity_dir.h"
#include "io/safetensors.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

using fixture::golden_signal;

constexpr int64_t kLengths[] = {320, 1599, 2720, 15999, 16000, 16160, 32000, 33600, 70401};

std::string tower_golden(const std::string& name) {
  return parity_dir() + "qwen3_omni/golden/" + name;
}

struct TowerFixture {
  explicit TowerFixture(const std::string& name, WeightType type = WeightType::kF32,
                        Device device = Device::kCpu)
      : dir(tower_golden(name)),
        config(Qwen3AudioConfig::load(Config::load(dir + "/checkpoint/config.json")
                                          .sub("thinker_config")
                                          .sub("audio_config"))),
        weights(open_weights(dir + "/checkpoint")),
        tower(config, weights.scope("thinker.audio_tower"), type),
        golden(dir + "/audio.safetensors") {
    if (device != Device::kCpu) tower.move_to(device);
  }

  Tensor encode(std::span<const float> samples, int threads = 1) const {
    return fixture::encode_recording(tower, samples, threads);
  }

  std::string dir;
  Qwen3AudioConfig config;
  Weights weights;
  Qwen3AudioTower tower;
  Safetensors golden;
};

class Qwen3AudioTowerGolden : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Sizes, Qwen3AudioTowerGolden, testing::Values("published", "other"));

class Qwen3AudioTowerOn : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, Qwen3AudioTowerOn, testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

TEST_P(Qwen3AudioTowerOn, RowsAreThoseOfTheAuthors) {
  for (const char* name : {"published", "other"}) {
    if (!is_directory(tower_golden(name))) continue;  // the kit for GPUs lacks one of them
    const TowerFixture f(name, WeightType::kF32, GetParam());
    EXPECT_NO_THROW(f.weights.scope("thinker.audio_tower").finish());
    for (const int64_t length : kLengths) {
      const View want = f.golden.view("rows_" + std::to_string(length));
      const Tensor got = f.encode(golden_signal(length, static_cast<uint32_t>(length)));
      ASSERT_EQ(got.shape(), want.shape) << length;
      EXPECT_LT(fixture::difference(got, want), 2e-5) << name << ", " << length;
    }
  }
}

TEST_P(Qwen3AudioTowerGolden, MelIsThatOfTheAuthors) {
  const TowerFixture f(GetParam());
  const View want = f.golden.view("mel_2720");
  const MelSpectrogram mel(whisper_mel(128));
  std::vector<float> got = mel(golden_signal(2720, 2720));
  got.resize(static_cast<size_t>(want.count()));  // without the last frame, as in `want`
  whisper_compress(got);
  EXPECT_LT(fixture::difference({got.data(), DType::kF32, want.shape}, want), 1e-5);
}

TEST_P(Qwen3AudioTowerGolden, RowsHaveTheSameBitsOnAnyThreads) {
  const TowerFixture f(GetParam(), WeightType::kBF16);
  const std::vector<float> samples = golden_signal(40000, 3);
  EXPECT_TRUE(fixture::same_bits(f.encode(samples, 1), f.encode(samples, 3)));
}

// The recording has 2.1 windows of two seconds. Each call gets one window and a chunk around it.
TEST_P(Qwen3AudioTowerOn, AWindowNeedsOnlyAChunkAroundIt) {
  const TowerFixture f("published", WeightType::kBF16, GetParam());
  const std::vector<float> samples = golden_signal(67200, 5);
  const Tensor whole = f.encode(samples);
  const int64_t chunk = f.tower.chunk_samples(), window = f.tower.window_chunks() * chunk;
  EXPECT_EQ(chunk, 16000);
  EXPECT_EQ(window, 32000);
  fixture::Bench bench(1, GetParam());
  int64_t row = 0;
  for (int64_t w = 0; w < 3; ++w) {
    const int64_t from = std::max<int64_t>(0, w * window - chunk);
    const int64_t to = std::min<int64_t>(std::ssize(samples), (w + 1) * window + chunk);
    const Tensor rows({f.tower.window_rows(w, 67200), f.config.out}, DType::kF32);
    fixture::encode_window(
        bench, f.tower,
        {w, 67200, f.tower.extremes(samples).loudest, from,
         std::span(samples).subspan(static_cast<size_t>(from), static_cast<size_t>(to - from))},
        rows);
    EXPECT_TRUE(fixture::same_bits(rows, whole.view().slice(row, row + rows.shape()[0]))) << w;
    row += rows.shape()[0];
  }
  EXPECT_EQ(row, 55);
  EXPECT_EQ(f.tower.window_rows(3, 67200), 0);
}

// Distant samples affect a window only through the loudest value of the recording.
TEST(Qwen3AudioTower, WindowsDoNotSeeEachOther) {
  const TowerFixture f("published");
  std::vector<float> samples = golden_signal(96000, 5);
  const Tensor before = f.encode(samples);
  for (size_t i = 50000; i < samples.size(); ++i)
    samples[i] *= 0.5f;  // from the middle of window 1 on
  const Tensor after = f.encode(samples);
  EXPECT_TRUE(fixture::same_bits(before.view().slice(0, 26), after.view().slice(0, 26)));
  EXPECT_FALSE(fixture::same_bits(before.view().slice(26, 52), after.view().slice(26, 52)));
}

// The key of a window must change if, and only if, a longer recording changes the window's rows.
TEST(Qwen3AudioTower, KeysShowWhatStays) {
  const TowerFixture f("published");
  const auto keys = [&](std::span<const float> samples) {
    return f.tower.keys(samples, f.tower.extremes(samples));
  };
  std::vector<float> samples = golden_signal(67200, 5);
  const std::vector<uint64_t> whole = keys(samples);
  ASSERT_EQ(whole.size(), 3u);
  const auto beginning = std::span(samples).first(64000 + 200);
  EXPECT_EQ(keys(beginning)[0], whole[0]);
  EXPECT_EQ(keys(beginning)[1], whole[1]);
  EXPECT_NE(keys(beginning)[2], whole[2]);
  EXPECT_NE(keys(std::span(samples).first(64000 + 199))[1], whole[1]);
  EXPECT_EQ(keys(std::span(samples).first(64000 + 320))[1], whole[1]) << "what is heard ahead";
  EXPECT_TRUE(fixture::same_bits(f.encode(beginning).view().slice(0, 52),
                                 f.encode(samples).view().slice(0, 52)));
  // The rows of a silent window depend on the loudest value of the whole recording.
  std::fill(samples.begin(), samples.begin() + 40000, 0.f);
  const uint64_t silent = keys(samples)[0];
  for (float& sample : samples) sample /= 2;
  EXPECT_NE(keys(samples)[0], silent);
}

TEST(Qwen3AudioTower, CountsWhatItEncodes) {
  const TowerFixture f("published");
  EXPECT_EQ(f.tower.count(0), 0);
  EXPECT_EQ(f.tower.count(159), 0);
  EXPECT_EQ(f.tower.count(200), 0);  // the recording is too short for mirroring
  EXPECT_EQ(f.tower.count(320), 1);
  EXPECT_EQ(f.tower.count(16000), 13);
  EXPECT_EQ(f.tower.count(16159), 13);
  EXPECT_EQ(f.tower.count(16160), 14);
  EXPECT_EQ(f.tower.count(30 * 16000), 390);
  const std::vector<float> none(100);
  EXPECT_THROW(f.tower.extremes(none), InternalError);
}

TEST(Qwen3AudioTower, SaysWhatAConfigHasWrong) {
  const auto fault = [](const std::string& key, const std::string& value) {
    std::map<std::string, std::string> all{{"downsample_hidden_size", "8"},
                                           {"d_model", "32"},
                                           {"encoder_layers", "1"},
                                           {"encoder_attention_heads", "4"},
                                           {"output_dim", "8"},
                                           {"encoder_ffn_dim", "8"},
                                           {"n_window", "50"},
                                           {"n_window_infer", "800"}};
    all[key] = value;
    std::string text;
    for (const auto& [name, number] : all)
      text += (text.empty() ? "{\"" : ", \"") + name + "\": " + number;
    try {
      Qwen3AudioConfig::load(Config::parse(text + "}", "config.json"));
    } catch (const LoadError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(fault("activation_function", "\"gelu\""), "");
  EXPECT_NE(fault("activation_function", "\"relu\"").find("only gelu"), std::string::npos);
  EXPECT_NE(fault("n_window", "100").find("13 rows per chunk"), std::string::npos);
  EXPECT_NE(fault("n_window_infer", "60").find("twice n_window"), std::string::npos);
  EXPECT_NE(fault("encoder_attention_heads", "5").find("a multiple of 8"), std::string::npos);
}

}  // namespace
}  // namespace syrinx
