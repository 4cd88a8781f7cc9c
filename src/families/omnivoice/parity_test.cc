// Compares OmniVoice with the authors' program on two small checkpoints with the same noise: ids,
// lengths, codes after every pass, logits, and voices of recordings. The golden suite compares the
// samples.
#include "base/worst.h"
#include "families/omnivoice/fixture.h"
#include "families/omnivoice/length.h"
#include "families/omnivoice/voice.h"

namespace syrinx::omnivoice {
namespace {

TEST(OmniVoiceTexts, AreAsLongAsTheAuthorsEstimate) {
  const auto all = json_of("texts.json")["lengths"];
  EXPECT_GE(all.size(), 10u);
  for (const auto& c : all) {
    const std::string text = c[0];
    EXPECT_NEAR(spoken_weight(text), c[1].get<double>(), 1e-9) << text;
    EXPECT_EQ(estimated_frames(text, {}, 1), c[2].get<int64_t>()) << text;
    EXPECT_EQ(estimated_frames(text, {"你好", 40}, 0.7), c[3].get<int64_t>()) << text;
  }
}

TEST(OmniVoiceTexts, AreCutLikeTheAuthors) {
  const auto all = json_of("texts.json");
  for (const auto& c : all["pieces"])
    EXPECT_EQ(pieces_of(c[0].get<std::string>(), c[1]), c[2].get<std::vector<std::string>>());
  for (const auto& c : all["stops"])
    EXPECT_EQ(with_stop(c[0].get<std::string>()), c[1].get<std::string>());
}

TEST(OmniVoiceTexts, DesignVoicesAsTheAuthorsDo) {
  const auto all = json_of("texts.json");
  for (const auto& c : all["designs"]) {
    const auto designed = designed_voice(c[0].get<std::string>(), c[1]);
    ASSERT_TRUE(designed.ok()) << c[0];
    EXPECT_EQ(designed.value(), c[2].get<std::string>());
  }
  for (const auto& c : all["refused"]) {
    const auto designed = designed_voice(c.get<std::string>(), false);
    ASSERT_FALSE(designed.ok()) << c;
    EXPECT_EQ(designed.error().param, "instructions");
  }
}

class OmniVoiceParity : public testing::TestWithParam<const char*> {
 protected:
  OmniVoiceParity()
      : cases_(json_of(std::string(GetParam()) + "/cases.json")),
        model_({golden_path(std::string(GetParam()) + "/checkpoint"), "tiny"}) {}
  Safetensors golden(const nlohmann::json& c) const {
    return Safetensors(
        golden_path(std::string(GetParam()) + "/" + c["name"].get<std::string>() + ".safetensors"));
  }

