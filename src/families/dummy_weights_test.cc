// Loads random weights (LoadSpec::dummy) in every family whose sizes follow from its configs. No
// other files of a checkpoint are needed, and the model speaks with weights of each type.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "families/family.h"
#include "io/test_dir.h"
#include "model/step_runner.h"

namespace syrinx {
namespace {

using Json = nlohmann::json;

struct DummyModel {
  const char *family, *dir;  ///< folder of the configs, below the build's parity folder
  int sample_rate;
  double frame_rate;
  int lookahead = 0;  ///< frames that the last stage looks ahead
  bool clones = true;
  std::vector<const char*> configs = {"config.json"};
  /// Changes of config.json: JSON pointers and new values, where the old value is too small for the
  /// published codec or for a tokenizer of bytes.
  std::vector<std::pair<const char*, int>> changes = {};
};

const std::vector<DummyModel>& dummy_models() {
  static const std::vector<DummyModel> kAll{
      {"csm", "csm/golden/published_rates", 24000, 12.5},
      {"fish_speech", "fish_speech/golden", 44100, 44100. / 2048},
      {.family = "higgs_audio",
       .dir = "higgs/golden",
       .sample_rate = 24000,
       .frame_rate = 25,
       .lookahead = 10,
       .changes = {{"/text_config/vocab_size", 1000}, {"/audio_encoder_config/vocab_size", 1026}}},
      {.family = "moss_tts",
       .dir = "moss_tts/golden/published_rates",
       .sample_rate = 24000,
       .frame_rate = 12.5,
       .configs = {"config.json", "MOSS-Audio-Tokenizer/config.json"}},
      {.family = "opuslm",
       .dir = "opuslm/golden",
       .sample_rate = 16000,
       .frame_rate = 50,
       .lookahead = 7},
      {.family = "pocket_tts",
       .dir = "pocket_tts/golden/distilled",
       .sample_rate = 24000,
       .frame_rate = 12.5,
       .configs = {"pocket_tts.yaml"}},
      {.family = "vibevoice",
       .dir = "vibevoice/golden/other",
       .sample_rate = 24000,
       .frame_rate = 200,
       .clones = false},
      {.family = "voxcpm2", .dir = "voxcpm2/golden", .sample_rate = 48000, .frame_rate = 200},
      {.family = "orpheus",
       .dir = "orpheus/golden",
       .sample_rate = 24000,
       .frame_rate = 46.875,
       .lookahead = 10,
       .clones = false,
       .changes = {{"/vocab_size", 156940}}},
      {.family = "kyutai_tts",
       .dir = "kyutai_tts/golden/small",
       .sample_rate = 24000,
       .frame_rate = 12.5,
       .clones = false,
       .configs = {"config.json", "mimi.json", "tokenizer_spm_8k_en_fr_audio.model"}},
      {.family = "qwen3_tts",
       .dir = "qwen3_tts/golden/projected",
       .sample_rate = 24000,
       .frame_rate = 125,
       .clones = false,
       .configs = {"config.json", "generation_config.json", "speech_tokenizer/config.json"}},
      {.family = "voxtral_tts",
       .dir = "voxtral_tts/golden/small",
       .sample_rate = 24000,
       .frame_rate = 62.5,
       .clones = false,
       .configs = {"params.json"}},
      {"zonos", "zonos/golden", 44100, 44100. / 512, 10},
      {.family = "cosyvoice2",
       .dir = "cosyvoice2/golden",
       .sample_rate = 24000,
       .frame_rate = 25,
       .lookahead = 10,
       .configs = {"cosyvoice2.yaml", "CosyVoice-BlankEN/config.json"}},
      {.family = "cosyvoice3",
       .dir = "cosyvoice3/golden",
       .sample_rate = 24000,
       .frame_rate = 25,
       .lookahead = 3,
       .configs = {"cosyvoice3.yaml", "CosyVoice-BlankEN/config.json"}},
  };
  return kAll;
}

class DummyWeights : public testing::TestWithParam<DummyModel> {};

TEST_P(DummyWeights, SpeakWithConfigsOnly) {
  const DummyModel& row = GetParam();
  const std::string from = std::string(SYRINX_BINARY_DIR "/parity/") + row.dir + "/checkpoint/";
  const TestDir dir;
  for (const char* config : row.configs) dir.write(config, slurp(from + config));
  if (!row.changes.empty()) {
    Json config = Json::parse(slurp(dir.path("config.json")));
    for (const auto& [key, value] : row.changes) config[Json::json_pointer(key)] = value;
    dir.write("config.json", config.dump());
  }
  const auto family = std::ranges::find(
      families(), row.family, [](const Family& each) { return std::string_view(each.name); });
  ASSERT_NE(family, families().end());
  if (family->claims) {
    EXPECT_TRUE(family->claims(Config::load(dir.path(row.configs[0]))));
  }
  for (const WeightType type :
       {WeightType::kF32, WeightType::kBF16, WeightType::kQ8, WeightType::kQ4}) {
    const auto model = family->load({dir.path(), "dummy", type, true});
    EXPECT_EQ(model->info().speech.sample_rate, row.sample_rate);
    EXPECT_DOUBLE_EQ(model->info().speech.frame_rate, row.frame_rate);
    EXPECT_EQ(model->graph().links().back().policy.lookahead, row.lookahead);
    EXPECT_EQ(model->voice_encoder() != nullptr, row.clones);
    SpeechRequest request;
    request.say.text = "Hello.";
    request.terms.ignore_stop = true;
    Runner runner(*model);
    Track track = runner.open(request);
    for (int i = 0; i < 30 && track.frames.size() + track.rows.size() < 4; ++i) runner.step(track);
    EXPECT_GE(track.frames.size() + track.rows.size(), 4u) << weight_type_name(type);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, DummyWeights, testing::ValuesIn(dummy_models()),
                         [](const auto& row) { return std::string(row.param.family); });

}  // namespace
}  // namespace syrinx
