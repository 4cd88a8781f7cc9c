// Compares S3 tokens and CAM++ vectors with their authors' code (tests/parity/s3_reference), from
// torch's weights and from ONNX files.
#include "codec/s3_tokenizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "audio/wav_file.h"
#include "base/worst.h"
#include "codec/cam_plus.h"
#include "codec/differences.h"
#include "io/onnx_weights.h"
#include "io/safetensors.h"
#include "io/torch_pickle.h"

namespace syrinx {
namespace {

std::string parity(const std::string& name) { return SYRINX_BINARY_DIR "/parity/" + name; }

struct Machine {
  ThreadPool pool{1};
  Arena arena;
  StepContext ctx{pool, arena};
};

struct Golden {
  Golden() : file(parity("s3_reference/golden/golden.safetensors")) {}
  std::span<const float> wav(const std::string& name) const {
    const View view = file.view(name + ".wav");
    return {view.f32(), static_cast<size_t>(view.count())};
  }
  Safetensors file;
};

template <typename Network>
typename Network::Work done(const Network& network, std::span<const float> samples) {
  Machine machine;
  auto work = network.open(samples);
  while (!work.done()) {
    network.run(machine.ctx, work);
    machine.arena.reset();
  }
  return work;
}

class OfChatterbox : public testing::TestWithParam<const char*> {
 protected:
  OfChatterbox()
      : weights(open_weights(parity("chatterbox/golden/checkpoint/s3gen.safetensors"))) {}
  Golden golden;
  Weights weights;
};

TEST_P(OfChatterbox, Tokens) {
  const S3Tokenizer tokenizer(weights.scope("tokenizer"));
  weights.scope("tokenizer").finish({"_mel_filters", "window"});
  EXPECT_EQ(tokenizer.layers(), 1);
  const std::string name = GetParam();
  const View want = golden.file.view(name + ".tokens");
  const auto wav = golden.wav(name);
  EXPECT_EQ(tokenizer.count(static_cast<int64_t>(wav.size())), want.count());
  const auto work = done(tokenizer, wav);
  EXPECT_EQ(work.tokens(), std::vector<int32_t>(want.i32(), want.i32() + want.count()));
}

TEST_P(OfChatterbox, Vector) {
  const CamPlus network(weights.scope("speaker_encoder"));
  weights.scope("speaker_encoder").finish({"*.num_batches_tracked"});
  const std::string name = GetParam();
  const auto work = done(network, golden.wav(name));
  const float gap = relative_difference(work.vector(), golden.file.view(name + ".vector"));
  RecordProperty("distance", std::to_string(gap));
  EXPECT_LT(gap, 1e-4f);
}

INSTANTIATE_TEST_SUITE_P(Signals, OfChatterbox, testing::Values("sweep", "murmur", "speech"),
                         [](const auto& test) { return std::string(test.param); });

TEST(S3Reference, OfCosyVoiceFromOnnx) {
  const std::string dir = parity("cosyvoice2/golden/");
  const Weights tokens(open_s3_tokenizer_onnx(dir + "checkpoint/speech_tokenizer_v2.onnx"));
  const Weights speaker(open_onnx_weights(dir + "checkpoint/campplus.onnx"));
  const S3Tokenizer tokenizer(tokens);
  const CamPlus network(speaker);
  tokens.finish();
  speaker.finish();
  EXPECT_EQ(tokenizer.layers(), 2);
  EXPECT_EQ(network.width(), 192);
  // The 16 kHz recording that the authors' front end received.
  const TorchPickle want(dir + "cloned.pt");
  const std::vector<float> samples = read_wav(parity("s3_reference/golden/recording.wav")).samples;
  const View ids = want.view(*want.find("cloned.flow_prompt_speech_token"));
  const std::vector<int32_t> got = done(tokenizer, samples).tokens();
  EXPECT_EQ(got, std::vector<int32_t>(ids.i32(), ids.i32() + ids.count()));
  EXPECT_LT(relative_difference(done(network, samples).vector(),
                                want.view(*want.find("cloned.flow_embedding")).reshape({192})),
            1e-4f);
}

TEST(S3Reference, EveryPieceIsSmall) {
  const Weights weights(open_weights(parity("chatterbox/golden/checkpoint/s3gen.safetensors")));
  const S3Tokenizer tokenizer(weights.scope("tokenizer"));
  Machine machine;
  const std::vector<float> samples(30 * 16000, 0.01f);
  auto work = tokenizer.open(samples);
  int pieces = 0;
  for (; !work.done(); ++pieces) tokenizer.run(machine.ctx, work), machine.arena.reset();
  // Pieces: 6 for the mel, 12 + 6 for the convolutions, 2 * 24 for the layer, 1 for the digits.
  EXPECT_EQ(pieces, 6 + 12 + 6 + 48 + 1);
  EXPECT_EQ(work.tokens().size(), 750u);
  EXPECT_THROW(tokenizer.run(machine.ctx, work), InternalError);
  EXPECT_THROW(tokenizer.open(std::vector<float>(31 * 16000)), InternalError);
}

TEST(S3Reference, MissingTensorsAreNamed) {
  const Weights weights(open_weights(parity("chatterbox/golden/checkpoint/ve.safetensors")));
  const CamPlus network(weights);
  try {
    weights.finish();
    FAIL();
  } catch (const LoadError& error) {
    EXPECT_NE(std::string(error.what()).find("head.bn1.running_mean"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace syrinx
