// Tests with a scripted text model and voice: how much of a draft an answer keeps, the prompts of
// drafts, and speech that is prepared before the turn ends.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "predict/reflection.h"
#include "predict/turn.h"
#include "text/segment_queue.h"

namespace syrinx {
namespace {

/// Records its requests; the test decides their results.
class Cue : public Service {
 public:
  Cue() {
    info_.model = "cue";
    info_.writes = true;
    info_.speaks = true;
    info_.speech.late_text = LateText::kToken;
    info_.speech.sample_rate = 1000;
  }
  const PipelineInfo& info() const override { return info_; }
  Result<RequestId> submit(const SpeechRequest& request, std::shared_ptr<Sink> sink) override {
    if (refuses) return Error{ErrorCode::kOverloaded, "busy"};
    asked.push_back(request);
    sinks.push_back(std::move(sink));
    return static_cast<RequestId>(asked.size());
  }
  void cancel(RequestId id) override { cancelled.push_back(id); }
  void append_text(RequestId, std::string text, bool) override { late += text; }
  void raise_priority(RequestId id) override { hurried.push_back(id); }

  /// Sends `text` as the output of request `i`.
  void write(size_t i, const std::string& text, bool whole = false) {
    sinks[i]->text(text, {});
    if (whole) sinks[i]->finished({});
  }
  /// Sends a judgement as the result of request `i`.
  void judge(size_t i, float yes, float no) {
    ScoredToken token{{"x", -1}, {}};
    token.top = {{" Yes", yes}, {"no", no}};
    sinks[i]->text("x", std::vector<ScoredToken>{token});
    sinks[i]->finished({});
  }

  std::vector<SpeechRequest> asked;
  std::vector<std::shared_ptr<Sink>> sinks;
  std::vector<RequestId> cancelled, hurried;
  std::string late;
  bool refuses = false;

 private:
  PipelineInfo info_;
};

class Ear : public Audience {
 public:
  void text(std::string_view piece) override { answer += piece; }
  void audio(std::span<const float> samples) override { heard += samples.size(); }
  void done(const Error& how, const TurnCounts& what) override {
    EXPECT_FALSE(over) << "done() came twice";
    over = true, error = how, counts = what;
  }
  void unspoken(const Error& why) override { mute = why.message; }
  std::string answer, mute;
  size_t heard = 0;
  bool over = false;
  Error error;
  TurnCounts counts;
};

struct Scene {
  explicit Scene(Prediction how) {
    TurnOptions options;
    options.prediction = std::move(how);
    turn = Turn::begin(writer, speaker, options, ear);
  }
  ~Scene() {  // the sinks and the turn point to each other
    writer->sinks.clear(), speaker->sinks.clear();
  }
  static Chat said(const std::string& text) {
    return {"[{\"role\":\"user\",\"content\":\"" + text + "\"}]", ""};
  }
  void hear(const std::string& text) { turn->hear(said(text)); }
  void ask(const std::string& text) { turn->ask(said(text)); }

