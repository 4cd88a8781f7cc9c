// Tests of what only this family does and needs no golden: options, bounds, voices, faulty files.
// speaking_models_test.cc tests promises of all families.
#include "families/checkpoint_copy.h"
#include "families/family_fixture.h"
#include "families/pocket_tts/fixture.h"
#include "io/edit_safetensors.h"

namespace syrinx::pocket_tts {
namespace {

class PocketTest : public FamilyTest<PocketTts> {
 protected:
  PocketTest() : FamilyTest(golden_path("distilled/checkpoint")) {}

  static SpeechRequest request(const std::string& text, uint64_t seed = 1) {
    return plain(text, seed);
  }
  /// Takes a step with a latent of `value`. `end`: its code announces the end.
  Verdict said(Sequence& state, float value, bool end) {
    const std::vector<float> latent(static_cast<size_t>(model_.config().latent), value);
    return say_values(state, end ? 1 : 0, latent);
  }
  std::shared_ptr<Voice> voice(int64_t rows) const {
    auto out = std::make_shared<Voice>(
        Voice{.family = "pocket_tts", .encoder = "1", .mode = "continuation"});
    out->tensors.emplace("rows", Tensor({rows, model_.config().lm.hidden}, DType::kF32));
    return out;
  }
};

TEST_F(PocketTest, TheEndHasATail) {
  for (const auto& [text, tail] : {std::pair("one two three four", 5), {"a b c d e", 3}}) {
    rows_.clear();
    const auto state = open(request(text));
    for (int i = 0; i < State::kStepsBeforeEnd; ++i)
      EXPECT_EQ(said(*state, 0, true).next, Verdict::kContinue) << "too early to end";
    for (int i = 0; i < tail - 1; ++i)
      EXPECT_EQ(said(*state, 0, i == 0).next, Verdict::kContinue) << text << i;
    EXPECT_EQ(said(*state, 0, false).next, Verdict::kFinished) << text;
    EXPECT_EQ(std::ssize(rows_), (State::kStepsBeforeEnd + tail) * model_.config().latent);
  }
}

TEST_F(PocketTest, BoundsAreTheAuthors) {
  SpeechRequest r = request("Hello there.");
  const auto state = open(r);
  const auto ids = std::ssize(state->prompt_ids());
  EXPECT_EQ(state->max_steps(), std::ceil((static_cast<double>(ids) / 3 + 2) * 12.5));
  EXPECT_EQ(state->rule(0).ranges, 0);
  r.terms.ignore_stop = true;
  EXPECT_EQ(open(r)->rule(0).allowed[0].end, 1);
}

TEST_F(PocketTest, ChunksBeginAnewBehindTheSameVoice) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "The fox number " + std::to_string(i) + " said hello. ";
  const auto state = open(request(text));
  const auto& own = static_cast<const State&>(*state);
  const int voice = state->prompt_rows() - static_cast<int>(std::ssize(state->prompt_ids())) - 1;
  EXPECT_GT(voice, 5);
  int64_t steps = 0;
  for (int chunk = 0;; ++chunk) {
    ASSERT_LT(chunk, 40);
    int32_t id = -1;
    const int first = state->prompt_rows() - 1;
    EXPECT_TRUE(
        std::ranges::equal(row_of(*state, first, false, {&id, 1}), model_.lm().first_latent()));
    Verdict verdict;
    for (int i = 0; i < 12; ++i, ++steps) {
      EXPECT_EQ(own.steps(), steps) << "noise is of the request's step";
      verdict = said(*state, static_cast<float>(i), i == 9);
      if (verdict.next == Verdict::kContinue) {
        EXPECT_EQ(row_of(*state, first + 1 + i, false, {&id, 1})[0], static_cast<float>(i));
      }
    }
    if (verdict.next == Verdict::kFinished) {
      EXPECT_GT(chunk, 3);
      break;
    }
    EXPECT_EQ(verdict.next, Verdict::kNextSegment);
    EXPECT_EQ(verdict.kept, voice);
    EXPECT_TRUE(verdict.new_streams);
    EXPECT_LE(std::ssize(state->prompt_ids()), 2 * TextReader::kMostIds);
  }
}

TEST_F(PocketTest, AVoiceOfAFileIsSharedAndItsKeysDiffer) {
  std::vector<uint64_t> a, b, c, d;
  SpeechRequest r = request("hello");
  open(r)->prefix_keys(false, a);
  open(r)->prefix_keys(false, b);
  r.voice.name = "default";
  open(r)->prefix_keys(false, c);
  r.voice.name.clear();
  r.voice.data = voice(4);
  open(r)->prefix_keys(false, d);
  EXPECT_EQ(a, b);
  EXPECT_TRUE(std::ranges::equal(c, open(r)->prompt_ids())) << "no voice, ids alone";
  EXPECT_NE(a[0], d[0]);
  EXPECT_NE(d[0], d[1]) << "the row before a voice and its first";
  EXPECT_EQ(d[1], d[2]) << "rows of the same numbers";
}

/// Tests the error messages for changed copies of the checkpoint.
class PocketFaults : public testing::Test, protected CheckpointCopy {
 protected:
  static constexpr const char* kVoice = "embeddings/speech.safetensors";
  static constexpr const char* kLayer = "transformer.layers.1.self_attn/";
  PocketFaults() : CheckpointCopy(golden_path("distilled/checkpoint")) {}
  std::string fault() const {
    return load_fault_of([&] { PocketTts({dir.path(), "x"}); });
  }
  std::string fault_of_voice(const std::function<void(nlohmann::json&)>& change) const {
    EditableSafetensors edited(golden_path(std::string("distilled/checkpoint/") + kVoice));
    change(edited.header());
    edited.write(dir.path(kVoice));
    return fault();
  }
};

TEST_F(PocketFaults, VoicesOfOtherShapesAreNamed) {
  EXPECT_EQ(fault(), "");
  const std::string cache = std::string(kLayer) + "cache", offset = std::string(kLayer) + "offset";
  const auto expect_named = [&](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find("speech.safetensors"), std::string::npos) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect_named(fault_of_voice([&](auto& all) { all.erase(cache); }), cache + ": is missing");
  expect_named(fault_of_voice([&](auto& all) {
                 nlohmann::json& shape = all[cache]["shape"];
                 shape = {2, 1, shape[2].template get<int>() * 3, 1, 16};
               }),
               "expected floats [2, 1, positions, 3, 16]");
  expect_named(fault_of_voice([&](auto& all) { all[offset]["dtype"] = "F64"; }), "expected I64");
  EditableSafetensors edited(golden_path(std::string("distilled/checkpoint/") + kVoice));
  const int64_t many = 100000;
  std::memcpy(edited.data(offset), &many, sizeof many);
  edited.write(dir.path(kVoice));
  expect_named(fault(), "positions, got 100000");
}

TEST_F(PocketFaults, ABrokenVoiceFailsItsRequest) {
  const std::string cache = std::string(kLayer) + "cache";
  EditableSafetensors edited(golden_path(std::string("distilled/checkpoint/") + kVoice));
  const float nan = NAN;
  std::memcpy(edited.data(cache), &nan, sizeof nan);
  edited.write(dir.path(kVoice));
  const PocketTts model({dir.path(), "x"});
  SpeechRequest r;
  r.say.text = "hello";
  EXPECT_NE(refusal_of(model, r).message.find("a number is not finite"), std::string::npos);
}

TEST_F(PocketFaults, TheEditionWithoutCloningSaysSo) {
  EditableSafetensors edited(dir.path("model.safetensors"));
  const std::string name = "flow_lm.speaker_proj_weight";
  const auto size = edited.header()[name]["data_offsets"];
  std::memset(edited.data(name), 0,
              size[1].template get<size_t>() - size[0].template get<size_t>());
  edited.write(dir.path("model.safetensors"));
  const PocketTts model({dir.path(), "x"});
  EXPECT_EQ(model.voice_encoder(), nullptr);
  EXPECT_NE(model.info().speech.no_cloning.find("without voice cloning"), std::string::npos);
}

}  // namespace
}  // namespace syrinx::pocket_tts
