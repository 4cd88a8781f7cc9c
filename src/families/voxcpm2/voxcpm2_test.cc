// Tests of what only this family does and needs no golden: options, bounds, parts of text, voices.
// speaking_models_test.cc tests promises of all families.
#include "families/family_fixture.h"
#include "families/voxcpm2/fixture.h"

namespace syrinx::voxcpm2 {
namespace {

class VoxCpm2Test : public FamilyTest<VoxCpm2> {
 protected:
  VoxCpm2Test() : FamilyTest(golden_path("checkpoint")) {}

  static SpeechRequest request(const std::string& text, uint64_t seed = 1) {
    SpeechRequest r = FamilyTest::request(text, 30);
    r.sampling.temperature.reset();
    r.sampling.seed = seed;
    return r;
  }
  /// Takes a step as if the model had made a patch of `value`. `stop`: it is the part's last patch.
  Verdict said(Sequence& state, float value, bool stop) {
    const std::vector<float> patch(static_cast<size_t>(model_.config().patch_width()), value);
    return say_values(state, stop ? 1 : 0, patch);
  }
  static int64_t first_audio(const Sequence& state) {
    const auto ids = state.prompt_ids();
    return std::find(ids.begin(), ids.end(), Prompter::kAudioStart) - ids.begin();
  }
  std::shared_ptr<const Voice> voice(const std::string& mode, size_t samples = 1700) const {
    Recording recording = speech(samples);
    recording.mode = mode, recording.text = "the words of it";
    return encode(*model_.voice_encoder(), recording);
  }
};

TEST_F(VoxCpm2Test, BoundsAndTheStopRule) {
  SpeechRequest r;
  r.say.text = "Hello there.";
  const auto state = open(r);
  const auto count = std::ssize(model_.prompter().text(r.say.text));
  EXPECT_EQ(state->max_steps(), 6 * count + 10);
  EXPECT_EQ(state->prompt_ids().back(), Prompter::kAudioStart);
  EXPECT_EQ(std::ssize(state->prompt_ids()), count + 1);
  const std::vector<float> patch(static_cast<size_t>(model_.config().patch_width()), 0.25f);
  std::vector<int32_t> frames;
  std::vector<WordMark> words;
  std::vector<float> rows;
  const int32_t go_on = 0, stop = 1;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(state->rule(0).ranges, 1) << "it may not end before its third step";
    EXPECT_EQ(state->rule(0).allowed[0].end, 1);
    StepOutput out(frames, words, nullptr, nullptr, patch, &rows);
    EXPECT_EQ(state->advance(std::span(&go_on, 1), out).next, Verdict::kContinue);
  }
  EXPECT_EQ(state->rule(0).ranges, 0);
  StepOutput out(frames, words, nullptr, nullptr, patch, &rows);
  EXPECT_EQ(state->advance(std::span(&stop, 1), out).next, Verdict::kFinished);
  EXPECT_EQ(rows.size(), 4 * patch.size()) << "the patch that says it is the last is heard";
  r.terms.max_frames = 7;
  EXPECT_EQ(open(r)->max_steps(), 7);
}

GivenRow patch_of(const Sequence& state, int pos) {
  int32_t id = -1;
  return row_of(state, pos, false, {&id, 1});
}

TEST_F(VoxCpm2Test, LongTextsAreSpokenInParts) {
  SpeechRequest r;
  for (int i = 0; i < 60; ++i)
    r.say.text += "The fox number " + std::to_string(i) + " said hello. ";
  const auto state = open(r);
  const auto& own = static_cast<const State&>(*state);
  const Prompter& p = model_.prompter();
  std::string spoken;
  int parts = 1;
  int64_t steps = 0;
  for (; parts < 100; ++parts) {
    const std::vector<int32_t> prompt = {state->prompt_ids().begin(), state->prompt_ids().end()};
    if (parts == 2) {
      // The prompt has a voice, earlier words with their audio, and new words.
      EXPECT_EQ(prompt.front(), Prompter::kReferenceStart);
      EXPECT_EQ(prompt[6], Prompter::kReferenceEnd);
      EXPECT_EQ(std::vector(prompt.end() - 6, prompt.end()),
                (std::vector<int32_t>{Prompter::kAudioStart, 0, 0, 0, 0, 0}));
      EXPECT_EQ(patch_of(own, 1)[0], 0.f) << "the first part's beginning";
      EXPECT_EQ(own.last_patch()[0], 4.f) << "goes on from its end";
    }
    EXPECT_LE(state->prompt_rows(), model_.config().max_positions * 3 / 4);
    EXPECT_GE(state->max_steps(), 100);
    Verdict verdict;
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(own.steps(), steps) << "noise is of the request's step";
      verdict = said(*state, static_cast<float>(steps++), i == 4);
    }
    if (parts == 3) {
      EXPECT_EQ(patch_of(own, 1)[0], 0.f) << "still the first part";
    }
    if (verdict.next == Verdict::kFinished) break;
    EXPECT_EQ(verdict.next, Verdict::kNextSegment);
  }
  EXPECT_GT(parts, 5);
  EXPECT_LT(parts, 20);
  // A part begins where the previous part ended, so all parts together are the text.
  SpeechRequest shorter = r;
  shorter.say.text = r.say.text.substr(0, 200);
  EXPECT_EQ(std::ssize(ids(shorter)), std::ssize(p.text(shorter.say.text)) + 1);
  r.terms.max_frames = 7;
  const auto bounded = open(r);
  for (int i = 0; i < 4; ++i) said(*bounded, 0, i == 3);
  EXPECT_EQ(bounded->max_steps(), 3) << "of the request";
}

