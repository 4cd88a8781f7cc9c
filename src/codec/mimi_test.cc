// Compares Mimi's decoder with samples of transformers' MimiModel; checks chunks and batches.
#include "codec/mimi.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/worst.h"
#include "codec/differences.h"
#include "io/safetensors.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

std::string golden_dir(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/mimi/golden/" + name;
}

struct Checkpoint {
  explicit Checkpoint(const std::string& name, WeightType type = WeightType::kF32)
      : dir(golden_dir(name)),
        config(MimiConfig::load(Config::load(dir + "/config.json"))),
        weights(open_weights(dir)),
        decoder(config, weights, type),
        golden(dir + "/decode.safetensors") {
    const View view = golden.view("codes");
    codes.assign(view.i32(), view.i32() + view.count());
  }

  int64_t frames() const { return static_cast<int64_t>(codes.size()) / config.codebooks; }
  std::span<const int32_t> part(int64_t begin, int64_t end) const {
    return std::span(codes).subspan(begin * config.codebooks, (end - begin) * config.codebooks);
  }
  /// Decodes in chunks whose sizes cycle through `cuts` frames.
  std::vector<float> decode(std::span<const int32_t> ids, std::span<const int64_t> cuts) {
    CodecState state = decoder.open();
    const int64_t q = config.codebooks, hop = config.hop();
    const int64_t total = static_cast<int64_t>(ids.size()) / q;
    std::vector<float> out(total * hop);
    for (int64_t at = 0, i = 0; at < total; ++i) {
      const int64_t n = std::min(cuts[i % cuts.size()], total - at);
      const CodecJob job{&state, ids.subspan(at * q, n * q),
                         std::span(out).subspan(at * hop, n * hop)};
      decoder.run(bench.ctx, std::span(&job, 1));
      bench.arena.reset();
      at += n;
    }
    EXPECT_EQ(state.frames, total);
    return out;
  }
  std::vector<float> whole(int64_t n) {
    const int64_t cut[] = {std::max<int64_t>(n, 1)};
    return decode(part(0, n), cut);
  }

  std::string dir;
  MimiConfig config;
  Weights weights;
  MimiDecoder decoder;
  Safetensors golden;
  std::vector<int32_t> codes;
  fixture::Bench bench{2};
};

class MimiGolden : public testing::TestWithParam<const char*> {};

TEST_P(MimiGolden, WholeMatchesTheOriginalAtEveryLength) {
  Checkpoint c(GetParam());
  EXPECT_EQ(c.weights.report().missing.size(), 0u);
  float worst = 0;
  for (const std::string& name : c.golden.names()) {
    if (!name.starts_with("tail_")) continue;
    const std::vector<float> whole = c.whole(std::stoll(name.substr(5)));
    const View want = c.golden.view(name);
    const auto count = static_cast<size_t>(want.count());
    ASSERT_GE(whole.size(), count) << name;
    worst = worse(worst, largest_difference(std::span(whole).last(count), want));
  }
  EXPECT_LT(worst, 1e-5f);
  EXPECT_TRUE(c.whole(0).empty());
  RecordProperty("worst", std::to_string(worst * 1e6) + "e-6");
}

TEST_P(MimiGolden, ChunksGiveTheBitsOfTheWhole) {
  Checkpoint c(GetParam());
  const std::vector<float> whole = c.whole(c.frames());
  const std::vector<std::vector<int64_t>> chunkings{{1}, {2, 5, 1, 9}, {8}, {25}, {124, 1, 1}};
  for (const std::vector<int64_t>& cuts : chunkings) {
    EXPECT_TRUE(c.decode(c.codes, cuts) == whole) << "chunks of " << cuts[0];
  }
}

TEST_P(MimiGolden, BatchesGiveTheBitsOfOneStream) {
  Checkpoint c(GetParam());
  const int64_t q = c.config.codebooks, hop = c.config.hop();
  const int64_t lengths[] = {13, 1, 30, 7, 0};
  std::vector<CodecState> states;
  std::vector<std::vector<float>> outs;
  std::vector<CodecJob> jobs;
  for (const int64_t n : lengths) {
    states.push_back(c.decoder.open());
    outs.emplace_back(n * hop);
  }
  for (size_t i = 0; i < outs.size(); ++i) {
    const auto begin = static_cast<int64_t>(i) * 20;
    jobs.push_back({&states[i], c.part(begin, begin + lengths[i]), outs[i]});
  }
  c.decoder.run(c.bench.ctx, jobs);
  for (size_t i = 0; i < outs.size(); ++i) {
    const int64_t cut[] = {3};
    EXPECT_TRUE(outs[i] == c.decode(std::span(c.codes).subspan(i * 20 * q, lengths[i] * q), cut))
        << "stream " << i;
  }
}

