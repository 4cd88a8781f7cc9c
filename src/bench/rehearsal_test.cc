// Tests rehearsals of prediction on a virtual clock, with a small text model of tests/parity and
// the built-in voice.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/error.h"
#include "bench/batch_times.h"
#include "bench/rehearsal_summary.h"
#include "runtime/runtime.h"

namespace syrinx {
namespace {

TEST(Questions, AreTypedCharacterByCharacter) {
  const TimedQuestion typed = typed_question("Grüß", 10);
  ASSERT_EQ(typed.updates.size(), 4u);
  EXPECT_EQ(typed.updates[1].text, "Gr");
  EXPECT_EQ(typed.updates[2].text, "Grü");
  EXPECT_DOUBLE_EQ(typed.updates[2].at_s, 0.3);
  EXPECT_DOUBLE_EQ(typed.end_s, 0.4);
  EXPECT_TRUE(typed_question("").updates.empty());
}

TEST(Questions, AreHeardAndTakenBack) {
  const std::string text = "What should I wear when it rains and it is cold outside?";
  int rewritten = 0, updates = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const TimedQuestion heard = heard_question(text, seed), again = heard_question(text, seed);
    ASSERT_EQ(heard.updates.size(), 12u);
    EXPECT_EQ(heard.updates.back().text, text);
    EXPECT_DOUBLE_EQ(heard.end_s, 5.3);
    for (size_t i = 0; i < heard.updates.size(); ++i) {
      EXPECT_EQ(heard.updates[i].text, again.updates[i].text);
      if (i == 0) continue;
      ++updates;
      rewritten += heard.updates[i].text.starts_with(heard.updates[i - 1].text) ? 0 : 1;
    }
  }
  EXPECT_NEAR(static_cast<double>(rewritten) / updates, 0.6, 0.15);
}

TEST(Questions, AreReadFromLines) {
  const auto read = parse_questions(
      "{\"updates\": [[0.0, \"Hi\"], [0.5, \"High\"], [0.5, \"\"]], \"text\": \"Hi?\", \"end\": "
      "2}\n\n"
      "{\"updates\": [], \"text\": \"\"}",
      "f");
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].updates[1].text, "High");
  EXPECT_DOUBLE_EQ(read[0].end_s, 2);
  EXPECT_EQ(read[1].end_s, 0);
  const auto fault = [](const std::string& lines) {
    try {
      parse_questions(lines, "f");
    } catch (const LoadError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(fault(""), "f: the file has no question");
  EXPECT_EQ(fault("\n7"), "f:2: expected a JSON object");
  EXPECT_EQ(fault("{\"updates\": []}"), "f:1: 'text' must be a string");
  EXPECT_EQ(fault("{\"text\": \"a\"}"), "f:1: 'updates' must be a list");
  EXPECT_EQ(fault("{\"text\": \"a\", \"updates\": [7]}"), "f:1: an update must be [seconds, text]");
  EXPECT_EQ(fault("{\"text\": \"a\", \"updates\": [[\"0\", \"a\"]]}"),
            "f:1: a time must be a number");
  EXPECT_EQ(fault("{\"text\": \"a\", \"updates\": [[1, \"a\"], [0.5, \"a\"]]}"),
            "f:1: times must not decrease");
  EXPECT_EQ(fault("{\"text\": \"a\", \"updates\": [], \"end\": -1}"),
            "f:1: times must not decrease");
  EXPECT_EQ(fault("{\"text\": \"a\", \"updates\": [], \"end\": 1e9}"),
            "f:1: a question must not last more than an hour");
}

TEST(Questions, AreSpreadOverTheList) {
  std::vector<TimedQuestion> all;
  for (const char* text : {"0", "1", "2", "3", "4", "5", "6"}) all.push_back(typed_question(text));
  const auto texts = [&](size_t most) {
    std::string out;
    for (const TimedQuestion& each : spread_questions(all, most)) out += each.text;
    return out;
  };
  EXPECT_EQ(texts(0), "0123456");
  EXPECT_EQ(texts(7), "0123456");
  EXPECT_EQ(texts(9), "0123456");
  EXPECT_EQ(texts(3), "024");
  EXPECT_EQ(texts(1), "0");
}

TEST(BatchTimes, ShowTheCostsOfAQuietMachine) {
  BatchTimes times;
  for (int i = 0; i < 50; ++i) times.add(0, 1, i % 3 == 0 ? 31e-3 : 400e-3);
  for (const double n : {20.0, 30.0, 40.0}) times.add(0, n, 30e-3 + n * 1e-3);
  times.add(0, 35, 2);  // another program ran
  times.add(2, 8, 4e-3);
  const std::vector<StageCost> costs = times.costs(4);
  ASSERT_EQ(costs.size(), 4u);
  EXPECT_NEAR(costs[0].fixed_s, 30e-3, 1e-9);
  EXPECT_NEAR(costs[0].unit_s, 1e-3, 1e-9);
  EXPECT_EQ(costs[1].of(5), 0);
  EXPECT_DOUBLE_EQ(costs[2].of(100), 4e-3);
  EXPECT_EQ(costs[3].of(5), 0);
}

class RehearsalTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    LoadOptions options;
    options.voices_dir = SYRINX_SOURCE_DIR "/voices";
    options.weights = "f32";
    options.model = "finch";
    speaker_ = load_pipeline(options);
    options.model = SYRINX_BINARY_DIR "/parity/llm/qwen3";
    writer_ = load_pipeline(options);
  }
  static void TearDownTestSuite() { writer_.reset(), speaker_.reset(); }
  static RehearsalOptions options() {
    RehearsalOptions out;
    out.turn.answer.sampling.temperature = 0.f;
    out.turn.answer.writing.max_tokens = 20;
    out.turn.voice.sampling.seed = 5;
    out.turn.sentence.max_chars = 12;  // the model never writes the end of a sentence
    return out;
  }
  /// Returns the costs of a model with some billions of parameters on a GPU.
  static PairCosts costs() {
    return {{{20e-3, 0.1e-3}}, std::vector<StageCost>(speaker_->graph().nodes().size(), {3e-3, 0})};
  }
  static std::vector<TimedQuestion> questions() {
    std::vector<TimedQuestion> out;
    unsigned seed = 3;
    for (const char* text : {"What time is it?", "Who is there, and why?", "Tell me more."}) {
      out.push_back(typed_question(text));
      out.push_back(heard_question(text, ++seed));
    }
    return out;
  }
  static EngineOptions engine() {
    EngineOptions out;
    out.repetition_s = 0;
    return out;
  }
  static RehearsalRun run(bool predict) {
    VirtualPair pair(writer_, speaker_, engine(), costs());
    RehearsalOptions how = options();
    how.turn.predict = predict;
    RehearsalRun out{predict ? "greedy" : "without", rehearse(pair, questions(), how)};
    EXPECT_EQ(pair.requests(), 0);
    EXPECT_EQ(pair.pages_taken(), 0);
    return out;
  }

  static inline std::shared_ptr<const Pipeline> writer_, speaker_;
};

