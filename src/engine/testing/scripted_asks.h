// For tests of a ScriptedMachine with the toy model: requests, options and expected samples.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/testing/plain_run.h"
#include "engine/testing/scripted_machine.h"
#include "model/toy/toy.h"

namespace syrinx {

using Client = std::shared_ptr<ScriptedClient>;

constexpr double kToyFrame_s = 0.02;

inline SpeechRequest ask(std::string text, uint64_t seed = 1) {
  SpeechRequest request;
  request.say.text = std::move(text);
  request.sampling.seed = seed;
  return request;
}

inline SpeechRequest ask_bytes(int bytes, uint64_t seed = 1) {
  return ask(std::string(static_cast<size_t>(bytes), 'a'), seed);
}

/// Returns a request whose text is open: more text may follow.
inline SpeechRequest ask_open(std::string text, uint64_t seed = 1) {
  SpeechRequest request = ask(std::move(text), seed);
  request.say.open = true;
  return request;
}

/// Returns options with `pages` pages for the toy model, in which no wait is too long.
inline EngineOptions patient(int pages = 400) {
  EngineOptions options;
  options.kv_bytes = static_cast<size_t>(pages) * KvPool::page_bytes({1, 2, 8, DType::kF32});
  options.repetition_s = 0;
  options.max_wait_s = 1e9;
  return options;
}

/// Returns the time of a batch. A second of audio needs 50 rows and 2 x 50 frames, together 90 ms.
/// So about 11 streams fill the machine.
inline double ninety_ms_a_second(const Batch& batch) {
  return batch.units() * (batch.kind() == Plan::kAr ? 1.6e-3 : 1e-4);
}

/// Runs requests until the machine has learned its model's costs from enough audio.
inline void warm_up(ScriptedMachine& machine, size_t model = 0) {
  for (int i = 0; i < 11; ++i) ASSERT_TRUE(machine.submit(ask_bytes(100), model));
  machine.run_to_end();
}

/// Returns the samples of a request that runs alone, computed without the engine.
inline std::vector<float> heard_alone(const SpeechRequest& request) {
  return run_plainly(*make_toy_pipeline(), request).samples;
}

}  // namespace syrinx