TEST_P(MimiGolden, BadCodesAreBugsOfTheCaller) {
  Checkpoint c(GetParam());
  CodecState state = c.decoder.open();
  for (const int64_t bad : {int64_t{-1}, c.config.codebook_size}) {
    std::vector<int32_t> codes(c.config.codebooks, 0);
    codes.back() = static_cast<int32_t>(bad);
    std::vector<float> out(c.config.hop());
    const CodecJob job{&state, codes, out};
    EXPECT_THROW(c.decoder.run(c.bench.ctx, std::span(&job, 1)), InternalError) << bad;
  }
}

TEST_P(MimiGolden, HalfWeightsAreClose) {
  Checkpoint full(GetParam()), half(GetParam(), WeightType::kBF16);
  const std::vector<float> want = full.whole(60), got = half.whole(60);
  double error = 0, power = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    error += std::pow(double{got[i]} - want[i], 2);
    power += std::pow(double{want[i]}, 2);
  }
  EXPECT_LT(std::sqrt(error / power), 0.03);
  RecordProperty("relative_rms", std::to_string(std::sqrt(error / power)));
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, MimiGolden,
                         testing::Values("published_rates", "other_shapes"));

// After some thousand frames, StreamDecoder shifts positions back. Samples must not change.
TEST(Mimi, LongStreamsGoOnAsTheyWere) {
  Checkpoint c("other_shapes");
  const int64_t q = c.config.codebooks, hop = c.config.hop(), late = 5000, seen = 5300;
  std::vector<int32_t> codes;
  for (int64_t t = 0; t < 5700; ++t) {  // StreamDecoder shifts positions back after 5280 frames
    for (int64_t k = 0; k < q; ++k) {
      codes.push_back(static_cast<int32_t>((t * 7 + k * 13 + t * t % 11) % c.config.codebook_size));
    }
  }
  const int64_t cut[] = {16}, other[] = {5, 3};
  const std::vector<float> all = c.decode(codes, cut);
  EXPECT_TRUE(c.decode(codes, other) == all);
  // A stream that begins late must equal the whole stream once the frames that it lacks have left
  // the window of every layer.
  const std::vector<float> part = c.decode(std::span(codes).subspan(late * q), cut);
  float worst = 0;
  for (int64_t i = seen * hop; i < static_cast<int64_t>(all.size()); ++i) {
    worst = worse(worst, std::fabs(all[i] - part[i - late * hop]));
  }
  EXPECT_LT(worst, 1e-4f);
  RecordProperty("worst", std::to_string(worst));
}

TEST(Mimi, DummyWeightsOfPublishedSizeLoad) {
  MimiConfig config;
  EXPECT_EQ(config.hop(), 1920);
  config.layers = 1;  // more layers of full size would take seconds
  config.filters = 8;
  const MimiDecoder decoder(config, Weights(dummy_weights()), WeightType::kQ8);
  fixture::Bench bench;
  CodecState state = decoder.open();
  const std::vector<int32_t> codes(32 * 2, 1);
  std::vector<float> out(2 * 1920, NAN);
  const CodecJob job{&state, codes, out};
  decoder.run(bench.ctx, std::span(&job, 1));
  for (const float sample : out) ASSERT_TRUE(std::isfinite(sample));
}

TEST(MimiConfig, SaysWhatIsWrong) {
  const auto fault = [](const std::string& json) -> std::string {
    try {
      MimiConfig::load(Config::parse(json, "config.json"));
    } catch (const LoadError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(fault("{}"), "");
  for (const auto& [key, value] : {std::pair{"model_type", "\"encodec\""},
                                   {"num_quantizers", "1"},
                                   {"audio_channels", "2"},
                                   {"use_conv_shortcut", "true"},
                                   {"upsample_groups", "4"},
                                   {"num_key_value_heads", "3"},
                                   {"num_attention_heads", "1"},
                                   {"upsampling_ratios", "[]"},
                                   {"codebook_dim", "512"},
                                   {"hidden_act", "\"relu\""},
                                   {"head_dim", "12"},
                                   {"rope_scaling", R"({"rope_type": "yarn"})"},
                                   {"sliding_window", "0"}}) {
    const std::string json = std::string("{\"") + key + "\": " + value + "}";
    EXPECT_NE(fault(json).find(std::string(key) == "codebook_dim" ? "vector_quant" : key),
              std::string::npos)
        << json << " " << fault(json);
  }
  const std::string layers = R"("num_residual_layers": )", growth = R"("dilation_growth_rate": )";
  EXPECT_EQ(fault("{" + layers + "11, " + growth + "2}"), "");
  EXPECT_NE(fault("{" + layers + "12, " + growth + "2}")
                .find("dilation_growth_rate: only a "
                      "dilation of at most 1024 (2048"),
            std::string::npos);
}

}  // namespace
}  // namespace syrinx