  const std::shared_ptr<Cue> writer = std::make_shared<Cue>(), speaker = std::make_shared<Cue>();
  const std::shared_ptr<Ear> ear = std::make_shared<Ear>();
  std::shared_ptr<Turn> turn;
};

TEST(DraftRules, HaveNames) {
  for (const DraftRule rule : {DraftRule::kGreedy, DraftRule::kTopK, DraftRule::kReflection}) {
    EXPECT_EQ(find_draft_rule(draft_rule_name(rule)), rule);
  }
  EXPECT_EQ(find_draft_rule("top-k"), DraftRule::kTopK);
  EXPECT_FALSE(find_draft_rule("best"));
  DraftRules lengths;
  set_draft_length(lengths, 7);
  EXPECT_EQ(lengths.first, 7);
  EXPECT_EQ(lengths.most, DraftRules{}.most);
  set_draft_length(lengths, 500);
  EXPECT_EQ(lengths.most, 500);
}

TEST(DraftRules, SayWhatIsExpected) {
  Scene greedy({}), top({.rule = DraftRule::kTopK, .among = 5});
  for (Scene* scene : {&greedy, &top}) {
    scene->hear("Who");
    EXPECT_TRUE(scene->writer->asked[0].terms.background);
    scene->writer->write(0, "I am.", true);
    scene->ask("Who is it?");
    ASSERT_EQ(scene->writer->asked.size(), 2u);
    EXPECT_EQ(scene->writer->asked[1].writing.expected, "I am.");
    EXPECT_EQ(scene->writer->asked[1].writing.expected_settled, 0u);
    EXPECT_FALSE(scene->writer->asked[1].terms.background);
  }
  EXPECT_EQ(greedy.writer->asked[1].writing.expected_among, 1);
  EXPECT_EQ(top.writer->asked[0].writing.expected_among, 5);
  EXPECT_EQ(top.writer->asked[1].writing.expected_among, 5);
}

TEST(Turns, AVoiceThatCannotSpeakTheAnswerIsReportedAndTheTurnEndsWell) {
  Scene scene({});
  scene.ask("Who");
  scene.writer->write(0, "I am. You are.", true);
  ASSERT_EQ(scene.speaker->sinks.size(), 1u);
  EXPECT_FALSE(scene.ear->over);
  Outcome mute;
  mute.reason = FinishReason::kError;
  mute.error = nothing_to_say();
  scene.speaker->sinks[0]->finished(mute);
  EXPECT_TRUE(scene.ear->over);
  EXPECT_EQ(scene.ear->error.message, "");
  EXPECT_EQ(scene.ear->mute, nothing_to_say().message);
}

TEST(Turns, AnEmptyAnswerAsksForNoVoice) {
  Scene scene({});
  scene.ask("Who");
  scene.writer->write(0, "", true);
  EXPECT_TRUE(scene.speaker->asked.empty());
  EXPECT_TRUE(scene.ear->over);
}

TEST(DraftRules, OnlyDraftsAreGivenTheHint) {
  Scene scene({.hint = "(cut \"off\")."});
  scene.hear("Who");
  scene.ask("Who is it?");
  EXPECT_EQ(scene.writer->asked[0].writing.chat->messages,
            R"([{"role":"user","content":"Who\n(cut \"off\")."}])");
  EXPECT_EQ(scene.writer->asked[1].writing.chat->messages, Scene::said("Who is it?").messages);
  const auto with = [](const char* messages) { return hinted({messages, "[]"}, "h").messages; };
  EXPECT_EQ(
      with(R"([{"role":"user","content":[{"type":"text","text":"a"}]}])"),
      R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"h"}]}])");
  for (const char* same :
       {"", "7", "[]", "[7]", R"([{"role":"assistant","content":"a"}])", R"([{"role":"user"}])",
        R"([{"role":"user","content":7}])", R"([{"role":7,"content":"a"}])"}) {
    EXPECT_EQ(with(same), same);
  }
}

TEST(DraftRules, ADraftAssumesTheQuestionMarkThatIsTypedLast) {
  Scene scene({});
  scene.hear("Who is it");
  scene.writer->write(0, "I am");
  scene.turn->hear(Scene::said("Who is it?"), true);
  scene.ask("Who is it?");
  EXPECT_EQ(scene.writer->asked.size(), 1u) << "the draft is the answer";
  EXPECT_EQ(scene.ear->answer, "I am");
  const auto marked = [](const std::string& text) {
    return question_of(with_question_mark(Scene::said(text)));
  };
  EXPECT_EQ(marked("Who is it"), "Who is it?");
  EXPECT_EQ(marked("Room 7  "), "Room 7?");
  for (const char* same : {"", "Who?", "It is me.", "No,", "Et caf\u00e9"})
    EXPECT_EQ(marked(same), question_of(Scene::said(same)));
  for (const char* other : {"", "[]", R"([{"role":"assistant","content":"a"}])",
                            R"([{"role":"user","content":[{"type":"text","text":"a"}]}])"}) {
    EXPECT_EQ(with_question_mark({other, ""}).messages, other);
    EXPECT_EQ(question_of({other, ""}), "");
  }
}

TEST(DraftRules, ADraftForHalfAWordIsReplacedAtOnce) {
  Scene scene({.drafts = {.most_at_once = 2}});
  scene.hear("What is the ti");
  scene.hear("What is the time");
  ASSERT_EQ(scene.writer->asked.size(), 2u);
  EXPECT_EQ(scene.writer->cancelled, std::vector<RequestId>{1});
  scene.hear("What is the time o");
  EXPECT_EQ(scene.writer->asked.size(), 2u) << "'time' was a whole word";
  scene.hear("What is the timetable");
  EXPECT_EQ(scene.writer->asked.size(), 2u) << "after most_at_once rounds";
  EXPECT_FALSE(ends_within_word("", "a"));
  EXPECT_FALSE(ends_within_word("word", "word"));
  EXPECT_TRUE(ends_within_word("wor", "word"));
  EXPECT_FALSE(ends_within_word("Wor", "word"));
  EXPECT_FALSE(ends_within_word("word", "word s"));
  EXPECT_FALSE(ends_within_word("word ", "word s"));
}

