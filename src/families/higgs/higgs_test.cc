// Tests promises that only Higgs Audio makes: the end, segments, tags, voices, checks, faults.
// spoken_families_test.cc and golden_test.cc test promises of all families.
#include <nlohmann/json.hpp>

#include "codec/qwen3_audio_fixture.h"
#include "families/checkpoint_copy.h"
#include "families/family_fixture.h"
#include "families/higgs/pipeline.h"
#include "families/higgs/tags.h"
#include "families/voice_of_frames.h"
#include "io/safetensors.h"
#include "io/test_dir.h"
#include "model/step_runner.h"

namespace syrinx::higgs {
namespace {

constexpr int kC = 8;

std::string golden_file(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/higgs/golden/" + name;
}
std::shared_ptr<Voice> voice_of(std::span<const int32_t> codes, int64_t codebooks,
                                const std::string& text = "") {
  return voice_of_frames(kFamily, codes, codebooks, text);
}

class HiggsTest : public FamilyTest<Higgs> {
 protected:
  HiggsTest() : FamilyTest(golden_file("checkpoint")) {}

  std::vector<int32_t> words(const std::string& text) const {
    return text_ids(model_.tokenizer(), text, "input").take();
  }
  /// Takes a step with the codes first, first + 1, ...; with `end`, stream 0 has its end mark
  /// instead.
  Verdict step(Sequence& state, int32_t first, bool end = false) {
    std::vector<int32_t> codes;
    for (int k = 0; k < kC; ++k) codes.push_back(first + k);
    if (end) codes[0] = model_.config().end();
    return say(state, codes);
  }
  /// Ends a segment after `count` frames, which must be at least kC.
  Verdict speak(Sequence& state, int count) {
    for (int i = 0; i < count; ++i) step(state, i % 20);
    Verdict verdict = step(state, 0, true);
    for (int i = 0; i < kC - 2; ++i) {
      EXPECT_EQ(verdict.next, Verdict::kContinue);
      verdict = step(state, 3);
    }
    return verdict;
  }
};

TEST_F(HiggsTest, StreamsBeginAndEndOneAfterAnother) {
  const auto opened = open(plain("Hello."));
  for (int now = 0; now < 10; ++now) {
    EXPECT_EQ(opened->rule(7).forced, now < 7 ? 0 : -1) << now;
    EXPECT_EQ(opened->rule(0).forced, -1);
    EXPECT_EQ(opened->rule(0).ranges, 0) << "the authors let the model say anything";
    EXPECT_EQ(said_.size(), now < 8 ? 0u : static_cast<size_t>((now - 7) * kC));
    // In the first steps, an end mark does not end the segment.
    EXPECT_EQ(step(*opened, now, now == 2).next, Verdict::kContinue);
  }
  EXPECT_EQ(std::vector(said_.begin() + kC, said_.begin() + 2 * kC),
            (std::vector<int32_t>{1, 3, 5, 7, 9, 11, 13, 15}));
  EXPECT_EQ(said_[2 * kC], 0) << "a mark is no code";
  EXPECT_EQ(row(*opened, opened->prompt_rows() + 2),
            (std::vector<int32_t>{-1, 33, 3, 4, 32, 32, 32, 32, 32}));
  EXPECT_EQ(step(*opened, 0, true).next, Verdict::kContinue);
  EXPECT_EQ(opened->rule(0).forced, -1) << "the model says the rest";
  for (int i = 0; i < 5; ++i) EXPECT_EQ(step(*opened, 11).next, Verdict::kContinue);
  EXPECT_EQ(row(*opened, opened->prompt_rows() + 11)[1], 11);
  const Verdict last = step(*opened, 12);
  EXPECT_EQ(last.next, Verdict::kFinished);
  EXPECT_EQ(last.reason, FinishReason::kStop);
  EXPECT_EQ(said_.size(), 10u * kC) << "frames before the end";
}

TEST_F(HiggsTest, BoundsIncludeTheTailOfThePattern) {
  SpeechRequest r = plain("Hello there.");
  r.terms.max_frames = 5, r.terms.ignore_stop = true;
  const auto bounded = open(r);
  EXPECT_EQ(bounded->max_steps(), 5 + kC - 1);
  for (int i = 0; i < bounded->max_steps(); ++i) step(*bounded, 1);
  EXPECT_EQ(said_.size(), 5u * kC);
  EXPECT_EQ(bounded->rule(0).allowed[0].end, 33) << "never the end";
  EXPECT_EQ(bounded->rule(1).ranges, 0);
}

TEST_F(HiggsTest, SegmentsHearWhatWasSaidBefore) {
  std::string text = "<|emotion:sadness|><|prosody:pause|>First of all. ";
  while (text.size() < 700) text += "And then it goes on and on for a while. ";
  SpeechRequest r = request(text);
  r.terms.ignore_stop = false, r.terms.max_frames = 20;
  r.voice.data = voice_of(frames(4, 5), kC, "hello there");
  const auto state = open(r);
  EXPECT_EQ(state->max_steps(), 20 + kC - 1);
  const int first = state->prompt_rows();
  const std::vector<int32_t> before(state->prompt_ids().begin(), state->prompt_ids().end());
  for (int i = 0; i < 12; ++i) step(*state, i % 20);
  const std::vector<std::vector<int32_t>> fed = rows_fed(*state, first + 12);
  const Verdict next = speak(*state, 0);
  EXPECT_EQ(next.next, Verdict::kNextSegment);
  EXPECT_EQ(next.kept, first + 13) << "with the end, not what the model said behind it";
  EXPECT_EQ(rows_fed(*state, first + 12), fed);
  const std::span<const int32_t> now = state->prompt_ids();
  ASSERT_GT(std::ssize(now), first + 12 + kC - 1);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), now.begin()));
  EXPECT_EQ(std::count(now.begin(), now.end(), kHeard), 4 + 12 + 2 * (kC - 1));
  EXPECT_EQ(row(*state, first), (std::vector<int32_t>{-1, 0, 32, 32, 32, 32, 32, 32, 32}))
      << "as delayed";
  EXPECT_EQ(now[first + 12 + kC - 1], model_.tokenizer().need_id(kText));
  EXPECT_EQ(now[first + 12 + kC], words("<|emotion:sadness|>")[0]) << "delivery holds on";
  EXPECT_NE(now[first + 12 + kC + 1], words("<|prosody:pause|>")[0]) << "pauses do not";
  EXPECT_EQ(state->max_steps(), 8 + kC - 1) << "of all segments together";
  EXPECT_EQ(speak(*state, 8).next, Verdict::kFinished);

  const auto short_of = open(r);
  const Verdict full = speak(*short_of, 20);
  EXPECT_EQ(full.next, Verdict::kFinished);
  EXPECT_EQ(full.reason, FinishReason::kLength);
}

