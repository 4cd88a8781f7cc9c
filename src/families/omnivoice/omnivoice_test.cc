// Tests what only OmniVoice promises: canvases, segments, bounds, voices, fades, refusals.
#include <cstring>

#include "families/checkpoint_copy.h"
#include "families/family_fixture.h"
#include "families/omnivoice/fixture.h"
#include "families/omnivoice/length.h"
#include "model/run_streams.h"

namespace syrinx::omnivoice {
namespace {

constexpr int64_t kC = 8;

class OmniVoiceTest : public FamilyTest<OmniVoice> {
 protected:
  OmniVoiceTest() : FamilyTest(golden_path("plain/checkpoint")) {}

  size_t frames_of(const SpeechRequest& request) const {
    return spoken_frames(model_, request).size() / kC;
  }
  std::vector<float> samples_of(std::span<const int32_t> frames, const Sequence& state) const {
    Passes passes(model_);
    return through_chunk_stages(model_.graph(), state, frames, passes.context());
  }
};

TEST(OmniVoicePasses, ReplaceAllMasksInTheEnd) {
  for (const int64_t codes : {1, 8, 33, 360, 6000}) {
    int64_t sum = 0;
    for (int pass = 0; pass < kPasses; ++pass) sum += unmasked_in(pass, codes);
    EXPECT_EQ(sum, codes);
  }
  EXPECT_GT(unmasked_in(kPasses - 1, 6000), 20 * unmasked_in(0, 6000)) << "late passes do most";
}

TEST_F(OmniVoiceTest, ATextIsASegmentForEachLongerSentence) {
  const std::string first = "The quick brown fox jumps over the lazy dog, and then runs away.",
                    second = "It was never seen again by anyone who lived beside the river.";
  const auto state = state_of(model_, plain(first + " " + second + " Yes."));
  Passes passes(model_);
  std::vector<int32_t> said;
  for (int pass = 0; pass < kPasses; ++pass) {
    EXPECT_TRUE(state->next_pass().recorded.empty());
    passes.run(*state);
    const Verdict verdict = advance(*state, said);
    if (pass + 1 < kPasses) {
      EXPECT_EQ(verdict.next, Verdict::kContinue);
      EXPECT_TRUE(said.empty()) << "a canvas is sent when it is whole";
      continue;
    }
    EXPECT_EQ(verdict.next, Verdict::kNextSegment);
    EXPECT_TRUE(verdict.new_streams);
  }
  EXPECT_EQ(std::ssize(said) / kC, estimated_frames(first, {}, 1));
  // The first segment is the recording of the second one.
  EXPECT_TRUE(std::ranges::equal(state->next_pass().recorded, said));
  EXPECT_EQ(std::ssize(state->canvas()) / kC,
            estimated_frames(second, {first, std::ssize(said) / kC}, 1));
  const std::vector<int32_t> expected = model_.prompter().ids({}, first, second, true);
  EXPECT_TRUE(std::ranges::equal(state->prompt_ids(), expected));
}

TEST_F(OmniVoiceTest, ALongSentenceIsCutBehindPunctuation) {
  std::string text = "one";
  for (int i = 0; i < 8; ++i) text += ", and then one more of all these many things";
  SpeechRequest request = plain(text + ".");
  EXPECT_EQ(state_of(model_, request)->canvas().size() / kC,
            static_cast<size_t>(estimated_frames(text + ".", {}, 1)));
  request.voice.speed = 0.5f;
  const auto state = state_of(model_, request);
  const auto count = static_cast<double>(state->canvas().size() / kC);
  EXPECT_LT(count, 15 * 25 * 1.05);
  EXPECT_GT(count, 8 * 25);
  SpeechRequest endless = plain(std::string(390, '1'));
  endless.voice.speed = 0.25f;
  EXPECT_EQ(refusal(endless).param, "input");
}

TEST_F(OmniVoiceTest, SpeedDividesTheLength) {
  SpeechRequest request = plain("Hello there, how are you?");
  const size_t usual = frames_of(request);
  request.voice.speed = 2;
  EXPECT_EQ(frames_of(request), usual / 2);
}

TEST_F(OmniVoiceTest, LaterSentencesHaveTheRequestsSpeedOnce) {
  const std::string second = "It was never seen again by anyone who lived beside the river.";
  const auto later = [&](const std::string& first, float speed) {
    SpeechRequest request = plain(first + "\n\n" + second);
    request.voice.speed = speed;
    const auto state = state_of(model_, request);
    Passes passes(model_);
    std::vector<int32_t> said;
    for (int pass = 0; pass < kPasses; ++pass) {
      passes.run(*state);
      advance(*state, said);
    }
    return std::ssize(state->canvas()) / kC;
  };
  const std::string long_one = "The quick brown fox jumps over the lazy dog, and runs away.";
  EXPECT_EQ(later(long_one, 2), estimated_frames(second, {}, 2));
  // The length of a short text is a raised estimate, so it does not set the pace of later segments.
  EXPECT_EQ(later("Hi!", 1), estimated_frames(second, {}, 1));
}

TEST_F(OmniVoiceTest, TooManySentencesAreRefused) {
  std::string text;
  for (int i = 0; i < 60'000; ++i) text += "a\n\n";
  SpeechRequest request = plain(text);
  request.voice.data = heard_voice(std::vector<int32_t>(kC * 9), kC, std::string(2000, 'b'), 1);
  EXPECT_NE(refusal(request).message.find("too many sentences"), std::string::npos);
}

TEST_F(OmniVoiceTest, BoundsCutAndRepeat) {
  SpeechRequest request = plain("Hello there, how are you?");
  const std::vector<int32_t> whole = spoken_frames(model_, request);
  request.terms.max_frames = 7;
  const std::vector<int32_t> cut = spoken_frames(model_, request);
  EXPECT_EQ(std::ssize(cut), 7 * kC);
  EXPECT_TRUE(std::ranges::equal(cut, std::span(whole).first(cut.size())));
  request.terms.max_frames = 100;
  EXPECT_EQ(spoken_frames(model_, request), whole);
  request.terms.ignore_stop = true;
  EXPECT_EQ(frames_of(request), 100u);
}

TEST_F(OmniVoiceTest, SeedsGuidanceTemperatureAndStyleMatter) {
  const SpeechRequest usual = plain("Hello there.");
  const std::vector<int32_t> frames = spoken_frames(model_, usual);
  EXPECT_EQ(spoken_frames(model_, usual), frames);
  const auto differs = [&](auto change) {
    SpeechRequest other = usual;
    change(other);
    return spoken_frames(model_, other) != frames;
  };
  EXPECT_TRUE(differs([](SpeechRequest& r) { r.sampling.seed = 1; }));
  EXPECT_TRUE(differs([](SpeechRequest& r) { r.sampling.guidance = 0.f; }));
  EXPECT_TRUE(differs([](SpeechRequest& r) { r.sampling.guidance = 4.f; }));
  EXPECT_TRUE(differs([](SpeechRequest& r) { r.sampling.temperature = 1.f; }));
  EXPECT_TRUE(differs([](SpeechRequest& r) { r.say.language = "en"; }));
  EXPECT_TRUE(differs([](SpeechRequest& r) { r.say.instructions = "male"; }));
}

TEST_F(OmniVoiceTest, TheSameBitsAloneAndInCompany) {
  std::vector<SpeechRequest> requests;
  for (const char* text : {"Hello there.", "The quick brown fox jumps over the lazy dog", "a"})
    requests.push_back(plain(text));
  requests[1].sampling.guidance = 0.f;
  requests[2].sampling.temperature = 0.7f;
  requests.push_back(plain("Hello there."));
  requests[3].voice.data = heard_voice(std::vector<int32_t>(11 * kC, 5), kC, "how are you?", 0.2f);
  std::vector<std::unique_ptr<State>> states;
  std::vector<State*> together;
  for (const SpeechRequest& request : requests)
    together.push_back(states.emplace_back(state_of(model_, request)).get());
  Passes passes(model_);
  std::vector<std::vector<int32_t>> said(requests.size());
  for (int pass = 0; pass < kPasses; ++pass) {
    passes.run(together);
    for (size_t i = 0; i < together.size(); ++i) advance(*together[i], said[i]);
  }
  for (size_t i = 0; i < requests.size(); ++i)
    EXPECT_EQ(said[i], spoken_frames(model_, requests[i])) << i;
}

TEST(OmniVoicePasses, OverManyRowsTakeSeveralSteps) {
  ModelConfig config;
  config.lm.layers = 28;
  EXPECT_EQ(steps_of_pass(config, 512), 1);
  EXPECT_EQ(steps_of_pass(config, 513), 2);
  EXPECT_EQ(steps_of_pass(config, 6500), 14) << "two layers a step";
  EXPECT_EQ(steps_of_pass(config, 1'000'000), 28);
}

/// In each batch with a short canvas, a long one runs only some layers. It gets the same codes.
TEST_F(OmniVoiceTest, AShortCanvasDoesNotWaitForPassesOfALongOne) {
  SpeechRequest slow = plain("The quick brown fox jumps over the lazy dog, and then runs away.");
  slow.voice.speed = 0.25f;
  const SpeechRequest quick = plain("Hello there.");
  const auto slow_one = state_of(model_, slow), whole = state_of(model_, slow),
             quick_one = state_of(model_, quick);
  const int parts = slow_one->next_pass().parts;
  ASSERT_GT(parts, 1);
  Passes passes(model_);
  std::vector<int32_t> slow_said, quick_said, whole_said;
  State* both[] = {slow_one.get(), quick_one.get()};
  for (int step = 0; step < kPasses; ++step) {
    passes.run(both);
    advance(*slow_one, slow_said);
    EXPECT_EQ(advance(*quick_one, quick_said).next,
              step + 1 < kPasses ? Verdict::kContinue : Verdict::kFinished);
  }
  EXPECT_EQ(quick_said, spoken_frames(model_, quick));
  while (slow_said.empty()) {
    passes.run(*slow_one);
    advance(*slow_one, slow_said);
  }
  while (whole_said.empty()) {
    CanvasPass pass = whole->next_pass();
    pass.parts = 1, pass.kept = {};
    passes.run(pass);
    for (int i = 0; i < parts; ++i) advance(*whole, whole_said);
  }
  EXPECT_EQ(slow_said, whole_said);
}

TEST_F(OmniVoiceTest, LogitsThatAreNotFiniteChangeNoFrame) {
  const CheckpointCopy copy(golden_path("plain/checkpoint"));
  const std::string file = copy.dir.path("model.safetensors");
  EditableSafetensors edited(file);
  const float nan = NAN;
  std::memcpy(edited.data("audio_embeddings.weight"), &nan, 4);  // code 0 of codebook 0
  edited.write(file);
  const OmniVoice broken({copy.dir.path(), "broken"});
  SpeechRequest heard = plain("Hello.");
  heard.voice.data = heard_voice(std::vector<int32_t>(9 * kC, 0), kC, "x", 1);
  const auto bad = state_of(broken, heard), good = state_of(broken, plain("Hello."));
  Passes passes(broken);
  State* both[] = {bad.get(), good.get()};
  passes.run(both);
  EXPECT_FALSE(std::isfinite(passes.sums()[0]));
  EXPECT_TRUE(std::isfinite(passes.sums()[1]));
  const auto masks = [&](const State& state) {
    return std::ranges::count(state.canvas(), broken.config().mask);
  };
  EXPECT_EQ(masks(*bad), std::ssize(bad->canvas()));
  EXPECT_LT(masks(*good), std::ssize(good->canvas()));
}

TEST_F(OmniVoiceTest, AVoiceSetsPaceAndLevel) {
  SpeechRequest request = plain("Hello there, how are you?");
  request.voice.data = heard_voice(std::vector<int32_t>(60 * kC, 5), kC, "Hello there", 0.05f);
  const auto state = state_of(model_, request);
  EXPECT_EQ(std::ssize(state->canvas()) / kC,
            estimated_frames("Hello there, how are you?", {"Hello there.", 60}, 1));
  EXPECT_EQ(state->gain(), 0.5f);
  EXPECT_EQ(state_of(model_, plain("Hello."))->gain(), 1);
}

TEST_F(OmniVoiceTest, SamplesHaveTheVoicesLevelAndFades) {
  SpeechRequest request = plain("Hello there.");
  request.voice.data = heard_voice(std::vector<int32_t>(20 * kC, 5), kC, "Hello", 0.05f);
  const std::vector<int32_t> frames = spoken_frames(model_, request);
  const auto quiet = state_of(model_, request), usual = state_of(model_, plain("Hello."));
  const std::vector<float> whole = samples_of(frames, *quiet);
  std::vector<float> loud = samples_of(frames, *usual);
  for (float& x : loud) x *= 0.5f;
  EXPECT_LT(relative(loud, whole), 1e-6f);
  EXPECT_EQ(whole.front(), 0);
  EXPECT_EQ(whole.back(), 0);
}

TEST_F(OmniVoiceTest, RefusesWhatItLacks) {
  const auto refused = [&](auto change) {
    SpeechRequest r = plain("Hello.");
    change(r);
    return refusal(r).param;
  };
  EXPECT_EQ(refused([](SpeechRequest& r) { r.say.instructions = "a warm voice"; }), "instructions");
  EXPECT_EQ(refused([](SpeechRequest& r) { r.sampling.guidance = 21.f; }), "guidance");
  EXPECT_EQ(refused([](SpeechRequest& r) { r.voice.speed = 5; }), "speed");
  EXPECT_EQ(model_.info().speech.languages.size(), 646u);
}

}  // namespace
}  // namespace syrinx::omnivoice
