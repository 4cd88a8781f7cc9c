// Compares Kyutai's recognisers with the moshi package on small random checkpoints: codes of Mimi,
// ids, logits, text, and times of words. Rows and logits have the same bits for any pieces and in
// any batch.
#include <algorithm>
#include <tuple>

#include "base/worst.h"
#include "families/kyutai_stt/fixture.h"
#include "model/step_runner.h"

namespace syrinx::kyutai_stt {
namespace {

class KyutaiSttParity : public testing::TestWithParam<const char*> {
 protected:
  KyutaiSttParity() : cases_(cases_of(GetParam())), model_({path("checkpoint"), "x"}) {}
  std::string path(const std::string& name) const {
    return golden_path(std::string(GetParam()) + "/" + name);
  }
  Safetensors golden(size_t i) const {
    return Safetensors(path(concat("case", i, ".safetensors")));
  }
  std::vector<float> samples(size_t i) const {
    return with_silence(model_.config(), samples_of(cases_[i]));
  }

  nlohmann::json cases_;
  KyutaiStt model_;
};

TEST_P(KyutaiSttParity, CodesOfTheRecording) {
  fixture::Bench bench(2);
  for (size_t i = 0; i < cases_.size(); ++i) {
    const Safetensors file = golden(i);
    const View want = file.view("codes");
    const std::vector<int32_t> codes = model_.encoder().encoder().encode(bench.ctx, samples(i));
    const int64_t heard = model_.config().mimi.codebooks, all = want.shape[1];
    ASSERT_EQ(std::ssize(codes), want.shape[0] * heard);
    for (int64_t at = 0; at < std::ssize(codes); ++at)
      ASSERT_EQ(codes[size_t(at)], want.i32()[at / heard * all + at % heard]) << at;
  }
}

/// Gives `each[s]` frames at a time of stream s to the encoder, all streams in one batch.
std::vector<std::vector<float>> rows_of(const HearingStage& stage,
                                        const std::vector<std::vector<float>>& samples,
                                        const std::vector<int>& each) {
  fixture::Bench bench(2);
  std::vector<std::unique_ptr<StreamState>> states;
  std::vector<std::vector<float>> rows(samples.size());
  std::vector<size_t> at(samples.size());
  for (size_t s = 0; s < samples.size(); ++s) states.push_back(stage.open({}));
  for (;;) {
    std::vector<ChunkJob> jobs;
    for (size_t s = 0; s < samples.size(); ++s) {
      const size_t rest = samples[s].size() - at[s];
      const size_t count = std::min(rest, size_t(each[s] * stage.in_width()));
      if (count == 0) continue;
      ChunkJob job{.state = states[s].get()};
      job.values = std::span(samples[s]).subspan(at[s], count);
      job.fresh = job.made = static_cast<int>(count) / stage.in_width();
      job.last = count == rest;
      at[s] += count;
      const size_t before = rows[s].size();
      rows[s].resize(before + size_t(job.fresh * stage.out_width()));
      job.out = std::span(rows[s]).subspan(before);
      jobs.push_back(job);
    }
    if (jobs.empty()) return rows;
    stage.run(bench.ctx, jobs);
    bench.arena.reset();
  }
}

TEST_P(KyutaiSttParity, RowsHaveTheSameBitsForAnyPiecesAndCompany) {
  const std::vector<std::vector<float>> all{samples(0), samples(1), samples(0)};
  const auto together = rows_of(model_.encoder(), all, {1, 3, 8});
  EXPECT_EQ(together[0], together[2]);
  EXPECT_EQ(rows_of(model_.encoder(), {all[1]}, {11})[0], together[1]);
}

/// Runs steps of several sequences in one batch.
struct Steps {
  struct Said {
    std::vector<int32_t> ids;
    std::string text;
    std::vector<ScoredToken> tokens;
    std::vector<float> logits;
    bool over = false;
  };
  std::vector<std::unique_ptr<Transcription>> sequences;
  std::vector<Said> said;

