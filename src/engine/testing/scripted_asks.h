// For tests: what is asked of a ScriptedMachine with the toy model, and what must come of it.
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

/// Text that is still to come.
inline SpeechRequest ask_open(std::string text, uint64_t seed = 1) {
  SpeechRequest request = ask(std::move(text), seed);
  request.say.open = true;
  return request;
}

/// `pages` of the toy model; no request is refused for waiting.
inline EngineOptions patient(int pages = 400) {
  EngineOptions options;
  options.kv_bytes = static_cast<size_t>(pages) * KvPool::page_bytes({1, 2, 8, DType::kF32});
  options.repetition_s = 0;
  options.max_wait_s = 1e9;
  return options;
}

/// A second of audio costs 50 rows and twice 50 frames, 90 ms: 11 streams are many.
inline double ninety_ms_a_second(const Batch& batch) {
  return batch.units() * (batch.kind() == Plan::kAr ? 1.6e-3 : 1e-4);
}

/// A machine that has learned what its model costs, on enough audio to trust it.
inline void warm_up(ScriptedMachine& machine, size_t model = 0) {
  for (int i = 0; i < 11; ++i) ASSERT_TRUE(machine.submit(ask_bytes(100), model));
  machine.run_to_end();
}

/// The samples of a request, by the model's definition.
inline std::vector<float> heard_alone(const SpeechRequest& request) {
  return run_plainly(*make_toy_pipeline(), request).samples;
}

}  // namespace syrinx
