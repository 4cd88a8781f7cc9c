// For tests: one model of the golden suite (golden_models.h), and how goldens of each family become
// requests and results. A row's folder, in the build's parity folder, holds checkpoint/,
// cases.json, and NAME.safetensors for each case. That file has prompt_ids, frames [frames, codes],
// and logits [steps, ids] or [steps, codes, ids] of the first steps. Some files also have prefill
// [rows, width] (the prompt's last rows), prefix [2, rows, width] (its first rows, and those of the
// companion), inner_logits and samples. A case with "segments" has prompt_ids, frames and logits of
// each segment: prompt_ids_0, frames_0, ... A golden with another layout has a function that reads
// it (GoldenModel::read).
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "families/chatterbox/config.h"
#include "families/chatterbox_turbo/script.h"
#include "families/cosyvoice2/pipeline.h"
#include "families/family.h"
#include "families/fish_speech/pipeline.h"
#include "families/moss_tts/fixture.h"
#include "families/omnivoice/fixture.h"
#include "families/s3/state.h"
#include "families/vary_latents.h"
#include "families/voice_of_frames.h"
#include "families/voxtral_tts/fixture.h"
#include "families/zonos/fixture.h"
#include "families/zonos/numbers.h"
#include "families/zonos/pipeline.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "model/step_runner.h"

