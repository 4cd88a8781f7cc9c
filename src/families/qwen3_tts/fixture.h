// For tests: a golden checkpoint and its cases.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "families/qwen3_tts/pipeline.h"
#include "families/qwen3_tts/state.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "model/step_runner.h"

namespace syrinx::qwen3_tts {

inline std::string golden_dir(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/qwen3_tts/golden/" + name;
}

/// A request in cases.json.
struct Case {
  std::string name;
  SpeechRequest request;
  int steps = 0;
  bool ended = false;
};

/// Returns the text ids of a sequence's rows so far, without padding.
inline std::vector<int32_t> fed_text(const Qwen3Tts& model, const Track& track) {
  const auto& state = dynamic_cast<const State&>(*track.state);
  const TextIds& text = model.config().text;
  std::vector<int32_t> ids(static_cast<size_t>(model.config().codebooks) + 1), out;
  const auto frames = static_cast<int>(track.frames.size() / (ids.size() - 1));
  for (int row = 0; row < state.prompt_rows() + frames; ++row) {
    row_of(state, row, false, ids);
    const int32_t id = ids.back();
    if (id != text.tts_pad && id != text.tts_bos) out.push_back(id);
  }
  return out;
}

/// Returns the ids of the package's tokenizer: the turn of the instruction, the role, the words of
/// the recording and the words to speak (each turn without its role and its end), and the end.
inline std::vector<int32_t> golden_text(const Qwen3Tts& model, const Safetensors& golden) {
  const auto part = [&](const char* name, int64_t skip, int64_t drop) {
    return ints(golden.view(name).slice(skip, golden.view(name).shape[0] - drop));
  };
  std::vector<int32_t> out;
  const auto add = [&](const std::vector<int32_t>& ids) {
    out.insert(out.end(), ids.begin(), ids.end());
  };
  if (golden.find("instruct_ids")) add(ints(golden.view("instruct_ids")));
  add(ints(golden.view("prompt_ids").slice(0, 3)));
  if (golden.find("said_ids")) add(part("said_ids", 3, 2));
  add(part("prompt_ids", 3, 5));
  out.push_back(model.config().text.tts_eos);
  return out;
}

/// Compares the ids of model and golden. Text beside the frames may be incomplete. Then it must
/// equal the beginning of the golden's text.
inline void expect_same_text(const Qwen3Tts& model, const Track& track, const Safetensors& golden,
                             const SpeechRequest& request, const std::string& what) {
  const std::vector<int32_t> fed = fed_text(model, track);
  std::vector<int32_t> want = golden_text(model, golden);
  if (!*request.say.in_prompt && fed.size() < want.size()) {
    EXPECT_GT(fed.size(), 4u) << what;
    want.resize(fed.size());
  }
  EXPECT_EQ(fed, want) << what;
  const std::span<const int32_t> told = track.state->prompt_ids();
  const auto& state = dynamic_cast<const State&>(*track.state);
  ASSERT_EQ(std::ssize(told), state.prompt_rows()) << what;
  std::vector<int32_t> ids(static_cast<size_t>(model.config().codebooks) + 1);
  for (int row = 0; row < state.prompt_rows(); ++row) {
    row_of(state, row, false, ids);
    EXPECT_EQ(told[static_cast<size_t>(row)], ids.back()) << what << ", row " << row;
  }
}

inline std::vector<Case> load_cases(const std::string& dir) {
  std::vector<Case> cases;
  for (const auto& json : nlohmann::json::parse(read_file(dir + "/cases.json", 1 << 20))) {
    Case c;
    c.name = json["name"];
    c.steps = json["steps"];
    c.ended = json["ended"];
    c.request.say.text = json["text"];
    const std::string speaker = json["speaker"];
    c.request.voice.name = speaker.empty() ? "none" : speaker;
    c.request.say.language = json["language"];
    c.request.say.instructions = json.value("instruct", "");
    c.request.say.in_prompt = json["text_mode"] == "whole";
    c.request.sampling.repetition_penalty = json.value("repetition_penalty", 1.f);
    c.request.sampling.temperature = 0.f;
    c.request.terms.max_frames = 1000;
    cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace syrinx::qwen3_tts
