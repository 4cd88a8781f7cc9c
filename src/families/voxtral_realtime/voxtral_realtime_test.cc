// Compares Voxtral Realtime with transformers and mistral-common on small random checkpoints: rows
// of the projector, ids, logits, texts, for several delays. Rows and logits have the same bits for
// any pieces and in any batch.
#include <algorithm>

#include "base/worst.h"
#include "families/voxtral_realtime/fixture.h"
#include "model/step_runner.h"

namespace syrinx::voxtral_realtime {
namespace {

class VoxtralRealtimeParity : public testing::TestWithParam<const char*> {
 protected:
  VoxtralRealtimeParity()
      : golden_(golden_of(GetParam())),
        cases_(golden_["cases"]),
        model_({path("checkpoint"), "x"}) {}
  std::string path(const std::string& name) const {
    return golden_path(std::string(GetParam()) + "/" + name);
  }
  Safetensors golden(size_t i) const {
    return Safetensors(path(concat("case", i, ".safetensors")));
  }
  int delay(size_t i) const { return cases_[i]["delay"]; }
  std::vector<float> samples(size_t i) const {
    return with_silence(model_.config(), samples_of(cases_[i]), delay(i));
  }

  nlohmann::json golden_, cases_;
  VoxtralRealtime model_;
};

/// One stream of the encoder. Gets `each` hops at a time, and the same chunks as from the engine.
struct Stream {
  const std::vector<float>* samples = nullptr;
  int64_t each = 1;
  std::unique_ptr<StreamState> state = {};
  int64_t given = 0, taken = 0;  // hops
  std::vector<float> rows = {};
};

/// Runs all streams in one batch, until they have ended.
void run(const HearingStage& stage, std::vector<Stream>& streams) {
  fixture::Bench bench(2);
  const int hop = stage.in_width();
  const ChunkPolicy policy = stage.policy();
  for (Stream& s : streams) s.state = stage.open({});
  for (bool more = true; more;) {
    more = false;
    std::vector<ChunkJob> jobs;
    std::vector<Stream*> owners;
    std::vector<std::vector<float>> outs(streams.size());
    for (Stream& s : streams) {
      const int64_t all = std::ssize(*s.samples) / hop;
      s.given = std::min(all, s.given + s.each);
      const bool closed = s.given == all;
      more = more || !closed;
      const int64_t waiting = s.given - s.taken;
      WaitingFrames frames;
      frames.values = std::span(*s.samples).subspan(size_t(s.taken * hop), size_t(waiting * hop));
      frames.closed = closed;
      const int fresh = waiting > 0 ? stage.cut(*s.state, frames, 1) : 0;
      if (fresh == 0) continue;
      more = true;
      ChunkJob job;
      job.state = s.state.get();
      job.left = static_cast<int>(std::min<int64_t>(s.taken, policy.left));
      job.fresh = fresh;
      job.ahead = static_cast<int>(std::min<int64_t>(waiting - fresh, policy.lookahead));
      job.last = closed && fresh + job.ahead == waiting;
      job.values = std::span(*s.samples)
                       .subspan(size_t((s.taken - job.left) * hop),
                                size_t((job.left + fresh + job.ahead) * hop));
      std::vector<float>& out = outs[jobs.size()];
      out.resize(size_t(fresh * stage.out_width()));
      job.out = out;
      s.taken += fresh;
      jobs.push_back(job);
      owners.push_back(&s);
    }
    if (jobs.empty()) continue;
    stage.run(bench.ctx, jobs);
    for (size_t j = 0; j < jobs.size(); ++j) {
      const auto made = jobs[j].out.first(size_t(jobs[j].made * stage.out_width()));
      owners[j]->rows.insert(owners[j]->rows.end(), made.begin(), made.end());
    }
    bench.arena.reset();
  }
}

std::vector<float> rows_of(const HearingStage& stage, const std::vector<float>& samples) {
  std::vector<Stream> streams(1);
  streams[0] = {&samples, 1 << 20};
  run(stage, streams);
  return streams[0].rows;
}

TEST_P(VoxtralRealtimeParity, RowsOfTheProjector) {
  float worst = 0;
  for (size_t i = 0; i < cases_.size(); ++i) {
    const Safetensors file = golden(i);
    const std::vector<float> rows = rows_of(model_.encoder(), samples(i));
    ASSERT_EQ(std::ssize(rows), file.view("rows").count());
    worst = worse(worst, relative(rows, floats(file.view("rows"))));
  }
  EXPECT_LT(worst, 2e-5f);
  RecordProperty("worst_rows", std::to_string(worst * 1e6) + "e-6");
}

TEST_P(VoxtralRealtimeParity, RowsHaveTheSameBitsForAnyPiecesAndCompany) {
  const std::vector<float> first = samples(0), second = samples(1);
  std::vector<Stream> streams(4);
  streams[0] = {&first, 1}, streams[1] = {&second, 3};
  streams[2] = {&first, 29}, streams[3] = {&second, 1 << 20};
  run(model_.encoder(), streams);
  EXPECT_EQ(streams[0].rows, streams[2].rows);
  EXPECT_EQ(streams[1].rows, streams[3].rows);
  EXPECT_EQ(streams[0].rows, rows_of(model_.encoder(), first));
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

  void add(const VoxtralRealtime& model, std::span<const float> rows, int delay) {
    Hearing task;
    task.delay = delay;
    sequences.push_back(std::make_unique<Transcription>(
        model.config(), model.words(), model.lm().open(), model.lm().norms(delay), task));
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
      std::vector<int32_t> codes;
      std::vector<WordMark> words;
      StepOutput output(codes, words);
      const int32_t drawn[] = {static_cast<int32_t>(std::max_element(row, row + vocab) - row)};
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

std::string without_blank(const std::string& text) {
  return text.substr(text.starts_with(' ') ? 1 : 0);
}

TEST_P(VoxtralRealtimeParity, IdsLogitsAndTextsForEachDelay) {
  Steps steps;
  for (size_t i = 0; i < cases_.size(); ++i)
    steps.add(model_, rows_of(model_.encoder(), samples(i)), delay(i));
  const size_t both[] = {0, 1};
  while (steps.step(model_.lm(), both)) {
  }
  float worst = 0;
  for (size_t i = 0; i < cases_.size(); ++i) {
    const auto& c = cases_[i];
    const Steps::Said& said = steps.said[i];
    EXPECT_EQ(said.ids, c["ids"].get<std::vector<int32_t>>()) << i;
    EXPECT_EQ(said.text, without_blank(c["text"])) << i;
    EXPECT_EQ(std::ssize(c["prompt"]), model_.config().prompt(delay(i)));
    for (size_t at = 0; at < c["prompt"].size(); ++at)
      EXPECT_EQ(c["prompt"][at], at == 0 ? model_.config().begin : model_.config().pad);
    const Safetensors file = golden(i);
    const View logits = file.view("logits");
    ASSERT_GE(std::ssize(said.logits), logits.count());
    worst = worse(worst,
                  relative(std::span(said.logits).first(size_t(logits.count())), floats(logits)));
  }
  EXPECT_LT(worst, 2e-5f);
  RecordProperty("worst_logits", std::to_string(worst * 1e6) + "e-6");
}

TEST_P(VoxtralRealtimeParity, LogitsAloneAndInCompanyHaveTheSameBits) {
  Steps steps;
  for (const size_t i : {0, 1, 0, 1})
    steps.add(model_, rows_of(model_.encoder(), samples(i)), delay(i));
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

/// The silence before recordings is computed once, and only used for recordings that begin with it.
TEST_P(VoxtralRealtimeParity, OnlySilenceIsComputedOnce) {
  std::vector<float> loud = samples_of(cases_[0]);
  loud.resize(loud.size() / 160 * 160);
  const VoxtralRealtime fresh({path("checkpoint"), "x"});
  const auto said = [&](const VoxtralRealtime& model, const std::vector<float>& samples) {
    const std::vector<float> rows = rows_of(model.encoder(), samples);
    Steps steps;
    steps.add(model, rows, delay(0));
    const size_t only[] = {0};
    while (steps.step(model.lm(), only)) {
    }
    return std::pair(rows, steps.said[0].logits);
  };
  const auto first = said(model_, samples(0));
  EXPECT_EQ(said(model_, samples(0)), first);
  EXPECT_EQ(said(model_, loud), said(fresh, loud));
}

TEST_P(VoxtralRealtimeParity, TokensAndTextsOfTheTokenizer) {
  for (const auto& each : golden_["texts"]) {
    const std::string text = each["text"];
    const auto ids = each["ids"].get<std::vector<int32_t>>();
    EXPECT_EQ(model_.words().encode(text), ids) << text;
    EXPECT_EQ(model_.words().decode(ids), text);
  }
}

INSTANTIATE_TEST_SUITE_P(All, VoxtralRealtimeParity, testing::Values("small", "other"),
                         [](const auto& test) { return std::string(test.param); });

/// Feeds ids to a sequence without a network. Returns the text, with a | after each step.
struct Spoken {
  explicit Spoken(const VoxtralRealtime& model, int rows) : words(model.words()) {
    config = model.config();
    config.left_pad = 1;
    task.delay = 1;
    sequence = std::make_unique<Transcription>(config, words, StreamKv(), Tensor(), task);
    const std::vector<float> values(size_t(rows * config.lm.hidden));
    const Frames frames{
        .type = model.encoder().out(), .count = rows, .floats = values, .last = true};
    EXPECT_TRUE(sequence->take(0, frames).ok());
  }
  std::string operator()(const std::vector<int32_t>& ids) {
    std::string text;
    for (const int32_t id : ids) {
      std::vector<int32_t> codes;
      std::vector<WordMark> marks;
      StepOutput output(codes, marks);
      const Verdict verdict = sequence->advance(std::span(&id, 1), output);
      text += output.written() + (verdict.next == Verdict::kFinished ? "." : "|");
      for (const ScoredToken& token : output.tokens())
        if (!token.drawn.bytes.empty()) tokens.push_back(token);
    }
    return text;
  }
  const Tokenizer& words;
  ModelConfig config;
  Hearing task;
  std::unique_ptr<Transcription> sequence;
  std::vector<ScoredToken> tokens;
};

class VoxtralRealtimeText : public testing::Test {
 protected:
  int32_t id(const std::string& text) const { return model_.words().encode(text).at(0); }
  const VoxtralRealtime model_{{golden_path("small/checkpoint"), "x"}};
  const int32_t pad_ = model_.config().pad, end_ = model_.config().end;
};

/// The prompt has 3 rows; after the recording there are 12 tokens of silence.
TEST_F(VoxtralRealtimeText, AnEndDropsTextOnlyInTheSilenceAfterTheRecording) {
  const int32_t world = id(" world"), the = id(" the");
  std::vector<int32_t> ids(14, pad_);
  ids[0] = world, ids[1] = end_, ids[2] = the;
  EXPECT_EQ(Spoken(model_, 16)(ids), "world||||||||||||| the.");
  EXPECT_EQ(Spoken(model_, 15)(std::vector(ids.begin(), ids.end() - 1)), "world||||||||||||.");
}

TEST_F(VoxtralRealtimeText, TimesOfWordsAreThoseBeforeTheDelay) {
  Spoken spoken(model_, 20);
  const int32_t an = id(" an"), ing = id("ing");
  spoken({pad_, an, ing, pad_, an});
  ASSERT_EQ(spoken.tokens.size(), 3u);
  EXPECT_NEAR(spoken.tokens[0].start_s, 0, 1e-9);
  EXPECT_NEAR(spoken.tokens[0].end_s, 0.16, 1e-9);
  EXPECT_NEAR(spoken.tokens[1].end_s, 0.16, 1e-9);
  EXPECT_NEAR(spoken.tokens[2].start_s, 0.16, 1e-9);
  EXPECT_NEAR(spoken.tokens[2].end_s, 0.40, 1e-9);
  spoken(std::vector<int32_t>(11, pad_));
  spoken({an});
  EXPECT_NEAR(spoken.tokens[3].end_s, 1.36, 1e-9);
  EXPECT_NEAR(spoken.tokens[3].start_s, 0.56, 1e-9);  // at most 0.8 s long
}

TEST_F(VoxtralRealtimeText, OpensItsOwnTasksOnly) {
  EXPECT_EQ(model_.info().family, "voxtral_realtime");
  EXPECT_EQ(model_.info().hearing.frame, 160);
  EXPECT_EQ(model_.info().hearing.tail, 17 * 1280);
  struct Other : FamilyTask {};
  SpeechRequest request;
  request.task = std::make_shared<Other>();
  EXPECT_EQ(refusal_of(model_, request).param, "task");
  auto late = std::make_shared<Hearing>();
  late->delay = ModelConfig::kMostDelay + 1;
  request.task = late;
  EXPECT_EQ(refusal_of(model_, request).param, "task");
  request = {};
  request.say.text = "read this";
  EXPECT_EQ(refusal_of(model_, request).param, "input");
  EXPECT_FALSE(model_.dictation({}).ok());
  const Opened opened = model_.open(model_.listening({}).value()).take();
  EXPECT_TRUE(opened.samples_open);
  EXPECT_EQ(opened.samples.size(), 32u * 1280);
}

}  // namespace
}  // namespace syrinx::voxtral_realtime
