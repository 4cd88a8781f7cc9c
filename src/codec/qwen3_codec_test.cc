// Compares the codec with samples of the authors' package; checks chunks and batches.
#include "codec/qwen3_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/worst.h"
#include "codec/differences.h"
#include "io/golden_samples.h"
#include "io/safetensors.h"

namespace syrinx {
namespace {

const std::string kParity = SYRINX_BINARY_DIR "/parity/";

/// A small random checkpoint, and the samples that its authors' code computes from its codes. A
/// name "omni/..." means a code2wav of Qwen3-Omni.
struct Qwen3CodecFixture {
  explicit Qwen3CodecFixture(const std::string& name)
      : omni(name.starts_with("omni/")),
        dir(kParity + (omni ? "qwen3_omni/golden/" + name.substr(5) : "qwen3_tts/golden/" + name)),
        config(omni ? Qwen3CodecConfig::load_code2wav(
                          Config::load(dir + "/checkpoint/config.json").sub("code2wav_config"))
                    : Qwen3CodecConfig::load(
                          Config::load(dir + "/checkpoint/speech_tokenizer/config.json"))),
        weights(open_weights(dir + (omni ? "/checkpoint" : "/checkpoint/speech_tokenizer"))),
        codec(config, omni ? weights.scope("code2wav") : weights),
        golden(dir + "/codec.safetensors") {
    const View view = golden.view("codes");
    codes.assign(view.i32(), view.i32() + view.count());
  }

  int64_t frames() const { return static_cast<int64_t>(codes.size()) / config.codebooks; }
  std::span<const int32_t> part(int64_t begin, int64_t end) const {
    return std::span(codes).subspan(begin * config.codebooks, (end - begin) * config.codebooks);
  }
  std::vector<float> decode(std::span<const int32_t> ids, std::span<const int64_t> cuts,
                            CodecState* resume = nullptr) {
    CodecState fresh = codec.open();
    CodecState& state = resume ? *resume : fresh;
    const int64_t q = config.codebooks, total = static_cast<int64_t>(ids.size()) / q;
    std::vector<float> out(total * config.hop());
    int64_t at = 0;
    for (size_t i = 0; at < total; ++i) {
      const int64_t n = std::min(cuts[i % cuts.size()], total - at);
      const CodecJob job{&state, ids.subspan(at * q, n * q),
                         std::span(out).subspan(at * config.hop(), n * config.hop())};
      codec.run(ctx, std::span(&job, 1));
      ctx.arena.reset();
      at += n;
    }
    return out;
  }
  std::vector<float> whole(int64_t n) {
    const int64_t cut[] = {n};
    return decode(part(0, n), cut);
  }

