// For tests: the models of the golden suite. A family registers a row: its small checkpoint with
// the cases that the authors' code computed, bounds, and the differences of its requests.
// golden_test.cc runs the models whose language model is a CodecLm through the pipeline;
// tests/parity/golden/engine_test.cc runs all of them through the engine.
// A row's folder, below the build's parity folder, holds checkpoint/, cases.json, and for each case
// NAME.safetensors with prompt_ids [P], frames [T, C], logits [L, V] or [L, K, V] of the first L
// steps, and where kept prefill [R, H] (the prompt's last rows), inner_logits [M, ...] and samples.
// A case with "segments" has prompt_ids, frames and logits of each: prompt_ids_0, frames_0, ...
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "families/family.h"
#include "families/fish_speech/pipeline.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "model/step_runner.h"
#include "model/voice.h"

namespace syrinx {

/// Sets the options of a case in cases.json that the suite does not set: all except text, voice,
/// penalty and whether the end is ignored.
using AskGolden = void (*)(const nlohmann::json& json, const Safetensors& golden,
                           SpeechRequest& request);

/// Returns the codes of a step that ends a segment, for segments that the authors' bound ended.
using EndGolden = std::vector<int32_t> (*)(const Pipeline& model);

/// The segments whose last frame is not spoken: none, those that ended by themselves, or all.
enum class LeftOut { kNone, kOfEnded, kOfAll };

struct GoldenModel {
  const char *name, *family, *dir;
  float logits = 1e-4f;   ///< bound on differences, relative to the largest logit of a row
  float samples = 1e-4f;  ///< bound on absolute differences
  AskGolden ask = nullptr;
  LeftOut left_out = LeftOut::kNone;
  EndGolden end = nullptr;  ///< set if cases have several segments
  // For the tests with an engine:
  void (*vary)(int i, SpeechRequest& other);  ///< changes the i-th request of a crowd
  const char* late_text = "";                 ///< a text that arrives in pieces
};

/// Makes a voice of the frames [T, C].
inline std::shared_ptr<Voice> voice_of_frames(const std::string& family,
                                              std::span<const int32_t> codes, int64_t codebooks,
                                              const std::string& text = "") {
  auto voice = std::make_shared<Voice>(Voice{
      .family = family, .encoder = "given", .mode = "in-context", .text = text, .seconds = 1});
  Tensor tensor({static_cast<int64_t>(codes.size()) / codebooks, codebooks}, DType::kI32);
  std::copy(codes.begin(), codes.end(), tensor.i32());
  voice->tensors.emplace("codes", std::move(tensor));
  return voice;
}

namespace golden {

inline void ask_orpheus(const nlohmann::json& json, const Safetensors&, SpeechRequest& request) {
  request.sampling.seed = 77;  // the seed in make_golden.py, for the codec's noise
  request.terms.max_frames = json["ended"] ? 1000 : json["steps"].get<int>() / 7 * 4;
}
inline void vary_orpheus(int i, SpeechRequest& other) {
  other.voice.name = i % 2 ? "none" : "leo";
  other.sampling.temperature = 0.15f * static_cast<float>(i);
  other.terms.max_frames = 20 * i;
}

inline void ask_higgs(const nlohmann::json& json, const Safetensors& golden,
                      SpeechRequest& request) {
  if (!json.contains("reference")) return;
  const View codes = golden.view("reference");
  request.voice.data =
      voice_of_frames("higgs_audio", ints(codes), codes.shape[1], json.value("reference_text", ""));
}
inline void vary_higgs(int i, SpeechRequest& other) {
  const std::vector<int32_t> codes(static_cast<size_t>(8 * (i + 1)), i);
  if (i % 3 == 1) other.voice.data = voice_of_frames("higgs_audio", codes, 8, "fine");
  if (i % 3 == 2) other.sampling.temperature = 0.3f, other.sampling.top_k = 5;
}

inline void ask_csm(const nlohmann::json& json, const Safetensors& golden, SpeechRequest& request) {
  request.terms.max_frames = 1000;
  for (const auto& turn : json["context"]) {
    const std::string codes = "context_" + std::to_string(request.say.context.size());
    request.say.context.push_back({turn["voice"], turn["text"], ints(golden.view(codes))});
  }
}
template <int kCodebooks>
void vary_csm(int i, SpeechRequest& other) {
  const std::vector<int32_t> codes(static_cast<size_t>(kCodebooks * (i + 1)), i);
  if (i % 3 == 1) other.say.context = {{"1", "fine", codes}};
  if (i % 3 == 2)
    other.sampling.temperature = 0.3f, other.sampling.top_k = 5, other.voice.name = "7";
}

inline void ask_fish_speech(const nlohmann::json& json, const Safetensors& golden,
                            SpeechRequest& request) {
  request.terms.max_frames = 1000;
  for (const auto& turn : json["references"]) {
    const std::string codes = "reference_" + std::to_string(request.say.context.size());
    request.say.context.push_back({"", turn["text"], ints(golden.view(codes))});
  }
}
inline void vary_fish_speech(int i, SpeechRequest& other) {
  const std::vector<int32_t> codes(static_cast<size_t>(10 * (i + 1)), i);
  if (i % 3 == 1) other.say.context = {{"1", "fine", codes}};
  if (i % 3 == 2)
    other.sampling.temperature = 0.3f, other.sampling.top_k = 5, other.voice.name = "7";
}
inline std::vector<int32_t> end_fish_speech(const Pipeline& model) {
  std::vector<int32_t> codes(model.graph().ar().traits().vocab.size(), 0);
  codes[0] = dynamic_cast<const fish_speech::FishSpeech&>(model).config().end_code();
  return codes;
}

inline void ask_qwen3_tts(const nlohmann::json& json, const Safetensors&, SpeechRequest& request) {
  request.voice.name = json["speaker"].get<std::string>().empty() ? "none" : json["speaker"];
  request.say.language = json["language"];
  request.say.instructions = json.value("instruct", "");
  request.say.in_prompt = json["text_mode"] == "whole";
  request.sampling.repetition_penalty = json.value("repetition_penalty", 1.f);
}
inline void vary_qwen3_tts(int i, SpeechRequest& other) {
  if (i % 3 == 1) other.say.in_prompt = false;
}

}  // namespace golden

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
    {.name = "csm_taught",  // a checkpoint that was trained to end its speech
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
};

/// Models whose language model is a class of their own; their logits are compared in their own
/// folder.
inline constexpr GoldenModel kOtherGoldenModels[] = {
    {.name = "qwen3_tts",
     .family = "qwen3_tts",
     .dir = "qwen3_tts/golden/equal_width",
     .ask = golden::ask_qwen3_tts,
     .vary = golden::vary_qwen3_tts,
     .late_text = "Hello there, how are you? The quick brown fox."},
    {.name = "qwen3_tts_projected",
     .family = "qwen3_tts",
     .dir = "qwen3_tts/golden/projected",
     .ask = golden::ask_qwen3_tts,
     .vary = golden::vary_qwen3_tts,
     .late_text = "Hello there, how are you? The quick brown fox."},
};

/// A case, and the results of the authors' code for it.
struct GoldenCase {
  std::string name;
  SpeechRequest request;
  struct Segment {
    int steps = 0;  ///< steps that make frames, and the end step if the golden counts it
    bool ended = false;
  };
  std::vector<Segment> segments;
  bool ended = false;    ///< whether the last segment ended by itself
  std::string numbered;  ///< "_" if the golden has views of each segment, else empty
  std::shared_ptr<Safetensors> golden;
  std::vector<int32_t> frames;  ///< the spoken frames, [T, C]

