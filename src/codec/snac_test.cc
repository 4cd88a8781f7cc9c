// Compares SNAC with the authors' package on small checkpoints (tests/parity/snac).
#include "codec/snac.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "codec/dac_fixture.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

constexpr uint64_t kSeed = 1234567890123;  // seed in make_golden.py

std::string golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/snac/golden/" + name;
}

class SnacTest : public testing::TestWithParam<const char*> {};

TEST_P(SnacTest, SamplesAreTheAuthors) {
  const std::string dir = golden(GetParam());
  const SnacConfig config = SnacConfig::load(Config::load(dir + "/config.json"));
  const Weights weights(open_weights(dir));
  const DacCodec codec = load_snac(config, weights, WeightType::kF32);
  EXPECT_NO_THROW(weights.finish());
  EXPECT_EQ(fixture::compare_golden(codec, dir + "/golden.safetensors", kSeed, 4e-6f), 6);
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, SnacTest, testing::Values("narrow", "odd"));

TEST(SnacLoad, NamesWhatIsMissingOrNotSupported) {
  const std::string text = slurp(golden("narrow") + "/config.json");
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string copy = text;
    const size_t at = copy.find(from);
    EXPECT_NE(at, copy.npos) << from;
    copy.replace(at, from.size(), to);
    try {
      SnacConfig::load(Config::parse(copy, "config.json"));
    } catch (const LoadError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(changed("24000", "24001"), "");
  EXPECT_NE(changed("\"attn_window_size\": null", "\"attn_window_size\": 32").find("attention"),
            std::string::npos);
  EXPECT_NE(changed("\"decoder_dim\": 64", "\"decoder_dim\": 40").find("decoder_dim"),
            std::string::npos);
  EXPECT_NE(changed("\"noise\": true", "\"noize\": true").find("noise"), std::string::npos);
  SnacConfig config = SnacConfig::load(Config::parse(text, "config.json"));
  config.codec.codebook_size = 65;
  const Weights weights(open_weights(golden("narrow")));
  load_snac(config, weights, WeightType::kF32);
  try {
    weights.finish();
    FAIL();
  } catch (const LoadError& error) {
    EXPECT_NE(std::string(error.what()).find("codebook.weight: expected [65, 8], got f32 [64, 8]"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace syrinx
