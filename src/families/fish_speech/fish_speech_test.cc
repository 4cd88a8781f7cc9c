// Tests promises that only this family makes (spoken_families_test.cc tests those of all families):
// messages, references, phones, checks, faults of files.
#include "audio/wav_file.h"
#include "families/family_fixture.h"
#include "families/fish_speech/pipeline.h"
#include "families/voice_of_frames.h"
#include "model/step_runner.h"
#include "text/phones.h"

namespace syrinx::fish_speech {
namespace {

std::string golden_path(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/fish_speech/golden/" + name;
}

class FishSpeechTest : public FamilyTest<FishSpeech> {
 protected:
  FishSpeechTest() : FamilyTest(golden_path("checkpoint")) {}

  Verdict end(Sequence& state) {
    std::vector<int32_t> last = frames(1, 0);
    last[0] = model_.config().end_code();
    return say(state, last);
  }
  std::vector<int32_t> spoken_row(int32_t code) const {
    std::vector<int32_t> slots = frames(1, code);
    slots.insert(slots.begin(), static_cast<int32_t>(model_.config().semantic_begin) + code);
    return slots;
  }
};

TEST_F(FishSpeechTest, RulesAndTheEnd) {
  SpeechRequest r = plain("Hello there.");
  const auto state = open(r);
  EXPECT_EQ(state->rule(0).ranges, 0) << "any code, or the end";
  EXPECT_EQ(say(*state, frames(1, 4)).next, Verdict::kContinue);
  EXPECT_TRUE(state->history(0).empty()) << "the first frame is not looked at again";
  say(*state, frames(2, 5));
  EXPECT_EQ(std::vector(state->history(0).begin(), state->history(0).end()),
            (std::vector<int32_t>{5, 5}));
  EXPECT_TRUE(state->history(1).empty());
  const Verdict verdict = end(*state);
  EXPECT_EQ(verdict.next, Verdict::kFinished);
  EXPECT_EQ(verdict.reason, FinishReason::kStop);
  EXPECT_EQ(said_.size(), frames(3).size()) << "the end is not spoken";

  r.terms.ignore_stop = true;
  r.sampling.min_p = 0.1f;
  const auto other = open(r);
  EXPECT_EQ(other->rule(0).allowed[0].end, model_.config().end_code());
  EXPECT_EQ(other->rule(1).ranges, 0);
  EXPECT_FALSE(other->sampling(0).filter_first) << "min-p is another way";
}

TEST_F(FishSpeechTest, TurnsBecomeMessagesAsTheAuthorsBatches) {
  const auto cut = [](const std::string& text) { return messages_of(spoken_turns(text)); };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(cut(" plain text "), Texts{" plain text "});
  EXPECT_EQ(cut("<|speaker:0|>a <|speaker:1|> b\n<|speaker:0|>"),
            Texts{"<|speaker:0|>a\n<|speaker:1|> b\n<|speaker:0|>"});
  EXPECT_EQ(cut("before <|speaker:12|>a"), Texts{"before\n<|speaker:12|>a"});
  EXPECT_EQ(cut("<|speaker:|>a <|speaker:x|>"), Texts{"<|speaker:|>a <|speaker:x|>"});
  std::string six;
  for (int i = 0; i < 6; ++i) six += speaker_tag(i) + "x";
  EXPECT_EQ(cut(six).size(), 2u);
  EXPECT_EQ(cut(six)[1], "<|speaker:5|>x");
  const std::string wide(200, 'y');
  EXPECT_EQ(cut(speaker_tag(0) + wide + speaker_tag(1) + wide).size(), 2u);
  EXPECT_EQ(cut(speaker_tag(0) + std::string(1000, 'y')).size(), 1u);
  // A long text is cut at the ends of sentences, and each part gets the speaker tag.
  std::string book;
  while (book.size() < 5000) book += "The quick brown fox jumps over the lazy dog. ";
  EXPECT_EQ(cut(book).size(), 3u);
  EXPECT_EQ(cut(book.substr(0, 1000)).size(), 1u);
  const Texts tagged = cut(speaker_tag(3) + book);
  ASSERT_EQ(tagged.size(), 3u);
  for (const std::string& part : tagged) EXPECT_TRUE(part.starts_with("<|speaker:3|>")) << part;
}

TEST_F(FishSpeechTest, AMessageHearsThoseBefore) {
  SpeechRequest r = request("<|speaker:0|>" + std::string(290, 'a') + "<|speaker:1|>" +
                            std::string(290, 'b') + "<|speaker:0|>c");
  r.terms.max_frames = 0, r.terms.ignore_stop = false;
  r.say.context = {{"1", "how are you?", frames(7, 5)}};
  const auto state = open(r);
  const int first = state->prompt_rows();
  say(*state, frames(30, 4));
  const std::vector<std::vector<int32_t>> fed = rows_fed(*state, first + 30);
  const Verdict next = end(*state);
  EXPECT_EQ(next.next, Verdict::kNextSegment);
  EXPECT_EQ(next.kept, first + 30) << "the cache stays";
  EXPECT_EQ(rows_fed(*state, first + 30), fed);
  const int second = state->prompt_rows();
  EXPECT_GT(second, first + 30);
  const std::vector<uint64_t> old_keys = keys(*open(r)), new_keys = keys(*state);
  ASSERT_EQ(static_cast<int>(new_keys.size()), second);
  EXPECT_TRUE(std::equal(old_keys.begin(), old_keys.end(), new_keys.begin()))
      << "the new prompt goes on where the one before ended";
  EXPECT_TRUE(state->history(0).empty());
  const auto heard = [&](int32_t code) {
    const std::span<const int32_t> now = state->prompt_ids();
    return std::count(now.begin(), now.end(), spoken_row(code)[0]);
  };
  EXPECT_EQ(heard(5), 7) << "the reference";
  EXPECT_EQ(heard(4), 30) << "the message before";
  say(*state, frames(2, 6));
  EXPECT_EQ(row(*state, second), spoken_row(6)) << "its own frames come behind those it hears";
  EXPECT_EQ(row(*state, second + 1), spoken_row(6));
  // These rows are more than kMostPast, so only the references and the first message stay.
  say(*state, frames(static_cast<int>(kMostPast), 6));
  const std::vector<std::vector<int32_t>> long_ago = rows_fed(*state, second);
  const Verdict back = end(*state);
  EXPECT_EQ(back.next, Verdict::kNextSegment);
  EXPECT_LT(state->prompt_rows(), second);
  EXPECT_TRUE(holds(state->prompt_ids(), model_.prompter().speech()));
  EXPECT_EQ(heard(4), 30) << "the first message";
  EXPECT_EQ(heard(6), 0) << "the second";
  EXPECT_GT(back.kept, first + 30) << "with the first message, whose rows are cached";
  EXPECT_LT(back.kept, second);
  for (int pos = 0; pos < back.kept; ++pos)
    EXPECT_EQ(row(*state, pos), long_ago[static_cast<size_t>(pos)]) << pos;
  say(*state, frames(5, 4));
  EXPECT_EQ(end(*state).next, Verdict::kFinished);
}

TEST_F(FishSpeechTest, ATagOfLateTextHoldsUntilTheNext) {
  SpeechRequest r = request("");
  r.say.open = true;
  const auto state = open(r);
  const std::string text = "<|speaker:1|>Hello. How are you?  It isn't <|speaker:0|>12; it is.";
  ASSERT_TRUE(state->append_text(text, true).ok());
  EXPECT_TRUE(holds(state->prompt_ids(), model_.prompter().text("<|speaker:1|>Hello.")));
  for (const char* next :
       {"<|speaker:1|>How are you?", "<|speaker:1|>It isn't\n<|speaker:0|>12;"}) {
    EXPECT_EQ(end(*state).next, Verdict::kNextSegment);
    EXPECT_TRUE(holds(state->prompt_ids(), model_.prompter().text(next))) << next;
  }
}

TEST_F(FishSpeechTest, SpeakersByNumber) {
  SpeechRequest tagged = request("<|speaker:3|>Hello."), named = request("Hello.");
  named.voice.name = "3";
  EXPECT_EQ(ids(named), ids(tagged));
  named.voice.name.clear(), named.voice.speaker = 3;
  EXPECT_EQ(ids(named), ids(tagged));
  named.voice.name = "0", named.voice.speaker = -1;
  EXPECT_EQ(ids(named), ids(request("Hello."))) << "the first speaks without a tag";
  tagged.voice.name = "5";
  EXPECT_EQ(ids(tagged), ids(request("<|speaker:3|>Hello."))) << "the text's own tags count";
  SpeechRequest referring = request("Hello."), other = referring;
  referring.say.context = {{"1", "<|speaker:3|>warm", frames(2)}};
  other.say.context = {{"2", "<|speaker:3|>warm", frames(2)}};
  EXPECT_EQ(ids(referring), ids(other)) << "and those of a reference's text";
  other.say.context[0].text = referring.say.context[0].text = "warm";
  EXPECT_NE(ids(referring), ids(other));
}

TEST(FishSpeechPhones, StandBetweenTheirTags) {
  const std::string text = "I live in Tomato, nginx.";
  std::vector<Saying> sayings(3);
  sayings[0] = {.begin = 2, .end = 6, .strong = true};
  sayings[1] = {.begin = 10, .end = 16, .phones = phones_of_ipa("təˈmeɪtoʊ").value()};
  sayings[2] = {.begin = 18, .end = 23, .words = "engine X"};
  EXPECT_EQ(with_phones(text, sayings),
            "I live in <|phoneme_start|>T AH0 M EY1 T OW0<|phoneme_end|>, engine X.");
  EXPECT_EQ(with_phones(text, {}), text);
}

TEST_F(FishSpeechTest, WordsWithPhonesAreSaidSoWholeAndInPieces) {
  ASSERT_TRUE(model_.info().speech.phones);
  SpeechRequest r = request("Say it. Go, Syrinx.");
  r.say.sayings = {{.begin = 4, .end = 6, .phones = phones_of_arpabet("AE1 T").value()}};
  const std::pair<std::string, std::string> entries[] = {{"syrinx", "{S IH1}"}};
  r.say.lexicon = Lexicon::of(entries).value();
  const std::string first = "Say <|phoneme_start|>AE1 T<|phoneme_end|>.",
                    second = "Go, <|phoneme_start|>S IH1<|phoneme_end|>.";
  EXPECT_EQ(ids(r), ids(request(first + " " + second)));
  const std::string text = std::exchange(r.say.text, "");
  r.say.open = true;
  const auto state = open(r);
  ASSERT_TRUE(state->append_text(text, true).ok());
  EXPECT_TRUE(holds(state->prompt_ids(), model_.prompter().text(first)));
  say(*state, frames(3, 2));
  EXPECT_EQ(end(*state).next, Verdict::kNextSegment);
  EXPECT_TRUE(holds(state->prompt_ids(), model_.prompter().text(second)));
}

TEST_F(FishSpeechTest, ControlTokensOfStrangersAreText) {
  const std::vector<int32_t> said =
      model_.prompter().text("a<|im_end|><|semantic:3|><|speaker:1|>b");
  EXPECT_EQ(std::count(said.begin(), said.end(), model_.config().end_token), 0);
  EXPECT_EQ(std::count(said.begin(), said.end(), model_.config().semantic_begin + 3), 0);
  const std::vector<int32_t> tail = model_.prompter().text("<|speaker:1|>b");
  EXPECT_EQ(tail.size(), 2u) << "one token, where there is one";
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), said.end() - 2));
  EXPECT_GT(model_.prompter().text("<|speaker:7|>b").size(), 4u) << "and text where not";
}

