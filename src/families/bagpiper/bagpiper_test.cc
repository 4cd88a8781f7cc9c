// Tests properties of the family that need no golden files: phases, ends, guidance, late text,
// prompts, checks, faults. writing_models_test.cc has the rest.
#include "families/bagpiper/fixture.h"
#include "families/checkpoint_copy.h"
#include "families/family_fixture.h"
#include "families/golden_checks.h"
#include "model/past_context.h"

namespace syrinx::bagpiper {
namespace {

constexpr int kS = 8;

class BagpiperTest : public FamilyTest<Bagpiper> {
 protected:
  BagpiperTest() : FamilyTest(golden_path("checkpoint")) {}

  static SpeechRequest request(const std::string& text) {
    SpeechRequest r = FamilyTest::request(text, 30);
    r.writing.max_tokens = 5;
    return r;
  }
  static SpeechRequest chat(const std::string& messages, bool spoken = true) {
    SpeechRequest r;
    r.writing.chat = std::make_shared<Chat>(Chat{messages, "", {}});
    r.sampling.temperature = 0.f;
    r.writing.max_tokens = 6;
    r.writing.text_only = !spoken;
    return r;
  }
  static SpeechRequest said(const std::string& text, bool spoken = true) {
    return chat(R"([{"role": "user", "content": ")" + text + R"("}])", spoken);
  }
  Verdict step(Sequence& state, int32_t first, int32_t others) {
    std::vector<int32_t> codes(kS, others);
    codes[0] = first;
    said_.clear();
    StepOutput out(said_, words_);
    const Verdict verdict = state.advance(codes, out);
    written_ += out.written();
    return verdict;
  }
  int32_t word(int i) const { return ModelConfig::kFirstWord + i; }
  int32_t code(int i) const { return model_.config().first_code(0) + 1 + i; }
  /// Takes the steps of a word and of the ids before speech: end of part, assistant, audio.
  void speak(Sequence& state) {
    step(state, word(40), 0);
    step(state, kEndPart, 0);
    step(state, kAssistant, 0);
    step(state, kAudio, 0);
  }

