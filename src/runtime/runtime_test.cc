#include "runtime/runtime.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>

#include "base/check.h"
#include "io/test_dir.h"
#include "runtime/executors.h"
#include "runtime/fingerprint.h"
#include "runtime/trace.h"
#include "tensor/device.h"

namespace syrinx {
namespace {

/// Returns options for the smallest model: random weights for the config of a text model.
LoadOptions text_model() {
  LoadOptions options;
  options.model = SYRINX_BINARY_DIR "/parity/llm/llama";
  options.dummy = true;
  return options;
}

std::string load_fault(const LoadOptions& options) {
  try {
    load_pipeline(options);
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ModelFile, IsAModelAndSoIsADirectoryWithIt) {
  const std::string file = SYRINX_BINARY_DIR "/parity/gguf/qwen2.gguf";
  LoadOptions options = text_model();
  options.dummy = false;
  options.model = file;
  EXPECT_EQ(load_fault(options), "");
  const TestDir dir;
  std::filesystem::copy_file(file, dir.path("one.gguf"));
  options.model = dir.path();
  EXPECT_EQ(load_fault(options), "");
  std::filesystem::copy_file(file, dir.path("two.gguf"));
  EXPECT_TRUE(says(load_fault(options), "has several models; name one of its files"));
  options.model = dir.write("notes.txt", "x");
  EXPECT_TRUE(says(load_fault(options), "notes.txt: expected a model's directory, or a file"));
  options.model = dir.write("epoch=10.ckpt", "PK");
  EXPECT_TRUE(says(load_fault(options), "python3 -m piper.train.export_onnx"));
}

TEST(ModelProgress, GrowsToTheEndAlsoOfALoadThatFails) {
  LoadOptions options = text_model();
  std::vector<ModelProgress> seen;
  options.progress = [&](const ModelProgress& progress) { seen.push_back(progress); };
  EXPECT_EQ(load_fault(options), "");
  EXPECT_TRUE(seen.empty()) << "random weights";

  const std::string file = SYRINX_BINARY_DIR "/parity/gguf/qwen2.gguf";
  options.dummy = false;
  options.model = file;
  EXPECT_EQ(load_fault(options), "");
  ASSERT_GT(seen.size(), 5u);
  for (size_t i = 1; i < seen.size(); ++i) {
    EXPECT_GE(seen[i].done_bytes, seen[i - 1].done_bytes);
    EXPECT_EQ(seen[i].ended, i + 1 == seen.size());
  }
  EXPECT_EQ(seen.back().model, "qwen2");
  EXPECT_EQ(seen.back().total_bytes, static_cast<int64_t>(std::filesystem::file_size(file)));
  EXPECT_GT(2 * seen.back().done_bytes, seen.back().total_bytes);
  EXPECT_LE(seen.back().done_bytes, seen.back().total_bytes);

  const TestDir dir;
  const std::string cut = dir.path("cut.gguf");
  std::filesystem::copy_file(file, cut);
  std::filesystem::resize_file(cut, std::filesystem::file_size(cut) - 64);
  seen.clear();
  options.model = cut;
  EXPECT_NE(load_fault(options), "");
  EXPECT_TRUE(seen.empty() || seen.back().ended);
}

TEST(ModelName, IsTheLastPartWithoutARevision) {
  EXPECT_EQ(model_name("finch"), "finch");
  EXPECT_EQ(model_name("Org/Name"), "Name");
  EXPECT_EQ(model_name("/models/qwen.gguf"), "qwen");
  EXPECT_EQ(model_name(".gguf"), ".gguf");
  EXPECT_EQ(model_name("Org/Name@rev"), "Name");
  EXPECT_EQ(model_name("/models/Name//"), "Name");
  EXPECT_EQ(model_name("/models@home/Name"), "Name");
  EXPECT_EQ(model_name("Org/Name@refs"), "Name");
}

TEST(Load, ACopiedProgramReportsWhereItLookedForItsVoice) {
  LoadOptions options;
  options.model = "no-such-voice";
  const std::string fault = load_fault(options);
  const std::string here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  EXPECT_TRUE(says(fault, "no-such-voice") && says(fault, here + "/voices")) << fault;
  options.voices_dir = "/no/such/folder";
  EXPECT_TRUE(says(load_fault(options), "/no/such/folder")) << load_fault(options);
}

TEST(Load, NamesOfWeights) {
  LoadOptions options = text_model();
  for (const char* known : {"auto", "f32", "bf16", "q8", "q8a8", "q4", "mixed"}) {
    options.weights = known;
    EXPECT_EQ(load_fault(options), "") << known;
  }
  for (const char* unknown : {"", "q3", "F32"}) {
    options.weights = unknown;
    EXPECT_TRUE(says(load_fault(options), "expected auto")) << unknown;
  }
}

TEST(Load, NamesOfDevices) {
  const bool gpu = device_missing(Device::kCuda).empty();
  LoadOptions options = text_model();
  EXPECT_EQ(load_pipeline(options)->graph().ar().device(), gpu ? Device::kCuda : Device::kCpu);
  options.device = "cpu";
  EXPECT_EQ(load_pipeline(options)->graph().ar().device(), Device::kCpu);
  options.device = "cuda";
  EXPECT_EQ(load_fault(options).empty(), gpu);
  options.device = "tpu";
  EXPECT_TRUE(says(load_fault(options), "expected auto"));
  options.device = "cpu,codec=cpu";
  EXPECT_TRUE(
      says(load_fault(options), "--device codec=cpu: the model has no such stage, only ar"));
  // A family that has no stages for a GPU.
  LoadOptions voice;
  voice.voices_dir = SYRINX_SOURCE_DIR "/voices";
  EXPECT_EQ(load_pipeline(voice)->graph().ar().device(), Device::kCpu);
  voice.device = "cuda";
  EXPECT_TRUE(says(load_fault(voice), gpu ? "CPU only" : "--device cuda"));
}

/// Loads finch with packed weights in `cache`. Returns the pipeline and a trace of its speech.
std::pair<std::shared_ptr<const Pipeline>, Trace> speak(const std::string& weights,
                                                        const std::string& cache) {
  LoadOptions options;
  options.voices_dir = SYRINX_SOURCE_DIR "/voices";
  options.weights = weights;
  options.weights_cache = cache;
  std::shared_ptr<const Pipeline> pipeline = load_pipeline(options);
  SpeechRequest request;
  request.say.text = "Good morning.";
  request.terms.max_frames = 20;
  Result<Trace> trace = trace_request(*pipeline, request, {.threads = 1, .logit_steps = 20});
  return {pipeline, trace.take()};
}

size_t files_in(const std::string& dir) {
  const std::filesystem::directory_iterator files(dir), none;
  return static_cast<size_t>(std::distance(files, none));
}

/// A server of several models loads most of them at their first requests, but checks their devices
/// at its start.
TEST(Load, MisspeltDevicesAreFoundBeforeTheWeightsAreRead) {
  const auto fault = [](const std::string& device) -> std::string {
    LoadOptions options = text_model();
    options.device = device;
    try {
      find_checkpoint(options);
    } catch (const LoadError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(fault("cpu"), "");
  EXPECT_EQ(fault("cpu,ar=cpu"), "");
  EXPECT_TRUE(says(fault("cpu,lm=cpu"), "lm=cpu: the model has no such stage, only ar"));
  EXPECT_TRUE(says(fault("tpu"), "expected auto, cpu"));
}

TEST(Load, KeptWeightsSayTheSame) {
  const TestDir dir;
  size_t kept = 0;
  for (const char* weights : {"q8", "bf16"}) {
    const Trace plain = speak(weights, "off").second;
    EXPECT_GT(plain.samples.size(), 0u);
    for (int start = 0; start < 3; ++start) {
      const Trace trace = speak(weights, dir.path()).second;
      EXPECT_EQ(trace.logits, plain.logits);
      EXPECT_EQ(trace.samples, plain.samples);
    }
    EXPECT_EQ(files_in(dir.path()), ++kept);
  }
}

TEST(Load, EightBitsByDefault) {
  const Trace named = speak("q8", "off").second, plain = speak("auto", "off").second;
  EXPECT_EQ(plain.logits, named.logits);
  EXPECT_NE(speak("bf16", "off").second.logits, named.logits);
}

TEST(Load, WhatIsKeptWhere) {
  const TestDir dir;
  LoadOptions options = text_model();
  options.weights_cache = dir.path();
  load_pipeline(options);
  EXPECT_EQ(files_in(dir.path()), 0u) << "random weights are not worth it";
  ::setenv("CACHE_DIRECTORY", dir.path().c_str(), 1);
  speak("auto", "auto");
  ::unsetenv("CACHE_DIRECTORY");
  EXPECT_EQ(files_in(dir.path()), 0u) << "small ones neither";
}

TEST(Load, BuiltInVoicesLieWhereItIsSaid) {
  const TestDir empty;
  LoadOptions options;
  options.voices_dir = empty.path();
  EXPECT_TRUE(says(load_fault(options), empty.path())) << "no other place is looked at";
  EXPECT_TRUE(says(load_fault(options), concat(" in ", empty.path(), ". Copy the folder")));
  options.voices_dir = SYRINX_SOURCE_DIR "/voices";
  EXPECT_EQ(load_pipeline(options)->info().model, "finch");
}

TEST(Load, ALargeModelAloneHasFewThreadsOnOneBatch) {
  PipelineInfo small, large;
  small.parts = {{"language model", "", size_t{100} << 20}, {"codec", "", size_t{100} << 20}};
  large.parts = {{"language model", "", size_t{200} << 20}, {"codec", "", size_t{100} << 20}};
  EXPECT_EQ(executors_alone(small, 1), Executors::kShared);
  EXPECT_EQ(executors_alone(small, 2), Executors::kSplit);
  EXPECT_EQ(executors_alone(large, 2), Executors::kShared);
  EXPECT_EQ(executors_alone(large, 3), Executors::kShared);
  EXPECT_EQ(executors_alone(large, 4), Executors::kSplit);
}

TEST(Load, ARecogniserAloneHasFewThreadsOnOneBatch) {
  LoadOptions options;
  options.model = SYRINX_BINARY_DIR "/parity/whisper/small";
  const auto whisper = load_pipeline(options);
  ASSERT_EQ(whisper->info().family, "whisper");
  EXPECT_EQ(executors_for(*whisper, 2), Executors::kShared);
  EXPECT_EQ(executors_for(*whisper, 4), Executors::kSplit);
  options.model = SYRINX_BINARY_DIR "/parity/llm/llama";
  options.dummy = true;
  EXPECT_EQ(executors_for(*load_pipeline(options), 2), Executors::kSplit) << "a text model";
}

TEST(Load, AModelWhoseChunksAreUtterancesHasFewThreadsOnOneBatch) {
  LoadOptions options;
  options.model = SYRINX_BINARY_DIR "/parity/kokoro/golden/published/checkpoint";
  options.dummy = true;
  const auto kokoro = load_pipeline(options);
  ASSERT_EQ(kokoro->info().family, "kokoro");
  EXPECT_EQ(executors_for(*kokoro, 2), Executors::kShared);
  EXPECT_EQ(executors_for(*kokoro, 4), Executors::kSplit);
  LoadOptions built_in;
  built_in.voices_dir = SYRINX_SOURCE_DIR "/voices";
  const auto finch = load_pipeline(built_in);
  EXPECT_EQ(executors_for(*finch, 2), Executors::kSplit);
  EXPECT_EQ(executors_for(*finch, 1), Executors::kShared);
}

TEST(Load, AModelMayBeOneFile) {
  EXPECT_EQ(model_name("/voices/en_US-joe-medium.onnx"), "en_US-joe-medium");
  EXPECT_EQ(model_name("en_US-joe-medium.onnx"), "en_US-joe-medium");
  EXPECT_EQ(model_name("Org/Name@rev"), "Name");
  const TestDir dir;
  LoadOptions options;
  options.model = dir.write("a.onnx", "");
  EXPECT_TRUE(says(load_fault(options), "a.onnx.json")) << load_fault(options);
  dir.write("a.onnx.json", "{}");
  EXPECT_TRUE(says(load_fault(options), "audio")) << load_fault(options);
  const std::string before = fingerprint(options.model);
  dir.write("b.onnx", "other");
  EXPECT_EQ(fingerprint(options.model), before) << "what lies beside a voice is not of it";
  dir.write("a.onnx.json", "{ }");
  EXPECT_NE(fingerprint(options.model), before);
}

TEST(Load, AFileThatIdentifiesACheckpointChoosesTheEdition) {
  const TestDir dir;
  LoadOptions options;
  const std::string english = dir.path("tokenizer.json");
  options.model = dir.write("t3_cfg.safetensors", "");
  EXPECT_TRUE(says(load_fault(options), english)) << load_fault(options);
  options.model = dir.write("t3_mtl23ls_v2.safetensors", "");
  EXPECT_TRUE(says(load_fault(options), "grapheme_mtl_merged")) << load_fault(options);
  options.model = dir.path();
  EXPECT_TRUE(says(load_fault(options), english)) << load_fault(options);
}

TEST(Load, WhatIsPublishedWithoutItsConfigSaysWhatToAdd) {
  for (const char* file : {"model.pth", "2epoch.pth"}) {
    const TestDir dir;
    dir.write(file, "");
    dir.write("config.yaml", "token_list: []");
    LoadOptions options;
    options.model = dir.path();
    const std::string fault = load_fault(options);
    for (const char* part : {file, "config.json and tokenizer.json", "bootstrap_assets.py"}) {
      EXPECT_TRUE(says(fault, part)) << fault;
    }
    dir.write("config.json", R"({"model_type": "mystery"})");
    EXPECT_TRUE(says(load_fault(options), "belongs to no known family")) << "what it has counts";
  }
}

TEST(Load, PocketTtsWithoutItsYamlSaysWhereItIs) {
  const TestDir dir;
  std::filesystem::create_directory(dir.path("embeddings"));
  dir.write("embeddings/alba.safetensors", "");
  dir.write("model.safetensors", "");
  LoadOptions options;
  options.model = dir.path();
  const std::string fault = load_fault(options);
  for (const char* part : {"pocket_tts.yaml", "package pocket-tts", "config/english.yaml"}) {
    EXPECT_TRUE(says(fault, part)) << fault;
  }
}

TEST(Load, MistralsOwnLayoutSaysWhichOneLoads) {
  const TestDir dir;
  dir.write("params.json", "{}");
  dir.write("consolidated.safetensors", "");
  LoadOptions options;
  options.model = dir.path();
  const std::string fault = load_fault(options);
  for (const char* part : {"params.json", "layout of transformers", "model.safetensors"}) {
    EXPECT_TRUE(says(fault, part)) << fault;
  }
}

TEST(Load, MistralsOwnConfigIdentifiesAFamily) {
  const std::string parity = SYRINX_BINARY_DIR "/parity/";
  LoadOptions options;
  options.model = parity + "voxtral_tts/golden/small/checkpoint";
  EXPECT_EQ(load_pipeline(options)->info().family, "voxtral_tts");
  // Repositories with both layouts have both configs. The downloaded weights decide.
  for (const bool both : {false, true}) {
    const TestDir dir;
    const auto how = std::filesystem::copy_options::recursive |
                     std::filesystem::copy_options::overwrite_existing;
    std::filesystem::copy(parity + "voxtral_realtime/golden/original/checkpoint", dir.path(), how);
    if (both) {
      dir.write("config.json",
                slurp(parity + "voxtral_realtime/golden/small/checkpoint/config.json"));
    }
    options.model = dir.path();
    EXPECT_EQ(load_pipeline(options)->info().family, "voxtral_realtime");
  }
}

TEST(Load, AForeignFileOfAMarkersNameIsPassedOver) {
  const TestDir dir;
  LoadOptions options = text_model();
  std::filesystem::copy(
      options.model, dir.path(),
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  options.model = dir.path();
  for (const char* text : {"[]", "{\"model_type\": 3}", "{"}) {
    dir.write("params.json", text);
    EXPECT_EQ(load_pipeline(options)->info().family, "llm") << text;
  }
  std::filesystem::remove(dir.path("config.json"));
  EXPECT_TRUE(says(load_fault(options), "params.json")) << "without another config";
}

TEST(Load, AnUnknownFamilyIsRefusedWithTheKnownOnes) {
  const TestDir dir;
  dir.write("config.json", R"({"model_type": "parrot"})");
  LoadOptions options;
  options.model = dir.path();
  const std::string fault = load_fault(options);
  for (const char* part : {"config.json", "\"parrot\"", "finch", "csm, ", "whisper"}) {
    EXPECT_TRUE(says(fault, part)) << fault;
  }
}

}  // namespace
}  // namespace syrinx
