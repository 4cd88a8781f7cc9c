// Tests properties that only CSM has: the end, segments, context, voices, checks, faults.
// spoken_families_test.cc and golden_test.cc test properties of all families.
#include "audio/wav_file.h"
#include "codec/mimi_encoder.h"
#include "families/checkpoint_copy.h"
#include "families/csm/pipeline.h"
#include "families/family_fixture.h"
#include "families/loading/recorded_voice.h"
#include "families/voice_of_frames.h"
#include "io/edit_safetensors.h"
#include "io/safetensors.h"
#include "kernels/fixture.h"
#include "model/step_runner.h"

namespace syrinx::csm {
namespace {

std::string golden_dir(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/csm/golden/" + name;
}

class CsmTest : public FamilyTest<Csm> {
 protected:
  CsmTest() : FamilyTest(golden_dir("taught") + "/checkpoint") {}

  Verdict end(Sequence& state) { return say(state, frames(1, 0)); }
  /// Encodes a recording, which has the codec's rate, in one call.
  std::vector<int32_t> encode(std::span<const float> samples) const {
    using Voices = RecordedVoices<std::unique_ptr<MimiEncoder>>;
    fixture::Bench bench(1);
    const auto& voices = dynamic_cast<const Voices&>(*model_.voice_encoder());
    return voices.networks()->encode(bench.ctx, samples);
  }
};

TEST_F(CsmTest, StepsHearTheirOwnFramesBehindThoseOfTheContext) {
  SpeechRequest r = request("Hello.");
  r.say.context = {{"1", "how are you?", frames(7, 5)}};
  const auto opened = open(r);
  say(*opened, frames(1, 4));
  std::vector<int32_t> want = frames(1, 4);
  want.insert(want.begin(), -1);  // no text
  EXPECT_EQ(row(*opened, opened->prompt_rows()), want);
}

TEST_F(CsmTest, OnlyAFrameOfEndCodesEnds) {
  SpeechRequest r = request("Hello.");
  r.terms.ignore_stop = false;
  const auto state = open(r);
  std::vector<int32_t> almost = frames(1, 0);
  almost.back() = 3;
  EXPECT_EQ(say(*state, almost).next, Verdict::kContinue);
  EXPECT_EQ(said_, almost);
  const Verdict verdict = end(*state);
  EXPECT_EQ(verdict.next, Verdict::kFinished);
  EXPECT_EQ(verdict.reason, FinishReason::kStop);
  EXPECT_EQ(said_, almost) << "the end is not spoken";
  EXPECT_EQ(end(*open(request("Hello."))).next, Verdict::kContinue) << "ignore_stop";
}

TEST_F(CsmTest, RulesAndBounds) {
  SpeechRequest r = request("Hello there.");
  r.terms.max_frames = 0;
  r.sampling.repetition_penalty = 1.3f;
  const auto state = open(r);
  EXPECT_EQ(state->rule(0).allowed[0].end, model_.config().audio_codes());
  EXPECT_EQ(state->rule(3).ranges, 1);
  say(*state, frames(2, 4));
  EXPECT_EQ(state->history(0).size(), 2u);
  EXPECT_TRUE(state->history(1).empty());
  EXPECT_EQ(state->sampling(0).repetition_penalty, 1.3f);
  EXPECT_EQ(state->sampling(1).repetition_penalty, 1.f);
}

TEST_F(CsmTest, LongTextIsSpokenInSegmentsThatHearTheOneBefore) {
  std::string text;
  while (text.size() < 1000) text += "The quick brown fox jumps over the lazy dog. ";
  SpeechRequest r = request(text);
  r.terms.max_frames = 0;
  r.terms.ignore_stop = false;
  r.say.context = {{"1", "how are you?", frames(600, 5)}};
  const auto state = open(r);
  const int first = state->prompt_rows();
  say(*state, frames(30, 4));
  EXPECT_EQ(end(*state).next, Verdict::kNextSegment);
  const int second = state->prompt_rows();
  EXPECT_GT(second, first + 30) << "the frames of the first segment and its text are heard";
  // The new prompt begins with the rows of the previous prompt.
  const std::vector<uint64_t> old_keys = keys(*open(r)), new_keys = keys(*state);
  ASSERT_EQ(static_cast<int>(new_keys.size()), second);
  EXPECT_TRUE(std::equal(old_keys.begin(), old_keys.end(), new_keys.begin()));

  // This segment is too long for the next prompt to repeat it.
  EXPECT_EQ(say(*state, frames(state->max_steps(), 4)).next, Verdict::kNextSegment);
  EXPECT_LT(state->prompt_rows(), second);
  say(*state, frames(5, 4));
  EXPECT_EQ(end(*state).next, Verdict::kFinished);
}

TEST_F(CsmTest, ASegmentMayBeFull) {
  const std::string half = "A" + std::string(197, 'a') + ". ";
  EXPECT_EQ(ids(request(half + half + "The end.")),  // at least 400 bytes
            model_.turn(0, half + half.substr(0, half.size() - 1)));
}

TEST_F(CsmTest, RefusesInvalidContext) {
  const auto refused = [&](const ContextTurn& turn) {
    SpeechRequest r = request("Hello.");
    r.say.context = {{"0", "fine", frames(2)}, turn};
    EXPECT_EQ(refusal(r).param, "context");
    return refusal(r).message;
  };
  EXPECT_NE(refused({"x", "a", {}}).find("turn 1"), std::string::npos);
  EXPECT_NE(refused({"0", "a", {1, 2}}).find("2 codes"), std::string::npos);
  EXPECT_NE(refused({"0", "a", frames(1, 99)}).find("99"), std::string::npos);
  EXPECT_NE(refused({"0", "a", frames(1, -1)}).find("-1"), std::string::npos);
  const auto codes = static_cast<int32_t>(model_.config().audio_codes());
  EXPECT_NE(refused({"0", "a", frames(1, codes)}).find("code"), std::string::npos);
  EXPECT_NE(refused({"0", "a", frames(2100)}).find("turns so far"), std::string::npos);
  EXPECT_NE(refused({"0", "a", frames(1990)}).find("needs"), std::string::npos);
  // All turns together fill the positions exactly, or need one row more; each turn ends with an end
  // frame.
  const auto count = [&](const char* text) { return std::ssize(model_.turn(0, text)); };
  const auto most =
      static_cast<int>(model_.config().max_positions - (count("fine") + 2 + 1) - (count("a") + 1));
  EXPECT_NE(refused({"0", "a", frames(most)}).find("needs"), std::string::npos);
  EXPECT_NE(refused({"0", "a", frames(most + 1)}).find("turns so far"), std::string::npos);
}

TEST_F(CsmTest, ARecordingBecomesContext) {
  const std::vector<float> speech = read_wav(SYRINX_BINARY_DIR "/parity/mimi/speech.wav").samples;
  SpeechRequest r = request("Hello.");
  r.say.context = {{"1", "the quick", encode(std::span(speech).first(9000))}};
  const int64_t frames = (9000 + model_.config().codec.hop() - 1) / model_.config().codec.hop();
  EXPECT_EQ(static_cast<int64_t>(r.say.context[0].codes.size()),
            frames * model_.config().codebooks);
  Runner runner(model_);
  Track track = runner.open(r);
  EXPECT_GT(track.state->prompt_rows(), frames);
  runner.step(track);
  EXPECT_EQ(static_cast<int64_t>(track.frames.size()), model_.config().codebooks);
}

TEST_F(CsmTest, TurnsMayBeGivenAsRecordings) {
  const std::vector<int32_t> codes = frames(7);
  SpeechRequest want = request("Hello.");
  want.voice.name = "3";
  want.say.context = {{"1", "the quick", codes}};
  SpeechRequest got = want;
  got.say.context = {{"1",
                      "the quick",
                      {},
                      voice_of_frames("csm", codes, model_.config().codebooks, "the quick")}};
  EXPECT_EQ(ids(got), ids(want));
  // A speaker may be given by number or by name, also together with a recording.
  SpeechRequest numbered = want;
  numbered.voice.name.clear();
  numbered.voice.speaker = 3;
  EXPECT_EQ(ids(numbered), ids(want));
  numbered.say.context.clear();
  numbered.voice.data = got.say.context[0].recording;
  SpeechRequest turn = want;
  turn.say.context = {{"3", "the quick", codes}};
  EXPECT_EQ(ids(numbered), ids(turn));
  got.say.context[0].recording =
      std::make_shared<const Voice>(Voice{.family = "csm", .encoder = "1", .mode = "continuation"});
  EXPECT_EQ(refusal(got).param, "context");
}

TEST_F(CsmTest, AVoiceOfARecordingIsHeardFirst) {
  const Recording recording{
      .samples = read_wav(SYRINX_BINARY_DIR "/parity/mimi/speech.wav").samples,
      .sample_rate = 24000,
      .text = "the quick",
      .mode = "continuation"};
  const auto voice = syrinx::encode(*model_.voice_encoder(), recording);
  EXPECT_EQ(ints(*voice->find("codes")), encode(recording.samples)) << "in pieces as in one call";
  // A voice yields the same prompt and page keys as a conversation whose first turn is the voice's
  // recording.
  SpeechRequest spoken = request("Hello."), told = request("Hello.");
  told.say.context = {{"0", "the quick", encode(recording.samples)}, {"1", "warm", frames(2)}};
  spoken.say.context = {told.say.context[1]};
  spoken.voice.data = voice;
  spoken.voice.name = "a name of the user's";
  const auto a = open(spoken), b = open(told);
  EXPECT_EQ(keys(*a), keys(*b));
  EXPECT_TRUE(std::ranges::equal(a->prompt_ids(), b->prompt_ids()));
  Runner runner(model_);
  Track x = runner.open(spoken), y = runner.open(told);
  for (int i = 0; i < 3; ++i) runner.step(x), runner.step(y);
  EXPECT_TRUE(x.logits == y.logits);
}

/// A changed copy of a small checkpoint, and the error of loading it. Empty: it loads.
struct Copy : CheckpointCopy {
  explicit Copy(const std::string& name = "taught")
      : CheckpointCopy(golden_dir(name) + "/checkpoint") {}
  std::string fault() const {
    return load_fault_of([&] { Csm model({dir.path(), "copy"}); });
  }
};

TEST(CsmLoad, TakesTheLayoutOfTransformersBesideTheAuthors) {
  // The published repository has both layouts; model.safetensors has that of the authors.
  Copy copy("published_rates");
  const Tensor tensor({2, 2}, DType::kF32);
  SafetensorsWriter writer(copy.dir.path("model.safetensors"));
  writer.add("backbone.layers.0.attn.q_proj.weight", tensor);
  writer.finish();
  EXPECT_EQ(copy.fault(), "");
  copy.replace("config.json", "\"transformers_weights\"", "\"some_other_key\"");
  EXPECT_EQ(copy.fault(), "") << "the index has its usual name";
  std::filesystem::remove(copy.dir.path("transformers.safetensors.index.json"));
  EXPECT_NE(copy.fault().find("authors' own layout"), std::string::npos) << copy.fault();
}

}  // namespace
}  // namespace syrinx::csm