  std::string written_;
};

TEST_F(BagpiperTest, WordsThenATurnThenSpeech) {
  const auto state = open(said("hello"));
  const ModelConfig& m = model_.config();
  const int rows = state->prompt_rows();
  EXPECT_EQ(state->rule(0).ranges, 1) << "no end before the first word";
  EXPECT_EQ(state->rule(0).allowed[0].begin, ModelConfig::kFirstWord);
  EXPECT_EQ(state->rule(0).allowed[0].end, m.first_code(0));
  EXPECT_EQ(state->rule(3).forced, kPad);
  EXPECT_NEAR(open([&] {
                SpeechRequest r = said("hello");
                r.sampling.temperature.reset();
                return r;
              }())
                  ->sampling(0)
                  .temperature,
              0.6f, 1e-6f);
  EXPECT_EQ(step(*state, word(40), 0).next, Verdict::kContinue);
  EXPECT_EQ(state->rule(0).ranges, 2);
  EXPECT_EQ(state->rule(0).allowed[0].begin, kEnd);
  EXPECT_EQ(state->rule(0).allowed[0].end, kEndPart + 1);
  EXPECT_EQ(step(*state, kEnd, 0).next, Verdict::kContinue) << "any end of the words will do";
  EXPECT_FALSE(written_.empty());
  EXPECT_EQ(state->rule(0).forced, kAssistant);
  step(*state, kAssistant, 0);
  EXPECT_EQ(state->rule(0).forced, kAudio);
  EXPECT_EQ(state->step_guidance(0), 1.f);
  step(*state, kAudio, 0);
  EXPECT_EQ(state->rule(0).forced, -1);
  EXPECT_EQ(state->rule(0).ranges, 1) << "no end before 50 steps";
  EXPECT_EQ(state->rule(0).allowed[0].begin, m.first_code(0));
  EXPECT_EQ(state->rule(5).allowed[0].begin, 1) << "a pad that is no slot of the stream";
  EXPECT_EQ(state->step_guidance(5), 3.f) << "the released scale";
  EXPECT_EQ(state->prompt_rows(), rows) << "all in one segment";
}

TEST_F(BagpiperTest, TheModelFillsWhatComesBeforeAndTheEndTakesTheTailAlong) {
  SpeechRequest r = said("hello");
  const auto state = open(r);
  speak(*state);
  const int first = state->prompt_rows() + 4;
  int frames = 0;
  Verdict verdict;
  for (int now = 0; now < 50; ++now) {
    EXPECT_EQ(state->rule(7).forced, -1);
    verdict = step(*state, code(now % 20), now % 20 + 2);
    EXPECT_EQ(verdict.next, Verdict::kContinue);
    EXPECT_EQ(said_.size(), now < 7 ? 0u : 8u);
    frames += !said_.empty();
  }
  // In frame 42, the code of codebook s was sampled in step 42 + s.
  EXPECT_EQ(said_, (std::vector<int32_t>{2, 3, 4, 5, 6, 7, 8, 9}));
  std::vector<int32_t> ids(kS);
  const auto& own = static_cast<const State&>(*state);
  row_of(own, first, false, ids);
  for (int s = 0; s < kS; ++s) EXPECT_EQ(ids[s], model_.config().first_code(s) + 1) << s;
  EXPECT_EQ(state->rule(0).ranges, 2);
  verdict = step(*state, kEnd, 1);
  EXPECT_TRUE(said_.empty());
  EXPECT_EQ(verdict.next, Verdict::kFinished);
  EXPECT_EQ(verdict.reason, FinishReason::kStop);
  EXPECT_EQ(frames, 50 - 7) << "seven steps of the tail are no frames";
}

TEST_F(BagpiperTest, APadWhereACodeBelongsIsTheFirstCode) {
  const auto state = open(said("hello"));
  speak(*state);
  for (int i = 0; i < 8; ++i) step(*state, model_.config().first_code(0), 1);
  EXPECT_EQ(said_, std::vector<int32_t>(8, 0));
}

TEST_F(BagpiperTest, PhasesThatNeverEndAreBounded) {
  SpeechRequest r = said("hello");
  r.terms.max_frames = 9;
  const auto state = open(r);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(state->rule(0).forced, -1) << i;
    EXPECT_EQ(step(*state, word(50), 0).next, Verdict::kContinue);
  }
  EXPECT_EQ(state->rule(0).forced, kAssistant) << "what there is of words is made audible";
  step(*state, kAssistant, 0), step(*state, kAudio, 0);
  Verdict verdict;
  int steps = 0;
  while (verdict.next == Verdict::kContinue && steps < 100)
    verdict = step(*state, code(1), 2), ++steps;
  EXPECT_EQ(steps, 9 + 7);
  EXPECT_EQ(verdict.next, Verdict::kFinished);
  EXPECT_EQ(verdict.reason, FinishReason::kLength);
  EXPECT_EQ(state->max_steps(), 6 + 2 + 16 + 32) << "and the turns of more parts";
  SpeechRequest free = said("hello");
  free.writing.max_tokens = 0;
  EXPECT_LE(open(free)->prompt_rows() + open(free)->max_steps(), model_.config().max_positions);
}

TEST_F(BagpiperTest, ACutIsReportedThoughTheRestEndsByItself) {
  const auto spoken_to_its_end = [&](Sequence& state) {
    for (int i = 0; i < State::kLeastSpeech; ++i) step(state, code(1), 2);
    return step(state, kEnd, 1);
  };
  const auto wordy = open(said("hello"));
  for (int i = 0; i < 6; ++i) step(*wordy, word(50), 0);
  step(*wordy, kAssistant, 0), step(*wordy, kAudio, 0);
  Verdict verdict = spoken_to_its_end(*wordy);
  EXPECT_EQ(verdict.next, Verdict::kFinished);
  EXPECT_EQ(verdict.reason, FinishReason::kLength);
  // A text that is read aloud has two segments. The first one is cut at the limit of speech steps.
  SpeechRequest r = request("It has been a very long time since we have met in this town. " +
                            std::string(390, 'a') + ".");
  r.terms.max_frames = 0;
  const auto reader = open(r);
  speak(*reader);
  int steps = 0;
  do {
    verdict = step(*reader, code(1), 2);
  } while (verdict.next == Verdict::kContinue && ++steps < State::kMostSpeech);
  ASSERT_EQ(verdict.next, Verdict::kNextSegment);
  speak(*reader);
  verdict = spoken_to_its_end(*reader);
  EXPECT_EQ(verdict.next, Verdict::kFinished);
  EXPECT_EQ(verdict.reason, FinishReason::kLength);
}

TEST_F(BagpiperTest, GuidanceHasACompanionOfPads) {
  SpeechRequest r = said("hello");
  r.sampling.guidance = 1.f;
  EXPECT_FALSE(open(r)->guidance().has_value());
  EXPECT_FALSE(open(said("hello", false))->guidance().has_value()) << "words have no guidance";
  r.sampling.guidance = 2.f;
  const auto state = open(r);
  EXPECT_EQ(state->guidance(), 2.f);
  EXPECT_EQ(state->step_guidance(0), 1.f);
  std::vector<uint64_t> keys;
  state->prefix_keys(true, keys);
  EXPECT_EQ(keys, std::vector<uint64_t>(static_cast<size_t>(state->prompt_rows()), 0));
  speak(*state);
  EXPECT_EQ(state->step_guidance(4), 2.f);
  step(*state, code(3), 5);
  const auto& own = static_cast<const State&>(*state);
  std::vector<int32_t> main(kS), companion(kS), pads(kS, -1);
  pads[0] = kPad;
  const int rows = state->prompt_rows();
  for (const int pos : {0, rows - 1, rows, rows + 1, rows + 2}) {
    row_of(own, pos, true, companion);
    EXPECT_EQ(companion, pads) << pos;
    row_of(own, pos, false, main);
    EXPECT_NE(main, pads) << pos;
  }
  for (const int pos : {rows + 3, rows + 4}) {  // rows of kAudio and of the first speech step
    row_of(own, pos, true, companion);
    row_of(own, pos, false, main);
    EXPECT_EQ(main, companion) << pos;
  }
  EXPECT_EQ(main[0], code(3));
  EXPECT_EQ(main[7], model_.config().first_code(7) + 4);
  r.sampling.guidance = 101.f;
  EXPECT_EQ(refusal(r).param, "guidance");
}

TEST_F(BagpiperTest, APartThatIsNotTheLastIsFollowedByWhatTheModelSays) {
  SpeechRequest r = said("hello");
  r.sampling.guidance = 2.f;
  r.terms.max_frames = 0;
  const auto state = open(r);
  const int rows = state->prompt_rows();
  speak(*state);  // takes four steps: three ids, then the kind of the next part
  Verdict verdict;
  for (int i = 0; i < State::kLeastSpeech; ++i) verdict = step(*state, code(3), 5);
  const int end = state->prompt_rows() + state->max_steps();
  verdict = step(*state, kEndPart, 5);
  const int spoke = rows + 4 + State::kLeastSpeech;
  EXPECT_EQ(verdict.next, Verdict::kNextSegment);
  EXPECT_EQ(verdict.kept, spoke);
  EXPECT_EQ(verdict.companion_kept, rows + 3) << "what it was fed of the sound is a past of pads";
  EXPECT_TRUE(verdict.new_streams);
  EXPECT_EQ(state->prompt_rows(), spoke + 2);
  EXPECT_EQ(state->prompt_rows() + state->max_steps(), end) << "all parts have room together";
  // The kind of the next part is the likelier of two kinds. It is chosen without guidance.
  EXPECT_EQ(state->rule(0).forced, -1);
  ASSERT_EQ(state->rule(0).ranges, 1);
  EXPECT_EQ(state->rule(0).allowed[0].begin, kText);
  EXPECT_EQ(state->rule(0).allowed[0].end, kAudio + 1);
  EXPECT_EQ(state->rule(1).forced, kPad);
  EXPECT_EQ(state->sampling(0).temperature, 0.f);
  EXPECT_EQ(state->step_guidance(0), 1.f);
  const auto& own = static_cast<const State&>(*state);
  std::vector<int32_t> main(kS), companion(kS), pads(kS, -1);
  pads[0] = kPad;
  for (const int pos : {rows + 3, spoke - 1, spoke, spoke + 1}) {
    row_of(own, pos, true, companion);
    EXPECT_EQ(companion, pads) << pos;
    row_of(own, pos, false, main);
    EXPECT_NE(main, pads) << pos;
  }
  EXPECT_EQ(main[0], kAssistant);
  // Words may follow. Their first id must not be the end.
  step(*state, kText, 0);
  EXPECT_EQ(state->rule(0).ranges, 1);
  EXPECT_EQ(state->rule(0).allowed[0].begin, ModelConfig::kFirstWord);
  step(*state, word(50), 0);
  EXPECT_EQ(state->rule(0).ranges, 2);
  EXPECT_TRUE(written_.find("\n\n") != std::string::npos) << "apart from those before the sound";
  verdict = step(*state, kEndPart, 0);
  EXPECT_EQ(verdict.next, Verdict::kNextSegment);
  EXPECT_FALSE(verdict.new_streams);
  EXPECT_EQ(verdict.companion_kept, verdict.kept);
  EXPECT_EQ(step(*state, kAudio, 0).next, Verdict::kContinue);
  EXPECT_EQ(state->step_guidance(0), 2.f);
}

TEST_F(BagpiperTest, PartsWithoutEndAreBounded) {
  const auto writer = open(said("hello", false));
  Verdict verdict;
  int parts = 0;
  while (verdict.next != Verdict::kFinished && parts < 100) {
    step(*writer, word(50), 0);
    verdict = step(*writer, kEndPart, 0);
    if (verdict.next != Verdict::kFinished) verdict = step(*writer, kText, 0);
    ++parts;
  }
  EXPECT_EQ(parts, 3) << "six ids are allowed";
  EXPECT_EQ(verdict.reason, FinishReason::kLength);
  const auto asked = open(said("hello", false));
  step(*asked, word(50), 0);
  step(*asked, kEndPart, 0);
  verdict = step(*asked, kAudio, 0);
  EXPECT_EQ(verdict.next, Verdict::kFinished) << "nobody asked for sound";
  EXPECT_EQ(verdict.reason, FinishReason::kStop);
  // When a text is read aloud, the end of its audio ends the request.
  const auto reader = open(request("Hello."));
  speak(*reader);
  for (int i = 0; i < State::kLeastSpeech; ++i) step(*reader, code(3), 5);
  EXPECT_EQ(step(*reader, kEndPart, 5).next, Verdict::kFinished);
}

TEST_F(BagpiperTest, OnlyChatsReportThoughts) {
  const auto state = open(request("Hello."));
  step(*state, word(40), 0);
  step(*state, kEndPart, 0);
  EXPECT_TRUE(written_.empty());
}

TEST_F(BagpiperTest, AStopStringEndsTheWords) {
  SpeechRequest r = said("hello", false);
  const std::string stop = model_.prompter().bytes(word(40));
  r.writing.stop = {stop};
  r.writing.text_only = false;
  const auto speaker = open(r);
  step(*speaker, word(40), 0);
  EXPECT_EQ(speaker->rule(0).forced, kAssistant);
}

TEST_F(BagpiperTest, ATextIsReadInAScene) {
  EXPECT_EQ(Prompter::scene("Hello.", ""), "A clear voice says: 'Hello.'. No background noise.");
  EXPECT_EQ(Prompter::scene("Hello.", "A calm male voice says: "),
            "A calm male voice says: 'Hello.'");
  SpeechRequest r = request("Hello.");
  r.say.instructions = "An old man whispers.";
  const auto state = open(r);
  const auto same = open(said("An old man whispers: 'Hello.'"));
  const auto ids = state->prompt_ids(), want = same->prompt_ids();
  EXPECT_TRUE(std::equal(ids.begin(), ids.end(), want.begin(), want.end()));
}

TEST_F(BagpiperTest, LongAndLateTextIsReadInSegments) {
  SpeechRequest r = request("");
  r.say.open = true;
  r.terms.max_frames = 0;
  const auto state = open(r);
  expect_a_sentence_to_be_taken(*state);
  for (int segment = 0; segment < 2; ++segment) {
    speak(*state);
    for (int i = 0; i < 50; ++i) step(*state, code(1), 2);
    const Verdict verdict = step(*state, kEnd, 1);
    EXPECT_EQ(verdict.next, segment == 0 ? Verdict::kNextSegment : Verdict::kFinished);
  }
}

TEST_F(BagpiperTest, RowsOfRecordingsStandInThePromptAndHaveNoKeys) {
  SpeechRequest r = chat(R"([{"role": "user", "content": [{"type": "text", "text": "a"},
      {"type": "audio", "audio": ""}, {"type": "text", "text": "b"}, {"type": "text", "text": "c"}]}])",
                         false);
  r.writing.recordings.push_back(recording_of(16000));
  const auto state = open(r);
  EXPECT_FALSE(state->ready());
  const auto ids = state->prompt_ids();
  EXPECT_EQ(std::count(ids.begin(), ids.end(), Prompter::kHeardRow), 13);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), kEndPart), 2) << "the user goes on twice";
  const auto place = std::find(ids.begin(), ids.end(), Prompter::kHeardRow) - ids.begin();
  EXPECT_EQ(ids[place - 1], kAudio);
  EXPECT_EQ(state->known_rows(), place);
  std::vector<uint64_t> keys;
  state->prefix_keys(false, keys);
  EXPECT_EQ(std::ssize(keys), place);
  step(*state, word(3), 0);
  keys.clear();
  state->step_keys(false, keys);
  EXPECT_TRUE(keys.empty());
  state->step_keys(true, keys);
  EXPECT_EQ(keys, std::vector<uint64_t>{kPad}) << "a companion hears nothing";
}