TEST_F(HiggsTest, BlanksAreKeptAsTheAuthorsProgramKeepsThem) {
  int voiced = 0;
  for (const auto& each : nlohmann::json::parse(slurp(golden_file("prompts.json")))) {
    SpeechRequest r = request(each["text"]);
    const std::string reference = each["reference"];
    if (!reference.empty()) r.voice.data = voice_of(frames(2), kC, reference);
    std::vector<int32_t> want = each["ids"];
    for (int32_t& id : want)
      if (id < 0) id = kHeard;
    EXPECT_EQ(ids(r), want) << each["text"] << " " << reference;
    voiced += !reference.empty();
  }
  EXPECT_EQ(voiced, 2);
}

TEST_F(HiggsTest, ASegmentEndsWithinThePositions) {
  const CheckpointCopy copy(golden_file("checkpoint"));
  copy.replace("config.json", "\"max_position_embeddings\": 4096",
               "\"max_position_embeddings\": 512");
  const Higgs small({copy.dir.path(), "x"});
  SpeechRequest r = request("");
  r.say.open = true, r.terms.ignore_stop = false, r.terms.max_frames = 0;
  r.voice.data = voice_of(frames(64), kC, "and other things");
  const auto state = open_only(small, r);
  int segments = 0, most = 0;
  for (int i = 0; i < 12; ++i) {
    const Status taken =
        state->append_text("the quick brown fox jumps over the dog. How are ", false);
    ASSERT_TRUE(taken.ok()) << taken.error().message;
    for (; state->ready(); ++segments) {
      most = std::max(most, state->prompt_rows() + state->max_steps());
      const int steps = state->max_steps();
      Verdict verdict;
      for (int s = 0; s < steps; ++s) verdict = step(*state, s % 20);
      ASSERT_EQ(verdict.next, Verdict::kNextSegment) << "cut at its bound";
    }
  }
  EXPECT_GE(segments, 5);
  EXPECT_EQ(most, 512) << "all positions are used, and none beyond";
}