  std::string name_of(const char* what, size_t segment) const {
    return numbered.empty() ? what : what + numbered + std::to_string(segment);
  }
  View view(const char* what, size_t segment) const { return golden->view(name_of(what, segment)); }
};

inline std::string golden_path(const GoldenModel& model, const std::string& name) {
  return concat(SYRINX_BINARY_DIR "/parity/", model.dir, "/", name);
}

inline std::vector<GoldenCase> golden_cases(const GoldenModel& model) {
  std::vector<GoldenCase> cases;
  const std::string text = read_file(golden_path(model, "cases.json"), 1 << 20);
  for (const auto& json : nlohmann::json::parse(text)) {
    GoldenCase c{.name = json["name"],
                 .request = {},
                 .segments = {},
                 .numbered = json.contains("segments") ? "_" : "",
                 .golden = {},
                 .frames = {}};
    c.golden = std::make_shared<Safetensors>(golden_path(model, c.name + ".safetensors"));
    const auto segments = json.value("segments", nlohmann::json::array({json}));
    for (const auto& segment : segments) {
      const View frames = c.view("frames", c.segments.size());
      c.ended = segment["ended"];
      const bool all = model.left_out == LeftOut::kOfAll;
      const bool less = all || (c.ended && model.left_out == LeftOut::kOfEnded);
      c.segments.push_back({segment["steps"].get<int>() - (all ? 1 : 0), c.ended});
      const std::vector<int32_t> spoken = ints(frames);
      c.frames.insert(c.frames.end(), spoken.begin(), spoken.end() - (less ? frames.shape[1] : 0));
    }
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

/// Loads the model by its family's name: the config of a small checkpoint may lack the keys by
/// which the family claims published checkpoints.
inline std::shared_ptr<const Pipeline> load_golden(const GoldenModel& model,
                                                   WeightType weights = WeightType::kF32) {
  for (const Family& family : families()) {
    if (family.name == std::string(model.family))
      return family.load({golden_path(model, "checkpoint"), "tiny", weights});
  }
  ADD_FAILURE() << "no family " << model.family;
  return nullptr;
}

inline std::string golden_name(const testing::TestParamInfo<GoldenModel>& row) {
  return row.param.name;
}

}  // namespace syrinx
