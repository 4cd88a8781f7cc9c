// Tests properties of prediction, on the real scheduler and a virtual clock. A small text model of
// tests/parity writes, and the toy pipeline speaks. SYRINX_TURNS=10000 runs 10,000 turns (./check
// long).
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>

#include "bench/rehearsal_summary.h"
#include "bench/virtual_pair.h"
#include "families/llm/pipeline.h"
#include "model/toy/toy.h"

namespace syrinx {
namespace {

class Hearing : public Audience {
 public:
  void text(std::string_view piece) override { answer += piece; }
  void audio(std::span<const float> some) override {
    EXPECT_FALSE(over);
    samples.insert(samples.end(), some.begin(), some.end());
  }
  void done(const Error& how, const TurnCounts& what) override {
    EXPECT_FALSE(over) << "done() came twice";
    over = true, error = how, counts = what;
  }
  std::string answer;
  std::vector<float> samples;
  bool over = false;
  Error error;
  TurnCounts counts;
};

/// The sink of another client's request.
class Other : public Sink {
 public:
  void audio(std::span<const float>) override {}
  void finished(const Outcome& how) override { outcome = how, over = true; }
  Outcome outcome;
  bool over = false;
};

class PredictionTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    writer_ = std::make_shared<llm::Llm>(
        LoadSpec{SYRINX_BINARY_DIR "/parity/llm/qwen3", "tiny", WeightType::kF32});
    speaker_ = make_toy_pipeline();
  }
  static void TearDownTestSuite() { writer_.reset(), speaker_.reset(); }

  /// Costs of a text model with some billions of parameters on a GPU, and of a voice model for some
  /// hundred listeners.
  static PairCosts costs() {
    return {{{20e-3, 0.1e-3}}, {{1e-3, 2e-5}, {2e-4, 1e-5}, {2e-4, 1e-5}}};
  }
  static EngineOptions engine() {
    EngineOptions options;
    options.repetition_s = 0;
    options.max_wait_s = 1e6;
    options.max_requests = 1000;
    return options;
  }
  static TurnOptions turn(DraftRule rule = DraftRule::kGreedy) {
    TurnOptions out;
    out.answer.sampling.temperature = 0.f;
    out.answer.writing.max_tokens = 24;
    out.voice.sampling.seed = 5;
    out.sentence.max_chars = 12;  // the model never writes the end of a sentence
    out.prediction.rule = rule;
    out.prediction.drafts = {.first = 16, .more = 3, .most = 24, .most_wasted = 200};
    return out;
  }
  static Chat said(const std::string& text) {
    return {"[{\"role\": \"user\", \"content\": \"" + text + "\"}]", ""};
  }
  static void run_out(VirtualPair& pair) {
    while (pair.requests() > 0 && pair.next()) {
    }
  }
  static void expect_nothing_left(const VirtualPair& pair) {
    EXPECT_EQ(pair.requests(), 0);
    EXPECT_EQ(pair.pages_taken(), 0);
  }
  static std::shared_ptr<Hearing> answer(VirtualPair& pair, const TurnOptions& options,
                                         const std::string& question) {
    const auto ear = std::make_shared<Hearing>();
    Turn::begin(pair.writer(), pair.speaker(), options, ear)->ask(said(question));
    while (!ear->over && pair.next()) {
    }
    return ear;
  }
  /// Returns a beginning of the question, often with wrongly recognised words.
  static std::string known_of(const std::string& question, std::mt19937& dice) {
    std::string out = question.substr(0, dice() % (question.size() + 1));
    if (dice() % 2 == 0 && !out.empty()) {
      const size_t at = dice() % out.size();
      out.replace(at, dice() % 6, std::string(dice() % 6, static_cast<char>('a' + dice() % 26)));
    }
    return out;
  }

  static inline std::shared_ptr<const Pipeline> writer_, speaker_;
};

const std::vector<std::string> kQuestions = {"What is the time?", "Who is there, and why?",
                                             "Tell me more.", "Hm",
                                             "How long is a minute in hours?"};

