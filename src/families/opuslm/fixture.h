// For tests: the golden checkpoints and their cases.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "families/golden_requests.h"
#include "families/opuslm/pipeline.h"
#include "families/opuslm/voice.h"
#include "families/voice_of_frames.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "io/test_dir.h"
#include "model/step_runner.h"

namespace syrinx::opuslm {

inline std::string golden_path(const std::string& name) {
  return std::string(SYRINX_BINARY_DIR) + "/parity/opuslm/golden/" + name;
}

/// A checkpoint directory of the plain model, or of the dialogue model with the same tokenizer and
/// codec. It may have the files of the audio encoders.
class ModelDir {
 public:
  explicit ModelDir(bool dialogue = false, bool hears = false) {
    constexpr auto kHow = std::filesystem::copy_options::recursive |
                          std::filesystem::copy_options::overwrite_existing;
    std::filesystem::copy(golden_path("checkpoint"), dir_.path(), kHow);
    if (hears) std::filesystem::copy(golden_path("hearing"), dir_.path(), kHow);
    if (!dialogue) return;
    std::filesystem::remove(dir_.path("model.pth"));
    std::filesystem::copy(golden_path("dialogue"), dir_.path(), kHow);
  }
  std::string path(const std::string& name = "") const { return dir_.path(name); }

 private:
  TestDir dir_;
};

/// A request in cases.json, and ESPnet's results for it.
struct Case {
  std::string name, kind, answer;
  SpeechRequest request;
  int steps = 0;
  bool ended = false, spoken = false, dialogue = false, guided = false;
  std::shared_ptr<Safetensors> golden;
};

/// Returns a case of cases.json.
inline Case case_of(const nlohmann::ordered_json& json) {
  Case c;
  c.name = json["name"];
  c.kind = json["kind"];
  c.answer = json.value("answer", "");
  c.steps = json["steps"];
  c.ended = json["ended"];
  c.spoken = json.value("spoken", false);
  c.dialogue = json["dialogue"];
  c.golden = std::make_shared<Safetensors>(golden_path(c.name + ".safetensors"));
  SpeechRequest& r = c.request;
  r.say.text = json.value("text", "");
  r.sampling.temperature = 0.f;
  r.terms.ignore_stop = json.value("ignore_stop", false);
  r.writing.max_tokens = json.value("max_tokens", 0);
  if (r.terms.ignore_stop || c.spoken) r.terms.max_frames = json["most"].get<int>() - 8;
  if (json.contains("guidance"))
    r.sampling.guidance = json["guidance"].get<float>(), c.guided = true;
  if (c.kind == "chat") {
    r.writing.chat = std::make_shared<Chat>(Chat{json["messages"].dump(), "", {}});
    r.writing.text_only = !c.spoken;
  }
  if (c.golden->find("local")) {
    const std::vector<int32_t> frames = ints(c.golden->view("local"));
    if (c.kind == "hear") {
      auto hearing = std::make_shared<Hearing>();
      hearing->frames = frames;
      r.task = hearing;
    } else {
      r.voice.data = voice_of_frames(kFamily, frames, 9);
    }
  }
  return c;
}

/// Returns the cases of both models.
inline std::vector<Case> load_cases() { return cases_in(golden_path("cases.json"), case_of); }

}  // namespace syrinx::opuslm
