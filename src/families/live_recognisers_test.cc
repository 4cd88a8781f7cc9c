// Tests all recognisers of live speech in one table: rows, ids, logits, texts and times of words as
// by the authors' code on small random checkpoints; equal bits for any pieces and in any batch;
// refusals.
#include <cmath>
#include <tuple>

#include "base/worst.h"
#include "families/family.h"
#include "families/live/fixture.h"

namespace syrinx::live {
namespace {

/// A row of the table. Samples: those of a frame, of the silence before and after a recording.
struct LiveModel {
  const char* family;
  const char* folder;
  const char* checkpoint;
  int rate, frame, before, after;
  float rows, logits;  // bounds of relative errors
  bool hears_pauses = false;
};

const LiveModel kModels[] = {
    {"kyutai_stt", "kyutai_stt", "small", 24000, 1920, 25 * 1920, 13 * 1920, 0, 5e-6f, true},
    {"kyutai_stt", "kyutai_stt", "other", 16000, 640, 25 * 640, 19 * 640, 0, 5e-6f},
    {"kyutai_stt", "kyutai_stt", "transformers", 24000, 1920, 11 * 1920, 18 * 1920, 0, 5e-6f},
    {"voxtral_realtime", "voxtral_realtime", "original", 16000, 160, 4 * 1280, 17 * 1280, 2e-5f,
     2e-5f},
    {"voxtral_realtime", "voxtral_realtime", "small", 16000, 160, 32 * 1280, 17 * 1280, 2e-5f,
     2e-5f},
    {"voxtral_realtime", "voxtral_realtime", "other", 16000, 160, 5 * 640, 14 * 640, 2e-5f, 2e-5f},
    {"nemotron_asr", "transducer", "small", 16000, 160, 0, 0, 0, 0},
};

class LiveRecognisers : public testing::TestWithParam<LiveModel> {
 protected:
  LiveRecognisers() : cases_(cases_of(GetParam().folder, GetParam().checkpoint)) {
    for (const Family& family : families())
      if (family.name == std::string(GetParam().family))
        model_ = family.load({path("checkpoint"), "x"});
  }
  std::string path(const std::string& name) const {
    return golden_path(GetParam().folder, std::string(GetParam().checkpoint) + "/" + name);
  }
  Safetensors golden(size_t i) const {
    return Safetensors(path(concat("case", i, ".safetensors")));
  }
  int delay(size_t i) const { return cases_[i].value("delay", -1); }
  /// Returns the samples of silence after the recording of a case. The first case has the delay of
  /// the model.
  int64_t after(size_t i) const {
    const double row = GetParam().rate / model_->info().speech.frame_rate;
    return GetParam().after + std::lround((delay(i) - delay(0)) * row);
  }
  std::vector<float> rows(size_t i) const {
    return rows_of(*model_, {samples_of(cases_[i])}, {size_t{1} << 20}, {delay(i)}, after(i))[0];
  }

