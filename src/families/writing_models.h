// For tests: the models that write, i.e. text models, models that answer chats, and recognisers of
// whole recordings. A family registers a row: its small checkpoint, the requests of its goldens,
// and what differs. writing_models_test.cc runs them without an engine, and
// tests/parity/writing/engine_test.cc through the engine.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "audio/resampler.h"
#include "families/bagpiper/fixture.h"
#include "families/family.h"
#include "families/llm/fixture.h"
#include "families/opuslm/fixture.h"
#include "families/qwen3_asr/fixture.h"
#include "families/qwen3_omni/fixture.h"
#include "families/step_audio2/fixture.h"
#include "families/whisper/fixture.h"

namespace syrinx {

/// A request of a golden case. `json` has the results of the authors' code.
struct WrittenCase {
  std::string name;
  SpeechRequest request;
  nlohmann::ordered_json json;
};

/// A row of the table.
struct WritingModel {
  const char *name, *family;
  const char* dir;         ///< folder in the build's parity folder: cases.json, NAME.safetensors
  const char* checkpoint;  ///< its folder in `dir`
  std::vector<WrittenCase> (*cases)(const WritingModel& row, const Pipeline& model);
  const char* draws = "temperature 0";  ///< sampling of a request without options
  float logits = 0;  ///< largest relative error of logits; 0: tests of the family compare them
  /// Control tokens, separated by spaces, that a client may write as text. Empty: no chats.
  const char* controls = "";
  /// Whether the checkpoint's template decides which roles and parts a message may have.
  bool templated = false;
  /// Resampling of recordings as in the authors' code. Unset: other steps follow.
  std::optional<Resampling> resampling = {};
  bool first_channel = false;  ///< the authors' code reads only the first channel
  /// Loads the model. Null: the checkpoint, by the family's name.
  std::shared_ptr<const Pipeline> (*load)(WeightType weights) = nullptr;
};

/// Returns the path of a file in the folder of a row.
inline std::string golden_path(const WritingModel& row, const std::string& name) {
  return concat(SYRINX_BINARY_DIR "/parity/", row.dir, "/", name);
}

namespace written {

using Json = nlohmann::ordered_json;
using Asked = std::optional<SpeechRequest>;

/// Returns the requests that `ask` makes of the cases; it returns none for those of other models.
template <Asked (*ask)(const Pipeline& model, const Json& json)>
std::vector<WrittenCase> cases_of(const WritingModel& row, const Pipeline& model) {
  std::vector<WrittenCase> out;
  const Json all = Json::parse(read_file(golden_path(row, "cases.json"), 1 << 20));
  for (const auto& [key, json] : all.items()) {
    if (Asked request = ask(model, json))
      out.push_back({json.value("name", key), *std::move(request), json});
  }
  return out;
}

/// Returns the request of a case of a text model.
inline Asked ask_llm(const Pipeline&, const Json& json) { return llm::case_of(json).request; }
/// Returns the request of a case of GLM-4-Voice.
inline Asked ask_glm(const Pipeline&, const Json& json) { return golden_chat(json); }
/// Returns the request of a case of Step-Audio 2.
inline Asked ask_step(const Pipeline&, const Json& json) { return step_audio2::request_of(json); }
/// Returns the request of a case of Qwen3-Omni; its other golden is of the codec.
inline Asked ask_omni(const Pipeline&, const Json& json) {
  return json.contains("messages") ? Asked(qwen3_omni::request_of(json)) : Asked();
}
/// Returns the request of a case of Qwen3-ASR.
inline Asked ask_asr(const Pipeline& model, const Json& json) {
  return qwen3_asr::request_of(model, json);
}
/// Returns the request of a case of Bagpiper.
inline Asked ask_bagpiper(const Pipeline&, const Json& json) {
  return bagpiper::case_of(json).request;
}
/// Returns the request of a case of the plain or of the dialogue model.
template <bool dialogue>
Asked ask_opuslm(const Pipeline&, const Json& json) {
  const bool other = json["dialogue"] != dialogue || json["kind"] == "read";
  return other ? Asked() : Asked(opuslm::case_of(json).request);
}
/// Loads one of the models, with the files that encode recordings.
template <bool dialogue>
std::shared_ptr<const Pipeline> load_opuslm(WeightType weights) {
  static const opuslm::ModelDir dir(dialogue, true);
  return load_as<opuslm::OpusLm>({dir.path(), "tiny", weights});
}

/// Returns the windows of a recording; every second one is shorter than 30 s.
inline std::vector<WrittenCase> windows(const WritingModel& row, const Pipeline& model) {
  const auto& whisper = dynamic_cast<const whisper::Whisper&>(model);
  const auto all = nlohmann::json::parse(read_file(golden_path(row, "cases.json"), 1 << 20));
  const std::vector<float> recording = whisper::golden_recording(all, 0);
  std::vector<WrittenCase> out;
  for (const auto& json : all["windows"]) {
    const auto window = whisper::golden_window(whisper, recording, json);
    window->temperature = 0;
    if (out.size() % 2 == 1) {
      window->audio.frames = std::min(window->audio.frames, 600);
      window->audio.rows = 350 + 50 * static_cast<int>(out.size());
    }
    out.push_back({json["first"].dump(), {}, json});
    out.back().request.task = window;
  }
  return out;
}

}  // namespace written

/// Returns whether the task of a request holds its results, so that it can be opened only once.
inline bool holds_results(const SpeechRequest& request) {
  return dynamic_cast<const whisper::Window*>(request.task.get()) != nullptr;
}
/// Returns the request with a task of its own, if the task holds results.
inline SpeechRequest fresh(SpeechRequest request) {
  if (holds_results(request))
    request.task =
        std::make_shared<whisper::Window>(dynamic_cast<const whisper::Window&>(*request.task));
  return request;
}

inline constexpr WritingModel kWritingModels[] = {
    {.name = "llama",
     .family = "llm",
     .dir = "llm/llama/golden",
     .checkpoint = "..",
     .cases = written::cases_of<written::ask_llm>,
     .draws = "temperature 0.6 top_k 20 top_p 0.9 penalty 1.05"},
    {.name = "qwen2",
     .family = "llm",
     .dir = "llm/qwen2/golden",
     .checkpoint = "..",
     .cases = written::cases_of<written::ask_llm>,
     .draws = "temperature 0.6 top_k 20 top_p 0.9 penalty 1.05"},
    {.name = "qwen3",
     .family = "llm",
     .dir = "llm/qwen3/golden",
     .checkpoint = "..",
     .cases = written::cases_of<written::ask_llm>,
     .draws = "temperature 0.6 top_k 20 top_p 0.9 penalty 1.05",
     .controls = "<|begin|> <|end|>",
     .templated = true},
    {.name = "glm4_voice",
     .family = "glm4_voice",
     .dir = "glm4_voice/golden",
     .checkpoint = "checkpoint",
     .cases = written::cases_of<written::ask_glm>,
     .draws = "temperature 0.2 top_k 50 top_p 0.8",
     .logits = 2e-5f,
     .controls = "<|user|> <|audio_3|>",
     .resampling = Resampling::kHann,
     .first_channel = true},
    {.name = "step_audio2",
     .family = "step_audio2",
     .dir = "step_audio2/golden",
     .checkpoint = "checkpoint",
     .cases = written::cases_of<written::ask_step>,
     .draws = "temperature 0.7 top_k 50 top_p 0.9 penalty 1.05",
     .logits = 5e-5f,
     .controls = "<|EOT|> <audio_3> <tts_start>",
     .resampling = Resampling::kHann,
     .first_channel = true},
    {.name = "qwen3_omni",
     .family = "qwen3_omni",
     .dir = "qwen3_omni/golden/published",
     .checkpoint = "checkpoint",
     .cases = written::cases_of<written::ask_omni>,
     .controls = "<|im_end|> <|audio_pad|>",
     .templated = true,
     .resampling = Resampling::kSoxr},
    {.name = "qwen3_omni_other",
     .family = "qwen3_omni",
     .dir = "qwen3_omni/golden/other",
     .checkpoint = "checkpoint",
     .cases = written::cases_of<written::ask_omni>,
     .controls = "<|im_end|> <|audio_pad|>",
     .templated = true,
     .resampling = Resampling::kSoxr},
    {.name = "bagpiper",
     .family = "bagpiper",
     .dir = "bagpiper/golden",
     .checkpoint = "checkpoint",
     .cases = written::cases_of<written::ask_bagpiper>,
     .draws = "temperature 0.6 top_k 20",
     .controls = "<|endoftext|>",
     .first_channel = true},
    {.name = "opuslm",
     .family = "opuslm",
     .dir = "opuslm/golden",
     .checkpoint = "checkpoint",
     .cases = written::cases_of<written::ask_opuslm<false>>,
     .draws = "temperature 0 top_k 30",
     .controls = "<|endoftext|>",
     .load = written::load_opuslm<false>},
    {.name = "opuslm_dialogue",
     .family = "opuslm",
     .dir = "opuslm/golden",
     .checkpoint = "dialogue",
     .cases = written::cases_of<written::ask_opuslm<true>>,
     .draws = "temperature 0 top_k 30",
     .controls = "<|endoftext|>",
     .load = written::load_opuslm<true>},
    {.name = "qwen3_asr",
     .family = "qwen3_asr",
     .dir = "qwen3_asr/golden/original",
     .checkpoint = "checkpoint",
     .cases = written::cases_of<written::ask_asr>,
     .logits = 3e-5f},
    {.name = "qwen3_asr_hf",
     .family = "qwen3_asr",
     .dir = "qwen3_asr/golden/hf",
     .checkpoint = "checkpoint",
     .cases = written::cases_of<written::ask_asr>,
     .logits = 3e-5f},
    {.name = "whisper_small",
     .family = "whisper",
     .dir = "whisper/small/golden",
     .checkpoint = "..",
     .cases = written::windows},
    {.name = "whisper_large",
     .family = "whisper",
     .dir = "whisper/large/golden",
     .checkpoint = "..",
     .cases = written::windows},
};

/// Loads the model of a row.
inline std::shared_ptr<const Pipeline> load_writing(const WritingModel& row,
                                                    WeightType weights = WeightType::kF32) {
  if (row.load) return row.load(weights);
  for (const Family& family : families()) {
    if (family.name == std::string(row.family))
      return family.load({golden_path(row, row.checkpoint), "tiny", weights});
  }
  ADD_FAILURE() << "no family " << row.family;
  return nullptr;
}

/// Returns the name of a row for the names of tests.
inline std::string writing_name(const testing::TestParamInfo<WritingModel>& row) {
  return row.param.name;
}

}  // namespace syrinx
