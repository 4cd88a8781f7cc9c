// Tests, without golden files, promises of the family: the end, phases, guidance, voices, checks,
// faults. writing_models_test.cc and the suites of speaking models have the rest.
#include "families/checkpoint_copy.h"
#include "families/golden_checks.h"
#include "families/opuslm/fixture.h"
#include "io/torch_pickle.h"

namespace syrinx::opuslm {
namespace {

constexpr int kS = 9;

class OpusLmTest : public testing::Test {
 protected:
  OpusLmTest() : model_({plain_.path(), "tiny"}), talker_({voiced_.path(), "tiny"}) {}

  static SpeechRequest request(const std::string& text) {
    SpeechRequest r;
    r.say.text = text;
    r.sampling.temperature = 0.f;
    r.terms.max_frames = 60;
    r.terms.ignore_stop = true;
    return r;
  }
  static SpeechRequest chat(const std::string& messages) {
    SpeechRequest r;
    r.writing.chat = std::make_shared<Chat>(Chat{messages, "", {}});
    r.sampling.temperature = 0.f;
    r.writing.max_tokens = 6;
    return r;
  }
  static std::unique_ptr<Sequence> open(const OpusLm& model, const SpeechRequest& r) {
    return open_only(model, r);
  }
  static Error refusal(const OpusLm& model, const SpeechRequest& r) { return refusal_of(model, r); }
  static std::vector<int32_t> frames(int count, int32_t code = 1) {
    return std::vector<int32_t>(static_cast<size_t>(count * kS), code);
  }
  Verdict step(Sequence& state, int32_t first, int32_t others) {
    std::vector<int32_t> codes(kS, others);
    codes[0] = first;
    said_.clear();
    StepOutput out(said_, marks_);
    const Verdict verdict = state.advance(codes, out);
    written_ += out.written();
    return verdict;
  }