TEST_F(BagpiperTest, ARecordingIsWrittenDownByTheAuthorsKindOfQuestion) {
  const auto ids = [&](SpeechRequest r) {
    const auto state = open(r);
    return std::vector(state->prompt_ids().begin(), state->prompt_ids().end());
  };
  Result<SpeechRequest> r = model_.dictation({recording_of(20000)});
  ASSERT_TRUE(r.ok());
  EXPECT_TRUE(r.value().writing.text_only);
  EXPECT_EQ(r.value().sampling.temperature, 0.f);
  SpeechRequest asked = chat(R"([
      {"role": "system", "content": "You are an audio understanding assistant."},
      {"role": "user", "content": [{"type": "audio"},
       {"type": "text", "text": "Transcribe the speech in this audio."}]}])",
                             false);
  asked.writing.recordings = {recording_of(20000)};
  EXPECT_EQ(ids(r.value()), ids(asked));
  EXPECT_NE(ids(model_.dictation({recording_of(20000), "German"}).take()), ids(asked));
  const auto text = [&](const char* answer, bool whole) {
    return model_.dictated({}, answer, whole).text;
  };
  EXPECT_EQ(text("<think>hm</think>the fox", true), "the fox");
  EXPECT_EQ(text("<think>hm</think>the", false), "the");
  EXPECT_EQ(text("the fox", true), "the fox");
  EXPECT_EQ(text("<think>the", true), "");
  EXPECT_EQ(text("the fox", false), "") << "thoughts may still begin";
  EXPECT_EQ(model_.info().hearing.dictates_s, 30);
}

