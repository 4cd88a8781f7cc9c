// Compares transducer recognisers with transformers' code on small random checkpoints: encoder rows
// for each lookahead, of whole recordings and of streams with caches; ids, moves and logits. Checks
// that a stream's bits depend neither on the sizes of its pieces nor on the batch.
#include <algorithm>

#include "base/worst.h"
#include "families/transducer/fixture.h"
#include "model/step_runner.h"

namespace syrinx::transducer {
namespace {

class TransducerParity : public testing::TestWithParam<const char*> {
 protected:
  TransducerParity() : cases_(cases_of(GetParam())), model_({path("checkpoint"), "x"}) {}
  std::string path(const std::string& name) const {
    return golden_path(std::string(GetParam()) + "/" + name);
  }
  Safetensors golden(size_t i) const {
    return Safetensors(path(concat("case", i, ".safetensors")));
  }

  nlohmann::json cases_;
  Transducer model_;
};

std::vector<float> heard(const HearingStage& stage, const std::vector<float>& samples,
                         int lookahead, size_t each) {
  Stream stream(stage, lookahead);
  Stream* one[] = {&stream};
  for (size_t at = 0; at < samples.size(); at += each) {
    const size_t end = std::min(at + each, samples.size());
    stream.samples.insert(stream.samples.end(), samples.begin() + int64_t(at),
                          samples.begin() + int64_t(end));
    stream.closed = end == samples.size();
    Stream::run(stage, one);
  }
  return stream.rows;
}

TEST_P(TransducerParity, RowsHoweverTheSamplesCome) {
  const auto hop = static_cast<size_t>(model_.config().mel.hop);
  float worst = 0;
  for (size_t i = 0; i < cases_.size(); ++i) {
    const Safetensors want = golden(i);
    const std::vector<float> samples = samples_of(cases_[i]);
    for (const auto& run : cases_[i]["runs"]) {
      const int lookahead = lookahead_of(run);
      const std::vector<float> rows = heard(model_.encoder(), samples, lookahead, samples.size());
      const View all = want.view(concat("rows", lookahead));
      ASSERT_EQ(std::ssize(rows), all.count()) << lookahead;
      worst = worse(worst, relative(rows, floats(all)));
      for (const size_t each : {hop, 7 * hop, 50 * hop}) {
        EXPECT_EQ(heard(model_.encoder(), samples, lookahead, each), rows)
            << lookahead << " " << each;
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
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::vector<float>> samples, alone;
  for (const auto& c : cases_) {
    for (const auto& run : c["runs"]) {
      samples.push_back(samples_of(c));
      alone.push_back(
          heard(model_.encoder(), samples.back(), lookahead_of(run), samples.back().size()));
      streams.push_back(std::make_unique<Stream>(model_.encoder(), lookahead_of(run)));
    }
  }
  std::vector<Stream*> all;
  for (const auto& s : streams) all.push_back(s.get());
  const size_t each = 9 * static_cast<size_t>(model_.config().mel.hop);
  for (size_t at = 0; at < 160 * 301; at += each) {
    for (size_t i = 0; i < all.size(); ++i) {
      const size_t from = std::min(at, samples[i].size()),
                   to = std::min(at + each, samples[i].size());
      all[i]->samples.insert(all[i]->samples.end(), samples[i].begin() + int64_t(from),
                             samples[i].begin() + int64_t(to));
      all[i]->closed = to == samples[i].size();
    }
    Stream::run(model_.encoder(), all);
  }
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i]->rows, alone[i]) << i;
}

/// Runs steps of several sequences in one batch of the joint network.
struct Steps {
  std::vector<std::unique_ptr<Transcription>> sequences;
  std::vector<std::vector<int32_t>> ids, moves;
  std::vector<std::string> texts;
  std::vector<float> logits;  // logits of the last step, [E, vocab]

  void add(const Transducer& model, std::span<const float> rows) {
    sequences.push_back(
        std::make_unique<Transcription>(model.config(), model.tokenizer(), 0, false));
    Frames frames{.type = model.encoder().out(),
                  .count = std::ssize(rows) / model.config().hidden,
                  .floats = rows,
                  .last = true};
    ASSERT_TRUE(sequences.back()->take(0, frames).ok());
    ids.emplace_back(), moves.emplace_back(), texts.emplace_back();
  }
  /// Takes a step of all sequences that have not ended. Returns false if all have ended.
  bool step(const Transducer& model, std::vector<bool>& over) {
    const ArStage& stage = model.graph().ar();
    std::vector<ArSeq> seqs;
    std::vector<size_t> who;
    for (size_t i = 0; i < sequences.size(); ++i) {
      if (over[i]) continue;
      seqs.push_back({sequences[i].get(), 0, 1, 1});
      who.push_back(i);
    }
    if (seqs.empty()) return false;
    fixture::Bench bench(1);
    const int e = static_cast<int>(seqs.size());
    const ArBatch batch{.seqs = seqs, .rows = e, .emits = e, .ragged = {}, .kv = {}, .scratch = {}};
    const View hidden = bench.arena.take({e, stage.traits().hidden}, DType::kF32);
    stage.forward(bench.ctx, batch, hidden);
    std::vector<std::vector<int32_t>> drawn(seqs.size());
    for (size_t k = 0; k < stage.traits().vocab.size(); ++k) {
      const int vocab = stage.traits().vocab[k];
      const View out = bench.arena.take({e, vocab}, DType::kF32);
      stage.logits(bench.ctx, static_cast<int>(k), batch, hidden, {}, out);
      if (k == 0) logits.assign(out.f32(), out.f32() + out.count());
      for (int i = 0; i < e; ++i) {
        const float* row = out.f32() + i * vocab;
        drawn[i].push_back(static_cast<int32_t>(std::max_element(row, row + vocab) - row));
      }
    }
    for (int i = 0; i < e; ++i) {
      std::vector<int32_t> codes;
      std::vector<WordMark> words;
      StepOutput out(codes, words);
      const Verdict verdict = sequences[who[i]]->advance(drawn[i], out);
      ids[who[i]].push_back(drawn[i][0]);
      texts[who[i]] += out.written();
      over[who[i]] = verdict.next == Verdict::kFinished;
    }
    return true;
  }
};

TEST_P(TransducerParity, IdsAndText) {
  Steps steps;
  std::vector<nlohmann::json> want;
  for (size_t i = 0; i < cases_.size(); ++i) {
    const Safetensors rows = golden(i);
    for (const auto& run : cases_[i]["runs"]) {
      steps.add(model_, floats(rows.view(concat("rows", lookahead_of(run)))));
      want.push_back(run);
    }
  }
  std::vector<bool> over(want.size());
  while (steps.step(model_, over)) {
  }
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(steps.ids[i], want[i]["ids"].get<std::vector<int32_t>>()) << i;
    EXPECT_EQ(steps.texts[i], want[i]["text"].get<std::string>()) << i;
  }
}

TEST_P(TransducerParity, LogitsBehindEachId) {
  const Safetensors want = golden(0);
  const int lookahead = lookahead_of(cases_[0]["runs"][0]);
  const View rows = want.view(concat("rows", lookahead));
  Steps steps;
  steps.add(model_, floats(rows.slice(0, 1)));
  std::vector<float> got;
  const auto ids = cases_[0]["logit_ids"].get<std::vector<int32_t>>();
  const auto vocab = static_cast<size_t>(model_.config().vocab);
  Transcription& sequence = *steps.sequences[0];
  for (const int32_t id : ids) {
    std::vector<bool> over(1);
    // The row stays the same, because the sequence did not take this step.
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
  EXPECT_GT(vocab, 0u);
  const float off = relative(got, floats(want.view("logits")));
  EXPECT_LT(off, 3e-6f);
  RecordProperty("worst_logits", std::to_string(off * 1e6) + "e-6");
}

INSTANTIATE_TEST_SUITE_P(All, TransducerParity, testing::Values("small", "other", "tdt", "rnnt"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Transducer, OpensItsOwnTasksAndSingleRecordingsOnly) {
  const Transducer model({golden_path("small/checkpoint"), "x"});
  EXPECT_EQ(model.info().family, "nemotron_asr");
  EXPECT_EQ(model.info().hearing.frame, 160);
  struct Other : FamilyTask {};
  SpeechRequest request;
  request.task = std::make_shared<Other>();
  EXPECT_EQ(refusal_of(model, request).param, "task");
  const auto far = std::make_shared<Hearing>();
  far->lookahead = 4;
  request.task = far;
  EXPECT_EQ(refusal_of(model, request).param, "task");
  request = {};
  EXPECT_EQ(refusal_of(model, request).param, "input");
  request.say.text = "read this";
  EXPECT_EQ(refusal_of(model, request).param, "input");
  const auto listening = model.listening({.live = true});
  ASSERT_TRUE(listening.ok());
  EXPECT_TRUE(model.open(listening.value()).value().samples_open);
  const Transducer whole({golden_path("tdt/checkpoint"), "x"});
  EXPECT_EQ(whole.info().family, "parakeet");
  EXPECT_EQ(whole.info().hearing.frame, 0);
  EXPECT_GT(whole.info().hearing.dictates_s, 0);
  EXPECT_FALSE(whole.listening({}).ok());
  EXPECT_FALSE(model.dictation({}).ok());
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
