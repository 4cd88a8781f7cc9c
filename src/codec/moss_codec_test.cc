// Compares MOSS-Audio-Tokenizer with the authors' code on the small checkpoints of
// tests/parity/moss_tts: samples, codes, streams; also checks that bad configs are refused.
#include "codec/moss_codec.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "codec/moss_encoder.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

constexpr int64_t kBooks = 6;  // codebooks that the small models use; a checkpoint has more

struct MossGolden {
  explicit MossGolden(const std::string& name, int64_t books)
      : dir(SYRINX_BINARY_DIR "/parity/moss_tts/golden/" + name),
        weights(open_weights(dir + "/checkpoint/MOSS-Audio-Tokenizer")),
        config(MossCodecConfig::load(
            Config::load(dir + "/checkpoint/MOSS-Audio-Tokenizer/config.json"))) {
    config.codebooks = books;
  }
  std::string dir;
  Weights weights;
  MossCodecConfig config;
  fixture::Bench bench{2};
};

std::vector<float> decoded(MossGolden& g, const MossCodec& codec, std::span<const int32_t> codes,
                           int64_t most) {
  const int64_t q = g.config.codebooks, hop = g.config.hop();
  const int64_t frames = std::ssize(codes) / q;
  std::vector<float> out(static_cast<size_t>(frames * hop));
  CodecState state = codec.open();
  for (int64_t at = 0; at < frames;) {
    const int64_t n = std::min(most, frames - at);
    const CodecJob job{&state, codes.subspan(at * q, n * q),
                       std::span(out).subspan(at * hop, n * hop)};
    codec.run(g.bench.ctx, std::span(&job, 1));
    at += n;
  }
  EXPECT_EQ(state.frames, frames);
  return out;
}

std::vector<int32_t> codes_of(const View& view) { return {view.i32(), view.i32() + view.count()}; }

struct MossCase {
  const char *checkpoint, *name;
  int64_t books;
};

class MossCodecGolden : public testing::TestWithParam<MossCase> {};

TEST_P(MossCodecGolden, SamplesAreTheAuthorsInAnyChunks) {
  MossGolden g(GetParam().checkpoint, GetParam().books);
  const MossCodec codec(g.config, g.weights);
  const Safetensors golden(concat(g.dir, "/", GetParam().name, ".safetensors"));
  const View want = golden.view("samples");
  const std::vector<int32_t> all = codes_of(golden.view("frames"));
  const std::span codes =
      std::span(all).first(static_cast<size_t>(want.count() / g.config.hop() * g.config.codebooks));
  const std::vector<float> whole = decoded(g, codec, codes, std::ssize(codes));
  ASSERT_EQ(std::ssize(whole), want.count());
  float worst = 0, largest = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    worst = std::max(worst, std::abs(whole[i] - want.f32()[i]));
    largest = std::max(largest, std::abs(whole[i]));
  }
  EXPECT_LT(worst, 1e-5f * largest);
  for (const int64_t most : {1, 3, 11}) EXPECT_EQ(decoded(g, codec, codes, most), whole) << most;

  // Two streams in one call; the second is shorter.
  const int64_t q = g.config.codebooks, hop = g.config.hop(), short_frames = 2;
  CodecState a = codec.open(), b = codec.open();
  std::vector<float> x(whole.size()), y(static_cast<size_t>(short_frames * hop));
  const CodecJob jobs[] = {{&b, codes.first(short_frames * q), y}, {&a, codes, x}};
  codec.run(g.bench.ctx, jobs);
  EXPECT_EQ(x, whole);
  EXPECT_TRUE(std::equal(y.begin(), y.end(), whole.begin()));
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, MossCodecGolden,
                         testing::Values(MossCase{"published_rates", "fox", 16},
                                         MossCase{"other_shapes", "ends", kBooks}));

class MossEncoderGolden : public testing::TestWithParam<MossCase> {};