  bool omni;
  std::string dir;
  Qwen3CodecConfig config;
  Weights weights;
  Qwen3Codec codec;
  Safetensors golden;
  std::vector<int32_t> codes;
  ThreadPool pool{1};
  Arena arena;
  StepContext ctx{pool, arena};
};

class Qwen3CodecSamples : public testing::TestWithParam<const char*> {};
/// Checks chunks and batches, for Qwen3-TTS and Qwen3-Omni.
class Qwen3CodecGolden : public testing::TestWithParam<const char*> {};

TEST_P(Qwen3CodecSamples, WholeMatchesTheAuthors) {
  Qwen3CodecFixture f(GetParam());
  const std::vector<float> got = f.whole(f.frames());
  const GoldenSamples want(f.golden);
  ASSERT_EQ(std::ssize(got), want.count());
  const float worst = want.distance(got);
  EXPECT_LT(worst, 4e-5f);
  RecordProperty("worst", std::to_string(worst));
  for (const int64_t n : {1, 2, 71, 72, 73}) {
    const View tail = f.golden.view("tail_" + std::to_string(n));
    const std::vector<float> shorter = f.whole(n);
    EXPECT_LT(largest_difference(std::span(shorter).last(tail.count()), tail), 4e-5f)
        << n << " frames";
  }
}

TEST_P(Qwen3CodecGolden, ChunksGiveTheBitsOfTheWhole) {
  Qwen3CodecFixture f(GetParam());
  const std::vector<float> whole = f.whole(f.frames());
  const std::vector<std::vector<int64_t>> chunkings{{1}, {2, 5, 1, 9}, {8}, {25}, {71, 1, 1}};
  for (const std::vector<int64_t>& cuts : chunkings) {
    EXPECT_TRUE(f.decode(f.codes, cuts) == whole) << "chunks of " << cuts[0];
  }
}

TEST_P(Qwen3CodecGolden, HeardFramesLeaveTheStateOfDecodedOnes) {
  Qwen3CodecFixture f(GetParam());
  const int64_t end = std::min<int64_t>(f.frames(), 110);
  const std::vector<float> whole = f.whole(end);
  for (const int64_t heard : {1, 7, 12, 13, 25, 90}) {
    CodecState state = f.codec.open();
    f.codec.hear(f.ctx, state, f.part(0, heard));
    EXPECT_EQ(state.frames, heard);
    const int64_t cuts[] = {3};
    const std::vector<float> after = f.decode(f.part(heard, end), cuts, &state);
    EXPECT_TRUE(std::ranges::equal(after, std::span(whole).subspan(heard * f.config.hop())))
        << heard << " frames";
  }
}

TEST_P(Qwen3CodecGolden, BatchesGiveTheBitsOfOneStream) {
  Qwen3CodecFixture f(GetParam());
  const int64_t q = f.config.codebooks, hop = f.config.hop();
  const int64_t lengths[] = {13, 1, 30, 7};
  std::vector<CodecState> states;
  std::vector<std::vector<float>> outs;
  std::vector<CodecJob> jobs;
  for (int i = 0; i < 4; ++i) {
    states.push_back(f.codec.open());
    outs.emplace_back(lengths[i] * hop);
  }
  for (int i = 0; i < 4; ++i) {
    jobs.push_back({&states[i], f.part(i * 20, i * 20 + lengths[i]), outs[i]});
  }
  f.codec.run(f.ctx, jobs);
  for (int i = 0; i < 4; ++i) {
    const int64_t cut[] = {lengths[i]};
    EXPECT_TRUE(outs[i] == f.decode(std::span(f.codes).subspan(i * 20 * q, lengths[i] * q), cut))
        << "stream " << i;
  }
}

TEST_P(Qwen3CodecGolden, NoFramesAndBadCodes) {
  Qwen3CodecFixture f(GetParam());
  CodecState state = f.codec.open();
  const CodecJob nothing{&state, {}, {}};
  f.codec.run(f.ctx, std::span(&nothing, 1));
  EXPECT_EQ(state.frames, 0);
  for (const int64_t bad : {int64_t{-1}, f.config.codebook_size}) {
    std::vector<int32_t> codes(f.config.codebooks, 0);
    codes.back() = static_cast<int32_t>(bad);
    std::vector<float> out(f.config.hop());
    const CodecJob job{&state, codes, out};
    EXPECT_THROW(f.codec.run(f.ctx, std::span(&job, 1)), InternalError) << bad;
  }
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, Qwen3CodecSamples,
                         testing::Values("equal_width", "projected"));
INSTANTIATE_TEST_SUITE_P(Checkpoints, Qwen3CodecGolden,
                         testing::Values("equal_width", "projected", "omni/published",
                                         "omni/other"));

class Code2WavGolden : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Checkpoints, Code2WavGolden,
                         testing::Values("omni/published", "omni/other"));

TEST_P(Code2WavGolden, WholeMatchesTheAuthorsAfterTheLead) {
  Qwen3CodecFixture f(GetParam());
  EXPECT_NO_THROW(f.weights.scope("code2wav").finish());
  const auto lead = static_cast<size_t>(f.config.lead());
  const std::vector<float> got = f.whole(f.frames()), first = f.whole(1);
  EXPECT_TRUE(std::ranges::all_of(std::span(got).first(lead), [](float x) { return x == 0; }));
  const View head = f.golden.view("head"), tail = f.golden.view("tail"), one = f.golden.view("one");
  const auto made = std::span(got).subspan(lead);
  EXPECT_LT(largest_difference(made.first(static_cast<size_t>(head.count())), head), 1e-4f);
  EXPECT_LT(largest_difference(made.last(static_cast<size_t>(tail.count())), tail), 1e-4f);
  EXPECT_LT(largest_difference(std::span(first).subspan(lead), one), 1e-4f);
}

TEST(Code2Wav, LeadIsWhatTheAuthorsDrop) {
  Qwen3CodecConfig config;
  EXPECT_EQ(config.lead(), 0);
  config.code2wav = true;
  EXPECT_EQ(config.lead(), 555);  // the value of the published model
}

// Positions are shifted back after some thousand frames. This must not change a stream.
TEST(Qwen3Codec, LongStreamsGoOnAsTheyWere) {
  Qwen3CodecFixture f("projected");
  const int64_t cut[] = {16};
  std::vector<int32_t> codes;
  for (int64_t t = 0; t < 4600; ++t) {
    for (int64_t q = 0; q < f.config.codebooks; ++q) {
      codes.push_back(static_cast<int32_t>((t * 7 + q * 13 + t * t % 11) % f.config.codebook_size));
    }
  }
  const int64_t q = f.config.codebooks, hop = f.config.hop(), late = 4000, seen = 4500;
  const std::vector<float> all = f.decode(codes, cut);
  // From frame `seen` on, no window contains frames before `late`, so both streams must be equal.
  const std::vector<float> part = f.decode(std::span(codes).subspan(late * q), cut);
  float worst = 0;
  for (int64_t i = seen * hop; i < static_cast<int64_t>(all.size()); ++i) {
    worst = worse(worst, std::fabs(all[i] - part[i - late * hop]));
  }
  EXPECT_LT(worst, 1e-4f);
  RecordProperty("worst", std::to_string(worst));
}

TEST(Qwen3Codec, DummyWeightsOfPublishedSizeLoad) {
  Qwen3CodecConfig config;
  config.layers = 1;  // more layers of full size would take seconds
  config.decoder_dim = 96;
  const Qwen3Codec codec(config, Weights(dummy_weights()));
  EXPECT_EQ(config.hop(), 1920);
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  CodecState state = codec.open();
  std::vector<int32_t> codes(16 * 2, 1);
  std::vector<float> out(2 * 1920);
  const CodecJob job{&state, codes, out};
  codec.run(ctx, std::span(&job, 1));
  for (const float sample : out) ASSERT_TRUE(std::fabs(sample) <= 1.f);
}

TEST(Qwen3CodecConfig, SaysWhatIsWrong) {
  const auto fault = [](const std::string& json) -> std::string {
    try {
      Qwen3CodecConfig::load(Config::parse(json, "config.json"));
    } catch (const LoadError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(fault(R"({"model_type": "qwen3_tts_tokenizer_25hz"})").find("25hz"), std::string::npos);
  EXPECT_NE(fault("{}").find("decoder_config"), std::string::npos);
  EXPECT_NE(fault(R"({"decoder_config": {"num_quantizers": 1}})").find("num_quantizers"),
            std::string::npos);
}

}  // namespace
}  // namespace syrinx
