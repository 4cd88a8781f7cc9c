// Tests what every model that speaks text must do, whatever its steps yield: refusals, late text
// that never comes, equal bits alone and in company and after a dropped cache. golden_models.h
// lists the models. spoken_families_test.cc tests the properties of class SpokenSequence.
#include <gtest/gtest.h>

#include <cmath>

#include "families/golden_models.h"
#include "families/settings_of.h"
#include "model/same_steps.h"

namespace syrinx {
namespace {

class SpeakingModels : public testing::TestWithParam<GoldenModel> {
 protected:
  static SpeechRequest say(const std::string& text) {
    SpeechRequest request;
    request.say.text = text;
    return request;
  }
  /// Returns requests that differ as GoldenModel::vary states. They do not end by themselves.
  std::vector<SpeechRequest> some_requests() const {
    std::vector<SpeechRequest> all;
    for (const char* text : {"Hello there.", "The quick brown fox jumps over the lazy dog", "a",
                             "how are you?", "fine", "12"}) {
      SpeechRequest& request = all.emplace_back(say(text));
      request.sampling.temperature = 0.f;
      GetParam().vary(static_cast<int>(std::ssize(all)) - 1, request);
      request.terms.ignore_stop = true;
      request.terms.max_frames = 60;
    }
    return all;
  }
  std::string refused(const std::function<void(SpeechRequest&)>& change) const {
    SpeechRequest request = say("Hello.");
    change(request);
    return refusal_of(*model_, request).param;
  }
  bool latents() const { return GetParam().read == golden::read_latents; }
  /// Returns whether a Runner, which has one cache, can run the steps.
  bool has_cache() const { return !model_->graph().ar().traits().kv.empty(); }

