// For tests: the golden checkpoints, their cases as requests, and passes without an engine.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "families/omnivoice/pipeline.h"
#include "families/omnivoice/state.h"
#include "families/voice_of_frames.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "model/step_runner.h"

namespace syrinx::omnivoice {

inline std::string golden_path(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/omnivoice/golden/" + name;
}

inline nlohmann::json json_of(const std::string& name) {
  return nlohmann::json::parse(read_file(golden_path(name), 1 << 20));
}

/// Returns a voice of frames [R, C], whose recording had the RMS `level`.
inline std::shared_ptr<Voice> heard_voice(std::span<const int32_t> frames, int64_t codebooks,
                                          const std::string& text, float level) {
  auto voice = voice_of_frames("omnivoice", frames, codebooks, text);
  Tensor kept({1}, DType::kF32);
  kept.f32()[0] = level;
  voice->tensors.emplace("level", std::move(kept));
  return voice;
}

/// Sets the options of a case.
inline void ask(const nlohmann::json& json, const Safetensors& golden, SpeechRequest& request) {
  request.say.text = json["text"];
  request.say.language = json.value("language", "");
  request.say.instructions = json.value("instructions", "");
  request.voice.speed = json.value("speed", 1.f);
  request.sampling.seed = json["seed"];
  request.sampling.temperature = json.value("temperature", 0.f);
  if (json.contains("guidance")) request.sampling.guidance = json["guidance"].get<float>();
  if (!json.contains("reference")) return;
  const View frames = golden.view("reference");
  request.voice.data =
      heard_voice(ints(frames), frames.shape[1], json["reference_text"], json["level"]);
}

/// Changes the i-th of many parallel requests.
template <int kCodebooks>
void vary(int i, SpeechRequest& other) {
  const std::vector<int32_t> codes(static_cast<size_t>(kCodebooks * (9 + i)), i);
  if (i % 3 == 1) other.voice.data = heard_voice(codes, kCodebooks, "fine", 0.05f);
  if (i % 3 == 2) other.sampling.guidance = 0.f, other.sampling.temperature = 0.5f;
}

/// Runs the passes of requests together, like the engine.
class Passes {
 public:
  explicit Passes(const OmniVoice& model) : lm_(model.lm()), pool_(1), work_(pool_, Device::kCpu) {}
  StepContext& context() { return work_.context(); }
  /// Returns the sums of the scores of the last passes.
  const std::vector<float>& sums() const { return sums_; }
  /// Runs one step of each sequence.
  void run(std::span<State* const> states) {
    work_.reset();
    std::vector<CanvasPass> passes;
    for (State* state : states) passes.push_back(state->next_pass());
    sums_.resize(passes.size());
    lm_.run(context(), passes, sums_);
  }
  void run(State& state) {
    State* one[] = {&state};
    run(one);
  }
  void run(const CanvasPass& pass) {
    work_.reset();
    sums_.resize(1);
    lm_.run(context(), {&pass, 1}, sums_);
  }

 private:
  const CanvasLm& lm_;
  ThreadPool pool_;
  Workspace work_;
  std::vector<float> sums_;
};

/// Ends a pass; appends the frames that the state sends.
inline Verdict advance(State& state, std::vector<int32_t>& frames) {
  std::vector<WordMark> words;
  StepOutput out(frames, words);
  return state.advance(std::vector<int32_t>{0}, out);
}

inline std::unique_ptr<State> state_of(const OmniVoice& model, const SpeechRequest& request) {
  return std::unique_ptr<State>(static_cast<State*>(open_only(model, request).release()));
}

/// Runs a request to its end. Returns its frames.
inline std::vector<int32_t> spoken_frames(const OmniVoice& model, const SpeechRequest& request) {
  const auto state = state_of(model, request);
  Passes passes(model);
  std::vector<int32_t> frames;
  Verdict verdict;
  while (verdict.next != Verdict::kFinished) {
    passes.run(*state);
    verdict = advance(*state, frames);
  }
  return frames;
}

}  // namespace syrinx::omnivoice
