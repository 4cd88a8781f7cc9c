// Tests checkpoints with exactly the published layout: sparse files with the names, types and sizes
// of tests/parity/published, and the tokenizers of the small checkpoints. They load. With a tensor
// missing, added or of another shape they are refused. Files in .onnx are not tested.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/memory.h"
#include "codec/fish_codec.h"
#include "codec/fish_encoder.h"
#include "families/family.h"
#include "families/published_layout.h"
#include "io/test_dir.h"
#include "model/voice.h"

namespace syrinx {
namespace {

namespace fs = std::filesystem;

struct Published {
  const char *family, *golden;
  size_t tensors;                                        ///< number of tensors in all files
  int gib = 2;                                           ///< GiB of free memory that loading needs
  bool large = false;                                    ///< loading takes half a minute
  const char *file = "", *missing = "", *reshaped = "";  ///< names used by PublishedChanges
  const char* over = "";  ///< layout whose files replace files of the family's layout
  /// also encodes a recording, which loads more networks; `missing` is a tensor of these networks
  bool encodes = false;
};

std::string parity(const std::string& name) { return SYRINX_BINARY_DIR "/parity/" + name; }

/// A model that exceeds memory: the test loads only the first few of its equal layers.
struct Shortened {
  const char *prefix,
      *key;  ///< prefix of the layers' tensors; pointer to the number of layers in config.json
  int64_t layers;
};
const Shortened kOmniLayers[] = {
    {"thinker.model.layers.", "/thinker_config/text_config/num_hidden_layers", 3},
    {"talker.model.layers.", "/talker_config/text_config/num_hidden_layers", 2}};
// This key has the number of a layer, which must be below the number of layers.
constexpr const char* kOmniHeard = "/talker_config/accept_hidden_layer";

class PublishedLayout : public testing::TestWithParam<Published> {
 protected:
  void SetUp() override {
    const int64_t gib = GetParam().gib;
    if (available_memory().value_or(0) < gib << 30)
      GTEST_SKIP() << "needs " << gib << " GiB of free memory";
    const auto how = fs::copy_options::recursive | fs::copy_options::overwrite_existing;
    fs::copy(parity(GetParam().golden), dir_.path(), how);
    for (const std::string layout : {GetParam().family, GetParam().over}) {
      const std::string root = parity("published/" + layout);
      if (layout.empty()) continue;
      for (const auto& entry : fs::recursive_directory_iterator(root)) {
        const std::string name = fs::relative(entry.path(), root).string();
        if (name.ends_with(".txt")) {
          files_[name.substr(0, name.size() - 4)] = PublishedFile::read(entry.path());
        }
        if (name.ends_with(".json") || name.ends_with(".yaml"))
          fs::copy_file(entry.path(), dir_.path(name), how);
      }
    }
    for (const auto& [name, file] : files_) {
      if (file.tensors.empty()) {
        fs::remove(dir_.path(name));
      } else {
        file.write(dir_.path(name));
      }
    }
    name_codes();
  }
  /// Adds tokens for codes of speech to the tokenizers, because published models have more codes
  /// than the small checkpoints. Voxtral's tokenizer file has the number of mel bands.
  void name_codes() const {
    const std::string family = GetParam().family;
    if (family == "voxtral_realtime") {
      auto tekken = nlohmann::json::parse(slurp(dir_.path("tekken.json")));
      tekken["audio"]["audio_encoding_config"]["num_mel_bins"] = 128;
      dir_.write("tekken.json", tekken.dump());
    }
    const bool glm = family == "glm4_voice";
    if (!glm && family != "step_audio2") return;
    const std::string begin = glm ? "<|audio_" : "<audio_", end = glm ? "|>" : ">";
    auto json = nlohmann::json::parse(slurp(dir_.path("tokenizer_config.json")));
    nlohmann::json& added = json["added_tokens_decoder"];
    int64_t first = -1;
    for (const auto& [id, token] : added.items())
      if (token["content"] == begin + "0" + end) first = std::stoll(id);
    ASSERT_GE(first, 0);
    for (int i = 0; i < (glm ? 16384 : 6561); ++i) {
      added[std::to_string(first + i)] = {{"content", begin + std::to_string(i) + end},
                                          {"special", true}};
    }
    dir_.write("tokenizer_config.json", json.dump());
  }
  /// Keeps only the first layers of Qwen3-Omni's language models, with their published widths.
  void shorten() {
    const std::string config = dir_.path("config.json");
    auto json = nlohmann::json::parse(slurp(config));
    PublishedFile& file = files_.at("model.safetensors");
    for (const Shortened& each : kOmniLayers) {
      json[nlohmann::json::json_pointer(each.key)] = each.layers;
      const std::string prefix = each.prefix;
      std::erase_if(file.tensors, [&](const auto& tensor) {
        return tensor.first.starts_with(prefix) &&
               std::stoll(tensor.first.substr(prefix.size())) >= each.layers;
      });
    }
    json[nlohmann::json::json_pointer(kOmniHeard)] = 2;
    dir_.write("config.json", json.dump());
    file.write(dir_.path("model.safetensors"));
  }
  /// Returns the message of the load error.
  std::string fault() const {
    for (const Family& each : families()) {
      if (std::string(each.name) != GetParam().family) continue;
      try {
        const auto pipeline = each.load({dir_.path(), "published", WeightType::kQ8});
        if (!GetParam().encodes) return "";
        if (!pipeline->voice_encoder()) return pipeline->info().speech.no_cloning;
        pipeline->voice_encoder()->open({std::vector<float>(48000), 24000, "words"});
      } catch (const LoadError& error) {
        return error.what();
      }
      return "";
    }
    return "no such family";
  }
  TestDir dir_;
  std::map<std::string, PublishedFile> files_;
};

TEST_P(PublishedLayout, Loads) {
  size_t tensors = 0;
  for (const auto& [name, file] : files_) {
    tensors += file.tensors.size();
    if (file.file_bytes > 0) {
      EXPECT_EQ(fs::file_size(dir_.path(name)), file.file_bytes) << name;
    }
    if (file.stated_data > 0) {
      EXPECT_EQ(file.data_bytes(), file.stated_data) << name;
    }
    if (file.about > 0) {
      EXPECT_NEAR(static_cast<double>(file.data_bytes()), static_cast<double>(file.about),
                  static_cast<double>(file.give))
          << name;
    }
  }
  EXPECT_EQ(tensors, GetParam().tensors);
  if (GetParam().large && !std::getenv("SYRINX_LARGE_TESTS")) {
    GTEST_SKIP() << "loaded with SYRINX_LARGE_TESTS=1 only";
  }
  if (std::string(GetParam().family) == "qwen3_omni") shorten();
  EXPECT_EQ(fault(), "");
}

/// Models that publish their encoders of recordings as safetensors. PublishedLayout also loads
/// these encoders, without changes.
class PublishedEncoders : public PublishedLayout {};

TEST_P(PublishedEncoders, MissATensorWhenARecordingComes) {
  const Published& p = GetParam();
  PublishedFile changed = files_[p.file];
  ASSERT_EQ(changed.tensors.erase(p.missing), 1u);
  changed.write(dir_.path(p.file));
  const std::string said = fault();
  EXPECT_NE(said.find(p.missing), std::string::npos) << p.missing << " is not in: " << said;
}

// All families refuse changed checkpoints in the same way (loading_test.cc), so only the smallest
// models are tested here.
class PublishedChanges : public PublishedLayout {};

TEST_P(PublishedChanges, AreRefused) {
  const Published& p = GetParam();
  PublishedFile changed = files_[p.file];
  ASSERT_EQ(changed.tensors.erase(p.missing), 1u);
  ASSERT_EQ(changed.tensors.count(p.reshaped), 1u);
  changed.tensors[p.reshaped].shape.push_back(1);
  changed.tensors["stranger.weight"] = {"F32", {0}, ""};
  changed.write(dir_.path(p.file));
  const std::string said = fault();
  for (const char* part : {p.missing, p.reshaped, "stranger.weight"}) {
    EXPECT_NE(said.find(part), std::string::npos) << part << " is not in: " << said;
  }
}

const Published kQwen{"qwen3_tts",
                      "qwen3_tts/golden/equal_width/checkpoint",
                      402 + 496,
                      2,
                      false,
                      "model.safetensors",
                      "talker.model.layers.27.self_attn.k_norm.weight",
                      "talker.code_predictor.model.norm.weight"};
const Published kChatterbox{
    "chatterbox",         "chatterbox/golden/checkpoint",          292 + 2489 + 16,   2, false,
    "t3_cfg.safetensors", "tfmr.layers.29.input_layernorm.weight", "tfmr.norm.weight"};
const Published kChatterboxMultilingual{"chatterbox_multilingual",
                                        "chatterbox_multilingual/golden/checkpoint",
                                        292 + 2489 + 16,
                                        3,
                                        false,
                                        "ve.pt",
                                        "lstm.weight_hh_l2",
                                        "",
                                        "",
                                        true};
const Published kChatterboxTurbo{"chatterbox_turbo",
                                 "chatterbox_turbo/golden/checkpoint",
                                 299 + 2490 + 16,
                                 3,
                                 false,
                                 "ve.safetensors",
                                 "lstm.weight_hh_l2",
                                 "",
                                 "",
                                 true};
const Published kCosyVoice2{"cosyvoice2",
                            "cosyvoice2/golden/checkpoint",
                            295 + 1121 + 328,
                            2,
                            false,
                            "llm.pt",
                            "llm.model.model.layers.23.self_attn.q_proj.bias",
                            "llm_embedding.weight"};
const Published kCosyVoice3{"cosyvoice3",
                            "cosyvoice3/golden/checkpoint",
                            293 + 330 + 328,
                            3,
                            false,
                            "flow.pt",
                            "decoder.estimator.transformer_blocks.21.attn.to_q.bias",
                            "input_embedding.weight"};
const Published kWhisper{"whisper",
                         "whisper/small",
                         167,
                         2,
                         false,
                         "model.safetensors",
                         "model.decoder.layers.3.encoder_attn.k_proj.weight",
                         "model.encoder.embed_positions.weight"};

const Published kPocket{"pocket_tts",
                        "pocket_tts/golden/small/checkpoint",
                        214,
                        2,
                        false,
                        "model.safetensors",
                        "flow_lm.out_eos.bias",
                        "flow_lm.out_norm.weight"};
const Published kSmallPocket{
    "pocket_tts",   "pocket_tts/golden/distilled/checkpoint", 224, 2, false, "", "", "",
    "pocket_tts_2m"};
/// The encoder of recordings is part of the codec, which is published separately.
const Published kOmniVoice{"omnivoice",
                           "omnivoice/golden/plain/checkpoint",
                           313 + 527,
                           4,
                           false,
                           "audio_tokenizer/model.safetensors",
                           "semantic_model.encoder.layer_norm.bias",
                           "",
                           "",
                           true};
const Published kAsr{"qwen3_asr", "qwen3_asr/golden/original/checkpoint", 612, 3};
const Published kLargeAsr{
    "qwen3_asr",     "qwen3_asr/golden/original/checkpoint", 708, 5, true, "", "", "",
    "qwen3_asr_1.7b"};

/// Base checkpoints have a speaker encoder, which is loaded with the first recording.
const Published kQwenBase{"qwen3_tts",
                          "qwen3_tts/golden/equal_width/checkpoint",
                          478 + 496,
                          2,
                          false,
                          "model.safetensors",
                          "speaker_encoder.asp.tdnn.conv.weight",
                          "",
                          "qwen3_tts_base",
                          true};
const Published kLargeQwenBase{
    "qwen3_tts",          "qwen3_tts/golden/equal_width/checkpoint", 480 + 496, 4, true, "", "", "",
    "qwen3_tts_1.7b_base"};
const Published kLargeQwen{
    "qwen3_tts",     "qwen3_tts/golden/equal_width/checkpoint", 404 + 496, 4, true, "", "", "",
    "qwen3_tts_1.7b"};
const Published kOpusDialogue{"opuslm", "opuslm/golden/checkpoint", 220 + 174, 4, true, "", "",
                              "",       "opuslm_dialogue"};
const Published kChatterboxVoices{"chatterbox",
                                  "chatterbox/golden/checkpoint",
                                  292 + 2489 + 16,
                                  3,
                                  false,
                                  "ve.safetensors",
                                  "lstm.weight_hh_l2",
                                  "",
                                  "",
                                  true};

const Published kNemotron{"nemotron_asr",
                          "transducer/golden/small/checkpoint",
                          915,
                          3,
                          false,
                          "model.safetensors",
                          "encoder.layers.23.conv.norm.bias",
                          "decoder.lstm.weight_hh_l1"};
const Published kParakeet{
    "nemotron_asr", "transducer/golden/tdt/checkpoint", 723, 3, false, "", "", "", "parakeet"};

const Published kKyutaiStt{"kyutai_stt",
                           "kyutai_stt/golden/small/checkpoint",
                           131 + 318,
                           4,
                           false,
                           "model.safetensors",
                           "transformer.layers.15.self_attn.out_proj.weight",
                           "text_linear.weight"};
const Published kLargeKyutaiStt{
    "kyutai_stt",     "kyutai_stt/golden/other/checkpoint", 323 + 318, 8, true, "", "", "",
    "kyutai_stt_2.6b"};

const Published kVoxtral{"voxtral_realtime",
                         "voxtral_realtime/golden/small/checkpoint",
                         711,
                         7,
                         true,
                         "model.safetensors",
                         "audio_tower.layers.31.mlp.down_proj.bias",
                         "language_model.model.layers.25.ada_rms_norm.linear2.weight"};

const Published kOriginalVoxtral{"voxtral_realtime",
                                 "voxtral_realtime/golden/original/checkpoint",
                                 711,
                                 7,
                                 true,
                                 "",
                                 "",
                                 "",
                                 "voxtral_realtime_original"};

const Published kVoxtralTts{"voxtral_tts",
                            "voxtral_tts/golden/small/checkpoint",
                            386 + 1,
                            7,
                            true,
                            "consolidated.safetensors",
                            "acoustic_transformer.layers.2.ffn_norm.weight",
                            "audio_tokenizer.output_proj.conv.parametrizations.weight.original1"};

const Published kKyutaiTts{"kyutai_tts",
                           "kyutai_tts/golden/small/checkpoint",
                           418 + 318 + 1,
                           6,
                           true,
                           "dsm_tts_1e68beda@240.safetensors",
                           "depformer.layers.3.gating.10.linear_in.weight",
                           "transformer.layers.15.cross_attention.in_proj_weight"};

std::string family_of(const testing::TestParamInfo<Published>& test) {
  std::string name = *test.param.over ? test.param.over : test.param.family;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Families, PublishedLayout,
    testing::Values(
        kQwen, kQwenBase, kChatterboxVoices, kChatterboxMultilingual, kChatterboxTurbo, kCosyVoice2,
        kCosyVoice3, kWhisper, kNemotron, kParakeet, kKyutaiStt, kLargeKyutaiStt, kVoxtral,
        kOriginalVoxtral, kVoxtralTts, kKyutaiTts,
        Published{"csm", "csm/golden/taught/checkpoint", 538, 6, true},
        Published{"opuslm", "opuslm/golden/checkpoint", 356 + 174, 11, true},
        Published{"glm4_voice", "glm4_voice/golden/checkpoint", 284 + 249 + 1185 + 227, 14, true},
        Published{"step_audio2", "step_audio2/golden/checkpoint", 832 + 605 + 328, 12, true},
        kLargeQwen, kLargeQwenBase, kOpusDialogue,
        Published{"fish_speech", "fish_speech/golden/checkpoint", 358, 6, true},
        Published{"higgs_audio", "higgs/golden/checkpoint", 399 + 527, 6, true},
        Published{"voxcpm2", "voxcpm2/golden/checkpoint", 577 + 311, 6, true}, kPocket,
        kSmallPocket, kOmniVoice,
        Published{"vibevoice", "vibevoice/golden/plain/checkpoint", 605 + 100, 6, true},
        Published{"moss_tts", "moss_tts/golden/other_shapes/checkpoint", 403 + 1600, 6, true},
        Published{"orpheus", "orpheus/golden/checkpoint", 254 + 269, 6, true},
        Published{"zonos", "zonos/golden/checkpoint", 246 + 116, 6, true},
        Published{"bagpiper", "bagpiper/golden/checkpoint", 1382, 12, true}, kAsr, kLargeAsr,
        Published{"qwen3_omni", "qwen3_omni/golden/published/checkpoint", 28010, 8, true}),
    family_of);

// Fish Audio's codec has no config, so its sizes are read from its tensors.
TEST(PublishedFishCodec, SizesAreThoseOfItsTensors) {
  const auto file = PublishedFile::read(parity("published/fish_codec/codec.pth.txt"));
  EXPECT_EQ(file.tensors.size(), 535u);
  const TestDir dir;
  file.write(dir.path("codec.pth"));
  const Weights weights(open_weights(dir.path("codec.pth")));
  const FishCodecConfig got = FishCodecConfig::of(weights), want;
  EXPECT_EQ(got.codebooks, want.codebooks);
  EXPECT_EQ(got.semantic_codes, want.semantic_codes);
  EXPECT_EQ(got.residual_codes, want.residual_codes);
  EXPECT_EQ(got.latent, want.latent);
  EXPECT_EQ(got.post_layers, want.post_layers);
  EXPECT_EQ(got.post_ffn, want.post_ffn);
  EXPECT_EQ(got.upsample, want.upsample);
  EXPECT_EQ(got.channels, want.channels);
  EXPECT_EQ(got.rates, want.rates);
  EXPECT_EQ(got.encodes, want.encodes);
  EXPECT_EQ(got.pre_layers, want.pre_layers);
  EXPECT_EQ(got.downsample, want.downsample);
  EXPECT_EQ(got.encoder_channels, want.encoder_channels);
  EXPECT_EQ(got.encoder_rates, want.encoder_rates);
  EXPECT_EQ(got.encoder_layers, want.encoder_layers);
  EXPECT_EQ(got.encoder_ffn, want.encoder_ffn);
  if (!std::getenv("SYRINX_LARGE_TESTS")) return;  // loads gigabytes of zeros
  const FishCodec codec(got, weights, WeightType::kBF16);
  const FishEncoder encoder(got, weights);
  EXPECT_EQ(weights.report().faults(), "");
}

INSTANTIATE_TEST_SUITE_P(Families, PublishedEncoders,
                         testing::Values(kQwenBase, kChatterboxVoices, kOmniVoice), family_of);

INSTANTIATE_TEST_SUITE_P(Families, PublishedChanges,
                         testing::Values(kQwen, kChatterbox, kCosyVoice2, kCosyVoice3, kWhisper,
                                         kNemotron, kPocket),
                         family_of);

}  // namespace
}  // namespace syrinx
