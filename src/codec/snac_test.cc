// SNAC against the authors' package on small checkpoints (tests/parity/snac).
#include "codec/snac.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "io/safetensors.h"
#include "io/test_dir.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

constexpr uint64_t kSeed = 1234567890123;  // of make_golden.py

std::string golden(const std::string& name) {
  return std::string(SYRINX_SOURCE_DIR) + "/tests/parity/snac/golden/" + name;
}

class SnacTest : public testing::TestWithParam<const char*> {};

TEST_P(SnacTest, SamplesAreTheAuthors) {
  const std::string dir = golden(GetParam());
  const SnacConfig config = SnacConfig::load(Config::load(dir + "/config.json"));
  const Weights weights(open_weights(dir));
  const DacCodec codec = load_snac(config, weights, WeightType::kF32);
  EXPECT_EQ(weights.finish(), "");
  const Safetensors file(dir + "/golden.safetensors");
  const View codes = file.view("codes");
  fixture::Bench bench;
  int compared = 0;
  for (const std::string& name : file.names()) {
    if (!name.starts_with("samples_")) continue;
    const int64_t frames = std::stoll(name.substr(8)), hop = config.codec.hop();
    const View want = file.view(name);
    ASSERT_EQ(want.count(), frames * hop);
    Tensor got({frames * hop}, DType::kF32);
    DacCodecState state = codec.open(kSeed);
    // In two chunks, so that parity is also that of a stream.
    const int64_t q = config.codec.codebooks,
                  first =
                      std::max<int64_t>(0, std::min<int64_t>(3, frames - config.codec.lookahead()));
    const std::span<const int32_t> all(codes.i32(), static_cast<size_t>(frames * q));
    const std::span<float> out(got.f32(), static_cast<size_t>(frames * hop));
    if (first > 0) {
      const DacCodecJob job{&state, all.first((first + config.codec.lookahead()) * q), first,
                            first + config.codec.lookahead() == frames, out.first(first * hop)};
      codec.run(bench.ctx, std::span(&job, 1));
    }
    const DacCodecJob job{&state, all.subspan(first * q), frames - first, true,
                          out.subspan(first * hop)};
    codec.run(bench.ctx, std::span(&job, 1));
    float worst = 0;
    for (int64_t i = 0; i < want.count(); ++i)
      worst = std::max(worst, std::fabs(got.f32()[i] - want.f32()[i]));
    EXPECT_LT(worst, 1e-4f) << name;
    RecordProperty(name, std::to_string(worst * 1e6) + "e-6");
    ++compared;
  }
  EXPECT_EQ(compared, 6);
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