  void add(const KyutaiStt& model, std::span<const float> rows) {
    sequences.push_back(
        std::make_unique<Transcription>(model.config(), model.words(), model.lm().open(), false));
    const Frames frames{.type = model.encoder().out(),
                        .count = std::ssize(rows) / model.config().lm.hidden,
                        .floats = rows,
                        .last = true};
    ASSERT_TRUE(sequences.back()->take(0, frames).ok());
    said.emplace_back();
  }
  /// Takes a step of the sequences `which`. Returns whether one of them had a step left.
  bool step(const TextStage& stage, std::span<const size_t> which) {
    std::vector<ArSeq> seqs;
    std::vector<Said*> owners;
    for (const size_t i : which) {
      if (said[i].over) continue;
      seqs.push_back({sequences[i].get(), 0, 1, 1});
      owners.push_back(&said[i]);
    }
    if (seqs.empty()) return false;
    fixture::Bench bench(2);
    const int e = static_cast<int>(seqs.size()), vocab = stage.traits().vocab[0];
    const ArBatch batch{.seqs = seqs, .rows = e, .emits = e, .ragged = {}, .kv = {}, .scratch = {}};
    const View hidden = bench.arena.take({e, stage.traits().hidden}, DType::kF32);
    const View out = bench.arena.take({e, vocab}, DType::kF32);
    stage.forward(bench.ctx, batch, hidden);
    stage.logits(bench.ctx, 0, batch, hidden, {}, out);
    for (int i = 0; i < e; ++i) {
      const float* row = out.f32() + i * vocab;
      owners[i]->logits.insert(owners[i]->logits.end(), row, row + vocab);
      std::vector<int32_t> codes{static_cast<int32_t>(std::max_element(row, row + vocab) - row)};
      std::vector<WordMark> words;
      StepOutput output(codes, words);
      const std::vector<int32_t> drawn = codes;
      auto& sequence = static_cast<Transcription&>(*seqs[i].state);
      const Verdict verdict = sequence.advance(drawn, output);
      owners[i]->ids.push_back(drawn[0]);
      owners[i]->text += output.written();
      owners[i]->tokens.insert(owners[i]->tokens.end(), output.tokens().begin(),
                               output.tokens().end());
      owners[i]->over = verdict.next == Verdict::kFinished;
    }
    return true;
  }
};

/// Returns the text that is said from `begin_s` until before `end_s`, and when it begins and ends.
std::tuple<std::string, double, double> between(const std::vector<ScoredToken>& tokens,
                                                double begin_s, double end_s) {
  std::string text;
  double begins = -1, ends = 0;
  for (const ScoredToken& token : tokens) {
    const bool heard = token.drawn.bytes.empty() && token.start_s == token.end_s;
    if (heard || token.start_s < begin_s - 1e-9 || token.start_s > end_s - 1e-9) continue;
    if (begins < 0) begins = token.start_s;
    text += token.drawn.bytes;
    ends = token.end_s;
  }
  return {text.substr(text.starts_with(' ') ? 1 : 0), begins, ends};
}

TEST_P(KyutaiSttParity, IdsLogitsTextAndTimesOfWords) {
  Steps steps;
  for (size_t i = 0; i < cases_.size(); ++i)
    steps.add(model_, rows_of(model_.encoder(), {samples(i)}, {8})[0]);
  const size_t both[] = {0, 1};
  while (steps.step(model_.lm(), both)) {
  }
  float worst = 0;
  int timed = 0;
  for (size_t i = 0; i < cases_.size(); ++i) {
    const auto& c = cases_[i];
    const Steps::Said& said = steps.said[i];
    EXPECT_EQ(said.ids, c["ids"].get<std::vector<int32_t>>()) << i;
    EXPECT_EQ(said.text, c["text"].get<std::string>()) << i;
    const Safetensors file = golden(i);
    const View logits = file.view("logits");
    ASSERT_GE(std::ssize(said.logits), logits.count());
    worst = worse(worst,
                  relative(std::span(said.logits).first(size_t(logits.count())), floats(logits)));
    for (const auto& word : c["words"]) {
      const double begin_s = word[1], end_s = word[2];
      const auto [text, begins, ends] = between(said.tokens, begin_s, end_s);
      EXPECT_EQ(text, word[0]);
      EXPECT_NEAR(begins, begin_s, 1e-9) << word;
      // Here a word ends at most a second after its last id.
      EXPECT_TRUE(std::abs(ends - end_s) < 1e-9 || (ends < end_s && ends > begins + 1)) << word;
      ++timed;
    }
  }
  EXPECT_GE(timed, 3);
  EXPECT_LT(worst, 5e-6f);
  RecordProperty("worst_logits", std::to_string(worst * 1e6) + "e-6");
}

TEST_P(KyutaiSttParity, LogitsAloneAndInCompanyHaveTheSameBits) {
  Steps steps;
  const auto rows = rows_of(model_.encoder(), {samples(0), samples(1)}, {8, 8});
  for (const size_t i : {0, 1, 0, 1}) steps.add(model_, rows[i]);
  const size_t alone[] = {0}, company[] = {3, 2, 1};
  while (steps.step(model_.lm(), alone)) {
  }
  // The company of a stream begins later.
  for (int i = 0; i < 7; ++i) steps.step(model_.lm(), std::span(company).subspan(1, 1));
  while (steps.step(model_.lm(), company)) {
  }
  EXPECT_EQ(steps.said[0].logits, steps.said[2].logits);
  EXPECT_EQ(steps.said[1].logits, steps.said[3].logits);
}

INSTANTIATE_TEST_SUITE_P(All, KyutaiSttParity, testing::Values("small", "other"),
                         [](const auto& test) { return std::string(test.param); });

TEST(KyutaiStt, OpensItsOwnTasksOnly) {
  const KyutaiStt model({golden_path("small/checkpoint"), "x"});
  EXPECT_EQ(model.info().family, "kyutai_stt");
  EXPECT_EQ(model.info().hearing.frame, 1920);
  EXPECT_EQ(model.info().hearing.rate, 24000);
  EXPECT_EQ(model.info().hearing.tail, 13 * 1920);
  struct Other : FamilyTask {};
  SpeechRequest request;
  request.task = std::make_shared<Other>();
  EXPECT_EQ(refusal_of(model, request).param, "task");
  request = {};
  request.say.text = "read this";
  EXPECT_EQ(refusal_of(model, request).param, "input");
  EXPECT_FALSE(model.dictation({}).ok());
  const Opened opened = model.open(model.listening({}).value()).take();
  EXPECT_TRUE(opened.samples_open);
  EXPECT_EQ(opened.samples.size(), 25u * 1920);
}

/// The text lags behind the sound by the delay and the silence before the recording.
TEST(KyutaiStt, TimesOfFramesAreThoseOfTheRecording) {
  ModelConfig config;
  EXPECT_EQ(config.frames_before(), 13);
  EXPECT_EQ(config.frames_after(), 13);
  EXPECT_EQ(config.time_of(0), 0);
  EXPECT_NEAR(config.time_of(25), 0.46, 1e-9);
  config.silence_s = 0;
  EXPECT_EQ(config.frames_before(), 1);
}

}  // namespace
}  // namespace syrinx::kyutai_stt