  const std::shared_ptr<const Pipeline> model_ = load_golden(GetParam());
  const PipelineInfo& info_ = model_->info();
};

TEST_P(SpeakingModels, RefuseWhatTheyLack) {
  EXPECT_EQ(refused([](SpeechRequest& r) { r.say.text = " \n "; }), "input");
  for (const char* name : {"unheard of", "-1", "1000", "1x", "99999999999999"}) {
    SpeechRequest unknown = say("Hello.");
    unknown.voice.name = name;
    const Error error = refusal_of(*model_, unknown);
    EXPECT_EQ(error.code, ErrorCode::kNotFound) << name;
    EXPECT_EQ(error.param, "voice") << name;
    EXPECT_NE(error.message.find(info_.speech.default_voice), std::string::npos) << error.message;
  }
  EXPECT_EQ(refused([](SpeechRequest& r) { r.voice.data = std::make_shared<Voice>(); }), "voice");
  EXPECT_EQ(refused([](SpeechRequest& r) { r.say.language = "klingon"; }), "language");
  EXPECT_EQ(refused([](SpeechRequest& r) { r.task = std::make_shared<FamilyTask>("another"); }),
            "task");
  for (const float wrong : {-1.f, NAN, INFINITY}) {
    EXPECT_EQ(refused([&](SpeechRequest& r) { r.sampling.temperature = wrong; }), "temperature");
    EXPECT_EQ(refused([&](SpeechRequest& r) { r.sampling.guidance = wrong; }), "guidance");
  }
  const bool guided = info_.offers.has("guidance");
  EXPECT_EQ(refused([&](SpeechRequest& r) { r.sampling.guidance = guided ? 101.f : 2.f; }),
            "guidance");
  if (!info_.offers.has("instructions")) {
    EXPECT_EQ(refused([](SpeechRequest& r) { r.say.instructions = "whisper"; }), "instructions");
  }
  for (const bool in_prompt : {false, true}) {
    if (info_.offers.has("text_in_prompt")) continue;
    EXPECT_EQ(refused([&](SpeechRequest& r) { r.say.in_prompt = in_prompt; }), "text_in_prompt");
  }
  if (info_.speech.late_text == LateText::kNone) {
    EXPECT_EQ(refused([](SpeechRequest& r) { r.say.open = true; }), "input");
  }
  if (!latents()) return;  // models of latents sample no codes
  EXPECT_EQ(refused([](SpeechRequest& r) { r.sampling.top_k = 5; }), "top_k");
  EXPECT_EQ(refused([](SpeechRequest& r) { r.sampling.top_p = 0.5f; }), "top_p");
  EXPECT_EQ(refused([](SpeechRequest& r) { r.sampling.min_p = 0.5f; }), "min_p");
  EXPECT_EQ(refused([](SpeechRequest& r) { r.sampling.repetition_penalty = 1.5f; }),
            "repetition_penalty");
}

/// What a model states about itself.
struct Description {
  const char* name;  ///< of a row of golden_models.h
  int rate;          ///< Hz of the samples
  double frame_rate;
  LateText late;
  const char* voice;     ///< the default one
  size_t voices;         ///< number of named voices
  const char* licence;   ///< beginning of PipelineInfo::licence
  bool context = false;  ///< accepts earlier turns of a conversation
  /// A control token, which a text may contain as plain text. Null: the text becomes phonemes, or
  /// the prompt has only its beginning.
  const char* control = nullptr;
};

constexpr Description kDescriptions[] = {
    {"orpheus", 24000, 46.875, LateText::kSentence, "tara", 10, "Llama 3.2", false, "<|eot_id|>"},
    {"higgs", 24000, 25, LateText::kSentence, "default", 1, "Boson Higgs Audio v3", false,
     "<|text|>"},
    {"csm", 24000, 12.5, LateText::kSentence, "0", 10, "Apache-2.0", true, "<|end_of_text|>"},
    {"csm_taught", 24000, 250, LateText::kSentence, "0", 10, "Apache-2.0", true, "<|end_of_text|>"},
    {"fish_speech", 44100, 44100. / 128, LateText::kSentence, "0", 10, "Fish Audio Research", true,
     "<|im_end|>"},
    {"opuslm", 16000, 50, LateText::kSentence, "default", 1, "see the checkpoint", false,
     "<|endoftext|>"},
    {"zonos", 44100, 44100. / 512, LateText::kSentence, "none", 3, "Apache-2.0; codec MIT"},
    {"chatterbox", 24000, 25, LateText::kNone, "default", 1, "MIT"},
    {"chatterbox_multilingual", 24000, 25, LateText::kNone, "default", 1, "MIT"},
    {"chatterbox_turbo", 24000, 25, LateText::kNone, "default", 1, "MIT"},
    {"chatterbox_turbo_wide", 24000, 25, LateText::kNone, "default", 1, "MIT"},
    {"cosyvoice2", 24000, 25, LateText::kNone, "fox", 3, "Apache-2.0"},
    {"cosyvoice3", 24000, 25, LateText::kNone, "fox", 3, "Apache-2.0"},
    {"cosyvoice3_wide", 24000, 25, LateText::kNone, "fox", 3, "Apache-2.0"},
    {"moss_tts", 24000, 12.5, LateText::kToken, "default", 1, "Apache-2.0", true, "<|text_pad|>"},
    {"moss_tts_shapes", 8000, 8000. / 384, LateText::kToken, "default", 1, "Apache-2.0", true,
     "<|text_pad|>"},
    {"voxtral_tts", 24000, 62.5, LateText::kSentence, "cheerful_female", 2, "CC-BY-NC-4.0"},
    {"voxtral_tts_other", 8000, 31.25, LateText::kSentence, "neutral_male", 1, "CC-BY-NC-4.0"},
    {"voxcpm2", 48000, 200, LateText::kSentence, "default", 1, "Apache-2.0"},
    {"pocket_tts", 24000, 12.5, LateText::kSentence, "speech", 1, "CC-BY-4.0"},
    {"pocket_tts_small", 24000, 12.5, LateText::kSentence, "speech", 1, "CC-BY-4.0"},
    {"vibevoice", 24000, 7.5, LateText::kToken, "anna", 2, "MIT"},
    {"vibevoice_shapes", 24000, 200, LateText::kToken, "anna", 2, "MIT"},
    {"omnivoice", 24000, 25, LateText::kSentence, "default", 1, "Apache-2.0 (code"},
    {"omnivoice_shapes", 24000, 25, LateText::kSentence, "default", 1, "Apache-2.0 (code"},
    {"qwen3_tts", 24000, 12.5, LateText::kToken, "vivian", 4, "Apache-2.0", false, "<|im_end|>"},
    {"qwen3_tts_projected", 24000, 125, LateText::kToken, "vivian", 4, "Apache-2.0", false,
     "<|im_end|>"},
};

TEST_P(SpeakingModels, DescribeThemselves) {
  const auto row = std::ranges::find(kDescriptions, std::string_view(GetParam().name),
                                     [](const Description& each) { return each.name; });
  EXPECT_EQ(info_.family, GetParam().family);
  EXPECT_GE(info_.parts.size(), 2u);
  for (const PartInfo& part : info_.parts) EXPECT_GT(part.bytes, 0u) << part.name;
  const SpeechFacts& speech = info_.speech;
  ASSERT_NE(row, std::end(kDescriptions));
  EXPECT_EQ(speech.sample_rate, row->rate);
  EXPECT_DOUBLE_EQ(speech.frame_rate, row->frame_rate);
  EXPECT_EQ(speech.late_text, row->late);
  EXPECT_EQ(speech.default_voice, row->voice);
  EXPECT_EQ(speech.voices.size(), row->voices);
  EXPECT_TRUE(info_.licence.starts_with(row->licence)) << info_.licence;
  EXPECT_EQ(speech.context, row->context);
  // A control token is one id, its characters as text are several.
  const auto rows = [&](const char* text) {
    SpeechRequest request = say(text);
    if (info_.offers.has("text_in_prompt")) request.say.in_prompt = true;
    return open_only(*model_, request)->prompt_rows();
  };
  if (row->control) {
    EXPECT_GE(rows(row->control), rows("x") + 2);
  }
  EXPECT_GT(rows("bad \xff\xfe bytes"), 0);
}

/// How a model draws codes if a request sets nothing, and the bound of a short text. The values are
/// those of the authors' programs and of the checkpoints' configs.
struct Drawing {
  const char* name;          ///< of a row of golden_models.h
  const char* first;         ///< of code 0: the settings that differ from those of SampleParams
  const char* others;        ///< of the later codes of a step, if any; null: the same
  int steps;                 ///< bound of "Hello there."
  float guidance = 0;        ///< scale; 0: no companion
  float inner_guidance = 0;  ///< scale in the networks of a step, which need no companion
};

constexpr Drawing kDrawings[] = {
    {"orpheus", "temperature 0.6 top_p 0.8 penalty 1.3", "", 1960},
    {"higgs", "temperature 0.8 top_k 30 top_p 0.8", nullptr, 467},
    {"csm", "temperature 0.96 top_k 50", "temperature 0.9 top_k 40", 260},
    {"csm_taught", "temperature 0.96 top_k 50", "temperature 0.9 top_k 40", 260},
    {"fish_speech", "top_k 30 top_p 0.9 ras_window 10 ras_top_p 0.9 filter_first",
     "top_k 30 top_p 0.9 filter_first", 423},
    {"opuslm", "temperature 0.8 top_k 30", nullptr, 543},
    {"zonos", "min_p 0.1 penalty 3 window 2 penalty_each", nullptr, 718, 2.f},
    {"chatterbox", "temperature 0.8 min_p 0.05 penalty 1.2 min_p_first", "", 303, 1.5f},
    {"chatterbox_multilingual", "temperature 0.8 min_p 0.05 penalty 2 min_p_first", "", 303, 1.5f},
    {"chatterbox_turbo", "temperature 0.8 top_k 1000 top_p 0.95 penalty 1.2 penalty_last", "", 372},
    {"chatterbox_turbo_wide", "temperature 0.8 top_k 1000 top_p 0.95 penalty 1.2 penalty_last", "",
     472},
    {"cosyvoice2", "top_k 25 top_p 0.8 ras_window 10", "", 121},
    {"cosyvoice3", "top_k 25 top_p 0.8 ras_window 10", "", 121},
    {"cosyvoice3_wide", "top_k 25 top_p 0.8 ras_window 10", "", 121},
    {"moss_tts", "temperature 0.8 top_k 30 top_p 0.6 penalty 1.1 window 50", nullptr, 200},
    {"moss_tts_shapes", "temperature 0.8 top_k 30 top_p 0.6 penalty 1.1 window 50", nullptr, 200},
    {"voxtral_tts", "temperature 0", nullptr, 221},
    {"voxtral_tts_other", "temperature 0", nullptr, 221},
    {"voxcpm2", "temperature 0", "", 52, 0, 2.f},
    {"pocket_tts", "temperature 0", "", 59},
    {"pocket_tts_small", "temperature 0", "", 59},
    {"vibevoice", "temperature 0", "", 80, 1.5f},
    {"vibevoice_shapes", "temperature 0", "", 80, 1.5f},
    {"omnivoice", "temperature 0", "", 32},
    {"omnivoice_shapes", "temperature 0", "", 32},
    {"qwen3_tts", "temperature 0.9 top_k 50 penalty 1.05", "temperature 0.9 top_k 50", 200},
    {"qwen3_tts_projected", "temperature 0.9 top_k 50 penalty 1.05", "temperature 0.9 top_k 50",
     200},
};

TEST_P(SpeakingModels, DrawAsTheAuthorsDo) {
  const auto row = std::ranges::find(kDrawings, std::string_view(GetParam().name),
                                     [](const Drawing& each) { return each.name; });
  ASSERT_NE(row, std::end(kDrawings));
  SpeechRequest request = say("Hello there.");
  const auto state = open_only(*model_, request);
  EXPECT_EQ(settings_of(state->sampling(0)), row->first);
  if (model_->graph().ar().traits().vocab.size() > 1) {
    EXPECT_EQ(settings_of(state->sampling(1)), row->others ? row->others : row->first);
  }
  EXPECT_EQ(state->max_steps(), row->steps);
  EXPECT_EQ(state->guidance().value_or(0), row->guidance);
  if (!info_.offers.has("inner_temperature")) return;
  request.sampling.temperature = 0.7f;
  request.sampling.inner_temperature = 0.3f, request.sampling.inner_top_k = 5;
  request.sampling.inner_top_p = 0.5f;
  const auto own = open_only(*model_, request);
  EXPECT_EQ(own->sampling(0).temperature, 0.7f);
  EXPECT_EQ(own->sampling(1).temperature, 0.3f);
  EXPECT_EQ(own->sampling(1).top_k, 5);
  EXPECT_EQ(own->sampling(1).top_p, 0.5f);
}

/// For SpokenSequence, see spoken_families_test.cc.
TEST_P(SpeakingModels, LatentsHaveBounds) {
  if (!latents() || !has_cache()) return;
  Runner runner(*model_);
  SpeechRequest request = say("Hello there.");
  request.terms.max_frames = 4;
  request.terms.ignore_stop = true;
  Track few = runner.open(request);
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(few.finished);
    runner.step(few);
  }
  EXPECT_TRUE(few.finished && !few.ended);
  if (info_.speech.late_text != LateText::kSentence) return;
  // Each of two segments goes on to its own bound.
  request = say(std::string(90, 'a') + ", " + std::string(250, 'b') + ".");
  request.terms.ignore_stop = true;
  Track all = runner.open(request);
  int bound = all.state->max_steps(), steps = 0, segments = 1;
  for (; !all.finished; ++steps) {
    ASSERT_LT(all.steps, bound);
    runner.step(all);
    if (all.finished || all.steps > 0) continue;
    bound = all.state->max_steps();
    ++segments;
  }
  EXPECT_FALSE(all.ended);
  EXPECT_GE(segments, 2);
}

TEST_P(SpeakingModels, SeedsNoiseAndGuidanceChangeLatents) {
  if (!latents() || !has_cache()) return;
  const auto said = [&](uint64_t seed, std::optional<float> temperature,
                        std::optional<float> guidance) {
    Runner runner(*model_);
    SpeechRequest request = say("hello");
    request.sampling.seed = seed, request.sampling.temperature = temperature;
    request.sampling.guidance = guidance;
    request.terms.ignore_stop = true;
    Track track = runner.open(request);
    for (int i = 0; i < 8; ++i) runner.step(track);
    return track.rows;
  };
  const std::vector<float> usual = said(1, {}, {});
  EXPECT_FALSE(usual.empty());
  EXPECT_TRUE(said(1, {}, {}) == usual);
  EXPECT_FALSE(said(2, {}, {}) == usual);
  EXPECT_FALSE(said(1, 0.f, {}) == usual);
  EXPECT_TRUE(said(1, 0.f, {}) == said(2, 0.f, {})) << "without noise no seed counts";
  if (!info_.offers.has("guidance")) return;
  const auto row = std::ranges::find(kDrawings, std::string_view(GetParam().name),
                                     [](const Drawing& each) { return each.name; });
  const float scale = row->guidance > 0 ? row->guidance : row->inner_guidance;
  EXPECT_TRUE(said(1, {}, scale) == usual) << "the authors' scale";
  EXPECT_FALSE(said(1, {}, 1.f) == usual);
}

TEST_P(SpeakingModels, LateTextThatNeverComesIsRefused) {
  if (info_.speech.late_text == LateText::kNone) return;
  SpeechRequest request = say(" ");
  request.say.open = true;
  const auto state = open_only(*model_, request);
  EXPECT_FALSE(state->ready());
  EXPECT_LE(state->prompt_rows() + state->max_steps(), model_->graph().ar().traits().max_positions);
  EXPECT_TRUE(state->append_text("  ", false).ok());
  EXPECT_FALSE(state->ready());
  const Status nothing = state->append_text("\n", true);
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().param, "input");
  EXPECT_FALSE(state->append_text("more", true).ok()) << "the text is complete";
}

TEST_P(SpeakingModels, TheSameBitsAloneAndInCompany) {
  if (!has_cache()) return;
  std::vector<SpeechRequest> requests = some_requests();
  if (!latents()) {
    requests[0].sampling.repetition_penalty = 1.2f;
    requests[4].sampling.temperature = 0.8f, requests[4].sampling.top_p = 0.9f;
  }
  expect_same_alone_and_in_a_batch(*model_, requests, 4);
}

TEST_P(SpeakingModels, ADroppedCacheIsMadeAgain) {
  if (!has_cache()) return;
  for (const SpeechRequest& request : some_requests())
    expect_a_dropped_cache_made_again(*model_, request);
}

INSTANTIATE_TEST_SUITE_P(Models, SpeakingModels, testing::ValuesIn(kGoldenModels), golden_name);
INSTANTIATE_TEST_SUITE_P(Others, SpeakingModels, testing::ValuesIn(kOtherGoldenModels),
                         golden_name);

}  // namespace
}  // namespace syrinx
