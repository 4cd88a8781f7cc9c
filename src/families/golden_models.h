// For tests: the models of the golden suite. A family registers a row: its small checkpoint, the
// cases that the authors' code computed, bounds, and how its requests differ (golden_model.h).
// golden_test.cc runs models whose language model is a CodecLm through the pipeline, and
// codec_stages_test.cc the stages behind it. tests/parity/golden/engine_test.cc runs all models
// through the engine.
#pragma once

#include <algorithm>
#include <cmath>

#include "families/golden_model.h"

namespace syrinx {

/// A late text of three sentences, which begins with a direction.
inline constexpr const char* kSentences =
    "(warm) The first sentence is long enough to stand by itself, and it does. How are you? And "
    "this is another one that is long enough for that.";

inline constexpr GoldenModel kGoldenModels[] = {
    {.name = "orpheus",
     .family = "orpheus",
     .dir = "orpheus/golden",
     .logits = 3e-5f,
     .ask = golden::ask_orpheus,
     .vary = golden::vary_orpheus,
     .late_text =
         "Hello there, how are you today? I am fine. The weather is good in the north. The "
         "quick brown fox jumps over the lazy dog, and that is all there is to say."},
    {.name = "higgs",
     .family = "higgs_audio",
     .dir = "higgs/golden",
     .samples = 1e-5f,
     .ask = golden::ask_higgs,
     .vary = golden::vary_higgs,
     .late_text = "<|emotion:sadness|>Hello there, it has been a long time since we have met. How "
                  "are you?"},
    {.name = "csm",
     .family = "csm",
     .dir = "csm/golden/published_rates",
     .ask = golden::ask_csm,
     .left_out = LeftOut::kOfEnded,
     .vary = golden::vary_csm<32>,
     .late_text = "hello there. How are you? I'm fine."},
    {.name = "csm_taught",  // this checkpoint was trained to end its speech
     .family = "csm",
     .dir = "csm/golden/taught",
     .ask = golden::ask_csm,
     .left_out = LeftOut::kOfEnded,
     .vary = golden::vary_csm<6>,
     .late_text = "hello there. How are you? I'm fine."},
    {.name = "fish_speech",
     .family = "fish_speech",
     .dir = "fish_speech/golden",
     .ask = golden::ask_fish_speech,
     .left_out = LeftOut::kOfAll,
     .end = golden::end_fish_speech,
     .vary = golden::vary_fish_speech,
     .late_text = "<|speaker:1|>hello there. How are you? I'm fine."},
    {.name = "opuslm",
     .family = "opuslm",
     .dir = "opuslm/golden",
     .samples = 1e-5f,
     .least = 40,  // number of units; logits of words are -inf in steps of speech
     .ask = golden::ask_opuslm,
     .read = golden::read_opuslm,
     .vary = golden::vary_opuslm,
     .late_text = "Hello there, it has been a long time since we have met in this town, has it "
                  "not? How are you?"},
    {.name = "zonos",
     .family = "zonos",
     .dir = "zonos/golden",
     .ask = zonos::ask,
     .read = golden::read_zonos,
     .load = golden::load_zonos,
     .vary = zonos::vary,
     .late_text = "Hello there, it has been a long time. How are you? I am fine."},
    {.name = "chatterbox",
     .family = "chatterbox",
     .dir = "chatterbox/golden",
     .ask = golden::ask_chatterbox,
     .read = golden::read_chatterbox,
     .vary = golden::vary_chatterbox},
    {.name = "chatterbox_multilingual",
     .family = "chatterbox_multilingual",
     .dir = "chatterbox_multilingual/golden",
     .samples = 0,
     .ask = golden::ask_chatterbox,
     .read = golden::read_chatterbox,
     .vary = golden::vary_chatterbox},
    {.name = "chatterbox_turbo",
     .family = "chatterbox_turbo",
     .dir = "chatterbox_turbo/golden",
     .ask = golden::ask_chatterbox,
     .read = golden::read_chatterbox,
     .vary = golden::vary_turbo},
    {.name = "chatterbox_turbo_wide",
     .family = "chatterbox_turbo",
     .dir = "chatterbox_turbo/golden/wide",
     .samples = 0,
     .ask = golden::ask_chatterbox,
     .read = golden::read_chatterbox,
     .vary = golden::vary_turbo},
    {.name = "cosyvoice2",
     .family = "cosyvoice2",
     .dir = "cosyvoice2/golden",
     .ask = golden::ask_cosyvoice,
     .read = golden::read_cosyvoice,
     .end = golden::end_cosyvoice,
     .vary = golden::vary_cosyvoice},
    {.name = "cosyvoice3",
     .family = "cosyvoice3",
     .dir = "cosyvoice3/golden",
     .ask = golden::ask_cosyvoice,
     .read = golden::read_cosyvoice,
     .end = golden::end_cosyvoice,
     .vary = golden::vary_cosyvoice},
    {.name = "cosyvoice3_wide",
     .family = "cosyvoice3",
     .dir = "cosyvoice3/golden/wide",
     .longest = 40,
     .ask = golden::ask_cosyvoice,
     .read = golden::read_cosyvoice,
     .vary = golden::vary_cosyvoice},
    {.name = "moss_tts",
     .family = "moss_tts",
     .dir = "moss_tts/golden/published_rates",
     .ask = moss_tts::ask,
     .vary = moss_tts::vary<16>,
     .late_text = "Hello there, how are you? The quick brown fox, and all other things."},
    {.name = "moss_tts_shapes",
     .family = "moss_tts",
     .dir = "moss_tts/golden/other_shapes",
     .ask = moss_tts::ask,
     .vary = moss_tts::vary<6>,
     .late_text = "Hello there, how are you? The quick brown fox, and all other things."},
    {.name = "voxtral_tts",
     .family = "voxtral_tts",
     .dir = "voxtral_tts/golden/small",
     .samples = 1e-5f,
     .ask = voxtral_tts::ask,
     .vary = voxtral_tts::vary,
     .late_text = "Hello there, it has been a long time since we have met in this town, has it "
                  "not? How are you?"},
    {.name = "voxtral_tts_other",
     .family = "voxtral_tts",
     .dir = "voxtral_tts/golden/other",
     .samples = 1e-5f,
     .ask = voxtral_tts::ask,
     .vary = voxtral_tts::vary,
     .late_text = "Hello there, it has been a long time since we have met in this town, has it "
                  "not? How are you?"},
    {.name = "qwen3_tts",
     .family = "qwen3_tts",
     .dir = "qwen3_tts/golden/equal_width",
     .ask = golden::ask_qwen3_tts,
     .read = golden::read_qwen3_tts,
     .vary = golden::vary_qwen3_tts,
     .late_text = "Hello there, how are you? The quick brown fox."},
    {.name = "qwen3_tts_projected",
     .family = "qwen3_tts",
     .dir = "qwen3_tts/golden/projected",
     .ask = golden::ask_qwen3_tts,
     .read = golden::read_qwen3_tts,
     .vary = golden::vary_qwen3_tts,
     .late_text = "Hello there, how are you? The quick brown fox."},
};

/// Models that need the voice of a recording.
inline constexpr GoldenModel kClonedGoldenModels[] = {
    {.name = "qwen3_tts_base",
     .family = "qwen3_tts",
     .dir = "qwen3_tts/golden/base",
     .longest = 59,
     .ask = golden::ask_qwen3_base,
     .read = golden::read_qwen3_tts,
     .vary = golden::vary_qwen3_tts},
};

/// Models with their own class of language model. Tests in their own folders compare the
/// logits.
inline constexpr GoldenModel kOtherGoldenModels[] = {
    {.name = "voxcpm2",
     .family = "voxcpm2",
     .dir = "voxcpm2/golden",
     .samples = 3e-4f,  // the authors' code differs from float64 by 9.5e-5
     .ask = golden::ask_latents,
     .read = golden::read_latents,
     .vary = golden::vary_voxcpm2,
     .late_text = kSentences},
    {.name = "pocket_tts",
     .family = "pocket_tts",
     .dir = "pocket_tts/golden/distilled",
     .ask = golden::ask_latents,
     .read = golden::read_latents,
     .vary = golden::vary_pocket_tts<48>,
     .late_text = kSentences},
    {.name = "pocket_tts_small",
     .family = "pocket_tts",
     .dir = "pocket_tts/golden/small",
     .ask = golden::ask_latents,
     .read = golden::read_latents,
     .vary = golden::vary_pocket_tts<24>,
     .late_text = kSentences},
    {.name = "vibevoice",
     .family = "vibevoice",
     .dir = "vibevoice/golden/plain",
     .ask = golden::ask_latents,
     .read = golden::read_latents,
     .vary = golden::vary_vibevoice,
     .late_text = "We walked along the river and then, when it was dark, we went “home”. "},
    {.name = "vibevoice_shapes",
     .family = "vibevoice",
     .dir = "vibevoice/golden/other",
     .ask = golden::ask_latents,
     .read = golden::read_latents,
     .vary = golden::vary_vibevoice,
     .late_text = "We walked along the river and then, when it was dark, we went “home”. "},
    {.name = "omnivoice",
     .family = "omnivoice",
     .dir = "omnivoice/golden/plain",
     .samples = 1e-5f,
     .ask = omnivoice::ask,
     .read = golden::read_latents,
     .vary = omnivoice::vary<8>,
     .late_text = kSentences},
    {.name = "omnivoice_shapes",
     .family = "omnivoice",
     .dir = "omnivoice/golden/shapes",
     .samples = 1e-5f,
     .ask = omnivoice::ask,
     .read = golden::read_latents,
     .vary = omnivoice::vary<4>,
     .late_text = kSentences},
};

inline std::vector<GoldenCase> golden_cases(const GoldenModel& model) {
  std::vector<GoldenCase> cases;
  auto list = nlohmann::json::parse(read_file(golden_path(model, "cases.json"), 1 << 20));
  if (list.contains("cases")) list = nlohmann::json(list["cases"]);
  if (list.contains("guided")) list = nlohmann::json::array({list["guided"]});
  for (const auto& json : list) {
    GoldenCase c;
    c.name = json["name"];
    c.golden = std::make_shared<Safetensors>(golden_path(model, c.name + ".safetensors"));
    if (!model.read(model, json, c)) continue;
    c.request.say.text = json["text"];
    c.request.voice.name = json.value("voice", "");
    c.request.terms.ignore_stop = json.value("ignore_stop", false);
    if (json.contains("penalty"))
      c.request.sampling.repetition_penalty = json["penalty"].get<float>();
    c.request.sampling.temperature = 0.f;
    if (model.ask) model.ask(json, *c.golden, c.request);
    cases.push_back(std::move(c));
  }
  return cases;
}

inline std::shared_ptr<const Pipeline> load_golden(const GoldenModel& model,
                                                   WeightType weights = WeightType::kF32) {
  const LoadSpec spec{golden_path(model, "checkpoint"), "tiny", weights};
  if (model.load) return model.load(spec);
  for (const Family& family : families()) {
    if (family.name == std::string(model.family)) return family.load(spec);
  }
  ADD_FAILURE() << "no family " << model.family;
  return nullptr;
}

inline int64_t samples_a_frame(const Pipeline& model) {
  return std::lround(model.info().speech.sample_rate / model.info().speech.frame_rate);
}

inline std::string golden_name(const testing::TestParamInfo<GoldenModel>& row) {
  return row.param.name;
}

}  // namespace syrinx
