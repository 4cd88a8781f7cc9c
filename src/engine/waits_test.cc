// Waits on a scripted clock: listeners and readers of several models share executors.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/scheduler.h"
#include "engine/testing/scripted_asks.h"
#include "model/toy/duet.h"
#include "model/toy/toy.h"

namespace syrinx {
namespace {

/// The prompt of one model is cut so that no listener of another model runs dry meanwhile.
TEST(Waits, ALongStepOfOneModelLeavesTheOthersDeadlines) {
  ResidentModel* heavy = nullptr;
  double longest_s = 0;
  bool playing = false;
  Script script{.options = patient()};
  script.options.max_prefill_rows = 512;
  script.batch_s = [&](const Batch& batch) {
    const bool slow = batch.model == heavy && batch.kind() == Plan::kAr;
    const double takes_s = slow ? 0.01 * batch.units() : 1e-3;
    if (slow && playing) longest_s = std::max(longest_s, takes_s);
    return takes_s;
  };
  ScriptedMachine machine(script);
  machine.add(make_toy_pipeline());
  heavy = &machine.add(make_toy_pipeline());
  for (int rows = 1; rows < 40; rows += 6) {  // teaches the engine the cost of the model's rows
    SpeechRequest request = ask_bytes(5);
    request.say.instructions = std::string(rows, static_cast<char>('a' + rows % 26));
    ASSERT_TRUE(machine.submit(request, 1));
    machine.run_to_end();
  }
  std::vector<Client> listeners;
  for (int i = 0; i < 4; ++i) listeners.push_back(machine.submit(ask_bytes(300, i)));
  while (listeners.back()->pieces.size() < 3) ASSERT_TRUE(machine.next());
  playing = true;
  std::vector<int> before;
  for (const Client& listener : listeners)
    before.push_back(listener->active->output.outcome().underruns);
  SpeechRequest request = ask_bytes(20);
  request.say.instructions = std::string(300, 'z');  // its rows take three seconds
  const Client other = machine.submit(request, 1);
  while (!other->done) {
    ASSERT_TRUE(machine.next());
    for (const Client& listener : listeners) playing = playing && !listener->done;
  }
  machine.run_to_end();
  for (size_t i = 0; i < listeners.size(); ++i) {
    EXPECT_EQ(listeners[i]->outcome.underruns, before[i]) << listeners[i]->outcome.max_underrun_s;
  }
  EXPECT_GT(longest_s, 0.02) << "the test forced nothing";
  EXPECT_EQ(other->outcome.reason, FinishReason::kStop);
}

/// While a listener of one model runs dry, prompts of another model do not keep the same executor
/// busy batch after batch.
TEST(Waits, NoStreamRunsDryBehindTheBatchesOfOneModel) {
  const ResidentModel* heavy = nullptr;
  Script script{.options = patient(), .slots = {{{1, true}, {1, true}}, false, true}};
  script.options.max_prefill_rows = 512;
  script.batch_s = [&](const Batch& batch) {
    return batch.model == heavy && batch.kind() == Plan::kAr ? 0.01 * batch.units() : 1e-3;
  };
  ScriptedMachine machine(script);
  heavy = &machine.add(make_toy_pipeline());
  machine.add(make_toy_pipeline());
  const ResidentModel& other = machine.add(make_toy_pipeline());
  ASSERT_EQ(heavy->nodes[0].slot, other.nodes[0].slot);
  for (int rows = 1; rows < 40; rows += 6) {  // teaches the engine the cost of the model's rows
    SpeechRequest request = ask_bytes(5);
    request.say.instructions = std::string(rows, static_cast<char>('a' + rows % 26));
    ASSERT_TRUE(machine.submit(request, 0));
    machine.run_to_end();
  }
  const Client listener = machine.submit(ask_bytes(100), 2);
  machine.turn();
  while (listener->active->output.outcome().audio_s < 0.3) ASSERT_TRUE(machine.next());
  std::vector<Client> newcomers;
  for (const char byte : {'x', 'y'}) {
    SpeechRequest request = ask_bytes(5);
    request.say.instructions = std::string(300, byte);  // its rows take three seconds
    newcomers.push_back(machine.submit(request, 0));
  }
  machine.run_to_end();
  EXPECT_LT(listener->outcome.max_underrun_s, 0.1) << "the few rows of one batch";
  EXPECT_LT(listener->ended_s, newcomers.front()->ended_s);
  for (const Client& newcomer : newcomers) EXPECT_TRUE(newcomer->done);
}

/// A text model that is slower than its readers is always late. It must not delay new requests for
/// speech, and must itself make progress.
TEST(Waits, LateReadersDoNotKeepNewcomersWaiting) {
  const ResidentModel* writer = nullptr;
  Script script{.options = patient()};
  script.batch_s = [&](const Batch& batch) { return batch.model == writer ? 0.1 : 2e-3; };
  ScriptedMachine machine(script);
  machine.add(make_toy_pipeline());
  writer = &machine.add(make_duet_pipeline(), patient());
  SpeechRequest text;
  text.writing.text_only = true;
  text.say.text = std::string(100, 'a');  // 10 s of steps: twice the time that a reader needs
  std::vector<Client> readers, newcomers;
  for (int i = 0; i < 3; ++i) readers.push_back(machine.submit(text, 1));
  machine.run_until(3);
  for (int i = 0; i < 20; ++i) {
    newcomers.push_back(machine.submit(ask_bytes(3, i)));
    machine.run_until(3 + 0.17 * (i + 1));
  }
  for (const Client& newcomer : newcomers) {
    ASSERT_TRUE(newcomer->done);
    EXPECT_LT(newcomer->pieces.front().at_s, newcomer->ended_s);
    // The newcomer waits for the step that runs when it arrives, then for its own work.
    EXPECT_LT(newcomer->outcome.first_audio_s, 0.15);
  }
  machine.run_to_end();
  for (const Client& reader : readers) EXPECT_EQ(reader->outcome.reason, FinishReason::kStop);
}

/// Forty readers that arrive together are all served within seconds. The shorter wait that is
/// promised to listeners does not cause refusals.
TEST(Waits, ReadersWaitByABoundOfTheirOwn) {
  for (const double read_wait_s : {30.0, 0.0}) {
    EngineOptions options = patient();
    options.max_wait_s = 0.5, options.max_read_wait_s = read_wait_s;
    ScriptedMachine machine({.options = options, .batch_s = ninety_ms_a_second});
    machine.add(make_toy_pipeline());
    for (int i = 0; i < 11; ++i) ASSERT_TRUE(machine.submit(ask_bytes(100)));
    machine.run_to_end();
    std::vector<Client> readers;
    for (int i = 0; i < 40; ++i) {
      SpeechRequest request = ask_bytes(150);
      request.writing.text_only = true;
      readers.push_back(machine.submit(request));
    }
    machine.run_to_end();
    const auto refused = std::count_if(readers.begin(), readers.end(), [](const Client& reader) {
      return reader->outcome.reason == FinishReason::kError;
    });
    EXPECT_EQ(refused > 0, read_wait_s == 0) << refused;
  }
}

TEST(Waits, ReadersAreNotKeptWaitingForEver) {
  const ResidentModel* writer = nullptr;
  Script script{.options = patient()};
  script.batch_s = [&](const Batch& batch) { return batch.model == writer ? 0.02 : 0.012; };
  ScriptedMachine machine(script);
  machine.add(make_toy_pipeline());
  writer = &machine.add(make_duet_pipeline(), patient());
  SpeechRequest text;
  text.writing.text_only = true;
  text.say.text = std::string(20, 'a');
  const Client reader = machine.submit(text, 1);
  // Newcomers arrive one after the other, about as many as the machine can serve.
  for (int i = 0; i < 200; ++i) {
    machine.submit(ask_bytes(2, i));
    machine.run_until(0.04 * (i + 1));
  }
  EXPECT_TRUE(reader->done) << reader->written.size() << " words in 8 s";
  machine.run_to_end();
}

}  // namespace
}  // namespace syrinx