TEST(VoiceAhead, IsHeardFromItsBeginningAndOnce) {
  Scene scene({});
  scene.hear("Who");
  scene.writer->write(0, "I am here. And");
  ASSERT_EQ(scene.speaker->asked.size(), 1u);
  EXPECT_EQ(scene.speaker->asked[0].say.text, "I am here. ");
  EXPECT_TRUE(scene.speaker->asked[0].terms.background);
  Sink& voice = *scene.speaker->sinks[0];
  voice.audio(std::vector<float>(100));
  scene.ask("Who is it?");
  voice.audio(std::vector<float>(20));
  EXPECT_EQ(scene.ear->heard, 0u) << "nobody knows yet what the answer begins with";
  scene.writer->write(1, "I am here. And");
  EXPECT_EQ(scene.speaker->asked.size(), 1u);
  EXPECT_EQ(scene.speaker->hurried, std::vector<RequestId>{1});
  EXPECT_EQ(scene.ear->heard, 120u);
  voice.audio(std::vector<float>(3));
  EXPECT_EQ(scene.ear->heard, 123u);
  scene.writer->write(1, " there.", true);
  EXPECT_EQ(scene.speaker->late, "And there.");
  EXPECT_FALSE(scene.ear->over) << "it still speaks";
  voice.finished({});
  EXPECT_TRUE(scene.ear->over);
  EXPECT_TRUE(scene.ear->counts.ready);
  scene.turn->cancel();  // too late, so without effect
}

TEST(VoiceAhead, WaitsForAnAnswerThatBeginsLikeItsSentence) {
  Scene scene({});
  scene.hear("Who");
  scene.writer->write(0, "I am here. And");
  scene.ask("Who is it?");
  scene.writer->write(1, "I am");
  scene.writer->write(1, " here.");
  EXPECT_EQ(scene.speaker->asked.size(), 1u);
  scene.writer->write(1, " And");
  EXPECT_EQ(scene.speaker->asked.size(), 1u);
  EXPECT_EQ(scene.speaker->hurried, std::vector<RequestId>{1});
}

TEST(VoiceAhead, AnotherAnswerIsSpokenFromItsFirstWords) {
  Scene scene({});
  scene.hear("Who");
  scene.writer->write(0, "I am here. And");
  scene.ask("Who is it?");
  scene.writer->write(1, "I ");
  EXPECT_EQ(scene.speaker->asked.size(), 1u);
  scene.writer->write(1, "was");
  ASSERT_EQ(scene.speaker->asked.size(), 2u);
  EXPECT_EQ(scene.speaker->cancelled, std::vector<RequestId>{1});
  EXPECT_EQ(scene.speaker->asked[1].say.text, "I was");
  scene.writer->write(1, " there.", true);
  EXPECT_EQ(scene.speaker->late, " there.");
}

/// When a round has written its first sentence, the next round begins with the newest question.
TEST(VoiceAhead, ItsSentenceIsCheckedAgainstTheNewestQuestionAtOnce) {
  Scene scene({});
  scene.hear("Who");
  scene.writer->write(0, "I am");
  scene.hear("Who is");
  EXPECT_EQ(scene.writer->asked.size(), 1u);
  scene.writer->write(0, " here. And");
  ASSERT_EQ(scene.writer->asked.size(), 2u);
  EXPECT_EQ(scene.writer->asked[1].writing.expected, "I am here. And");
  EXPECT_EQ(scene.speaker->asked.size(), 1u);
  scene.writer->write(1, "I am here. And");
  scene.hear("Who is it");
  EXPECT_EQ(scene.writer->asked.size(), 3u);
  EXPECT_EQ(scene.speaker->asked.size(), 1u) << "the same sentence is spoken once";
}

TEST(VoiceAhead, WaitsWhenItIsFarEnoughAhead) {
  Scene scene({});
  scene.hear("Who");
  scene.writer->write(0, "I am here. And");
  Sink& voice = *scene.speaker->sinks.at(0);
  voice.audio(std::vector<float>(2999));
  EXPECT_EQ(voice.unread_s(), 0);
  voice.audio(std::vector<float>(1));
  EXPECT_GT(voice.unread_s(), 1e9);
  scene.ask("Who is it?");
  EXPECT_GT(voice.unread_s(), 1e9);
  scene.writer->write(1, "I am here. And");
  EXPECT_EQ(voice.unread_s(), 0) << "from now on its audience says";
}

TEST(VoiceAhead, ThatHasEndedDoesNotEndTheAnswer) {
  Scene scene({});
  scene.ask("Who is it?");
  scene.writer->write(0, "I am here. And");
  scene.speaker->sinks.at(0)->finished({});
  EXPECT_FALSE(scene.ear->over);
  scene.writer->write(0, " there.", true);
  EXPECT_TRUE(scene.ear->over);
  EXPECT_EQ(scene.ear->answer, "I am here. And there.");
}

TEST(Turns, EndOnce) {
  Scene scene({});
  scene.hear("Who");
  scene.turn->cancel();
  EXPECT_TRUE(scene.ear->over);
  scene.turn->cancel();
}

