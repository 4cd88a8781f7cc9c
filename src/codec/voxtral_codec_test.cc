// Checks chunks, batches, codes and configs of Voxtral's codec. src/families/golden_test.cc
// compares its samples with those of the authors' code.
#include "codec/voxtral_codec.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "io/test_dir.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

class VoxtralCodecTest : public testing::TestWithParam<const char*> {
 protected:
  VoxtralCodecTest()
      : dir_(SYRINX_BINARY_DIR "/parity/voxtral_tts/golden/" + std::string(GetParam()) +
             "/checkpoint/"),
        weights_(open_weights(dir_ + "consolidated.safetensors")),
        config_(VoxtralCodecConfig::load(
            Config::load(dir_ + "params.json").sub("multimodal").sub("audio_tokenizer_args"))),
        codec_(config_, weights_.scope("audio_tokenizer"), WeightType::kF32) {}

  std::vector<int32_t> random_codes(int frames, uint32_t seed) const {
    std::mt19937 engine(seed);
    std::vector<int32_t> codes;
    for (int64_t i = 0; i < frames * config_.codebooks; ++i) {
      const int64_t most = i % config_.codebooks == 0 ? config_.codebook_size : config_.levels;
      codes.push_back(static_cast<int32_t>(engine() % most));
    }
    return codes;
  }
  CodecJob job(CodecState& state, std::span<const int32_t> codes, std::span<float> out,
               int64_t begin, int64_t end) const {
    const int64_t q = config_.codebooks, hop = config_.hop();
    return {&state, codes.subspan(size_t(begin * q), size_t((end - begin) * q)),
            out.subspan(size_t(begin * hop), size_t((end - begin) * hop))};
  }

  const std::string dir_;
  const Weights weights_;
  const VoxtralCodecConfig config_;
  const VoxtralCodec codec_;
  fixture::Bench bench_{2};
};

// Streams are longer than a ring of keys, so positions are also shifted back.
TEST_P(VoxtralCodecTest, AnyChunksAndBatchesHaveTheSameBits) {
  const int frames[] = {700, 61};
  std::vector<int32_t> codes[2];
  std::vector<float> whole[2], parts[2];
  CodecState states[2] = {codec_.open(), codec_.open()};
  for (int i = 0; i < 2; ++i) {
    codes[i] = random_codes(frames[i], 5 + i);
    whole[i].resize(static_cast<size_t>(frames[i] * config_.hop()));
    parts[i].resize(whole[i].size());
    CodecState state = codec_.open();
    const CodecJob all = job(state, codes[i], whole[i], 0, frames[i]);
    codec_.run(bench_.ctx, std::span(&all, 1));
  }
  int at[] = {0, 0};
  for (int call = 0; at[0] < frames[0] || at[1] < frames[1]; ++call) {
    std::vector<CodecJob> jobs;
    for (int i = 0; i < 2; ++i) {
      const int end = std::min(frames[i], at[i] + (call + i) % 5 + 1);
      jobs.push_back(job(states[i], codes[i], parts[i], at[i], end));
      at[i] = end;
    }
    codec_.run(bench_.ctx, jobs);
  }
  EXPECT_EQ(parts[0], whole[0]);
  EXPECT_EQ(parts[1], whole[1]);
  EXPECT_GT(std::abs(whole[0].back()), 0.f);
}

TEST_P(VoxtralCodecTest, CodesOutOfRangeAreBugs) {
  CodecState state = codec_.open();
  std::vector<float> out(static_cast<size_t>(config_.hop()));
  for (const int at : {0, 1}) {
    std::vector<int32_t> codes(static_cast<size_t>(config_.codebooks));
    codes[at] = static_cast<int32_t>(at == 0 ? config_.codebook_size : config_.levels);
    const CodecJob bad = job(state, codes, out, 0, 1);
    EXPECT_THROW(codec_.run(bench_.ctx, std::span(&bad, 1)), InternalError) << at;
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, VoxtralCodecTest, testing::Values("small", "other"),
                         [](const auto& row) { return std::string(row.param); });

TEST(VoxtralCodecConfig, AbsentKeysHaveTheAuthorsValues) {
  const auto load = [](const std::string& text) {
    return VoxtralCodecConfig::load(Config::parse(text, "params.json"));
  };
  const VoxtralCodecConfig c = load(R"({"dim": 1024, "hidden_dim": 4096, "n_heads": 8})");
  EXPECT_EQ(c.hop(), 1920);
  EXPECT_EQ(c.latent(), 292);
  ASSERT_EQ(c.stages.size(), 4u);
  for (const int stage : {0, 1, 2, 3}) {  // 2, 4, 8 and 16 rows before each row
    EXPECT_EQ(c.stages[stage].net.window, (2 << stage) + 1);
    EXPECT_EQ(c.stages[stage].net.layers, 2);
    EXPECT_FLOAT_EQ(c.stages[stage].net.slopes[7], 1.f / 128);
  }
  const std::string six = R"({"dim": 96, "hidden_dim": 64, "n_heads": 6, "head_dim": 16})";
  const std::vector<float> slopes{1, 0.25f, 0.0625f, 0.015625f, 1, 0.25f};
  EXPECT_EQ(load(six).stages[0].net.slopes, slopes);
  EXPECT_THROW(load(R"({"dim": 96, "hidden_dim": 64, "n_heads": 6, "qk_norm": false})"), LoadError);
}

}  // namespace
}  // namespace syrinx
