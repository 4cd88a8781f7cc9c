// Compares answers in words and speech with ESPnet on small checkpoints: prompt ids, logits, greedy
// frames and tokens. For reading aloud, see families/golden_models.h.
#include "base/worst.h"
#include "families/opuslm/fixture.h"

namespace syrinx::opuslm {
namespace {

constexpr float kOpusLogits = 1e-4f;  // error relative to the largest logit of the row
constexpr size_t kLeastLogits = 40;   // least number of logits of a step: one for each unit

class OpusLmParity : public testing::Test {
 protected:
  OpusLmParity()
      : cases_(load_cases()), model_({plain_.path(), "x"}), talker_({voiced_.path(), "x"}) {}

  const OpusLm& model(const Case& c) const { return c.dialogue ? talker_ : model_; }
  /// Returns the largest relative error of logits of some steps; `want`: [steps, choices of all
  /// streams].
  float worst(const Track& track, size_t from, const View& want) const {
    float worst = 0;
    for (int64_t s = 0; s < want.shape[0]; ++s) {
      std::vector<float> got = track.logits[from + s];
      const std::vector<float>& inner = track.inner[from + s];
      got.insert(got.end(), inner.begin(), inner.end());
      worst = worse(worst, relative(Computed(got, floats(want.slice(s, s + 1)), kLeastLogits)));
    }
    return worst;
  }

  std::vector<Case> cases_;
  ModelDir plain_, voiced_{true};
  OpusLm model_, talker_;
};

TEST_F(OpusLmParity, WordsThenSpeech) {
  float most = 0;
  int words = 0, spoken = 0;
  for (const Case& c : cases_) {
    if (c.kind == "read") continue;
    Runner runner(model(c));
    Track track = runner.open(c.request);
    const std::span<const int32_t> prompt = track.state->prompt_ids();
    ASSERT_EQ(std::vector(prompt.begin(), prompt.end()), ints(c.golden->view("prompt_ids")))
        << c.name;
    const std::vector<int32_t> want = ints(c.golden->view("tokens"));
    std::vector<int32_t> got;
    for (size_t step = 0; step < want.size(); ++step) {
      ASSERT_FALSE(track.finished) << c.name << " " << step;
      // Sampling is greedy: it chooses the largest allowed logit.
      runner.step(track);
      const std::vector<float>& logits = track.logits.back();
      const ModelConfig& m = model(c).config();
      int32_t best = got.empty() ? m.ids.text : m.ids.end;
      if (logits[m.ids.text] > logits[best]) best = m.ids.text;
      for (int32_t i = m.first_code; i < m.first_code + m.words; ++i)
        if (logits[i] > logits[best]) best = i;
      got.push_back(m.id_of(0, best));
    }
    EXPECT_EQ(got, want) << c.name;
    most = std::max(most, worst(track, 0, c.golden->view("logits")));
    ++words;
    if (!c.spoken) {
      EXPECT_TRUE(track.finished) << c.name;
      continue;
    }
    ASSERT_FALSE(track.finished);
    const std::span<const int32_t> ids = track.state->prompt_ids();
    EXPECT_EQ(std::vector(ids.begin(), ids.end()), ints(c.golden->view("speech_prompt_ids")));
    // Begins the next segment like the engine.
    Track speech;
    speech.state = std::move(track.state);
    for (int step = 0; step < c.steps; ++step) runner.step(speech);
    EXPECT_EQ(speech.frames, ints(c.golden->view("speech_frames"))) << c.name;
    most = std::max(most, worst(speech, 0, c.golden->view("speech_logits")));
    ++spoken;
  }
  EXPECT_EQ(words, 4);
  EXPECT_EQ(spoken, 2);
  EXPECT_LT(most, kOpusLogits);
  RecordProperty("worst_logits", std::to_string(most * 1e6) + "e-6");
}

}  // namespace
}  // namespace syrinx::opuslm
