// Tests models with stages in another process, on a link. The engine must give the same bits as
// without a link, and continue after the other process is lost. That process is a thread here;
// tests/http/test_stages.py uses the program.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <thread>

#include "base/clock.h"
#include "engine/collector.h"
#include "engine/machine.h"
#include "engine/testing/scripted_machine.h"
#include "io/test_dir.h"
#include "link/stage_server.h"
#include "runtime/fingerprint.h"
#include "runtime/runtime.h"

namespace syrinx {
namespace {

constexpr double kPatience_s = 60;
constexpr const char* kVoice = SYRINX_SOURCE_DIR "/voices/finch";

LoadOptions model_options(const std::string& model) {
  LoadOptions options;
  options.model = model;
  options.device = "cpu";
  options.engine.threads = 1;
  return options;
}

/// Serves stages of a model at a path, with its own pipeline.
struct Holder {
  Holder(const LoadOptions& options, const std::vector<std::string>& nodes, const std::string& path)
      : pipeline(load_pipeline(holding(options, nodes))) {
    StageServerOptions server{.address = path, .me = introduce(options), .threads = 1};
    for (const std::string& node : nodes) {
      server.me.nodes.push_back(shape_of(pipeline->graph(), node));
    }
    held.emplace(pipeline, server);
  }
  static LoadOptions holding(LoadOptions options, const std::vector<std::string>& nodes) {
    options.held_nodes = nodes;
    return options;
  }
  std::shared_ptr<const Pipeline> pipeline;
  std::optional<StageServer> held;
};

bool all_up(const Engine& engine) {
  for (const RemoteNode& node : engine.pipeline().remote_nodes()) {
    if (!node.up) return false;
  }
  return true;
}

bool wait_until(const std::function<bool()>& done) {
  const double until_s = now_s() + kPatience_s;
  while (!done()) {
    if (now_s() > until_s) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

LoadOptions placed(LoadOptions options, const std::vector<std::string>& nodes,
                   const std::string& path) {
  for (const std::string& node : nodes) options.placements.push_back({node, path});
  options.engine.remote_slots = 1;
  return options;
}

/// Returns the samples of all requests, submitted at once.
std::vector<std::vector<float>> spoken(Engine& engine, const std::vector<SpeechRequest>& requests) {
  std::vector<std::shared_ptr<Collector>> listeners;
  for (const SpeechRequest& request : requests) {
    listeners.push_back(std::make_shared<Collector>());
    const auto id = engine.submit(request, listeners.back());
    EXPECT_TRUE(id.ok()) << (id.ok() ? "" : id.error().message);
    if (!id.ok()) return {};
  }
  std::vector<std::vector<float>> out;
  for (const auto& listener : listeners) {
    const Outcome& outcome = listener->wait();
    EXPECT_NE(outcome.reason, FinishReason::kError) << outcome.error.message;
    EXPECT_GT(listener->samples().size(), 0u);
    out.push_back(listener->samples());
  }
  return out;
}

void expect_the_same_bits(const LoadOptions& options, const std::vector<std::string>& nodes,
                          const std::vector<SpeechRequest>& requests) {
  Engine here(load_pipeline(options), options.engine);
  const std::vector<std::vector<float>> want = spoken(here, requests);
  TestDir kept;  // packed weights that the first round stores for the second round
  for (const auto executors : {std::optional<Executors>(), std::optional(Executors::kShared)}) {
    TestDir dir;
    LoadOptions half = options;
    half.weights_cache = kept.path();
    const Holder holder(half, nodes, dir.path("s"));
    LoadOptions far_options = placed(half, nodes, dir.path("s"));
    far_options.engine.executors = executors;
    Engine far(load_pipeline(far_options), far_options.engine);
    ASSERT_TRUE(wait_until([&] { return all_up(far); }));
    const std::vector<std::vector<float>> got = spoken(far, requests);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(got[i] == want[i]) << "request " << i;
    for (const RemoteNode& node : far.pipeline().remote_nodes()) EXPECT_GT(node.batches, 0u);
    EXPECT_TRUE(wait_until([&] { return holder.held->state().streams == 0; }));
  }
}

SpeechRequest speech(const std::string& text, uint64_t seed, const std::string& voice = "") {
  SpeechRequest request;
  request.say.text = text;
  request.sampling.seed = seed;
  request.voice.name = voice;
  request.terms.max_frames = 40;
  return request;
}

TEST(Stages, FinchSpeaksTheSameApart) {
  std::vector<SpeechRequest> requests{speech("Good evening to you all.", 1, "finch"),
                                      speech("What is this?", 2, "raven"), speech("Yes.", 3)};
  requests[1].voice.speed = 1.2f;
  expect_the_same_bits(model_options(kVoice), {"vocoder"}, requests);
}

TEST(Stages, Qwen3TtsSpeaksTheSameApart) {
  const LoadOptions options =
      model_options(SYRINX_BINARY_DIR "/parity/qwen3_tts/golden/projected/checkpoint");
  expect_the_same_bits(options, {"codec"},
                       {speech("the quick brown fox", 1), speech("hello there", 2)});
}

TEST(Stages, CosyVoice2SpeaksTheSameApart) {
  LoadOptions options = model_options(SYRINX_BINARY_DIR "/parity/cosyvoice2/golden/checkpoint");
  std::vector<SpeechRequest> requests{speech("The quick brown fox jumps.", 1, "fox"),
                                      speech("over the lazy dog", 2, "fox")};
  requests[1].terms.flow = FlowMode::kFull;
  expect_the_same_bits(options, {"flow", "vocoder"}, requests);
  expect_the_same_bits(options, {"flow"}, {requests[0]});
  options = model_options(SYRINX_BINARY_DIR "/parity/cosyvoice3/golden/checkpoint");
  expect_the_same_bits(options, {"flow", "vocoder"}, requests);
}

/// AR nodes must give the same bits in another process. The steps of the families differ: a delay
/// pattern with guidance, latents, a voice given as vectors, an inner decoder.
TEST(Stages, LanguageModelsStepTheSameApart) {
  const auto golden = [](const std::string& family) {
    return model_options(SYRINX_BINARY_DIR "/parity/" + family + "/checkpoint");
  };
  const std::vector<SpeechRequest> requests{speech("the quick brown fox", 1),
                                            speech("hello there", 2)};
  expect_the_same_bits(golden("qwen3_tts/golden/projected"), {"ar", "codec"}, requests);
  std::vector<SpeechRequest> guided = requests;
  for (SpeechRequest& request : guided) request.sampling.guidance = 1.5f;
  expect_the_same_bits(golden("chatterbox/golden"), {"ar"}, guided);
  expect_the_same_bits(golden("voxcpm2/golden"), {"ar"}, requests);
  expect_the_same_bits(golden("pocket_tts/golden/distilled"), {"ar", "codec"}, requests);
  expect_the_same_bits(golden("vibevoice/golden/other"), {"ar", "vae"}, requests);
  std::vector<SpeechRequest> fox = requests;
  for (SpeechRequest& request : fox) request.voice.name = "fox";
  expect_the_same_bits(golden("cosyvoice2/golden"), {"ar"}, fox);
}

/// Text with guesses and log-probabilities must be the same. A scripted clock gives batches the
/// costs of a large model, so that guesses save time.
TEST(Stages, TextModelsGuessTheSameApart) {
  LoadOptions options = model_options(SYRINX_BINARY_DIR "/parity/llm/qwen3");
  options.weights = "f32";
  using Answer = std::pair<std::string, std::vector<float>>;
  const auto ask = [](const std::shared_ptr<const Pipeline>& model, bool guess,
                      const std::vector<Answer>& expected) {
    Script script;
    script.options.threads = 1;
    script.options.drafts = guess;
    script.slots = {{{1, true}, {1, false, true}}, true, false};
    script.batch_s = [](const Batch& batch) { return 0.010 + 1e-4 * batch.units(); };
    ScriptedMachine machine(script);
    machine.add(model);
    std::vector<std::shared_ptr<ScriptedClient>> readers;
    for (uint64_t i = 0; i < 6; ++i) {
      SpeechRequest request;
      request.say.text = "the quick brown fox and the quick brown dog";
      request.writing.max_tokens = 60;
      request.sampling.temperature = i % 2 == 0 ? 0.f : 0.8f;
      request.sampling.seed = i;
      if (i > 3) request.writing.top_logprobs = 3;
      if (!expected.empty()) request.writing.expected = expected[i].first;
      readers.push_back(machine.submit(request));
      EXPECT_TRUE(readers.back()) << machine.refusal.message;
    }
    machine.run_to_end();
    std::vector<Answer> out;
    for (const auto& reader : readers) {
      EXPECT_EQ(reader->outcome.error.message, "");
      std::vector<float> scores;
      for (const ScoredToken& token : reader->tokens) {
        for (const auto& choice : token.top) scores.push_back(choice.logprob);
      }
      out.emplace_back(reader->written, scores);
    }
    EXPECT_EQ(machine.model().metrics.draft_hits.value() > 0, guess);
    return out;
  };
  const std::vector<Answer> want = ask(load_pipeline(options), false, {});
  EXPECT_FALSE(want[0].first.empty());
  EXPECT_FALSE(want[5].second.empty());
  TestDir dir;
  const Holder holder(options, {"ar"}, dir.path("s"));
  const auto far = load_pipeline(placed(options, {"ar"}, dir.path("s")));
  ASSERT_TRUE(wait_until([&] { return far->remote_nodes()[0].up; }));
  EXPECT_EQ(ask(far, true, want), want);
  EXPECT_EQ(ask(far, false, {}), want);
}

/// Each half of a model has its own cache of packed weights, which the next load must find.
TEST(Stages, EachHalfKeepsItsWeights) {
  LoadOptions options =
      model_options(SYRINX_BINARY_DIR "/parity/qwen3_tts/golden/projected/checkpoint");
  const TestDir kept;
  options.weights_cache = kept.path();
  const auto files = [&] {
    std::map<std::string, std::uintmax_t> sizes;
    for (const auto& file : std::filesystem::directory_iterator(kept.path())) {
      sizes[file.path().filename()] = file.file_size();
    }
    return sizes;
  };
  (void)load_pipeline(options);
  ASSERT_EQ(files().size(), 1u);
  const std::uintmax_t whole = files().begin()->second;
  const std::vector<LoadOptions> halves{Holder::holding(options, {"codec"}),
                                        placed(options, {"codec"}, kept.path("no_holder"))};
  for (const LoadOptions& half : halves) (void)load_pipeline(half);
  const auto all = files();
  ASSERT_EQ(all.size(), 3u);
  std::uintmax_t sum = 0;
  for (const auto& [name, size] : all) sum += size;
  EXPECT_LT(sum - whole, whole + whole / 4);
  testing::internal::CaptureStderr();
  for (const LoadOptions& half : halves) (void)load_pipeline(half);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(files(), all);
}

TEST(Stages, AStreamThereEndsWithAnErrorAndTheNextIsServed) {
  const LoadOptions options = model_options(kVoice);
  TestDir dir;
  const LoadOptions far_options = placed(options, {"vocoder"}, dir.path("s"));
  std::optional<Holder> holder(std::in_place, options, std::vector<std::string>{"vocoder"},
                               dir.path("s"));
  Engine far(load_pipeline(far_options), far_options.engine);
  ASSERT_TRUE(wait_until([&] { return all_up(far); }));
  const std::vector<float> want = spoken(far, {speech("Good evening.", 1)})[0];
  SpeechRequest endless = speech("Good evening to everybody who is here.", 2);
  endless.terms.ignore_stop = true;
  endless.terms.max_frames = 100'000;
  std::vector<std::shared_ptr<Collector>> listeners;
  for (int i = 0; i < 3; ++i) {
    listeners.push_back(std::make_shared<Collector>());
    endless.sampling.seed = static_cast<uint64_t>(i);
    ASSERT_TRUE(far.submit(endless, listeners.back()).ok());
  }
  for (const auto& listener : listeners) ASSERT_FALSE(listener->next(kPatience_s).empty());
  holder.reset();
  for (const auto& listener : listeners) {
    const Outcome& outcome = listener->wait();
    EXPECT_EQ(outcome.reason, FinishReason::kError);
    EXPECT_EQ(outcome.error.code, ErrorCode::kOverloaded);
    EXPECT_NE(outcome.error.message.find("vocoder"), std::string::npos) << outcome.error.message;
  }
  ASSERT_TRUE(wait_until([&] { return !all_up(far); }));
  const auto refused = far.submit(speech("Yes.", 1), std::make_shared<Collector>());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kOverloaded);
  holder.emplace(options, std::vector<std::string>{"vocoder"}, dir.path("s"));
  ASSERT_TRUE(wait_until([&] { return all_up(far); }));
  EXPECT_TRUE(spoken(far, {speech("Good evening.", 1)})[0] == want);
  EXPECT_TRUE(wait_until([&] { return far.stats().requests == 0; }));
}

TEST(Stages, OtherWeightsAreRefused) {
  TestDir dir;
  LoadOptions options = model_options(kVoice), other = options;
  other.weights = "bf16";
  const Holder holder(other, {"vocoder"}, dir.path("s"));
  const LoadOptions far_options = placed(options, {"vocoder"}, dir.path("s"));
  const auto pipeline = load_pipeline(far_options);
  ASSERT_TRUE(wait_until([&] {
    return pipeline->remote_nodes()[0].trouble.find("weights differ") != std::string::npos;
  })) << pipeline->remote_nodes()[0].trouble;
}

TEST(Fingerprint, ChangesWithNamesSizesAndContents) {
  TestDir dir;
  const auto fresh = [&](const std::string& name, const std::string& bytes) {
    const std::string at = dir.path("m");
    std::filesystem::remove_all(at);
    dir.write("m/config.json", "{}");
    dir.write("m/part/" + name, bytes);
    return fingerprint(at);
  };
  const std::string plain = fresh("a.bin", "abc");
  EXPECT_EQ(plain.size(), 64u);
  EXPECT_EQ(fresh("a.bin", "abc"), plain);
  EXPECT_NE(fresh("a.bin", "abd"), plain);
  EXPECT_NE(fresh("a.bin", "abcd"), plain);
  EXPECT_NE(fresh("b.bin", "abc"), plain);
  fresh("a.bin", "abc");
  dir.write("m/README.md", "hello"), dir.write("m/.cache/x", "hello");
  EXPECT_EQ(fingerprint(dir.path("m")), plain);
  EXPECT_THROW(fingerprint(dir.path("nowhere")), LoadError);
}

TEST(Fingerprint, OfLargeFilesReadsBothEnds) {
  TestDir dir;
  const std::string path = dir.write("m/a.bin", "");
  const auto with = [&](int64_t at) {
    std::filesystem::resize_file(path, 0);
    std::filesystem::resize_file(path, int64_t{65} << 20);  // zeros, which need no disk space
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file << "x";
    file.close();
    return fingerprint(dir.path("m"));
  };
  const std::string first = with(1000);
  EXPECT_NE(with((int64_t{65} << 20) - 1000), first);
  EXPECT_NE(with(int64_t{8} << 20), first);  // in the first piece of 16 KiB
}

}  // namespace
}  // namespace syrinx