/// 200 questions grow, shrink and are rewritten, with few pages and other clients' requests. The
/// answer and its samples equal those without prediction.
TEST_F(PredictionTest, GreedyIsTheAnswerWithoutForEverySplit) {
  std::map<std::string, std::shared_ptr<Hearing>> plain;
  {
    VirtualPair quiet(writer_, speaker_, engine(), costs());
    TurnOptions options = turn();
    options.predict = false;
    for (const std::string& question : kQuestions) {
      plain[question] = answer(quiet, options, question);
      ASSERT_EQ(plain[question]->error.message, "");
      ASSERT_FALSE(plain[question]->samples.empty());
    }
  }
  EngineOptions tight = engine();
  tight.kv_bytes = 8 * KvPool::page_bytes(writer_->graph().ar().traits().kv[0]);
  VirtualPair pair(writer_, speaker_, tight, costs());
  std::mt19937 dice(11);
  TurnCounts sum;
  int ready = 0;
  for (int input = 0; input < 200; ++input) {
    const std::string& question = kQuestions[static_cast<size_t>(input) % kQuestions.size()];
    const auto ear = std::make_shared<Hearing>();
    const auto turn_of = Turn::begin(pair.writer(), pair.speaker(), turn(), ear);
    for (int update = input % 6; update > 0; --update) {
      turn_of->hear(said(update == 1 && dice() % 2 == 0 ? question : known_of(question, dice)));
      const double pause_s = update == 1 && dice() % 2 == 0 ? 1 : 0.05;
      pair.run_until(pair.now() + pause_s * static_cast<double>(dice() % 12));
      if (dice() % 3 > 0) continue;
      for (int others = 0; others < 3; ++others) {
        SpeechRequest other;
        other.say.text = std::string(1 + dice() % 40, static_cast<char>('a' + dice() % 26));
        other.writing.max_tokens = 30, other.terms.max_frames = 60, other.sampling.seed = dice();
        const bool reads = dice() % 3 > 0;
        const auto taken =
            (reads ? pair.writer() : pair.speaker())->submit(other, std::make_shared<Other>());
        EXPECT_TRUE(taken.ok());
      }
    }
    turn_of->ask(said(question));
    while (!ear->over && pair.next()) {
    }
    ASSERT_TRUE(ear->over);
    EXPECT_EQ(ear->error.message, "");
    EXPECT_EQ(ear->answer, plain[question]->answer) << "input " << input;
    EXPECT_EQ(ear->samples, plain[question]->samples) << "input " << input;
    EXPECT_EQ(ear->counts.drafted, ear->counts.accepted + ear->counts.wasted);
    EXPECT_EQ(ear->counts.spoken_ahead, ear->counts.spoken_in_vain + (ear->counts.ready ? 1 : 0));
    sum.drafted += ear->counts.drafted;
    ready += ear->counts.ready ? 1 : 0;
  }
  run_out(pair);
  expect_nothing_left(pair);
  EXPECT_GT(sum.drafted, 500);
  EXPECT_GT(ready, 20);
  EXPECT_GT(pair.preemptions(), 0) << "the test forced nothing";
}

/// Runs thousands of turns with each drafting method; cancels some of them.
TEST_F(PredictionTest, TurnsLeaveNothingBehind) {
  const char* wanted = std::getenv("SYRINX_TURNS");
  const int turns = wanted ? std::max(600, std::atoi(wanted)) : 600;
  VirtualPair pair(writer_, speaker_, engine(), costs());
  std::mt19937 dice(5);
  int left = 0, answered = 0;
  for (int i = 0; i < turns; ++i) {
    TurnOptions options = turn(static_cast<DraftRule>(i % 3));
    options.answer.writing.max_tokens = 6;
    options.sentence.max_chars = 8;
    options.prediction.drafts = {.first = 5, .more = 2, .most = 8, .most_wasted = 20};
    options.prediction.hint = i % 4 == 0 ? "(cut off)" : "";
    const auto ear = std::make_shared<Hearing>();
    const auto turn_of = Turn::begin(pair.writer(), pair.speaker(), options, ear);
    for (unsigned update = dice() % 4; update > 0; --update) {
      turn_of->hear(said(known_of("Who is there?", dice)));
      pair.run_until(pair.now() + 0.02 * static_cast<double>(dice() % 10));
    }
    if (dice() % 4 > 0) turn_of->ask(said("Who is there?"));
    pair.run_until(pair.now() + 0.02 * static_cast<double>(dice() % 10));
    if (dice() % 3 > 0) {
      turn_of->cancel();
      ++left;
    }
    turn_of->hear(said("too late?"));
    while (!ear->over && pair.next()) {
    }
    if (!ear->over) turn_of->cancel();  // cancels the turn before its question is asked
    EXPECT_TRUE(ear->over);
    EXPECT_EQ(ear->counts.drafted, ear->counts.accepted + ear->counts.wasted);
    EXPECT_LE(ear->counts.wasted, 20 + 2 * 8);
    answered += ear->error.message.empty() ? 1 : 0;
    if (i % 100 != 99) continue;
    run_out(pair);
    expect_nothing_left(pair);
  }
  EXPECT_GT(left, turns / 4);
  EXPECT_GT(answered, turns / 8);
}