TEST(Reflection, YesMustBeAsLikelyAsNo) {
  const auto token = [](std::vector<ScoredToken::Choice> top) {
    return ScoredToken{{"maybe", -3}, std::move(top)};
  };
  EXPECT_TRUE(says_yes(token({{"Yes", -1}, {"no", -1}})));
  EXPECT_TRUE(says_yes(token({{" YES\n", -1}})));
  EXPECT_FALSE(says_yes(token({{"yes", -2}, {" No", -1}})));
  EXPECT_FALSE(says_yes(token({{"no", -1}})));
  EXPECT_FALSE(says_yes(token({{"yesterday", -1}})));
  EXPECT_FALSE(says_yes(token({})));
  EXPECT_TRUE(says_yes({{"yes", -1}, {}}));
}

TEST(Reflection, SentencesAreKeptUpToTheFirstThatIsWrong) {
  Scene scene({.rule = DraftRule::kReflection});
  scene.hear("Who");
  ASSERT_EQ(scene.writer->asked.size(), 1u) << "there is nothing to judge yet";
  scene.writer->write(0, "I am. You are. He is. We", true);
  scene.ask("Who is it?");
  ASSERT_EQ(scene.writer->asked.size(), 5u) << "all four at once, and no answer yet";
  const SpeechRequest& second = scene.writer->asked[2];
  EXPECT_EQ(second.writing.max_tokens, 1);
  EXPECT_FALSE(second.terms.background);
  EXPECT_EQ(second.writing.chat->messages.rfind(
                R"([{"role":"user","content":"Who is it?"},)"
                R"({"role":"assistant","content":"I am. You are. "},{"role":"user","content":"Is )",
                0),
            0u)
      << second.writing.chat->messages;
  scene.writer->judge(1, -1, -2);
  scene.writer->judge(3, -2, -1);  // judges the third sentence first
  EXPECT_EQ(scene.writer->asked.size(), 5u);
  scene.writer->judge(2, -1, -1);
  ASSERT_EQ(scene.writer->asked.size(), 6u) << "the fourth does not matter any more";
  EXPECT_EQ(scene.writer->asked[5].writing.expected, "I am. You are. He is. We");
  EXPECT_EQ(scene.writer->asked[5].writing.expected_settled, std::string("I am. You are. ").size());
  scene.writer->judge(4, -1, -2);  // too late, so without effect
  EXPECT_EQ(scene.writer->asked.size(), 6u);
  scene.writer->write(5, "I am. You are. ");
  EXPECT_EQ(scene.ear->answer, "I am. You are. ");
  scene.turn->cancel();
  EXPECT_EQ(scene.ear->counts.reflections, 1);
}

TEST(Reflection, FourSentencesAreJudgedAtMost) {
  Scene scene({.rule = DraftRule::kReflection});
  scene.hear("Who");
  scene.writer->write(0, "I am. You are. He is. We are. They are.", true);
  scene.ask("Who is it?");
  ASSERT_EQ(scene.writer->asked.size(), 5u);
  for (size_t i = 1; i <= 4; ++i) scene.writer->judge(i, -1, -2);
  ASSERT_EQ(scene.writer->asked.size(), 6u);
  EXPECT_EQ(scene.writer->asked[5].writing.expected_settled,
            std::string("I am. You are. He is. We are. ").size());
}

TEST(Reflection, AModelThatCannotJudgeKeepsNothing) {
  Scene scene({.rule = DraftRule::kReflection});
  scene.hear("Who");
  scene.writer->write(0, "I am");
  scene.hear("Who is");  // the round continues until it has a sentence or a few tokens more
  EXPECT_EQ(scene.writer->asked.size(), 1u);
  scene.writer->sinks[0]->finished({});
  ASSERT_EQ(scene.writer->asked.size(), 2u);
  EXPECT_TRUE(scene.writer->asked[1].terms.background);
  Outcome failed;
  failed.reason = FinishReason::kError;
  scene.writer->sinks[1]->finished(failed);
  ASSERT_EQ(scene.writer->asked.size(), 3u);
  EXPECT_EQ(scene.writer->asked[2].writing.expected_settled, 0u);
  EXPECT_TRUE(scene.writer->asked[2].terms.background);
  scene.writer->write(2, "I am. ", true);
  // Cancelling a turn during its judgement cancels the judgement.
  scene.ask("Who is it?");
  ASSERT_EQ(scene.writer->asked.size(), 4u);
  scene.turn->cancel();
  EXPECT_EQ(scene.writer->cancelled.back(), 4u);
  scene.writer->judge(3, -1, -2);
  EXPECT_EQ(scene.writer->asked.size(), 4u);
  EXPECT_TRUE(scene.ear->over);

  Scene busy({.rule = DraftRule::kReflection});
  busy.hear("Who");
  busy.writer->write(0, "I am. ", true);
  busy.writer->refuses = true;
  busy.ask("Who is it?");
  EXPECT_EQ(busy.ear->error.message, "busy");
}

}  // namespace
}  // namespace syrinx