TEST_F(BagpiperTest, RefusesWhatItCannotDo) {
  SpeechRequest r = request(" ");
  EXPECT_EQ(refusal(r).param, "input");
  r = request("a"), r.say.in_prompt = false;
  EXPECT_EQ(refusal(r).param, "text_in_prompt");
  r = request("a"), r.voice.name = "anna";
  EXPECT_EQ(refusal(r).code, ErrorCode::kNotFound);
  r = request("a"), r.writing.text_only = true;
  EXPECT_EQ(refusal(r).param, "prompt");
  r = request("a"), r.writing.top_logprobs = 2;
  EXPECT_EQ(refusal(r).param, "logprobs");
  r = request("a"), r.writing.recordings.push_back(recording_of(900));
  EXPECT_EQ(refusal(r).param, "messages");
  const Error longer = refusal(said(std::string(9000, 'x')));
  EXPECT_TRUE(is_past_context(longer)) << longer.message;
  EXPECT_NE(longer.message.find("an answer needs 256 more"), std::string::npos) << longer.message;
  r = chat(R"([{"role": "user", "content": [{"type": "audio"}]}])", false);
  r.writing.recordings = {recording_of(200)};
  EXPECT_EQ(refusal(r).message, "recording 1 is too short for this model");
  EXPECT_EQ(model_.info().hearing.seconds, 30);
}

