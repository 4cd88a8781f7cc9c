// A small checkpoint and a request for each family, by the family's name, for tests of all families
// that write or speak.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "families/family.h"
#include "families/step_audio2/fixture.h"
#include "families/zonos/pipeline.h"

namespace syrinx::parity {

const std::string kParity = SYRINX_BINARY_DIR "/parity/";

/// The path of a family's small checkpoint, and one of its voices (none for models that converse).
struct Small {
  const char *dir, *voice, *language;
  bool converses = false;
};
inline const std::map<std::string, Small> kSmall{
    {"qwen3_tts", {"qwen3_tts/golden/equal_width/checkpoint", "vivian", "english"}},
    {"csm", {"csm/golden/taught/checkpoint", "0", ""}},
    {"orpheus", {"orpheus/golden/checkpoint", "leo", ""}},
    {"chatterbox", {"chatterbox/golden/checkpoint", "", ""}},
    {"chatterbox_multilingual", {"chatterbox_multilingual/golden/checkpoint", "", "de"}},
    {"chatterbox_turbo", {"chatterbox_turbo/golden/checkpoint", "", ""}},
    {"cosyvoice2", {"cosyvoice2/golden/checkpoint", "owl", ""}},
    {"cosyvoice3", {"cosyvoice3/golden/checkpoint", "owl", ""}},
    {"zonos", {"zonos/golden/checkpoint", "none", "en-us"}},
    {"fish_speech", {"fish_speech/golden/checkpoint", "0", ""}},
    {"higgs_audio", {"higgs/golden/checkpoint", "default", ""}},
    {"opuslm", {"opuslm/golden/checkpoint", "default", ""}},
    {"bagpiper", {"bagpiper/golden/checkpoint", "default", ""}},
    {"voxcpm2", {"voxcpm2/golden/checkpoint", "", ""}},
    {"pocket_tts", {"pocket_tts/golden/distilled/checkpoint", "speech", ""}},
    {"vibevoice", {"vibevoice/golden/plain/checkpoint", "anna", ""}},
    {"moss_tts", {"moss_tts/golden/other_shapes/checkpoint", "", ""}},
    {"voxtral_tts", {"voxtral_tts/golden/small/checkpoint", "fr_male", ""}},
    {"glm4_voice", {"glm4_voice/golden/checkpoint", "", "", true}},
    {"step_audio2", {"step_audio2/golden/checkpoint", "", "", true}},
    {"qwen3_omni", {"qwen3_omni/golden/published/checkpoint", "", "", true}},
    {"llm", {"llm/qwen3", "", "", true}},
};

/// Loads a small checkpoint. Zonos gets the text's letters as phonemes, so espeak-ng is not needed.
inline std::shared_ptr<const Pipeline> load_small(const std::string& name,
                                                  WeightType weights = WeightType::kF32) {
  const LoadSpec spec{kParity + kSmall.at(name).dir, "tiny", weights};
  if (name == "zonos") {
    return std::make_shared<zonos::Zonos>(
        spec, [](std::string_view text, std::string_view) { return Result(std::string(text)); });
  }
  for (const Family& family : families())
    if (family.name == name) return family.load(spec);
  ADD_FAILURE() << "no family " << name;
  return nullptr;
}

/// Returns a request that speaks `text`.
inline SpeechRequest small_request(const std::string& name, const std::string& text) {
  const Small& small = kSmall.at(name);
  SpeechRequest request;
  request.say.text = text;
  request.voice.name = small.voice;
  request.say.language = small.language;
  if (name == "step_audio2") request.voice.data = step_audio2::golden_voice(20);
  return request;
}

}  // namespace syrinx::parity