  nlohmann::json cases_;
  std::shared_ptr<const Pipeline> model_;
};

TEST_P(LiveRecognisers, RowsOfTheEncoder) {
  if (GetParam().rows == 0) return;  // tests of the family compare codes, or rows
  float worst = 0;
  for (size_t i = 0; i < cases_.size(); ++i) {
    const Safetensors file = golden(i);
    worst = worse(worst, relative(rows(i), floats(file.view("rows"))));
  }
  EXPECT_LT(worst, GetParam().rows);
  RecordProperty("worst_rows", std::to_string(worst * 1e6) + "e-6");
}

TEST_P(LiveRecognisers, RowsHaveTheSameBitsForAnyPiecesAndCompany) {
  const std::vector<float> first = samples_of(cases_[0]), second = samples_of(cases_[1]);
  const auto frame = static_cast<size_t>(GetParam().frame);
  const std::vector<int> delays{delay(0), delay(1), delay(0), delay(1)};
  const auto together = rows_of(*model_, {first, second, first, second},
                                {frame, 3 * frame + 7, 29 * frame, size_t{1} << 20}, delays);
  EXPECT_EQ(together[0], together[2]);
  EXPECT_EQ(together[1], together[3]);
  EXPECT_EQ(rows_of(*model_, {first}, {11 * frame}, {delay(0)})[0], together[0]);
}

/// Returns the text that is said from `begin_s` until before `end_s`, and when it begins and ends.
std::tuple<std::string, double, double> between(const std::vector<ScoredToken>& tokens,
                                                double begin_s, double end_s) {
  std::string text;
  double begins = -1, ends = 0;
  for (const ScoredToken& token : tokens) {
    const bool heard = token.drawn.bytes.empty() && token.start_s == token.end_s;
    if (heard || token.start_s < begin_s - 1e-9 || token.start_s > end_s - 1e-9) continue;
    if (begins < 0) begins = token.start_s;
    text += token.drawn.bytes;
    ends = token.end_s;
  }
  return {text.substr(text.starts_with(' ') ? 1 : 0), begins, ends};
}

TEST_P(LiveRecognisers, IdsLogitsTextsAndTimesOfWords) {
  if (GetParam().logits == 0) return;  // the tests of the family do this
  Steps steps(*model_);
  for (size_t i = 0; i < cases_.size(); ++i) steps.add(rows(i), delay(i));
  steps.run(std::vector<size_t>{0, 1});
  float worst = 0;
  for (size_t i = 0; i < cases_.size(); ++i) {
    const auto& c = cases_[i];
    const Steps::Said& said = steps.said[i];
    const std::string text = c["text"];
    EXPECT_EQ(said.ids, c["ids"].get<std::vector<int32_t>>()) << i;
    EXPECT_EQ(said.text, text.substr(text.starts_with(' ') ? 1 : 0)) << i;
    const Safetensors file = golden(i);
    const View logits = file.view("logits");
    ASSERT_GE(std::ssize(said.logits), logits.count());
    worst = worse(worst,
                  relative(std::span(said.logits).first(size_t(logits.count())), floats(logits)));
    if (!c.contains("words")) continue;
    EXPECT_GE(c["words"].size(), 2u);
    for (const auto& word : c["words"]) {
      const double begin_s = word[1], end_s = word[2];
      const auto [spoken, begins, ends] = between(said.tokens, begin_s, end_s);
      EXPECT_EQ(spoken, word[0]);
      EXPECT_NEAR(begins, begin_s, 1e-9) << word;
      // Here a word ends at most a second after its last id.
      EXPECT_TRUE(std::abs(ends - end_s) < 1e-9 || (ends < end_s && ends > begins + 1)) << word;
    }
  }
  EXPECT_LT(worst, GetParam().logits);
  RecordProperty("worst_logits", std::to_string(worst * 1e6) + "e-6");
}

/// Rows of the golden: heads x classes. The probability of a pause is class 0 of head 2.
TEST_P(LiveRecognisers, ProbabilitiesOfPauses) {
  const int values = model_->graph().ar().traits().values;
  ASSERT_EQ(values > 0, GetParam().hears_pauses);
  if (values == 0) return;
  Steps steps(*model_);
  for (size_t i = 0; i < cases_.size(); ++i) steps.add(rows(i));
  steps.run(std::vector<size_t>{0, 1});
  for (size_t i = 0; i < cases_.size(); ++i) {
    const Safetensors file = golden(i);
    const View want = file.view("turn");
    ASSERT_EQ(values, want.shape[2]);
    const Steps::Said& said = steps.said[i];
    std::vector<float> sent;
    for (const ScoredToken& token : said.tokens)
      if (token.drawn.bytes.empty() && token.start_s == token.end_s)
        sent.push_back(1 - std::exp(token.drawn.logprob));
    for (int64_t row = 0; row < want.shape[0]; ++row) {
      const float golden = want.f32()[(row * want.shape[1] + 2) * want.shape[2]];
      const auto logits = std::span(said.values).subspan(size_t(row * values), size_t(values));
      double sum = 0;
      for (const float logit : logits) sum += std::exp(logit - logits[0]);
      EXPECT_NEAR(1 / sum, golden, 1e-6) << row;
      EXPECT_NEAR(sent.at(size_t(row)), golden, 1e-5) << row;
    }
  }
}

TEST_P(LiveRecognisers, LogitsAloneAndInCompanyHaveTheSameBits) {
  Steps steps(*model_);
  for (const size_t i : {0, 1, 0, 1}) steps.add(rows(i), delay(i));
  const size_t alone[] = {0}, company[] = {3, 2, 1};
  steps.run(alone);
  // The company of a stream begins later.
  for (int i = 0; i < 7; ++i) steps.step(std::span(company).subspan(1, 1));
  steps.run(company);
  EXPECT_EQ(steps.said[0].logits, steps.said[2].logits);
  EXPECT_EQ(steps.said[1].logits, steps.said[3].logits);
}

TEST_P(LiveRecognisers, OpenTheirOwnTasksOnly) {
  const LiveModel& row = GetParam();
  const HearingFacts& hearing = model_->info().hearing;
  EXPECT_EQ(model_->info().family, row.family);
  EXPECT_EQ(hearing.rate, row.rate);
  EXPECT_EQ(hearing.frame, row.frame);
  EXPECT_EQ(hearing.tail, row.after);
  SpeechRequest request;
  request.task = std::make_shared<FamilyTask>("another");
  EXPECT_EQ(refusal_of(*model_, request).param, "task");
  request.task = std::make_shared<Hearing>();  // another model's task
  EXPECT_EQ(refusal_of(*model_, request).param, "task");
  request = {};
  request.say.text = "read this";
  EXPECT_EQ(refusal_of(*model_, request).param, "input");
  EXPECT_FALSE(model_->dictation({}).ok());
  const Opened opened = model_->open(model_->listening({}).value()).take();
  EXPECT_TRUE(opened.samples_open);
  EXPECT_EQ(std::ssize(opened.samples), row.before);
}

INSTANTIATE_TEST_SUITE_P(All, LiveRecognisers, testing::ValuesIn(kModels), [](const auto& row) {
  return std::string(row.param.family) + "_" + row.param.checkpoint;
});

}  // namespace
}  // namespace syrinx::live