TEST_P(MossEncoderGolden, CodesOfARecordingAreTheAuthors) {
  MossGolden g(GetParam().checkpoint, GetParam().books);
  const MossEncoder encoder(g.config, g.weights);
  const Safetensors golden(concat(g.dir, "/", GetParam().name, ".safetensors"));
  const View recording = golden.view("recording");
  const std::span<const float> samples(recording.f32(), static_cast<size_t>(recording.count()));
  const std::vector<int32_t> want = codes_of(golden.view("voice"));
  EXPECT_EQ(encoder.encode(g.bench.ctx, samples), want);
  // An incomplete frame at the end is ignored.
  const std::vector<int32_t> fewer = encoder.encode(g.bench.ctx, samples.first(samples.size() - 1));
  EXPECT_EQ(std::ssize(fewer), std::ssize(want) - g.config.codebooks);
  EXPECT_TRUE(std::equal(fewer.begin(), fewer.end(), want.begin()));
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, MossEncoderGolden,
                         testing::Values(MossCase{"published_rates", "cloned", 16},
                                         MossCase{"other_shapes", "talk", kBooks}));

/// The stream is longer than the interval at which StreamDecoder shifts positions back.
TEST(MossCodec, ALongStreamHasTheBitsOfOneCallInSmallChunks) {
  MossGolden g("other_shapes", kBooks);
  const MossCodec codec(g.config, g.weights);
  std::vector<int32_t> codes(static_cast<size_t>(3000 * kBooks));
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<int32_t>(i * i % 61);
  EXPECT_EQ(decoded(g, codec, codes, 7), decoded(g, codec, codes, 3000));
}

TEST(MossCodecConfig, RefusesWhatIsNotSupported) {
  const std::string path = SYRINX_BINARY_DIR
      "/parity/moss_tts/golden/other_shapes/checkpoint/MOSS-Audio-Tokenizer/config.json";
  const nlohmann::json fine = nlohmann::json::parse(read_file(path, 1 << 20));
  const auto fault = [&](const char* place, const nlohmann::json& value) -> std::string {
    nlohmann::json json = fine;
    json[nlohmann::json::json_pointer(place)] = value;
    try {
      MossCodecConfig::load(Config::parse(json.dump(), "config.json"));
    } catch (const LoadError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(fault("/sampling_rate", 16000), "");
  const std::tuple<const char*, nlohmann::json, const char*> faults[] = {
      {"/quantizer_kwargs/quantizer_type", "rvq", "only rlfq"},
      {"/quantizer_kwargs/output_dim", 17, "output_dim"},
      {"/quantizer_kwargs/codebook_dim", 16, "codebook_dim"},
      {"/decoder_kwargs/0/norm", "rms_norm", "layer_norm"},
      {"/decoder_kwargs/0/gating", "silu", "gating"},
      {"/decoder_kwargs/0/causal", false, "causal"},
      {"/decoder_kwargs/0/positional_embedding", "sin", "rope"},
      {"/decoder_kwargs/0/num_heads", 3, "num_heads"},
      {"/decoder_kwargs/2/input_dimension", 9, "reads 9 channels, but gets 8"},
      {"/decoder_kwargs/1/patch_size", 8, "rows per frame"},
      {"/decoder_kwargs/1/patch_size", 3, "power of two"},
      {"/decoder_kwargs/1/module_type", "Transformer", "PatchedPretransform"},
      {"/encoder_kwargs/0/patch_size", 49, "must divide"},
      {"/encoder_kwargs/1/output_dimension", 9, "channels"},
      {"/causal_transformer_context_duration", 1000, "attention would see"},
      {"/downsample_rate", 192, "must divide"}};
  for (const auto& [place, value, want] : faults) {
    EXPECT_NE(fault(place, value).find(want), std::string::npos)
        << place << ": " << fault(place, value);
  }
}

}  // namespace
}  // namespace syrinx