TEST_F(BagpiperTest, BadCheckpointsAreNamed) {
  const auto fault = [](const ModelDir& dir) {
    return load_fault_of([&] { Bagpiper({dir.path(), "x"}); });
  };
  {
    const ModelDir dir;
    auto json = nlohmann::json::parse(slurp(dir.path("config.json")));
    json["vocab_size"] = json["vocab_size"].get<int>() + 1;  // this does not match the streams
    std::filesystem::remove(dir.path("config.json"));
    std::ofstream(dir.path("config.json")) << json.dump();
    misname_tensor(dir.path("model.pt"), "stream_emb.weight");
    const std::string told = fault(dir);
    EXPECT_NE(told.find("model.pt"), std::string::npos) << told;
    EXPECT_NE(told.find("module.stream_emb.weight"), std::string::npos) << told;
    EXPECT_EQ(told.find("embed_tokens"), std::string::npos) << "no consequence of it: " << told;
  }
  {
    const ModelDir dir;
    std::filesystem::remove(dir.path("config.json"));
    std::filesystem::remove(dir.path("tokenizer.json"));
    const std::string told = fault(dir);
    for (const char* part : {"config.json and tokenizer.json", "Qwen/Qwen3-8B-Base", "model.pt"})
      EXPECT_NE(told.find(part), std::string::npos) << told;
  }
}

TEST_F(BagpiperTest, SizesThatNoTensorHasAreThePublishedOnes) {
  const Weights dummy(dummy_weights());
  const ModelConfig m =
      load_model_config(Config::load(golden_path("checkpoint/config.json")), dummy);
  EXPECT_EQ(m.codes, 1024);
  EXPECT_EQ(m.streams, 8);
  EXPECT_EQ(m.audio.width, 1280);
  EXPECT_EQ(m.audio.heads, 20);
  EXPECT_EQ(m.audio.layers, 32);
  EXPECT_EQ(m.vocab(), ModelConfig::kFirstWord + m.words + 8 * 1025);
  const XCodecConfig codec = XCodecConfig::of(dummy, XCodecConfig::general());
  EXPECT_EQ(codec.codec.hop(), 320);
  EXPECT_EQ(codec.codec.sample_rate, 16000);
  EXPECT_EQ(codec.codec.codebook_dim, 1024);
}

}  // namespace
}  // namespace syrinx::bagpiper
