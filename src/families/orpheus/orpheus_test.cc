// Tests promises that only Orpheus makes: how tokens become frames, rules, bounds, voices, checks,
// faults. spoken_families_test.cc and golden_test.cc test promises of all families.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "families/checkpoint_copy.h"
#include "families/family_fixture.h"
#include "families/orpheus/pipeline.h"
#include "io/expect_fault.h"
#include "io/file.h"
#include "io/test_dir.h"

namespace syrinx::orpheus {
namespace {

std::string checkpoint() { return SYRINX_BINARY_DIR "/parity/orpheus/golden/checkpoint"; }

class OrpheusTest : public FamilyTest<Orpheus> {
 protected:
  OrpheusTest() : FamilyTest(checkpoint()) {}

  /// Returns the token of `code` at its place in the frame, as the sampler gives it.
  int32_t token(int step, int32_t code) const {
    return model_.config().block_begin(step % kFrameTokens) + code;
  }
  Verdict feed(Sequence& state, int32_t id) { return say(state, {&id, 1}); }
};

TEST_F(OrpheusTest, TokensBecomeLatentFramesAsSoonAsTheyCan) {
  const auto state = open(plain("Hello."));
  const size_t sizes[] = {0, 0, 3, 6, 6, 9, 12, 12, 12, 15};
  for (int step = 0; step < 10; ++step) {
    feed(*state, token(step, 10 + step));
    EXPECT_EQ(said_.size(), sizes[step]) << step;
  }
  EXPECT_EQ(said_, (std::vector<int32_t>{10, 11, 12, 10, 11, 13, 10, 14, 15, 10, 14, 16,  //
                                         17, 18, 19}));
}

TEST_F(OrpheusTest, EachTokenHasItsBlock) {
  const auto state = open(plain("Hello."));
  for (int step = 0; step < 15; ++step) {
    const SampleRule rule = state->rule(0);
    const bool may_end = step > 0 && step % kFrameTokens == 0;
    ASSERT_EQ(rule.ranges, may_end ? 2 : 1) << step;
    if (may_end) {
      EXPECT_EQ(rule.allowed[0].end, 1);
    }
    EXPECT_EQ(rule.allowed[rule.ranges - 1].begin, token(step, 0));
    EXPECT_EQ(rule.allowed[rule.ranges - 1].end, token(step, 64));
    EXPECT_EQ(state->history(0).size(), static_cast<size_t>(step));
    feed(*state, token(step, 1));
  }
  EXPECT_EQ(feed(*state, 0).next, Verdict::kFinished);
  SpeechRequest endless = plain("Hello.");
  endless.terms.ignore_stop = true;
  const auto more = open(endless);
  for (int step = 0; step < kFrameTokens; ++step) feed(*more, token(step, 1));
  EXPECT_EQ(more->rule(0).ranges, 1) << "it may not end";
}

TEST_F(OrpheusTest, BoundsOfFramesAreBoundsOfSteps) {
  SpeechRequest request = plain("Hello.");
  for (const auto& [frames, steps] : {std::pair{1, 3}, {2, 4}, {3, 6}, {4, 7}, {5, 10}, {8, 14}}) {
    request.terms.max_frames = frames;
    EXPECT_EQ(open(request)->max_steps(), steps) << frames;
  }
}

TEST_F(OrpheusTest, SpacesBeforeMarksGoAsServedByTheAuthors) {
  const auto ids_of = [&](const char* text) { return ids(plain(text)); };
  EXPECT_EQ(ids_of("Well , hello ! How are you ? Fine ."),
            ids_of("Well, hello! How are you? Fine."));
  EXPECT_EQ(ids_of("I 'm sure they 've said we 're late , it is n't Tom 's"),
            ids_of("I'm sure they've said we're late, it isn't Tom's"));
  EXPECT_EQ(ids_of("rock ' roll"), ids_of("rock'roll"));
  EXPECT_NE(ids_of("a ; b"), ids_of("a; b"));  // spaces before other marks are kept
  SpeechRequest request = plain("Hello.");
  request.voice.name = "julia";
  EXPECT_TRUE(model_.open(request).ok());
}

/// A copy of the small checkpoint in which unused tokens have the names of another edition's
/// tokens. Also the expected prompt of a request: the names of the tokens around the ids of a text.
struct EditionCopy : CheckpointCopy {
  explicit EditionCopy(std::vector<std::string> tokens) : CheckpointCopy(checkpoint()) {
    const char* unused[] = {"<custom_token_0>", "<custom_token_6>", "<custom_token_7>",
                            "<custom_token_8>"};
    for (size_t i = 0; i < tokens.size(); ++i) replace("tokenizer.json", unused[i], tokens[i]);
  }
  Orpheus load(const char* name = "copy") const { return Orpheus({dir.path(), name}); }
  std::vector<int32_t> ids(std::vector<std::string> parts) const {
    const Tokenizer tokenizer = Tokenizer::load(dir.path());
    std::vector<int32_t> out;
    for (const std::string& part : parts) {
      if (const auto id = tokenizer.id(part); id && part.starts_with('<')) {
        out.push_back(*id);
      } else {
        for (const int32_t one : tokenizer.encode(part, false)) out.push_back(one);
      }
    }
    return out;
  }
};

std::vector<int32_t> prompt_of(const Orpheus& model, const SpeechRequest& request) {
  auto opened = model.open(request);
  EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().message);
  const auto state = opened.take().only();
  return {state->prompt_ids().begin(), state->prompt_ids().end()};
}

const std::string kStartOfSpeech = "<custom_token_1>", kStartOfHuman = "<custom_token_3>",
                  kEndOfHuman = "<custom_token_4>", kStartOfAi = "<custom_token_5>",
                  kBegin = "<|begin_of_text|>", kTurn = "<|eot_id|>";

TEST(OrpheusEditions, VeenaSpeaksWithATokenOfItsVoice) {
  const EditionCopy copy({"<spk_kavya>", "<spk_agastya>", "<spk_maitri>", "<spk_vinaya>"});
  const Orpheus model = copy.load();
  SpeechRequest request;
  request.say.text = "Hello , you <spk_kavya>.";
  EXPECT_EQ(prompt_of(model, request),
            copy.ids({kStartOfHuman, "<spk_kavya>", " Hello , you <", "spk_kavya>.", kEndOfHuman,
                      kStartOfAi, kStartOfSpeech}));
  request.voice.name = "maitri";
  EXPECT_EQ(prompt_of(model, request)[1], copy.ids({"<spk_maitri>"})[0]);
  request.voice.name = "tara";
  EXPECT_EQ(model.open(request).error().code, ErrorCode::kNotFound);
  EXPECT_FLOAT_EQ(model.edition().sampling.repetition_penalty, 1.05f);
  const EditionCopy broken({"<spk_kavya>", "<spk_agastya>"});
  expect_fault(load_fault_of([&] { broken.load(); }), "<spk_maitri>");
}

/// The published tokenizer of Orpheus ends with <|audio|>. svara has the same tokenizer.
TEST(OrpheusEditions, TheTokenOfSoundIsAlsoOrpheus) {
  const EditionCopy copy({"<|audio|>"});
  const Orpheus model = copy.load();
  EXPECT_EQ(model.info().speech.default_voice, "tara");
  SpeechRequest request;
  request.say.text = "Hello there";
  EXPECT_EQ(prompt_of(model, request), copy.ids({kStartOfHuman, kBegin, "tara: Hello there", kTurn,
                                                 kEndOfHuman, kStartOfAi, kStartOfSpeech}));
}

TEST(OrpheusEditions, NamesDecideOnTheVoicesOfALanguage) {
  const EditionCopy copy({"<|audio|>"});
  const auto voice_of = [&](const char* name) {
    return copy.load(name).info().speech.default_voice;
  };
  EXPECT_EQ(voice_of("Orpheus-3b-German-FT-Q8_0"), "jana");
  EXPECT_EQ(voice_of("3b-zh-ft-research_release-q4_k_m"), "长乐");
  EXPECT_EQ(voice_of("3b-es_it-ft-research_release"), "javi");
  EXPECT_EQ(voice_of("orpheus-3b-0.1-ft"), "tara");
  const Orpheus french = copy.load("3b-fr-ft-research_release");
  SpeechRequest request;
  request.say.text = "Bonjour !";
  EXPECT_EQ(prompt_of(french, request), copy.ids({kStartOfHuman, kBegin, "pierre: Bonjour!", kTurn,
                                                  kEndOfHuman, kStartOfAi, kStartOfSpeech}));
  request.voice.name = "tara";
  EXPECT_EQ(french.open(request).error().code, ErrorCode::kNotFound);
}

TEST(OrpheusEditions, SvaraSpeaksBehindATokenOfSound) {
  const EditionCopy copy({"<|audio|>"});
  const Orpheus model = copy.load("svara-TTS-v1");
  SpeechRequest request;
  request.say.text = "Hello there <happy>";
  EXPECT_EQ(prompt_of(model, request),
            copy.ids({kBegin, kStartOfHuman, "<|audio|>", "Hindi (Female): Hello there <happy>",
                      kEndOfHuman, kTurn, kStartOfAi, kStartOfSpeech}));
  request.voice.name = "Tamil (Male)";
  EXPECT_EQ(prompt_of(model, request),
            copy.ids({kBegin, kStartOfHuman, "<|audio|>", "Tamil (Male): Hello there <happy>",
                      kEndOfHuman, kTurn, kStartOfAi, kStartOfSpeech}));
  EXPECT_EQ(model.info().speech.voices.size(), 38u);
  EXPECT_EQ(model.edition().sampling.top_k, 40);
}

TEST(OrpheusEditions, Maya1SpeaksAsDescribed) {
  const EditionCopy copy({"<laugh_harder>", "<sigh>"});
  const Orpheus model = copy.load();
  EXPECT_TRUE(model.info().offers.has("instructions"));
  SpeechRequest request;
  request.say.text = "Hello <sigh> there <laugh> <custom_token_2>";
  request.say.instructions = "An old man.";
  EXPECT_EQ(prompt_of(model, request),
            copy.ids({kBegin, kStartOfHuman, kBegin, "<description=\"An old man.\"> Hello ",
                      "<sigh>", " there <laugh> <", "custom_token_2>", kTurn, kEndOfHuman,
                      kStartOfAi, kStartOfSpeech}))
      << "a tag that the vocabulary lacks is text";
  request.say.instructions.clear();
  EXPECT_GT(prompt_of(model, request).size(), 60u) << "there is always a description";
}

/// A copy of the small checkpoint that a test changes. fault(): the error of loading it, if any.
struct Copy : CheckpointCopy {
  Copy() : CheckpointCopy(checkpoint()) {}
  std::string fault() const {
    return load_fault_of([&] { Orpheus model({dir.path(), "copy"}); });
  }
};

TEST(OrpheusLoad, NamesTheCodecThatIsMissing) {
  Copy copy;
  std::filesystem::remove_all(copy.dir.path("snac_24khz"));
  ::setenv("HF_HUB_CACHE", copy.dir.path("cache").c_str(), 1);
  expect_fault(copy.fault(), "syrinx hub pull hubertsiuzdak/snac_24khz");
  // Puts the same codec into the hub's cache.
  std::filesystem::create_directories(
      copy.dir.path("cache/models--hubertsiuzdak--snac_24khz/snapshots"));
  std::filesystem::copy(checkpoint() + "/snac_24khz",
                        copy.dir.path("cache/models--hubertsiuzdak--snac_24khz/snapshots/abc"),
                        std::filesystem::copy_options::recursive);
  EXPECT_EQ(copy.fault(), "");
  ::unsetenv("HF_HUB_CACHE");
}

}  // namespace
}  // namespace syrinx::orpheus
