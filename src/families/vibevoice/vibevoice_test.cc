// Tests of what only this family does and needs no golden: windows and parts of text, options,
// bounds, faulty voices. speaking_models_test.cc tests promises of all families.
#include "families/checkpoint_copy.h"
#include "families/family_fixture.h"
#include "families/vibevoice/fixture.h"
#include "io/edit_safetensors.h"

namespace syrinx::vibevoice {
namespace {

class VibeVoiceTest : public FamilyTest<VibeVoice> {
 protected:
  VibeVoiceTest() : FamilyTest(golden_path("other/checkpoint")) {}

  static SpeechRequest request(const std::string& text, uint64_t seed = 1) {
    return plain(text, seed);
  }
  static SpeechRequest open_request() {
    SpeechRequest r;
    r.say.open = true;
    return r;
  }
  std::vector<float> latents(const SpeechRequest& r, int steps) const {
    GuidedRun run(model_, r);
    for (int i = 0; i < steps; ++i) run.step();
    return run.latents();
  }
  /// Takes a step with a latent of zeros. `end`: its code marks the previous latent as the last.
  Verdict said(Sequence& state, bool end = false) {
    const std::vector<float> latent(static_cast<size_t>(model_.config().latent()));
    return say_values(state, end ? State::kEnd : 0, latent);
  }
};

TEST_F(VibeVoiceTest, WindowsOfFiveIdsAndSixLatents) {
  const auto state = open(request("The quick brown fox jumps over the lazy dog."));
  const auto& own = static_cast<const State&>(*state);
  int rows = state->prompt_rows(), companion = state->companion_rows(), windows = 0;
  EXPECT_EQ(std::ssize(state->prompt_ids()), 5);
  for (;;) {
    const bool last = state->max_steps() != State::kLatents + 1;
    EXPECT_EQ(state->rule(0).ranges, 1) << "behind text nothing ends";
    for (int i = 0; i < State::kLatents; ++i) {
      EXPECT_EQ(said(*state).next, Verdict::kContinue);
      EXPECT_EQ(state->rule(0).ranges, 0);
      EXPECT_EQ(state->step_guidance(0), own.looking() ? 1 : State::kGuidance);
    }
    EXPECT_EQ(own.looking(), !last);
    ++windows;
    if (last) break;
    const Verdict verdict = said(*state);
    EXPECT_EQ(verdict.next, Verdict::kNextSegment);
    EXPECT_EQ(verdict.kept, rows + State::kLatents);
    EXPECT_EQ(verdict.companion_kept, companion + State::kLatents - 1);
    EXPECT_FALSE(verdict.new_streams);
    rows = state->prompt_rows(), companion += State::kLatents;
    EXPECT_EQ(state->companion_rows(), companion);
    EXPECT_GT(rows, verdict.kept);
    EXPECT_LE(rows, verdict.kept + 5);
  }
  EXPECT_EQ(windows, (std::ssize(state->prompt_ids()) + 4) / 5);
  EXPECT_EQ(std::ssize(rows_), windows * State::kLatents * model_.config().latent());
  EXPECT_EQ(said(*state, true).next, Verdict::kFinished);
  EXPECT_EQ(std::ssize(rows_), windows * State::kLatents * model_.config().latent());
}

TEST_F(VibeVoiceTest, TheEndBetweenWindowsEndsTheRequest) {
  const auto state = open(request("The quick brown fox jumps over the lazy dog."));
  for (int i = 0; i < State::kLatents; ++i) said(*state);
  const Verdict verdict = said(*state, true);
  EXPECT_EQ(verdict.next, Verdict::kFinished);
  EXPECT_EQ(verdict.reason, FinishReason::kStop);
}

TEST_F(VibeVoiceTest, LateTextWaitsForAWindow) {
  const auto state = open(open_request());
  EXPECT_FALSE(state->ready());
  EXPECT_TRUE(state->append_text("  The quick", false));
  EXPECT_FALSE(state->ready()) << state->prompt_ids().size();
  EXPECT_TRUE(state->append_text(" brown fox jumps over", false));
  ASSERT_TRUE(state->ready());
  const int rows = state->prompt_rows();
  for (int windows = 0; state->ready(); ++windows) {
    ASSERT_LT(windows, 20);
    for (int i = 0; i < State::kLatents; ++i) EXPECT_EQ(said(*state).next, Verdict::kContinue);
    EXPECT_EQ(said(*state).next, Verdict::kNextSegment) << "text may come";
  }
  EXPECT_GE(state->prompt_rows(), rows + State::kLatents) << "all rows so far are known";
  EXPECT_TRUE(state->append_text("", true));
  EXPECT_TRUE(state->ready());
  EXPECT_FALSE(state->append_text("more", true));
  const auto whole = open(request("The quick brown fox jumps over"));
  std::vector<int32_t> ids;
  TextWindows text(model_.tokenizer(), 1000);
  for (const char* piece : {" The qu", "ick brown f", "ox jumps over \n"}) text.push(piece, false);
  text.push("", true);
  while (text.ready())
    for (const int32_t id : text.take()) ids.push_back(id);
  while (whole->max_steps() == State::kLatents + 1) said(*whole);
  EXPECT_TRUE(std::ranges::equal(whole->prompt_ids(), ids));
}

/// The small model has too few positions for this text as one part.
TEST_F(VibeVoiceTest, LongTextIsSpokenInParts) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "The fox said hello there to the dog. ";
  const auto state = open(request(text));
  const int voice = state->prompt_rows() - 5;
  const int64_t most = (model_.config().max_positions - voice) / 4;
  int parts = 1;
  for (int steps = 0;; ++steps) {
    ASSERT_LT(steps, 5000);
    ASSERT_LE(state->prompt_rows() + state->max_steps(), model_.config().max_positions);
    const auto ids = std::ssize(state->prompt_ids());
    EXPECT_LE(ids, most + 1);
    const Verdict verdict = said(*state);
    if (verdict.next == Verdict::kFinished) {
      EXPECT_EQ(verdict.reason, FinishReason::kLength) << "it was cut at its bound";
      break;
    }
    if (!verdict.new_streams) continue;
    EXPECT_GE(ids, most * 3 / 4);
    EXPECT_LT(ids, most) << "a part ends with a sentence";
    EXPECT_EQ(verdict.kept, voice);
    EXPECT_EQ(verdict.companion_kept, 1);
    EXPECT_EQ(state->prompt_rows(), voice + 5);
    ++parts;
  }
  EXPECT_GE(parts, 3);
}

/// Tests the error messages for changed copies of the checkpoint.
class VibeVoiceFaults : public testing::Test, protected CheckpointCopy {
 protected:
  VibeVoiceFaults() : CheckpointCopy(golden_path("other/checkpoint")) {}
  std::string fault() const {
    return load_fault_of([&] { VibeVoice({dir.path(), "x"}); });
  }
  void expect_named(const std::string& part) const {
    EXPECT_NE(fault().find(part), std::string::npos) << fault();
  }
};

TEST_F(VibeVoiceFaults, VoicesOfOtherModelsAreNamed) {
  std::filesystem::copy(golden_path("plain/checkpoint/voices/anna.pt"), dir.path("voices/anna.pt"),
                        std::filesystem::copy_options::overwrite_existing);
  expect_named("anna.pt: lm.last_hidden_state: expected floats [1, positions, 64]");
  std::filesystem::remove_all(dir.path("voices"));
  expect_named("has no voice; copy demo/voices/streaming_model");
  std::filesystem::create_directories(dir.path("demo/voices/streaming_model"));
  std::filesystem::copy(golden_path("other/checkpoint/voices/ben.pt"),
                        dir.path("demo/voices/streaming_model/ben.pt"));
  EXPECT_EQ(fault(), "");
  misname_tensor(dir.path("demo/voices/streaming_model/ben.pt"), "key_cache");
  expect_named("past_key_values.key_cache.0: is missing");
}

}  // namespace
}  // namespace syrinx::vibevoice