TEST_F(HiggsTest, OfALongTextTheBeginningIsHeard) {
  SpeechRequest r = request("");
  r.say.open = true, r.terms.ignore_stop = false, r.terms.max_frames = 0;
  const auto state = open(r);
  int64_t most = 0;
  int back = 0;
  for (int i = 0; i < 12; ++i) {
    const std::string said = "The number of this sentence, which is long enough to be alone, is " +
                             std::to_string(i) + ". ";
    ASSERT_TRUE(state->append_text(said, false).ok());
    if (!state->ready()) continue;
    back += state->prompt_rows() < most;
    most = std::max<int64_t>(most, state->prompt_rows());
    EXPECT_TRUE(holds(state->prompt_ids(), words(" is 0."))) << i << ": the first sentence";
    EXPECT_EQ(speak(*state, 200).next, Verdict::kNextSegment);
  }
  EXPECT_GE(back, 1);
  EXPECT_GT(most, 600);
  EXPECT_LE(most, model_.config().max_positions / 4 + 400);
}

TEST_F(HiggsTest, TagsThatLateTextBeginsWithHoldForAllOfIt) {
  SpeechRequest r = request("");
  r.say.open = true, r.terms.ignore_stop = false;
  const auto state = open(r);
  const std::string text =
      "<|style:whispering|>Hello there, this is the first of the sentences to be said. "
      "How are you today, and how is everybody else at home? I am fine.";
  ASSERT_TRUE(state->append_text(text, true).ok());
  EXPECT_EQ(speak(*state, 9).next, Verdict::kNextSegment);
  EXPECT_TRUE(holds(state->prompt_ids(), words("<|style:whispering|>How are you")));
}

TEST_F(HiggsTest, TagsAreTokensAndOtherControlsAreText) {
  EXPECT_EQ(words("<|sfx:laughter|>").size(), 1u);
  const std::vector<int32_t> said = words("a<|audio|><|tts|>b<|prosody:pause|>c");
  for (const char* word : {kAudio, kTts}) {
    EXPECT_EQ(std::count(said.begin(), said.end(), model_.tokenizer().need_id(word)), 0);
  }
  std::vector<int32_t> parts = words("a<|audio|><|tts|>b");
  for (const char* part : {"<|prosody:pause|>", "c"}) {
    const std::vector<int32_t> more = words(part);
    parts.insert(parts.end(), more.begin(), more.end());
  }
  EXPECT_EQ(said, parts) << "all that is said around a tag";
  EXPECT_EQ(std::count(said.begin(), said.end(), words("<|prosody:pause|>")[0]), 1);
  const Error unknown = refusal(request("Well, <|emotion:hunger|> yes."));
  EXPECT_EQ(unknown.param, "input");
  EXPECT_NE(unknown.message.find("<|emotion:hunger|>"), std::string::npos);
  for (const char* plain : {"a <|b c:d|> e", "<|:|>", "<|a:b", "a|>", "<|a:B|>"}) {
    EXPECT_FALSE(find_tag(plain)) << plain;
  }
  EXPECT_EQ(leading_tags("<|emotion:sadness|><|prosody:speed_slow|> a"),
            "<|emotion:sadness|><|prosody:speed_slow|>");
  EXPECT_EQ(leading_tags("<|prosody:pause|><|emotion:sadness|>a"), "");
  EXPECT_EQ(leading_tags("a<|emotion:sadness|>"), "");
}

TEST_F(HiggsTest, RefusesWhatItCannotSay) {
  SpeechRequest r = request("Hello.");
  r.voice.name = "default";
  EXPECT_EQ(ids(r), ids(request("Hello.")));
  r = request("Hello.");
  r.say.instructions = "whisper";
  const Status checked = check_request(model_.info(), r);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("<|emotion:sadness|>"), std::string::npos);
}

TEST_F(HiggsTest, AVoiceOfARecordingIsItsFrames) {
  constexpr int64_t kSamples = 24500;
  const VoiceEncoder& encoder = *model_.voice_encoder();
  const Recording recording{.samples = fixture::golden_signal(kSamples, kSamples),
                            .sample_rate = 24000};
  const auto encode = [&](Recording each) {
    each.mode = check_recording(encoder.info(), each).take();
    return syrinx::encode(encoder, each);
  };
  const auto heard = encode(recording);
  const Safetensors golden(golden_file("encoder.safetensors"));
  const std::vector<int32_t> codes = ints(golden.view("codes_24500"));
  EXPECT_EQ(ints(*heard->find("codes")), codes);
  SpeechRequest r = request("Hello."), given = r;
  r.voice.data = heard;
  given.voice.data = voice_of(codes, kC);
  given.voice.name = "a name of the user's";
  EXPECT_EQ(ids(r), ids(given));

  Recording told = recording;
  told.text = "how are you?";
  r.voice.data = encode(told);
  given.voice.data = voice_of(codes, kC, told.text);
  EXPECT_EQ(ids(r), ids(given)) << "with its words";
}

}  // namespace
}  // namespace syrinx::higgs
