// Compares the talker and its predictor with the authors' package on small checkpoints: prompt ids,
// prefill rows, logits of every step, greedy frames, and the audio of a request.
#include "base/worst.h"
#include "families/qwen3_tts/fixture.h"
#include "io/golden_samples.h"

namespace syrinx::qwen3_tts {
namespace {

constexpr float kLogits = 1e-4f;  // error relative to the largest logit of the row

class Parity : public testing::TestWithParam<const char*> {
 protected:
  Parity() : dir_(golden_dir(GetParam())), model_({dir_ + "/checkpoint", "tiny"}) {}

  /// Returns the logits of codebook 0 that the golden has in every step: codes and the end.
  std::vector<float> kept(const std::vector<float>& row) const {
    const ModelConfig& c = model_.config();
    std::vector<float> out(row.begin(), row.begin() + c.audio_codes());
    out.push_back(row[c.codec.eos]);
    return out;
  }

  std::string dir_;
  Qwen3Tts model_;
};

TEST_P(Parity, PrefillRowsAreTheAuthors) {
  Runner runner(model_);
  for (const Case& c : load_cases(dir_)) {
    const Safetensors golden(dir_ + "/" + c.name + ".safetensors");
    Track track = runner.open(c.request);
    const View want = golden.view("prefill");
    ASSERT_EQ(track.state->prompt_rows(), want.shape[0]) << c.name;
    const ArSeq seq{track.state.get(), 0, track.state->prompt_rows(), true};
    const ArBatch batch{std::span(&seq, 1), seq.rows, 1, {}, {}, {}};
    const View rows = model_.talker().embed_rows(runner.context(), batch);
    EXPECT_LT(relative(floats(rows), floats(want)), 1e-6f) << c.name;
  }
}

TEST_P(Parity, LogitsAndGreedyFrames) {
  const int codebooks = static_cast<int>(model_.config().codebooks);
  float worst = 0, worst_inner = 0;
  for (const Case& c : load_cases(dir_)) {
    const Safetensors golden(dir_ + "/" + c.name + ".safetensors");
    Runner runner(model_);
    Track track = runner.open(c.request);
    for (int step = 0; step <= c.steps && !track.finished; ++step) runner.step(track);
    EXPECT_EQ(track.finished, c.ended) << c.name;
    expect_same_text(model_, track, golden, c.request, c.name);

    std::vector<int32_t> frames = track.frames;
    ASSERT_GE(frames.size(), static_cast<size_t>(c.steps * codebooks)) << c.name;
    frames.resize(c.steps * codebooks);  // the package does not speak its last step
    EXPECT_EQ(frames, ints(golden.view("frames"))) << c.name;

    const View full = golden.view("logits_full"), some = golden.view("logits_codes_end");
    const View inner = golden.view("inner_logits");
    ASSERT_EQ(some.shape[0], c.steps + 1);
    for (int64_t step = 0; step <= c.steps; ++step) {
      const std::vector<float>& row = track.logits[step];
      worst = worse(worst, relative(kept(row), floats(some.slice(step, step + 1))));
      if (step < full.shape[0]) {
        worst = worse(worst, relative(row, floats(full.slice(step, step + 1))));
      }
      if (step < inner.shape[0] && step < c.steps) {
        worst_inner =
            worse(worst_inner, relative(track.inner[step], floats(inner.slice(step, step + 1))));
      }
    }
  }
  EXPECT_LT(worst, kLogits);
  EXPECT_LT(worst_inner, kLogits);
  RecordProperty("worst_logits", std::to_string(worst * 1e6) + "e-6");
  RecordProperty("worst_inner_logits", std::to_string(worst_inner * 1e6) + "e-6");
}

TEST_P(Parity, SamplesOfARequest) {
  for (const Case& c : load_cases(dir_)) {
    const Safetensors golden(dir_ + "/" + c.name + ".safetensors");
    if (!golden.find("samples")) continue;
    const std::vector<int32_t> frames = ints(golden.view("frames"));
    const GoldenSamples want(golden);
    const ChunkStage& stage = *model_.graph().links()[0].stage;
    const auto stream = open_stream(stage, *Runner(model_).open(c.request).state);
    const int count = static_cast<int>(want.count()) / stage.out_width();
    std::vector<float> got(static_cast<size_t>(want.count()));
    ChunkJob job;
    job.state = stream.get();
    job.codes = std::span(frames).first(count * stage.in_width());
    job.fresh = count;
    job.out = got;
    Runner runner(model_);
    stage.run(runner.context(), std::span(&job, 1));
    EXPECT_LT(want.distance(got), 1e-4f) << c.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, Parity, testing::Values("equal_width", "projected"));

}  // namespace
}  // namespace syrinx::qwen3_tts
