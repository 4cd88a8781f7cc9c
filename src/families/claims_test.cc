// Tests which family a config belongs to. A family itself refuses its unsupported formats, so that
// no error says that the format is unknown.
#include <gtest/gtest.h>

#include "families/family.h"

namespace syrinx {
namespace {

/// A config of a checkpoint, and the family that claims it first. Empty: no family claims it.
struct Claim {
  const char *config, *family;
};

TEST(Claims, OfEveryFormatAreItsFamilys) {
  const Claim claims[] = {
      {R"({"backbone_flavor": "llama-1B", "decoder_flavor": "llama-100M",
           "text_vocab_size": 128256, "audio_vocab_size": 2051})",
       "csm"},
      {R"({"model_type": "dual_ar", "dim": 1024, "n_layer": 24})", "fish_speech"},
      {R"({"model_type": "vibevoice"})", "vibevoice"},
      {R"({"model_type": "llama", "vocab_size": 156940})", "orpheus"},
      {R"({"model_type": "llama", "vocab_size": 156938})", "orpheus"},
      {R"({"model_type": "llama", "vocab_size": 156951})", "orpheus"},  // Veena
      {R"({"model_type": "llama", "vocab_size": 156960})", "orpheus"},  // Maya1
      {R"({"model_type": "llama", "vocab_size": 128256})", ""},
      {R"({"model_type": "qwen2", "vocab_size": 156940})", ""},
      {R"({"architecture": "voxcpm2"})", "voxcpm2"},
      {R"({"architecture": "VoxCPM2"})", "voxcpm2"},
      {R"({"architecture": "voxcpm"})", ""},
      {R"({"architecture": 2})", ""},
      {R"({"model_type": "voxtral_tts"})", "voxtral_tts"},
      {R"({"architectures": ["VoxtralTTSForConditionalGeneration"]})", "voxtral_tts"},
      {R"({"dim": 3072, "multimodal": {"whisper_model_args": {}}})", ""},
      {R"({"vocab_size": 156940})", ""},
      {R"({"model_type": "parrot"})", ""},
      {"{}", ""},
  };
  for (const Claim& each : claims) {
    const Config root = Config::parse(each.config, "config.json");
    const auto found = std::ranges::find_if(
        families(), [&](const Family& family) { return family.claims && family.claims(root); });
    EXPECT_EQ(found == families().end() ? "" : std::string(found->name), each.family)
        << each.config;
  }
}

}  // namespace
}  // namespace syrinx