TEST_F(RehearsalTest, PredictionChangesTimeAndNothingElse) {
  const RehearsalRun without = run(false), greedy = run(true);
  ASSERT_EQ(greedy.turns.size(), without.turns.size());
  int ready = 0;
  double plain_s = 0, ahead_s = 0;
  for (size_t i = 0; i < greedy.turns.size(); ++i) {
    const Rehearsal &plain = without.turns[i], &ahead = greedy.turns[i];
    EXPECT_EQ(ahead.error.message, "");
    EXPECT_EQ(ahead.answer, plain.answer) << plain.question;
    EXPECT_EQ(ahead.counts.drafted, ahead.counts.accepted + ahead.counts.wasted);
    EXPECT_GE(ahead.forwards, ahead.counts.ready ? 0 : 1);
    EXPECT_LE(ahead.forwards, plain.forwards);
    EXPECT_GE(plain.audio_s, 20e-3);
    EXPECT_EQ(plain.counts.drafts, 0);
    ready += ahead.counts.ready ? 1 : 0;
    plain_s += plain.audio_s, ahead_s += ahead.audio_s;
  }
  EXPECT_GE(ready, 2);
  EXPECT_LT(ahead_s, plain_s);
  // Both runs give the same text, byte for byte.
  const PairCosts what = costs();
  const std::string json = rehearsal_json({without, greedy}, 6, &what);
  EXPECT_EQ(json, rehearsal_json({run(false), run(true)}, 6, &what));
  const std::string table = rehearsal_text({without, greedy}, 6);
  EXPECT_NE(table.find("times as fast"), std::string::npos);
  EXPECT_EQ(table.find("partial"), std::string::npos);
  EXPECT_TRUE(rehearsal_text({without, greedy}, 82).starts_with("partial: 6 of 82 questions\n"));
  const auto read = nlohmann::json::parse(json);
  EXPECT_EQ(read["partial"], false);
  EXPECT_EQ(nlohmann::json::parse(rehearsal_json({without, greedy}, 7, &what))["partial"], true);
  EXPECT_EQ(read["runs"][1]["questions"], 6);
  EXPECT_EQ(read["runs"][1]["ready"], ready / 6.0);
  const PairCosts back = parse_costs(json, "f");
  EXPECT_DOUBLE_EQ(back.writer.at(0).fixed_s, 20e-3);
  EXPECT_EQ(back.speaker.size(), what.speaker.size());
}