  const nlohmann::json cases_;
  const OmniVoice model_;
};

TEST_P(OmniVoiceParity, CodesAfterEveryPass) {
  const int32_t mask = model_.config().mask;
  int64_t passes_compared = 0;
  for (const auto& c : cases_) {
    const Safetensors want = golden(c);
    const std::vector<int32_t> frames = ints(want.view("frames")),
                               unmasked = ints(want.view("unmasked"));
    SpeechRequest request;
    ask(c, want, request);
    const auto state = state_of(model_, request);
    Passes passes(model_);
    std::vector<int32_t> ids, said;
    Verdict verdict;
    while (verdict.next != Verdict::kFinished) {
      const size_t before = said.size();
      ids.insert(ids.end(), state->prompt_ids().begin(), state->prompt_ids().end());
      for (int pass = 0; pass < kPasses; ++pass) {
        ASSERT_TRUE(verdict.next == Verdict::kContinue || pass == 0) << c["name"] << " " << pass;
        passes.run(*state);
        const std::span<const int32_t> canvas = state->canvas();
        ASSERT_LE(before + canvas.size(), frames.size()) << c["name"];
        for (size_t i = 0; i < canvas.size(); ++i) {
          const int32_t known = unmasked[before + i] <= pass ? frames[before + i] : mask;
          ASSERT_EQ(canvas[i], known) << c["name"] << " pass " << pass << " place " << i;
        }
        verdict = advance(*state, said);
        ++passes_compared;
      }
    }
    EXPECT_EQ(ids, ints(want.view("prompt_ids"))) << c["name"];
    EXPECT_EQ(said, frames) << c["name"];
    EXPECT_EQ(verdict.reason, FinishReason::kStop) << c["name"];
  }
  EXPECT_GE(passes_compared, 2 * kPasses);
}

TEST_P(OmniVoiceParity, LogitsOfPasses) {
  float worst = 0;
  int compared = 0;
  for (const auto& c : cases_) {
    if (!c.contains("logits")) continue;
    const Safetensors want = golden(c);
    SpeechRequest request;
    ask(c, want, request);
    const auto state = state_of(model_, request);
    Passes passes(model_);
    std::vector<int32_t> said;
    for (int pass = 0; pass < kPasses; ++pass) {
      const View logits =
          want.find(concat("logits_", pass)) ? want.view(concat("logits_", pass)) : View();
      for (int64_t alone = 0; logits.data && alone < logits.shape[0]; ++alone) {
        const CanvasPass now = state->next_pass();
        const int64_t count = std::ssize(now.frames) / model_.config().codebooks;
        Tensor got({count, logits.shape[2]}, DType::kF32);
        model_.lm().logits(passes.context(), now, alone == 0, got.view());
        const auto some = static_cast<size_t>(logits.shape[1] * logits.shape[2]);
        worst =
            worse(worst, relative(floats(got.view()).first(some),
                                  floats(logits).subspan(static_cast<size_t>(alone) * some, some)));
        ++compared;
      }
      passes.run(*state);
      advance(*state, said);
    }
  }
  EXPECT_GE(compared, 1);
  EXPECT_LT(worst, 1e-5f);
  RecordProperty("worst_logits", std::to_string(worst * 1e6) + "e-6");
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, OmniVoiceParity, testing::Values("plain", "shapes"));

class OmniVoiceVoices : public testing::Test {
 protected:
  OmniVoiceVoices() : golden_(golden_path("recording.safetensors")) {
    const std::vector<std::pair<int, float>> stretches{
        {7000, 0.f}, {24000, 0.05f}, {20011, 0.0005f}, {15000, 0.08f},
        {3000, 0.f}, {26000, 0.06f}, {9013, 0.f}};
    uint32_t state = 9;
    int64_t at = 0;
    for (const auto& [count, factor] : stretches) {
      for (int i = 0; i < count; ++i, ++at) {
        state = state * 1664525u + 1013904223u;
        const int64_t noise = static_cast<int64_t>(state >> 16) - 32768;
        const auto x =
            static_cast<float>(static_cast<double>((noise * ((at * 5) & 16383)) >> 14) / 32768);
        samples_.push_back(x * factor);
      }
    }
  }
  const Safetensors golden_;
  std::vector<float> samples_;
};

TEST_F(OmniVoiceVoices, LoseTheirSilences) {
  std::vector<float> louder = samples_;
  for (float& x : louder) x *= 3;
  const std::vector<float> kept = without_silence(louder, 24000);
  ASSERT_EQ(std::ssize(kept), golden_.view("kept").i32()[0]);
  const auto some = floats(golden_.view("some"));
  for (size_t i = 0; i < some.size(); ++i) EXPECT_EQ(kept[i * 997], some[i]) << i;
  EXPECT_LT(kept.size(), samples_.size());
  EXPECT_TRUE(without_silence(std::vector<float>(24000, 0.001f), 24000).empty());
  EXPECT_TRUE(without_silence({}, 24000).empty());
}

TEST_F(OmniVoiceVoices, AreTheCodesOfTheRecording) {
  const OmniVoice model({golden_path("plain/checkpoint"), "tiny"});
  ASSERT_NE(model.voice_encoder(), nullptr);
  ThreadPool pool(1);
  Workspace work(pool, Device::kCpu);
  const auto encoding = model.voice_encoder()->open({samples_, 24000, "hello there"});
  VoiceEncoding* one[] = {encoding.get()};
  while (!encoding->done()) model.voice_encoder()->run(work.context(), one);
  const Voice voice = encoding->take();
  const auto heard = heard_in(model.config(), voice, 25);
  ASSERT_TRUE(heard.ok());
  EXPECT_EQ(heard.value().text, "hello there.");
  EXPECT_NEAR(heard.value().level, golden_.view("level").f32()[0], 1e-7);
  EXPECT_EQ(heard.value().frames, ints(golden_.view("codes")));
}

}  // namespace
}  // namespace syrinx::omnivoice
