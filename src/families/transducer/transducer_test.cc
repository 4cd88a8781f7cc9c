// Compares transducer recognisers with transformers' code on small random checkpoints: encoder rows
// for each lookahead, of whole recordings and of streams with caches; ids, moves and logits. Checks
// that a stream's bits depend neither on the sizes of its pieces nor on the batch.
#include "base/worst.h"
#include "families/live/fixture.h"
#include "families/transducer/pipeline.h"
#include "families/transducer/transcription.h"

namespace syrinx::transducer {
namespace {

using live::samples_of;

int lookahead_of(const nlohmann::json& run) {
  return run["lookahead"].is_null() ? 0 : run["lookahead"].get<int>();
}

class TransducerParity : public testing::TestWithParam<const char*> {
 protected:
  TransducerParity()
      : cases_(live::cases_of("transducer", GetParam())), model_({path("checkpoint"), "x"}) {}
  std::string path(const std::string& name) const {
    return live::golden_path("transducer", std::string(GetParam()) + "/" + name);
  }
  Safetensors golden(size_t i) const {
    return Safetensors(path(concat("case", i, ".safetensors")));
  }

  nlohmann::json cases_;
  Transducer model_;
};

std::vector<float> heard(const Transducer& model, const std::vector<float>& samples, int lookahead,
                         size_t each) {
  return live::rows_of(model, {samples}, {each}, {lookahead})[0];
}

TEST_P(TransducerParity, RowsHoweverTheSamplesCome) {
  const auto hop = static_cast<size_t>(model_.config().mel.hop);
  float worst = 0;
  for (size_t i = 0; i < cases_.size(); ++i) {
    const Safetensors want = golden(i);
    const std::vector<float> samples = samples_of(cases_[i]);
    for (const auto& run : cases_[i]["runs"]) {
      const int lookahead = lookahead_of(run);
      const std::vector<float> rows = heard(model_, samples, lookahead, samples.size());
      const View all = want.view(concat("rows", lookahead));
      ASSERT_EQ(std::ssize(rows), all.count()) << lookahead;
      worst = worse(worst, relative(rows, floats(all)));
      for (const size_t each : {hop, 7 * hop, 50 * hop}) {
        EXPECT_EQ(heard(model_, samples, lookahead, each), rows) << lookahead << " " << each;
      }
      if (!want.find(concat("streamed", lookahead))) continue;
      const View streamed = want.view(concat("streamed", lookahead));
      worst =
          worse(worst, relative(std::span(rows).first(size_t(streamed.count())), floats(streamed)));
    }
  }
  EXPECT_LT(worst, 5e-6f);
  RecordProperty("worst_rows", std::to_string(worst * 1e6) + "e-6");
}

TEST_P(TransducerParity, RowsInCompanyHaveTheSameBits) {
  std::vector<std::vector<float>> samples, alone;
  std::vector<int> lookaheads;
  for (const auto& c : cases_) {
    for (const auto& run : c["runs"]) {
      samples.push_back(samples_of(c));
      lookaheads.push_back(lookahead_of(run));
      alone.push_back(heard(model_, samples.back(), lookaheads.back(), samples.back().size()));
    }
  }
  const std::vector<size_t> each(samples.size(), 9 * size_t(model_.config().mel.hop));
  EXPECT_EQ(live::rows_of(model_, samples, each, lookaheads), alone);
}

TEST_P(TransducerParity, IdsAndText) {
  live::Steps steps(model_);
  std::vector<nlohmann::json> want;
  std::vector<size_t> all;
  for (size_t i = 0; i < cases_.size(); ++i) {
    const Safetensors rows = golden(i);
    for (const auto& run : cases_[i]["runs"]) {
      steps.add(floats(rows.view(concat("rows", lookahead_of(run)))));
      all.push_back(want.size());
      want.push_back(run);
    }
  }
  steps.run(all);
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(steps.said[i].ids, want[i]["ids"].get<std::vector<int32_t>>()) << i;
    EXPECT_EQ(steps.said[i].text, want[i]["text"].get<std::string>()) << i;
  }
}

TEST_P(TransducerParity, LogitsBehindEachId) {
  const Safetensors want = golden(0);
  const View rows = want.view(concat("rows", lookahead_of(cases_[0]["runs"][0])));
  live::Steps steps(model_);
  steps.add(floats(rows.slice(0, 1)));
  std::vector<float> got;
  auto& sequence = dynamic_cast<Transcription&>(*steps.sequences[0]);
  for (const int32_t id : cases_[0]["logit_ids"]) {
    // The row stays the same, because the sequence does not take this step.
    fixture::Bench bench(1);
    const ArStage& stage = model_.graph().ar();
    ArSeq seq{&sequence, 0, 1, 1};
    const ArBatch batch{
        .seqs = {&seq, 1}, .rows = 1, .emits = 1, .ragged = {}, .kv = {}, .scratch = {}};
    const View hidden = bench.arena.take({1, stage.traits().hidden}, DType::kF32);
    stage.forward(bench.ctx, batch, hidden);
    for (size_t k = 0; k < stage.traits().vocab.size(); ++k) {
      const View out = bench.arena.take({1, stage.traits().vocab[k]}, DType::kF32);
      stage.logits(bench.ctx, static_cast<int>(k), batch, hidden, {}, out);
      got.insert(got.end(), out.f32(), out.f32() + out.count());
    }
    sequence.predictor().next = id;
  }
  const float off = relative(got, floats(want.view("logits")));
  EXPECT_LT(off, 3e-6f);
  RecordProperty("worst_logits", std::to_string(off * 1e6) + "e-6");
}

INSTANTIATE_TEST_SUITE_P(All, TransducerParity, testing::Values("small", "other", "tdt", "rnnt"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Transducer, OpensSingleRecordings) {
  const Transducer model({live::golden_path("transducer", "small/checkpoint"), "x"});
  const auto listening = model.listening({.live = true});
  ASSERT_TRUE(listening.ok());
  EXPECT_TRUE(model.open(listening.value()).value().samples_open);
  const Transducer whole({live::golden_path("transducer", "tdt/checkpoint"), "x"});
  EXPECT_EQ(whole.info().family, "parakeet");
  EXPECT_EQ(whole.info().hearing.frame, 0);
  EXPECT_GT(whole.info().hearing.dictates_s, 0);
  EXPECT_FALSE(whole.listening({}).ok());
  const auto recording =
      std::make_shared<Recording>(Recording{std::vector<float>(61 * 8000), 8000});
  EXPECT_EQ(refusal_of(whole, whole.dictation({recording}).value()).param, "file");
  EXPECT_EQ(refusal_of(whole, listening.value()).param, "task");
}

/// Tests the lookahead of live audio: the largest whose text comes within 0.6 s, or the smallest.
TEST(Transducer, HearsAheadByHowTheSamplesCome) {
  ModelConfig config;
  config.mel.hop = 160;
  config.lookaheads = {13, 6, 1, 0};
  EXPECT_EQ(config.live_lookahead(), 6);
  config.lookaheads = {13, 9};
  EXPECT_EQ(config.live_lookahead(), 9);
}

}  // namespace
}  // namespace syrinx::transducer