/// An exception of `check`, as after Ctrl-C, ends the turn; the pair can run further questions.
TEST_F(RehearsalTest, StopsInTheMiddleOfAQuestion) {
  VirtualPair pair(writer_, speaker_, engine(), costs());
  RehearsalOptions how = options();
  const TimedQuestion question = questions().front();
  const Rehearsal whole = rehearse(pair, question, how);
  for (const int checks : {3, static_cast<int>(question.updates.size()) + 2}) {
    int left = checks;
    how.check = [&] {
      if (--left == 0) throw std::runtime_error("stopped");
    };
    EXPECT_THROW(rehearse(pair, question, how), std::runtime_error) << checks;
    how.check = nullptr;
    while (pair.requests() > 0 && pair.next()) {
    }
    EXPECT_EQ(pair.requests(), 0);
    EXPECT_EQ(pair.pages_taken(), 0);
  }
  EXPECT_EQ(rehearse(pair, question, how).answer, whole.answer);
  const PairCosts measured = pair.measured();
  ASSERT_EQ(measured.writer.size(), 1u);
  EXPECT_GT(measured.writer[0].of(1), 0);
  EXPECT_EQ(measured.speaker.size(), costs().speaker.size());
}

/// Drafting methods that keep more of a draft than greedy may change answers; Jacobi may not.
TEST_F(RehearsalTest, EveryRuleHasItsRun) {
  const std::vector<NamedPrediction> rules =
      parse_rules("greedy,top-1,top-50,reflection,jacobi-6", {});
  std::vector<RehearsalRun> runs = {run(false)};
  for (const NamedPrediction& rule : rules) {
    VirtualPair pair(writer_, speaker_, engine(), costs());
    RehearsalOptions how = options();
    how.turn.prediction = rule.how;
    runs.push_back({rule.name, rehearse(pair, questions(), how)});
    EXPECT_EQ(pair.pages_taken(), 0) << rule.name;
  }
  std::vector<RehearsalSummary> sums;
  for (const RehearsalRun& each : runs) {
    sums.push_back(summary_of(each, runs.front()));
    EXPECT_EQ(sums.back().failed, 0) << each.rule;
    EXPECT_EQ(sums.back().tokens.drafted, sums.back().tokens.accepted + sums.back().tokens.wasted);
  }
  const auto &greedy = sums[1], &top_1 = sums[2], &top_50 = sums[3], &reflected = sums[4],
             &jacobi = sums[5];
  EXPECT_EQ(greedy.same, 1);
  EXPECT_EQ(top_1.same, 1);
  EXPECT_EQ(jacobi.same, 1);
  EXPECT_LT(top_50.same, 1) << "nothing was kept that would not have been written";
  EXPECT_LT(top_50.tokens.wasted, greedy.tokens.wasted);
  EXPECT_LT(greedy.forwards.mean, sums[0].forwards.mean);
  EXPECT_LT(top_50.forwards.mean, sums[0].forwards.mean);
  EXPECT_GT(reflected.reflections, 0);
  const std::string page = rehearsal_html(runs, "a <page>");
  EXPECT_NE(page.find("a &lt;page&gt;"), std::string::npos);
  EXPECT_NE(page.find("Forwards until the first sentence"), std::string::npos);
  for (const RehearsalRun& each : runs) {
    EXPECT_NE(page.find("<td>" + each.rule + "</td>"), std::string::npos) << each.rule;
  }
}

TEST(Rules, AreReadFromAList) {
  const auto rules = parse_rules("top-3,jacobi-10,reflection,greedy", {.hint = "h"});
  ASSERT_EQ(rules.size(), 4u);
  EXPECT_EQ(rules[0].how.rule, DraftRule::kTopK);
  EXPECT_EQ(rules[0].how.among, 3);
  EXPECT_EQ(rules[1].how.jacobi, 10);
  EXPECT_EQ(rules[1].how.rule, DraftRule::kGreedy);
  EXPECT_EQ(rules[2].how.rule, DraftRule::kReflection);
  EXPECT_EQ(rules[3].how, (Prediction{.hint = "h"}));
  for (const char* wrong : {"", "best", "top-", "top-0", "top-101", "top-1x", "top-99999999999",
                            "jacobi-32", "greedy,", "greedy, top-3"}) {
    EXPECT_THROW(parse_rules(wrong, {}), LoadError) << wrong;
  }
}

TEST_F(RehearsalTest, SaysWhatIsWrongWithCosts) {
  EXPECT_THROW(parse_costs("7", "f"), LoadError);
  EXPECT_THROW(parse_costs("{\"writer\": []}", "f"), LoadError);
  EXPECT_THROW(
      parse_costs("{\"writer\": [{\"fixed_ms\": -1, \"unit_ms\": 0}], \"speaker\": []}", "f"),
      LoadError);
  EXPECT_THROW(VirtualPair(writer_, speaker_, {}, {}), LoadError);
}

}  // namespace
}  // namespace syrinx