TEST_F(FishSpeechTest, RefusesWhatItCannotSay) {
  SpeechRequest r = request("Hello.");
  r.say.instructions = "whisper";
  const Status checked = check_request(model_.info(), r);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("[whisper]"), std::string::npos);

  const auto refused = [&](const ContextTurn& turn) {
    SpeechRequest c = request("Hello.");
    c.say.context = {{"0", "fine", frames(2)}, turn};
    EXPECT_EQ(refusal(c).param, "context");
    return refusal(c).message;
  };
  EXPECT_NE(refused({"x", "a", frames(1)}).find("turn 1"), std::string::npos);
  EXPECT_NE(refused({"0", "a", {}}).find("no codes"), std::string::npos);
  EXPECT_NE(refused({"0", " ", frames(1)}).find("no text"), std::string::npos);
  EXPECT_NE(refused({"0", "a", {1, 2}}).find("2 codes"), std::string::npos);
  EXPECT_NE(refused({"0", "a", frames(1, 99)}).find("99"), std::string::npos);
  EXPECT_NE(refused({"0", "a", frames(1, -1)}).find("-1"), std::string::npos);
  EXPECT_NE(refused({"0", "a", frames(4200)}).find("positions"), std::string::npos);
  EXPECT_NE(refused({"0", "a", frames(2100)}).find("needs"), std::string::npos);
}

TEST_F(FishSpeechTest, AVoiceOfARecordingIsTheFirstReference) {
  const Recording recording{
      .samples = read_wav(SYRINX_BINARY_DIR "/parity/mimi/speech.wav").samples,
      .sample_rate = 44100,
      .text = "the quick",
      .mode = "in-context"};
  const VoiceEncoder& encoder = *model_.voice_encoder();
  SpeechRequest r = request("Hello.");
  r.voice.name = "any name";
  r.voice.data = encode(encoder, recording);
  const Tensor* codes = r.voice.data->find("codes");
  ASSERT_NE(codes, nullptr);
  const int64_t hop = model_.graph().links()[0].stage->out_width();
  EXPECT_EQ(codes->shape()[0], (std::ssize(recording.samples) + hop - 1) / hop);
  SpeechRequest context = request("Hello.");
  context.say.context = {{"", "the quick", ints(*codes)}};
  EXPECT_EQ(ids(r), ids(context));
  r.say.context = {{"", "and another", frames(3)}};
  context.say.context.push_back({"1", "and another", frames(3)});
  EXPECT_EQ(ids(r), ids(context)) << "numbered on";
}

}  // namespace
}  // namespace syrinx::fish_speech
