// Compares VibeVoice-Realtime with the authors' code on two small checkpoints with the same noise:
// ids, hidden rows with and without guidance, latent and end logit of each step, and samples.
#include "base/worst.h"
#include "families/vibevoice/fixture.h"

namespace syrinx::vibevoice {
namespace {

class VibeVoiceParity : public testing::TestWithParam<const char*> {
 protected:
  VibeVoiceParity() : golden_(cases_of(GetParam())), model_({path("checkpoint"), "x"}) {}
  std::string path(const std::string& name) const {
    return golden_path(std::string(GetParam()) + "/" + name);
  }
  Safetensors results(const nlohmann::json& c) const {
    return Safetensors(path(c["name"].get<std::string>() + ".safetensors"));
  }

  nlohmann::json golden_;
  VibeVoice model_;
};

TEST_P(VibeVoiceParity, IdsOfTexts) {
  for (const auto& c : golden_["cases"]) {
    TextWindows text(model_.tokenizer(), 1000);
    text.push(c["text"].get<std::string>(), true);
    std::vector<int32_t> ids;
    while (text.ready()) {
      const std::vector<int32_t> window = text.take();
      ids.insert(ids.end(), window.begin(), window.end());
    }
    EXPECT_EQ(ids, ints(results(c).view("ids"))) << c["name"];
    EXPECT_FALSE(text.more());
  }
}

TEST_P(VibeVoiceParity, LatentsAndEndsOfEveryStep) {
  float worst = 0, worst_end = 0, worst_row = 0;
  int ended = 0, guided = 0, with_rows = 0;
  for (const auto& c : golden_["cases"]) {
    GuidedRun run(model_, request_of(c));
    for (int i = 0; i < 1000 && !run.finished(); ++i) run.step();
    ASSERT_TRUE(run.finished()) << c["name"];
    EXPECT_EQ(run.ended(), c["ended"].get<bool>()) << c["name"];
    ended += run.ended();
    guided += run.state().guidance().has_value();
    const Safetensors golden = results(c);
    const View latents = golden.view("latents"), end = golden.view("end");
    ASSERT_EQ(std::ssize(run.latents()), latents.count()) << c["name"];
    worst = worse(worst, relative(run.latents(), floats(latents)));
    if (golden.find("rows")) {
      const auto rows = floats(golden.view("rows")),
                 companion = floats(golden.view("companion_rows"));
      worst_row = worse(worst_row, relative(std::span(run.rows()).first(rows.size()), rows));
      const auto own = std::span(run.companion_rows()).first(companion.size());
      worst_row = worse(worst_row, relative(own, companion));
      ++with_rows;
    }
    // If the speech ends at a bound, no step follows the last latent, so its end logit is missing.
    worst_end = worse(worst_end, relative(run.ends(), floats(end).first(run.ends().size())));
    EXPECT_GE(std::ssize(run.ends()), end.count() - 1) << c["name"];
  }
  EXPECT_GE(ended, 4);
  EXPECT_GE(guided, 3);
  EXPECT_EQ(with_rows, 1);
  EXPECT_LT(worst_row, 1e-5f);
  EXPECT_LT(worst, 5e-5f);
  EXPECT_LT(worst_end, 5e-5f);
  RecordProperty("worst_rows", std::to_string(worst_row * 1e6) + "e-6");
  RecordProperty("worst_latents", std::to_string(worst * 1e6) + "e-6");
  RecordProperty("worst_ends", std::to_string(worst_end * 1e6) + "e-6");
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, VibeVoiceParity, testing::Values("plain", "other"));

}  // namespace
}  // namespace syrinx::vibevoice
