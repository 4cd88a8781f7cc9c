// For tests: the golden checkpoint and its cases.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "families/bagpiper/pipeline.h"
#include "families/bagpiper/state.h"
#include "families/golden_requests.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "io/test_dir.h"
#include "model/run_streams.h"

namespace syrinx::bagpiper {

inline std::string golden_path(const std::string& name) {
  return std::string(SYRINX_BINARY_DIR) + "/parity/bagpiper/golden/" + name;
}

/// A checkpoint directory that a test may change.
class ModelDir {
 public:
  ModelDir() {
    std::filesystem::copy(golden_path("checkpoint"), dir_.path(),
                          std::filesystem::copy_options::recursive);
  }
  std::string path(const std::string& name = "") const { return dir_.path(name); }

 private:
  TestDir dir_;
};

inline std::shared_ptr<const Recording> recording_of(int64_t samples, int rate = 16000) {
  return golden_recording(samples, static_cast<uint32_t>(samples), rate);
}

/// A request in cases.json, and ESPnet's results for it.
struct Case {
  std::string name, answer;
  SpeechRequest request;
  int steps = 0, kept_samples = 0;  // both only for the parts that the request asks for
  bool spoken = false, ended = false, ended_text = false, guided = false;
  /// Whether all parts ended by themselves, and no further part followed.
  bool stopped = false;
  std::vector<std::string> more;  // the words of each further part; "" for a part of speech
  std::shared_ptr<Safetensors> golden;

  /// Returns the words of all parts. A blank line separates two parts.
  std::string words() const {
    std::string all = answer;
    for (const std::string& part : more)
      if (!part.empty()) all += "\n\n" + part;
    return all;
  }
  /// Returns the frames of each part of speech.
  std::vector<std::vector<int32_t>> speech() const {
    std::vector<std::vector<int32_t>> parts;
    if (spoken) parts.push_back(ints(golden->view("frames")));
    for (size_t n = 0; n < more.size(); ++n)
      if (more[n].empty()) parts.push_back(ints(golden->view("more_" + std::to_string(n))));
    return parts;
  }
};

/// Returns a case of cases.json.
inline Case case_of(const nlohmann::ordered_json& json) {
  Case c;
  c.name = json["name"];
  c.answer = json["answer"];
  c.steps = json["steps"];
  c.spoken = json["spoken"];
  c.ended = json.value("ended", false);
  c.ended_text = json["ended_text"];
  c.kept_samples = json.value("keep_samples", 0);
  c.stopped = json["stopped"] && c.ended_text && !json.contains("parts");
  for (const auto& part : json["more"]) {
    c.more.push_back(part.is_null() ? std::string() : part.get<std::string>());
  }
  c.golden = std::make_shared<Safetensors>(golden_path(c.name + ".safetensors"));
  SpeechRequest& r = c.request;
  r = chat_of(json["messages"]);
  r.writing.text_only = !c.spoken;
  r.terms.ignore_stop = json.value("ignore_stop", false);
  r.writing.max_tokens = json["max_tokens"];
  if (c.spoken) r.terms.max_frames = json["most"].get<int>() - 7;
  if (json.contains("guidance")) r.sampling.guidance = json["guidance"].get<float>();
  c.guided = c.spoken && r.sampling.guidance != 1.f;
  if (json.contains("recordings")) {
    for (const int64_t samples : json["recordings"])
      r.writing.recordings.push_back(recording_of(samples));
  }
  return c;
}

/// Returns all cases.
inline std::vector<Case> load_cases() { return cases_in(golden_path("cases.json"), case_of); }

}  // namespace syrinx::bagpiper