/// A first sentence is spoken ahead up to the limit, even if the question continues for long. The
/// rest is spoken once the question is asked, and the audio is the same.
TEST_F(PredictionTest, SpeaksAheadAsFarAsItMayAndGoesOnFromThere) {
  struct Heard {
    std::shared_ptr<Hearing> ear;
    double background_s = 0, first_s = 0;
  };
  const auto listen = [&](double ahead_s) {
    VirtualPair pair(writer_, speaker_, engine(), costs());
    TurnOptions how = turn();
    how.ahead_s = ahead_s;
    how.answer.writing.max_tokens = 90;
    how.sentence.max_chars = 80;
    how.prediction.drafts = {.first = 90, .more = 3, .most = 90, .most_wasted = 200};
    Heard out{std::make_shared<Hearing>()};
    const auto turn_of = Turn::begin(pair.writer(), pair.speaker(), how, out.ear);
    turn_of->hear(said(kQuestions[4]));
    pair.run_until(pair.now() + 60);
    out.background_s = pair.background_s();
    pair.run_until(pair.now() + 60);
    EXPECT_EQ(pair.background_s(), out.background_s) << "it had not come to rest";
    EXPECT_TRUE(out.ear->samples.empty()) << "nobody has asked yet";
    const double asked_s = pair.now();
    turn_of->ask(said(kQuestions[4]));
    while (out.ear->samples.empty() && pair.next()) {
    }
    out.first_s = pair.now() - asked_s;
    run_out(pair);
    EXPECT_TRUE(out.ear->over && out.ear->counts.ready);
    expect_nothing_left(pair);
    return out;
  };
  const Heard little = listen(0.2), most = listen(60);
  EXPECT_EQ(little.ear->answer, most.ear->answer);
  EXPECT_EQ(little.ear->samples, most.ear->samples);
  EXPECT_GT(most.ear->samples.size(), 1000u) << "the test asks too little";
  EXPECT_LT(little.background_s, 0.95 * most.background_s);
  EXPECT_NEAR(little.first_s, most.first_s, 1e-9);
}

/// A hundred listeners receive the same audio at the same times, whether or not another client's
/// answer is drafted then.
TEST_F(PredictionTest, AHundredOthersKeepTheirDeadlines) {
  struct Heard {
    std::vector<std::shared_ptr<Other>> others;
    int drafted = 0;
    double background_s = 0;
  };
  const auto listen = [&](bool predict, double share) {
    EngineOptions options = engine();
    options.background_share = share;
    VirtualPair pair(writer_, speaker_, options, costs());
    Heard out;
    const auto stream = [&](int seconds) {
      SpeechRequest request;
      request.say.text = std::string(static_cast<size_t>(50 * seconds), 'a');
      request.sampling.seed = out.others.size();
      const auto other = std::make_shared<Other>();
      EXPECT_TRUE(pair.speaker()->submit(request, other).ok());
      return other;
    };
    for (int i = 0; i < 6; ++i) {  // lets the engine learn costs
      stream(5);
      answer(pair, turn(), "Hm");
      run_out(pair);
    }
    const double before_s = pair.background_s(), from_s = pair.now();
    for (int i = 0; i < 100; ++i) {
      out.others.push_back(stream(4 + i % 3));
      pair.run_until(from_s + 0.01 * (i + 1));
    }
    TurnOptions how = turn();
    how.predict = predict;
    how.prediction.drafts.most_wasted = 1'000'000;
    const auto ear = std::make_shared<Hearing>();
    const auto turn_of = Turn::begin(pair.writer(), pair.speaker(), how, ear);
    std::mt19937 dice(7);
    for (int update = 0; update < 50; ++update) {
      turn_of->hear(said(known_of(kQuestions[4], dice)));
      pair.run_until(pair.now() + 0.1);
    }
    turn_of->cancel();
    EXPECT_TRUE(ear->over);
    out.drafted = ear->counts.drafted;
    run_out(pair);
    out.background_s = pair.background_s() - before_s;
    expect_nothing_left(pair);
    return out;
  };
  const Heard without = listen(false, 1), with = listen(true, 1), little = listen(true, 0.05);
  EXPECT_EQ(without.drafted, 0);
  EXPECT_GT(with.drafted, 10);
  for (size_t i = 0; i < without.others.size(); ++i) {
    const Outcome &alone = without.others[i]->outcome, &beside = with.others[i]->outcome;
    EXPECT_EQ(alone.underruns, 0) << "the test asks too much";
    EXPECT_EQ(beside.underruns, 0) << "listener " << i;
    EXPECT_EQ(beside.frames, alone.frames);
    EXPECT_LE(beside.first_audio_s, alone.first_audio_s + 0.025) << "listener " << i;
  }
  // Drafts may use a twentieth of the 5 s, in the background.
  EXPECT_GT(with.background_s, 1);
  EXPECT_GT(little.background_s, 0.1);
  EXPECT_LE(little.background_s, 0.05 * 8 + TimeShare::kBurst_s + 0.03);
}

}  // namespace
}  // namespace syrinx