TEST_F(VoxCpm2Test, PartsOfAVoiceGoOnFromWhatWasSaid) {
  SpeechRequest r;
  r.say.instructions = "warm";
  r.say.text =
      std::string("One two. ") + std::string(250, 'a') + ". " + std::string(250, 'b') + ".";
  for (const char* mode : {"reference", "continuation", "reference+continuation"}) {
    r.voice.data = voice(mode);
    const bool refers = mode[0] == 'r';
    const auto state = open(r);
    const auto& own = static_cast<const State&>(*state);
    const float sound = refers ? patch_of(own, 1)[0] : patch_of(own, 1 + first_audio(*state))[0];
    const size_t context = own.context().size();
    EXPECT_EQ(context > 0, mode != std::string("reference"));
    for (int i = 0; i < 4; ++i) said(*state, 3, i == 3);
    const auto prompt = state->prompt_ids();
    EXPECT_EQ(prompt[0], Prompter::kReferenceStart) << mode;
    EXPECT_EQ(patch_of(own, 1)[0], sound) << mode << ": the recording stays what it is like";
    EXPECT_EQ(first_audio(*state), std::ssize(prompt) - 5) << mode << ": four patches were said";
    const std::vector<int32_t> description = model_.prompter().text("(warm)");
    const auto words = std::find(prompt.begin(), prompt.end(), Prompter::kReferenceEnd) + 1;
    EXPECT_TRUE(std::equal(description.begin(), description.end(), words))
        << "the description holds";
  }
}

TEST_F(VoxCpm2Test, APartThatTookTooLongIsNotHeardAgain) {
  SpeechRequest r;
  r.say.text = std::string(250, 'a') + ". " + std::string(250, 'b') + ".";
  const auto state = open(r);
  for (int i = 0; i < 700; ++i) said(*state, 3, i == 699);
  const auto prompt = state->prompt_ids();
  EXPECT_EQ(first_audio(*state), std::ssize(prompt) - 1) << "it begins anew,";
  EXPECT_EQ(prompt[0], Prompter::kReferenceStart);
  EXPECT_EQ(prompt[1 + model_.config().max_positions / 8], Prompter::kReferenceEnd)
      << "in the voice of the beginning";
  EXPECT_GT(state->max_steps(), 100);
}

TEST_F(VoxCpm2Test, TextIsTakenAsTheAuthorsDo) {
  EXPECT_EQ(one_spaced(" a\n\n b\t\u3000c\x1c"), " a b c ");
  const Prompter& p = model_.prompter();
  EXPECT_EQ(p.text("\u4e16\u754c").size(), 2u) << "a token for each character";
  EXPECT_EQ(p.text("\u4f60\u597d").size(), 1u) << "but where the token has no form without a mark";
  EXPECT_EQ(p.text("</s>").front(), p.text("<").front()) << "control tokens are text";
  SpeechRequest r = request("hello"), described = r;
  described.say.instructions = "a  warm voice";
  EXPECT_EQ(ids(described), ids(request("(a warm voice)hello")));
}

TEST_F(VoxCpm2Test, VoicesInThreeModes) {
  const auto patches = [&](const std::string& mode) {
    SpeechRequest r = request("hello");
    r.voice.data = voice(mode);
    return r;
  };
  const int64_t count = (1700 + 79) / 80, p = model_.config().patch;
  const Voice& both = *patches("reference+continuation").voice.data;
  ASSERT_TRUE(both.find("reference") && both.find("prompt"));
  EXPECT_EQ(both.find("prompt")->shape(), (Shape{count, p, model_.config().latent()}));
  EXPECT_FALSE(voice("reference")->find("prompt"));
  EXPECT_FALSE(voice("continuation")->find("reference"));
  const std::vector<int32_t> reference = ids(patches("reference"));
  EXPECT_EQ(reference[0], Prompter::kReferenceStart);
  EXPECT_EQ(reference[static_cast<size_t>(count) + 1], Prompter::kReferenceEnd);
  EXPECT_EQ(reference.back(), Prompter::kAudioStart);
  EXPECT_EQ(ids(patches("continuation")).back(), 0) << "the speech goes on from the recording";
  const auto state = open(patches("continuation"));
  EXPECT_EQ(std::ssize(static_cast<const State&>(*state).context()),
            State::kContext * model_.config().patch_width());
  EXPECT_TRUE(static_cast<const State&>(*open(patches("reference"))).context().empty());
  // A recording must leave positions for speech, even if it is used twice.
  const VoiceEncoderInfo& info = model_.voice_encoder()->info();
  EXPECT_EQ(info.max_s, 224 / model_.info().speech.frame_rate);

  std::vector<uint64_t> a, b, same;
  open(patches("reference"))->prefix_keys(false, a);
  open(patches("reference"))->prefix_keys(false, same);
  SpeechRequest longer = request("hello");
  longer.voice.data = voice("reference", 1701);
  open(longer)->prefix_keys(false, b);
  EXPECT_EQ(a, same);
  EXPECT_EQ(a[1], b[1]) << "the same sounds";
  EXPECT_NE(a[static_cast<size_t>(count)], b[static_cast<size_t>(count)]);
}

TEST_F(VoxCpm2Test, ListsItsParts) {
  const std::vector<PartInfo>& parts = model_.info().parts;
  ASSERT_EQ(parts.size(), 7u);
  EXPECT_EQ(parts[1].shape, "1 layers, width 32, heads 4/2 x 16, ffn 40, without angles");
}

}  // namespace
}  // namespace syrinx::voxcpm2