  ModelDir plain_, voiced_{true};
  OpusLm model_, talker_;
  std::vector<int32_t> said_;
  std::vector<WordMark> marks_;
  std::string written_;
};

TEST_F(OpusLmTest, StreamsBeginLateAndSpeechEndsAfterTheLeast) {
  SpeechRequest r;
  r.say.text = "Hello.";
  const auto state = open(model_, r);
  const ModelConfig& m = model_.config();
  const int32_t unit = m.first_unit + 2;
  for (int now = 0; now < 12; ++now) {
    for (int k = 1; k < kS; ++k) EXPECT_EQ(state->rule(k).forced, now < k ? 0 : -1) << now;
    EXPECT_EQ(state->rule(0).ranges, now < 5 ? 2 : 3) << "audio_minlen is 5";
    EXPECT_EQ(step(*state, unit, now + 1).next, Verdict::kContinue);
    EXPECT_EQ(said_.size(), now < 8 ? 0u : 8u);
  }
  // In frame 3, the code of stream s was chosen in step 3 + s. Choice step + 1 is the code `step`.
  EXPECT_EQ(said_, (std::vector<int32_t>{4, 5, 6, 7, 8, 9, 10, 11}));
  std::vector<int32_t> ids(kS);
  row_of(*state, state->prompt_rows() + 1, false, ids);
  EXPECT_EQ(ids, (std::vector<int32_t>{unit, m.first_code + 1, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(step(*state, m.ids.end, 0).next, Verdict::kContinue);
  // The model samples the frame of the end and one more unit. Then pads follow.
  for (int i = 1; i < 7; ++i) {
    EXPECT_EQ(state->rule(0).forced, i == 1 ? -1 : 0) << i;
    for (int k = 1; k < kS; ++k) EXPECT_EQ(state->rule(k).forced, k < i ? 0 : -1) << i << " " << k;
    EXPECT_EQ(step(*state, unit, 0).next, Verdict::kContinue);
  }
  EXPECT_EQ(step(*state, unit, 0).next, Verdict::kFinished);
  EXPECT_EQ(said_.back(), 0) << "a pad is the first code";
  EXPECT_EQ(said_.size(), 8u);
}

TEST_F(OpusLmTest, AnEndTakesTheTailAlong) {
  SpeechRequest r;
  r.say.text = "Hello.";
  const auto state = open(model_, r);
  const ModelConfig& m = model_.config();
  int frames = 0;
  Verdict verdict;
  for (int i = 0; i < 6; ++i) step(*state, m.first_unit, 1), frames += !said_.empty();
  verdict = step(*state, m.ids.end, 1);
  for (int i = 0; i < 7; ++i) {
    ASSERT_EQ(verdict.next, Verdict::kContinue) << i;
    frames += !said_.empty();
    verdict = step(*state, m.first_unit, 1);
  }
  frames += !said_.empty();
  EXPECT_EQ(verdict.next, Verdict::kFinished);
  EXPECT_EQ(verdict.reason, FinishReason::kStop);
  EXPECT_EQ(frames, 6);
}

TEST_F(OpusLmTest, WordsAreWrittenThenSpoken) {
  const auto state = open(talker_, chat(R"([{"role": "user", "content": "hello"}])"));
  const ModelConfig& m = talker_.config();
  const std::vector<int32_t> hello = talker_.prompter().words("hello there");
  const int rows = state->prompt_rows();
  ASSERT_LT(hello.size(), 6u);
  for (const int32_t id : hello) {
    EXPECT_EQ(state->rule(4).forced, 0) << "words have no codes";
    EXPECT_EQ(step(*state, id - m.first_word + m.first_code, 0).next, Verdict::kContinue);
    EXPECT_TRUE(said_.empty());
  }
  const int words = rows + static_cast<int>(hello.size());
  const auto fed = [&] {
    std::vector<std::vector<int32_t>> out(static_cast<size_t>(words), std::vector<int32_t>(kS));
    for (int pos = 0; pos < words; ++pos) row_of(*state, pos, false, out[static_cast<size_t>(pos)]);
    return out;
  };
  const auto before = fed();
  const Verdict next = step(*state, m.ids.end, 0);
  EXPECT_EQ(next.next, Verdict::kNextSegment);
  EXPECT_EQ(next.kept, words) << "speech goes on behind the words";
  EXPECT_EQ(fed(), before);
  EXPECT_EQ(written_, "hello there");
  EXPECT_EQ(state->prompt_rows(), rows + static_cast<int>(hello.size()) + 1 + 8 + 2);
  EXPECT_EQ(state->prompt_ids().back(), m.ids.speech);
  EXPECT_EQ(state->prompt_ids()[static_cast<size_t>(words)], m.ids.end) << "behind the words";
  EXPECT_EQ(state->rule(0).allowed[0].begin, m.ids.speech) << "no end yet";
  EXPECT_EQ(state->rule(0).allowed[1].begin, m.first_unit);
  EXPECT_GT(state->max_steps(), 8);
  EXPECT_LT(state->max_steps(), 1000) << "speech that never ends is bounded by its words";
}

// Logits of words are not computed for speech, nor logits of codes for words, even in one batch.
TEST_F(OpusLmTest, OnlyWhatMayBeChosenIsComputed) {
  const ModelConfig& m = talker_.config();
  Runner runner(talker_);
  Track speech = runner.open(request("Hello there."));
  SpeechRequest answer = chat(R"([{"role": "user", "content": "hello"}])");
  answer.terms.ignore_stop = true;
  Track words = runner.open(answer);
  Track* both[] = {&speech, &words};
  for (int step = 0; step < 3; ++step) runner.step(both);
  const auto computed = [](std::span<const float> logits) {
    return std::count_if(logits.begin(), logits.end(), [](float x) { return x != -INFINITY; });
  };
  const int64_t control = m.first_unit;  // with the end and the ids of kinds
  EXPECT_EQ(computed(speech.logits[2]), control + m.units);
  EXPECT_EQ(computed(words.logits[2]), control + m.words);
  EXPECT_EQ(computed(words.inner[2]), 0);
  EXPECT_EQ(computed(speech.inner[2]), 2 * m.choices(1)) << "two streams of codes have begun";
}

TEST_F(OpusLmTest, WordsThatNeverEndAreBounded) {
  const auto state = open(talker_, chat(R"([{"role": "user", "content": "hello"}])"));
  const int32_t word = talker_.config().first_code + 40;
  Verdict verdict;
  for (int i = 0; i < 6; ++i) verdict = step(*state, word, 0);
  EXPECT_EQ(verdict.next, Verdict::kNextSegment) << "what there is is spoken";
  const int32_t unit = talker_.config().first_unit;
  for (int i = 0; i < 6; ++i) EXPECT_EQ(step(*state, unit, 1).next, Verdict::kContinue);
  verdict = step(*state, talker_.config().ids.end, 1);
  for (int i = 0; i < 7; ++i) verdict = step(*state, unit, 1);
  EXPECT_EQ(verdict.next, Verdict::kFinished);
  EXPECT_EQ(verdict.reason, FinishReason::kLength) << "the words were cut";
}

TEST_F(OpusLmTest, AStopStringIsNotSpoken) {
  const ModelConfig& m = talker_.config();
  const std::vector<int32_t> hello = talker_.prompter().words("hello");
  const std::vector<int32_t> stop = talker_.prompter().words("##");
  SpeechRequest r = chat(R"([{"role": "user", "content": "hello"}])");
  r.writing.stop = {"##"};
  r.writing.max_tokens = 20;
  const auto write = [&](Sequence& state, const std::vector<int32_t>& ids) {
    Verdict verdict;
    for (const int32_t id : ids) {
      EXPECT_EQ(verdict.next, Verdict::kContinue);
      verdict = step(state, id - m.first_word + m.first_code, 0);
    }
    return verdict;
  };
  std::vector<int32_t> all = hello;
  all.insert(all.end(), stop.begin(), stop.end());
  const auto state = open(talker_, r);
  std::vector<int32_t> want(state->prompt_ids().begin(), state->prompt_ids().end());
  const Verdict verdict = write(*state, all);
  EXPECT_EQ(written_, "hello");
  EXPECT_EQ(verdict.next, Verdict::kNextSegment);
  want.insert(want.end(), hello.begin(), hello.end());
  EXPECT_EQ(verdict.kept, std::ssize(want)) << "rows behind them are run anew";
  want.push_back(m.ids.end);
  want.resize(want.size() + kS - 1, m.ids.pad);
  want.push_back(m.ids.assistant), want.push_back(m.ids.speech);
  EXPECT_EQ(std::vector(state->prompt_ids().begin(), state->prompt_ids().end()), want);
  const auto silent = open(talker_, r);
  const Verdict end = write(*silent, stop);
  EXPECT_EQ(end.next, Verdict::kFinished) << "nothing was written";
  EXPECT_EQ(end.reason, FinishReason::kStop);
}

TEST_F(OpusLmTest, GuidanceHasACompanionOfPads) {
  SpeechRequest r = request("Hello.");
  EXPECT_FALSE(open(model_, r)->guidance()) << "none unless it is asked for";
  r.sampling.guidance = 3.f;
  const auto state = open(model_, r);
  EXPECT_EQ(state->step_guidance(4), 3.f);
  std::vector<int32_t> companion(kS);
  row_of(*state, 1, true, companion);
  EXPECT_EQ(companion, std::vector<int32_t>(kS, 0));
  SpeechRequest words = chat(R"([{"role": "user", "content": "hello"}])");
  words.sampling.guidance = 3.f;
  const auto writer = open(talker_, words);
  EXPECT_EQ(writer->step_guidance(0), 1.f) << "words have no guidance";
  const auto is_pads = [&](int pos) {
    row_of(*writer, pos, true, companion);
    return companion == std::vector<int32_t>(kS, 0);
  };
  step(*writer, talker_.config().first_code + 40, 0);
  EXPECT_TRUE(is_pads(writer->prompt_rows())) << "a word";
  EXPECT_EQ(step(*writer, talker_.config().ids.end, 0).next, Verdict::kNextSegment);
  EXPECT_EQ(writer->step_guidance(0), 3.f) << "its speech is";
  EXPECT_TRUE(is_pads(1)) << "the prompt of speech";
  step(*writer, talker_.config().first_unit, 1);
  EXPECT_FALSE(is_pads(writer->prompt_rows())) << "both are fed what was sampled";
}

TEST_F(OpusLmTest, VoicesAreCutOrFilled) {
  const int64_t length = model_.config().speaker_frames;
  const auto rows = [&](int count) {
    SpeechRequest r = request("Hello.");
    if (count > 0) r.voice.data = voice_of_frames(kFamily, frames(count), kS);
    return open(model_, r)->prompt_rows();
  };
  const int without = rows(0);
  for (const int count : {1, 12, 30}) EXPECT_EQ(rows(count), without + 1 + length + 8) << count;
}

TEST_F(OpusLmTest, RefusesWhatItCannotDo) {
  SpeechRequest r = chat(R"([{"role": "user", "content": "a"}])");
  r.writing.top_logprobs = 1;
  EXPECT_EQ(refusal(talker_, r).param, "logprobs");
  auto hearing = std::make_shared<Hearing>();
  hearing->frames = std::vector<int32_t>(10, 0);
  r = request(""), r.task = hearing;
  EXPECT_NE(
      refusal(model_, r).message.find("10 codes are not whole frames: each frame needs 9 codes"),
      std::string::npos);
  EXPECT_EQ(refusal(model_, chat(R"([{"role": "user", "content": "a"}])")).param, "modalities");
}

TEST_F(OpusLmTest, ACodecThatIsNotOneFileIsNamed) {
  const ModelDir dir;
  const auto fault = [&] { return load_fault_of([&] { OpusLm({dir.path(), "x"}); }); };
  const std::string folder = dir.path("espnet_codec_dac_large_v1.4_360epoch");
  std::filesystem::copy(folder + "/360epoch.pth", folder + "/100epoch.pth");
  EXPECT_NE(fault().find("one .pth file"), std::string::npos);
  std::filesystem::remove_all(folder);
  EXPECT_NE(fault().find("ftshijt/espnet_codec_dac_large_v1.4_360epoch"), std::string::npos);
}

// A checkpoint from ESPnet's converter has other names, and is in safetensors.
TEST_F(OpusLmTest, AConvertedCheckpointIsTheSame) {
  const ModelDir dir;
  const TorchPickle file(dir.path("model.pth"));
  nlohmann::json header;
  std::string bytes;
  for (const TorchTensor& tensor : file.tensors()) {
    std::string name = tensor.name;
    if (name == "corelm.emb.weight") name = "corelm.decoders.model.embed_tokens.weight";
    if (name.starts_with("criterion.")) continue;
    for (const char* prefix : {"corelm.decoders.", "corelm."}) {
      if (name.starts_with(prefix)) name = name.substr(std::string(prefix).size());
    }
    const View view = file.view(tensor);
    const size_t begin = bytes.size();
    bytes.append(static_cast<const char*>(view.data), view.bytes());
    header[name] = {
        {"dtype", "BF16"}, {"shape", tensor.sizes}, {"data_offsets", {begin, bytes.size()}}};
  }
  const std::string text = header.dump();
  const uint64_t size = text.size();
  std::ofstream(dir.path("model.safetensors"), std::ios::binary)
      << std::string(reinterpret_cast<const char*>(&size), 8) << text << bytes;
  std::filesystem::remove(dir.path("model.pth"));
  const OpusLm converted({dir.path(), "x"});
  Runner one(model_), other(converted);
  Track a = one.open(request("Hello.")), b = other.open(request("Hello."));
  for (int i = 0; i < 12; ++i) one.step(a), other.step(b);
  EXPECT_TRUE(a.logits == b.logits);
  EXPECT_EQ(a.frames, b.frames);
}

}  // namespace
}  // namespace syrinx::opuslm