namespace syrinx {

struct GoldenModel;

/// Logits of the authors' code, [steps, ids] or [steps, codes, ids].
struct GoldenLogits {
  View view;
  std::vector<size_t> steps = {};     ///< step of the segment for each row; empty: the first steps
  std::vector<int64_t> columns = {};  ///< id of each column; empty: all ids
};

/// A case, and the results of the authors' code for it.
struct GoldenCase {
  std::string name;
  SpeechRequest request;
  struct Segment {
    int steps = 0;  ///< steps that make frames, with the end step if the golden has it; 0: all
    bool ended = false;
    std::vector<GoldenLogits> logits = {};
    View inner = {};  ///< logits of the codes after the first, in the first steps; may be empty
  };
  std::vector<Segment> segments;
  bool ended = false;  ///< whether the model itself ended the last segment
  std::shared_ptr<Safetensors> golden;
  std::vector<int32_t> prompt_ids;  ///< ids of all segments; empty: not compared
  std::vector<int32_t> frames;      ///< the spoken frames, [T, C]
};

/// Sets options of a case in cases.json. The suite itself sets its text, voice, penalty and whether
/// the end is ignored.
using AskGolden = void (*)(const nlohmann::json& json, const Safetensors& golden,
                           SpeechRequest& request);

/// Reads the results of a case from GoldenCase::golden. Returns false if the case has no speech.
using ReadGolden = bool (*)(const GoldenModel& model, const nlohmann::json& json, GoldenCase& c);

/// Returns the codes of a step that ends a segment, for segments that the authors' code cut.
using EndGolden = std::vector<int32_t> (*)(const Pipeline& model);

/// The segments whose last frame is not spoken: no segment, those that the model ended, or all.
enum class LeftOut { kNone, kOfEnded, kOfAll };

inline bool read_golden(const GoldenModel& model, const nlohmann::json& json, GoldenCase& c);

struct GoldenModel {
  const char *name, *family, *dir;
  float logits = 1e-4f;   ///< largest error, relative to the largest logit of its row
  float samples = 1e-4f;  ///< largest absolute error; 0: the goldens have no samples
  int longest = 200;      ///< number of steps that the longest case must have at least
  size_t least = 0;       ///< finite logits a step needs; 0: all those of the codes begun so far
  AskGolden ask = nullptr;
  ReadGolden read = read_golden;
  LeftOut left_out = LeftOut::kNone;
  EndGolden end = nullptr;  ///< set if cases have several segments
  /// Loads the checkpoint. Unset: the loader of the family with this name, because a small config
  /// may lack the keys by which the family recognizes published checkpoints.
  std::shared_ptr<const Pipeline> (*load)(const LoadSpec& spec) = nullptr;
  // The fields below are used by the engine tests.
  void (*vary)(int i, SpeechRequest& other);  ///< changes the i-th of many parallel requests
  const char* late_text = "";  ///< text that arrives in pieces; empty: late text is not supported
};

inline std::string golden_path(const GoldenModel& model, const std::string& name) {
  return concat(SYRINX_BINARY_DIR "/parity/", model.dir, "/", name);
}

namespace golden {

inline void ask_orpheus(const nlohmann::json& json, const Safetensors&, SpeechRequest& request) {
  request.sampling.seed = 77;  // seed in make_golden.py, for the noise of the codec
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

/// For models that speak in latents or canvases. Tests in their own folders compare the steps; here
/// only samples are compared, in most goldens the first ones.
inline bool read_latents(const GoldenModel&, const nlohmann::json& json, GoldenCase& c) {
  c.segments.emplace_back();
  return c.golden->find("samples") && !json.contains("prompt");
}
inline void ask_latents(const nlohmann::json& json, const Safetensors&, SpeechRequest& request) {
  request.sampling.temperature.reset();
  if (json.contains("temperature")) request.sampling.temperature = json["temperature"].get<float>();
  if (json.contains("guidance")) request.sampling.guidance = json["guidance"].get<float>();
  request.sampling.seed = json["seed"];
  if (request.voice.name.empty()) request.voice.name = "default";
  request.terms.ignore_stop = json.contains("lengths");
}
inline void ask_qwen3_tts(const nlohmann::json& json, const Safetensors&, SpeechRequest& request) {
  const std::string speaker = json.value("speaker", "");
  request.voice.name = speaker.empty() ? "none" : speaker;
  request.say.language = json["language"];
  request.say.instructions = json.value("instruct", "");
  request.say.in_prompt = json["text_mode"] == "whole";
  request.sampling.repetition_penalty = json.value("repetition_penalty", 1.f);
  request.terms.max_frames = 1000;
}
/// Gives the request the voice that the authors' code made of the recording.
inline void ask_qwen3_base(const nlohmann::json& json, const Safetensors& golden,
                           SpeechRequest& request) {
  ask_qwen3_tts(json, golden, request);
  const Safetensors recordings(SYRINX_BINARY_DIR
                               "/parity/qwen3_tts/golden/base/recordings.safetensors");
  const std::string name = json["recording"], said = json["said"];
  const View codes = recordings.view(name + "_codes"), vector = recordings.view(name + "_speaker");
  auto voice = voice_of_frames("qwen3_tts", ints(codes), codes.shape[1], said);
  if (said.empty()) voice->mode = "x-vector", voice->tensors.clear();
  Tensor speaker({vector.count()}, DType::kF32);
  std::copy_n(vector.f32(), vector.count(), speaker.f32());
  voice->tensors.emplace("speaker", std::move(speaker));
  request.voice.data = std::move(voice);
}
/// Reads the first step's logits of all ids, and those of codes and the end in all steps. Does not
/// read ids of prompts: a row sums several of them, and the test RowsOfPrompts compares rows.
inline bool read_qwen3_tts(const GoldenModel& model, const nlohmann::json& json, GoldenCase& c) {
  c.ended = json["ended"];
  c.frames = ints(c.golden->view("frames"));
  GoldenCase::Segment all{.steps = json["steps"].get<int>() + c.ended,
                          .ended = c.ended,
                          .inner = c.golden->view("inner_logits")};
  const View some = c.golden->view("logits_codes_end");
  GoldenLogits codes{some};
  for (int64_t id = 0; id + 1 < some.shape[1]; ++id) codes.columns.push_back(id);
  const auto config =
      nlohmann::json::parse(read_file(golden_path(model, "checkpoint/config.json"), 1 << 20));
  codes.columns.push_back(config["talker_config"]["codec_eos_token_id"]);
  all.logits.push_back(std::move(codes));
  if (c.golden->find("logits_full")) all.logits.push_back({c.golden->view("logits_full")});
  c.segments.push_back(std::move(all));
  return true;
}
inline void vary_qwen3_tts(int i, SpeechRequest& other) {
  if (i % 3 == 1) other.say.in_prompt = false;
}

/// The golden of a guided case has the logits before guidance, so they are not compared.
inline bool read_opuslm(const GoldenModel& model, const nlohmann::json& json, GoldenCase& c) {
  if (json["kind"] != "read" || !read_golden(model, json, c)) return false;
  if (json.contains("guidance")) c.segments[0].logits.clear();
  return true;
}
inline void ask_opuslm(const nlohmann::json& json, const Safetensors& golden,
                       SpeechRequest& request) {
  if (request.terms.ignore_stop) request.terms.max_frames = json["most"].get<int>() - 8;
  if (json.contains("guidance")) request.sampling.guidance = json["guidance"].get<float>();
  if (golden.find("local"))
    request.voice.data = voice_of_frames("opuslm", ints(golden.view("local")), 9);
}
inline void vary_opuslm(int i, SpeechRequest& other) {
  const std::vector<int32_t> codes(static_cast<size_t>(9 * (i + 1)), 3);
  if (i % 3 == 1) other.sampling.guidance = 2.f;
  if (i % 3 == 2) other.voice.data = voice_of_frames("opuslm", codes, 9);
  if (i % 3 == 2) other.sampling.temperature = 0.3f, other.sampling.top_k = 5;
}

/// Loads the model with the phonemes that the authors' code made from the golden texts, so it does
/// not need espeak-ng. Other texts are read as letters.
inline std::shared_ptr<const Pipeline> load_zonos(const LoadSpec& spec) {
  const auto phonemes = [](std::string_view text, std::string_view) -> Result<std::string> {
    const std::string path = SYRINX_BINARY_DIR "/parity/zonos/golden/cases.json";
    const auto all = nlohmann::json::parse(read_file(path, 1 << 20));
    for (const auto& c : all["cases"]) {
      if (zonos::normalize_numbers(c["text"].get<std::string>()) == text)
        return c["phonemes"].get<std::string>();
    }
    return std::string(text);
  };
  return std::make_shared<zonos::Zonos>(spec, phonemes);
}
/// Reads the first step's logits of all ids, and logits of some ids in all steps or in `steps`.
inline bool read_zonos(const GoldenModel& model, const nlohmann::json& json, GoldenCase& c) {
  const auto all = nlohmann::json::parse(read_file(golden_path(model, "cases.json"), 1 << 20));
  c.ended = json["ended"];
  c.prompt_ids = ints(c.golden->view("prompt_ids"));
  c.frames = ints(c.golden->view("frames"));
  std::vector<int32_t> steps;  // goldens of long cases have the logits of only these steps
  if (c.golden->find("logits_steps")) steps = ints(c.golden->view("logits_steps"));
  c.segments.push_back({.ended = c.ended,
                        .logits = {{c.golden->view("logits_full")},
                                   {c.golden->view("logits_some"),
                                    {steps.begin(), steps.end()},
                                    all["columns"].get<std::vector<int64_t>>()}}});
  return true;
}

/// Reads tokens up to the one that ends speech. Turbo adds silence after them, and its goldens have
/// the logits of step 15, some also of step 0.
inline bool read_chatterbox(const GoldenModel& model, const nlohmann::json&, GoldenCase& c) {
  const bool turbo = model.family == std::string("chatterbox_turbo");
  const View logits = c.golden->view("logits");
  c.frames = ints(c.golden->view("tokens"));
  c.ended = c.frames.back() == chatterbox::kStopSpeech;
  GoldenCase::Segment all{.steps = static_cast<int>(c.frames.size()), .ended = c.ended};
  all.logits = {{logits}};
  if (turbo) {
    all.logits[0].steps = {0, 15};
    if (logits.shape[0] == 1) all.logits[0].steps = {15};
  }
  c.segments.push_back(std::move(all));
  if (c.golden->find("text_ids")) c.prompt_ids = ints(c.golden->view("text_ids"));
  std::erase_if(c.frames, [](int32_t code) { return code >= chatterbox::kSpeechCodes; });
  if (turbo && c.ended)
    c.frames.insert(c.frames.end(), chatterbox_turbo::kSilences, chatterbox_turbo::kSilence);
  return true;
}
inline void ask_chatterbox(const nlohmann::json& json, const Safetensors&, SpeechRequest& request) {
  request.say.language = json.value("language", "");
  request.sampling.seed = 7;
  if (json.contains("guidance")) request.sampling.guidance = json["guidance"].get<float>();
}
inline void vary_chatterbox(int i, SpeechRequest& other) {
  if (i % 3 == 1) other.sampling.guidance = 1.f;
  other.terms.initial_chunk_frames = i;
}
inline void vary_turbo(int i, SpeechRequest& other) {
  if (i % 2 == 1) other.terms.flow = FlowMode::kFull;
}

/// Reads the parts of a text, whose results follow each other. `counts`: tokens of each part.
/// CosyVoice3 omits silent tokens: `frames` has the others, `kept` their number in each part.
inline bool read_cosyvoice(const GoldenModel&, const nlohmann::json& json, GoldenCase& c) {
  const bool kept = c.golden->find("kept") != nullptr;
  const std::vector<int32_t> counts = ints(c.golden->view("counts"));
  const std::vector<int32_t> spoken = kept ? ints(c.golden->view("kept")) : counts;
  const View logits = c.golden->view("logits");
  c.ended = json["ended"];
  c.prompt_ids = ints(c.golden->view("prompt_ids"));
  c.frames = ints(c.golden->view(kept ? "frames" : "tokens"));
  int64_t steps = 0;
  size_t frames = 0;
  for (size_t part = 0; part < counts.size(); ++part) {
    const int64_t begin = std::min<int64_t>(steps, logits.shape[0]);
    steps += counts[part];
    const int64_t end = std::min<int64_t>(steps, logits.shape[0]);
    c.segments.push_back({.steps = counts[part],
                          .ended = c.ended && part + 1 == counts.size(),
                          .logits = {{logits.slice(begin, end)}}});
    if (part > 0) c.frames[frames] |= kS3SegmentStart;
    frames += static_cast<size_t>(spoken[part]);
  }
  return true;
}
inline void ask_cosyvoice(const nlohmann::json& json, const Safetensors&, SpeechRequest& request) {
  request.say.instructions = json.value("instruct", "");
  request.say.spell_numbers = false;  // these goldens were made without the package inflect
  request.sampling.seed = 7;
}
inline std::vector<int32_t> end_cosyvoice(const Pipeline& model) {
  return {dynamic_cast<const cosyvoice2::CosyVoice2&>(model).config().end_id()};
}
inline void vary_cosyvoice(int i, SpeechRequest& other) {
  other.voice.name = i % 3 == 1 ? "owl" : "plain";
  other.terms.initial_chunk_frames = i;
}

}  // namespace golden

inline bool read_golden(const GoldenModel& model, const nlohmann::json& json, GoldenCase& c) {
  const bool numbered = json.contains("segments");
  const auto segments = json.value("segments", nlohmann::json::array({json}));
  for (const auto& segment : segments) {
    const auto view = [&](const char* name) {
      const std::string full = numbered ? concat(name, "_", c.segments.size()) : name;
      return c.golden->find(full) ? c.golden->view(full) : View();
    };
    const View frames = view("frames"), logits = view("logits"), ids = view("prompt_ids");
    c.ended = segment["ended"];
    const bool all = model.left_out == LeftOut::kOfAll;
    const bool less = all || (c.ended && model.left_out == LeftOut::kOfEnded);
    GoldenCase::Segment now{.steps = segment["steps"].get<int>() - (all ? 1 : 0),
                            .ended = c.ended,
                            .inner = view("inner_logits")};
    if (logits.data) now.logits.push_back({logits});
    c.segments.push_back(std::move(now));
    if (ids.data) c.prompt_ids.insert(c.prompt_ids.end(), ids.i32(), ids.i32() + ids.count());
    c.frames.insert(c.frames.end(), frames.i32(),
                    frames.i32() + frames.count() - (less ? frames.shape[1] : 0));
  }
  return true;
}

}  // namespace syrinx
