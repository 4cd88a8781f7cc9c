// For tests of pipelines that process a spoken question and answer in text and speech: checks that
// each pipeline must pass, under any schedule and clock. Nodes are identified by their numbers.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "engine/testing/mixed_schedules.h"
#include "io/safetensors.h"
#include "kernels/fixture.h"

namespace syrinx {

/// The nodes of a pipeline that answers in text and speech.
struct SpokenNodes {
  int hearing = 0, lm = 1, flow = 2, vocoder = 3;
};

/// Expects the first and last samples to equal "head" and "tail" of the golden file to 1e-3.
inline void expect_ends(std::vector<float>& samples, const Safetensors& golden) {
  const View head = golden.view("head"), tail = golden.view("tail");
  ASSERT_GE(std::ssize(samples), std::max(head.count(), tail.count()));
  EXPECT_LT(fixture::difference({samples.data(), DType::kF32, head.shape}, head), 1e-3);
  float* last = samples.data() + samples.size() - tail.count();
  EXPECT_LT(fixture::difference({last, DType::kF32, tail.shape}, tail), 1e-3);
}

/// Runs all `cases` (cases.json): spoken and written answers of the authors' code. A case has the
/// prompt's length, the text and the number of codes; NAME.safetensors has the ids. One case has
/// samples, too. `path_of(name)`: path of a golden file. `samples_of(codes)`: number of samples.
inline void expect_golden_answers(
    const std::shared_ptr<const Pipeline>& pipeline, const nlohmann::ordered_json& cases,
    const std::function<SpeechRequest(const nlohmann::ordered_json&)>& request_of,
    const std::function<std::string(const std::string&)>& path_of,
    const std::function<int64_t(int64_t)>& samples_of, SpokenNodes nodes = {}) {
  Executor executor(2, {.greedy = true});
  int sounds = 0;
  for (const auto& [name, c] : cases.items()) {
    SCOPED_TRACE(name);
    const Safetensors golden(path_of(name + ".safetensors"));
    Script script;
    script.options.repetition_s = 0;
    ScriptedMachine machine(script, &executor);
    machine.add(pipeline);
    const auto client = machine.submit(request_of(c));
    ASSERT_TRUE(client) << machine.refusal.message;
    const Sequence& answer = *client->active->runs[static_cast<size_t>(nodes.lm)].ar->sequence;
    // the prompt of each batch; complete once the recording is encoded
    std::vector<int32_t> prompt;
    machine.script.begins = [&](const Batch& batch) {
      if (batch.node == nodes.lm)
        prompt.assign(answer.prompt_ids().begin(), answer.prompt_ids().end());
    };
    machine.run_to_end();
    ASSERT_TRUE(client->done);
    EXPECT_EQ(client->outcome.reason, FinishReason::kLength) << client->outcome.error.message;
    const View ids = golden.view("ids");
    EXPECT_EQ(prompt, std::vector<int32_t>(ids.i32(), ids.i32() + c["prompt"].get<int>()));
    EXPECT_EQ(client->written, c["text"].get<std::string>());
    EXPECT_EQ(std::ssize(client->samples), samples_of(c["codes"].get<int64_t>()));
    if (!c.contains("samples")) continue;
    ASSERT_EQ(std::ssize(client->samples), c["samples"].get<int64_t>());
    ++sounds;
    expect_ends(client->samples, golden);
    expect_clean(machine, 1);
  }
  EXPECT_EQ(sounds, 1);
}

/// The end of an answer's first flow batch, and the end of its last language model step. Each step
/// takes a second, each other batch a millisecond.
struct SpokenTimes {
  double first_flow_s = 0, last_step_s = 0;
};
inline SpokenTimes spoken_times(std::shared_ptr<const Pipeline> pipeline,
                                const SpeechRequest& request, SpokenNodes nodes = {}) {
  Executor executor(1);
  Script script;
  script.options.repetition_s = 0;
  script.batch_s = [nodes](const Batch& batch) { return batch.node == nodes.lm ? 1. : 1e-3; };
  ScriptedMachine machine(script, &executor);
  machine.add(std::move(pipeline));
  const auto client = machine.submit(request);
  EXPECT_TRUE(client) << machine.refusal.message;
  SpokenTimes times;
  if (!client) return times;
  machine.script.ends = [&](Batch& batch) {
    if (batch.node == nodes.flow && times.first_flow_s == 0) times.first_flow_s = machine.now();
    if (batch.node == nodes.lm) times.last_step_s = machine.now();
  };
  machine.run_to_end();
  EXPECT_FALSE(client->samples.empty());
  return times;
}

}  // namespace syrinx
