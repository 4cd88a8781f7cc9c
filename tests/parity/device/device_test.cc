// Tests the families with their stages on a GPU, real or emulated (kernels/cuda/emulation): golden
// samples of the originals, the same samples alone and among others, and the error that narrow
// weights cause.
#include "tensor/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <future>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/worst.h"
#include "engine/collector.h"
#include "families/family.h"
#include "families/piper/piper.h"
#include "families/piper/voice_fixture.h"
#include "families/step_audio2/fixture.h"
#include "families/zonos/pipeline.h"
#include "io/file.h"
#include "io/golden_samples.h"
#include "io/safetensors.h"
#include "io/test_dir.h"
#include "model/step_runner.h"
#include "on_gpu.h"
#include "runtime/runtime.h"
#include "runtime/trace.h"

namespace syrinx {
namespace {

/// A golden checkpoint, and one of its cases that has samples.
struct Model {
  std::string name;
  std::string dir;       ///< relative to tests/parity
  std::string golden;    ///< the case's name; if empty, the samples are compared with the CPU's
  int frames = 0;        ///< frames of the case to speak; a long case takes the emulation minutes
  int lookahead = 0;     ///< last frames that are not compared: their samples depend on later
                         ///< frames, or small differences have grown from latent to latent
  std::string voice;     ///< for requests that are not golden
  int crowd_frames = 0;  ///< frames of each of these requests
};

void PrintTo(const Model& model, std::ostream* out) { *out << model.name; }

const Model kModels[] = {
    {"orpheus", "orpheus", "stops", 20, 10, "leo", 6},
    {"qwen3_tts", "qwen3_tts/equal_width", "speaker_language", 3, 0, "", 2},
    {"qwen3_tts_projected", "qwen3_tts/projected", "instruct", 6, 0, "", 3},
    {"csm", "csm/taught", "ends", 4, 0, "0", 3},
    {"zonos", "zonos", "stops", 14, 10, "none", 3},
    {"cosyvoice2", "cosyvoice2", "speaker", 30, 0, "owl", 26},
    {"cosyvoice3", "cosyvoice3", "speaker", 14, 0, "owl", 26},
    {"chatterbox", "chatterbox", "samples", 50, 0, "", 26},
    {"chatterbox_turbo", "chatterbox_turbo", "samples", 40, 0, "", 26},
    {"higgs_audio", "higgs", "fox", 14, 10, "", 3},
    {"fish_speech", "fish_speech", "fox", 4, 0, "0", 3},
    {"opuslm", "opuslm", "", 14, 0, "", 5},
    {"bagpiper", "bagpiper", "", 60, 0, "", 60},
    {"glm4_voice", "glm4_voice", "", 30, 0, "", 26},
    {"step_audio2", "step_audio2", "", 30, 0, "", 26},
    {"voxtral_tts", "voxtral_tts/small", "", 12, 0, "", 6},
    {"kyutai_tts", "kyutai_tts/small", "", 8, 0, "", 4},
    {"pocket_tts", "pocket_tts/small", "", 10, 0, "", 6},
    {"vibevoice", "vibevoice/plain", "", 6, 4, "", 5},
    {"voxcpm2", "voxcpm2", "", 6, 3, "", 4},
    {"omnivoice", "omnivoice/plain", "", 5, 0, "", 3},
    {"moss_tts", "moss_tts/published_rates", "", 8, 0, "", 4},
    {"qwen3_omni", "qwen3_omni/published", "", 5, 0, "", 3},
    {"piper", "piper", "", 60, 0, "", 20},
    {"kokoro", "kokoro/plain", "", 60, 0, "", 20},
};

/// Models whose first stage runs on the CPU.
constexpr std::string_view kTextOnCpu[] = {"piper", "kokoro"};
bool is_text_on_cpu(const Model& model) { return std::ranges::count(kTextOnCpu, model.name) > 0; }

std::string golden_dir(const Model& model) {
  const size_t slash = model.dir.find('/');
  return parity_dir() + model.dir.substr(0, slash) + "/golden" +
         (slash == std::string::npos ? "" : model.dir.substr(slash));
}

nlohmann::json golden_case(const Model& model) {
  nlohmann::json all = nlohmann::json::parse(read_file(golden_dir(model) + "/cases.json", 1 << 20));
  if (all.is_object()) all = all["cases"];
  for (const auto& c : all) {
    if (c["name"] == model.golden) return c;
  }
  ADD_FAILURE() << "no case " << model.golden;
  return {};
}

/// Returns a request with the voice of requests that are not golden.
SpeechRequest request_of(const Model& model) {
  SpeechRequest request;
  request.voice.name = model.voice;
  if (model.name == "step_audio2") request.voice.data = step_audio2::golden_voice(20);
  return request;
}

SpeechRequest golden_request(const Model& model) {
  if (model.golden.empty()) {
    SpeechRequest request = request_of(model);
    request.say.text = "Hello there, how are you?";
    request.sampling.temperature = 0.f;
    request.terms.max_frames = model.frames;
    return request;
  }
  const nlohmann::json c = golden_case(model);
  SpeechRequest request;
  request.say.text = c["text"];
  const char* voice = c.contains("speaker") ? "speaker" : "voice";
  if (c.contains(voice) && c[voice].is_string()) request.voice.name = c[voice];
  if (c.contains("language")) request.say.language = c["language"];
  if (c.contains("instruct")) request.say.instructions = c["instruct"];
  if (c.contains("penalty")) request.sampling.repetition_penalty = c["penalty"].get<float>();
  if (model.dir.starts_with("qwen3_tts")) request.sampling.repetition_penalty = 1.f;
  // These goldens were made without the authors' spelling of numbers.
  if (model.name.starts_with("cosyvoice")) request.say.spell_numbers = false;
  if (c.contains("guidance")) request.sampling.guidance = c["guidance"].get<float>();
  if (c.contains("conditions")) {
    for (const auto& [name, value] : c["conditions"].items()) {
      std::string list = value.dump();
      std::erase_if(list, [](char ch) { return ch == '[' || ch == ']'; });
      request.say.instructions += name + "=" + list + " ";
    }
  }
  request.sampling.temperature = 0.f;
  request.sampling.seed = model.name == "orpheus" ? 77 : 7;
  request.terms.max_frames = model.frames;
  return request;
}

/// Returns the phonemes of a golden text, or the letters of any other text.
Result<std::string> phonemes(std::string_view text, std::string_view) {
  const std::string path = parity_dir() + "zonos/golden/cases.json";
  const auto cases = nlohmann::json::parse(read_file(path, 1 << 20))["cases"];
  for (const auto& c : cases) {
    if (c["text"] == text) return c["phonemes"].get<std::string>();
  }
  return std::string(text);
}

/// Loads a checkpoint by its family's name, because the small vocabularies do not identify a
/// published model.
std::shared_ptr<const Pipeline> load(const Model& model, WeightType weights, Device device,
                                     const NodeDevices& devices = {}) {
  LoadSpec spec{golden_dir(model) + "/checkpoint", "tiny", weights, false, device};
  spec.devices = devices;
  if (model.name == "zonos") return std::make_shared<zonos::Zonos>(spec, phonemes);
  if (model.name == "piper") {
    const TestDir dir;
    spec.dir = dir.write("voice.onnx", read_file(golden_dir(model) + "/one_speaker.onnx", 1 << 24));
    dir.write("voice.onnx.json", piper::small_json());
    return piper::load_with(spec, piper::say_letters);
  }
  const Family* best = nullptr;  // the family with the longest name
  for (const Family& family : families()) {
    const std::string_view name = family.name;
    if (model.name.starts_with(name) &&
        (!best || name.size() > std::string_view(best->name).size()))
      best = &family;
  }
  if (best) return best->load(spec);
  throw InternalError("no family " + model.name);
}

std::unique_ptr<Engine> engine(const Model& model, WeightType weights, EngineOptions options = {}) {
  options.threads = 2;
  options.max_unread_s = 1e9;
  options.repetition_s = 0;
  return std::make_unique<Engine>(load(model, weights, kGpu), options);
}

std::shared_ptr<Collector> submit(Engine& engine, const SpeechRequest& request) {
  auto sink = std::make_shared<Collector>();
  const auto id = engine.submit(request, sink);
  if (!id.ok()) throw InternalError(id.error().message);
  return sink;
}

std::vector<float> samples(Collector& sink) {
  EXPECT_NE(sink.wait().reason, FinishReason::kError) << sink.wait().error.message;
  return sink.samples();
}

class OnGpu : public testing::TestWithParam<Model> {
 protected:
  void SetUp() override {
    if (const std::string why = device_missing(kGpu); !why.empty()) GTEST_SKIP() << why;
    if (!is_directory(golden_dir(GetParam()))) GTEST_SKIP() << "the kit has no such checkpoint";
  }
};

/// Returns the samples of a model's golden request on the CPU.
std::vector<float> on_cpu(const Model& model) {
  EngineOptions options;
  options.threads = 2, options.max_unread_s = 1e9, options.repetition_s = 0;
  Engine server(load(model, WeightType::kF32, Device::kCpu), options);
  return samples(*submit(server, golden_request(model)));
}

/// Compares samples with those of the original implementation. `graph` is that of the model.
void expect_golden(const Model& model, const Graph& graph, std::span<const float> got) {
  const Safetensors file(golden_dir(model) + "/" + model.golden + ".safetensors");
  const GoldenSamples want(file);
  int64_t hop = 1;
  for (const Link& link : graph.links()) hop *= link.stage->out_width();
  if (graph.links().size() > 1) hop = want.count() / model.frames;
  const int64_t count = std::min(want.count(), (model.frames - model.lookahead) * hop);
  ASSERT_GE(std::ssize(got), count);
  const float worst = want.distance_of_beginning(got.first(static_cast<size_t>(count)));
  EXPECT_LT(worst, 1e-4f);
  testing::Test::RecordProperty("samples", std::to_string(count));
  testing::Test::RecordProperty("worst", std::to_string(worst * 1e6) + "e-6");
}

TEST_P(OnGpu, SpeaksAsTheOriginals) {
  const Model& model = GetParam();
  const auto server = engine(model, WeightType::kF32);
  EXPECT_EQ(server->pipeline().graph().ar().device() == kGpu, !is_text_on_cpu(model));
  const Node& codec = server->pipeline().graph().nodes().back();
  EXPECT_TRUE(codec.chunk->device() == kGpu);
  const std::vector<float> got = samples(*submit(*server, golden_request(model)));
  if (model.frames > 4 && !is_text_on_cpu(model)) {
    double replayed = 0, recalled = 0;
    for (const StageMetrics& stage : server->metrics().stages)
      replayed += stage.replayed.value(), recalled += stage.recalled.value();
    EXPECT_GT(replayed, 0) << "no step was replayed";
    const bool fills = server->pipeline().graph().ar().fill_size(1) > 0;
    EXPECT_EQ(recalled > 0, fills)
        << "steps that did not run the code of their stage: " << recalled;
  }
  if (model.golden.empty()) {
    const std::vector<float> want = on_cpu(model);
    ASSERT_EQ(got.size(), want.size());
    EXPECT_GT(want.size(), 400u);
    float worst = 0;
    const auto frames = static_cast<size_t>(model.frames);
    const size_t count = got.size() * (frames - static_cast<size_t>(model.lookahead)) / frames;
    for (size_t i = 0; i < count; ++i) worst = worse(worst, std::fabs(got[i] - want[i]));
    EXPECT_LT(worst, 1e-4f);
    RecordProperty("worst", std::to_string(worst * 1e6) + "e-6");
  } else {
    expect_golden(model, server->pipeline().graph(), got);
  }
  for (const StageMetrics& stage : server->metrics().stages) {
    RecordProperty(stage.stage + "_replayed", std::to_string(stage.replayed.value()));
  }
}

TEST_P(OnGpu, EachStageMayHaveAGpuOfItsOwn) {
  if (gpu_names().size() < 2) GTEST_SKIP() << "needs two GPUs";
  const auto device_of = [](const Node& node) {
    return node.ar ? node.ar->device() : node.chunk->device();
  };
  const auto pipeline = load(GetParam(), WeightType::kF32, kGpu);
  for (const Node& moved : pipeline->graph().nodes()) {
    if (device_of(moved) == Device::kCpu) continue;
    const auto apart = load(GetParam(), WeightType::kF32, kGpu, {{moved.name, Device::gpu(1)}});
    for (size_t n = 0; n < apart->graph().nodes().size(); ++n) {
      const Node &here = pipeline->graph().nodes()[n], &there = apart->graph().nodes()[n];
      EXPECT_EQ(device_of(there), here.name == moved.name ? Device::gpu(1) : device_of(here))
          << here.name;
    }
  }
}

TEST_P(OnGpu, SameSamplesAloneAndInACrowd) {
  SpeechRequest request = request_of(GetParam());
  request.say.text = "Hello there, how are you?";
  request.sampling.seed = 5;
  request.terms.max_frames = GetParam().crowd_frames;
  request.terms.ignore_stop = true;
  if (GetParam().name == "bagpiper") request.writing.max_tokens = 8;  // limit of words before audio
  const std::vector<float> alone =
      samples(*submit(*engine(GetParam(), WeightType::kBF16), request));
  EXPECT_FALSE(alone.empty());
  EngineOptions crowded;
  crowded.max_batch = 3;  // fewer entries than sequences, so that batches change
  const auto server = engine(GetParam(), WeightType::kBF16, crowded);
  std::vector<std::shared_ptr<Collector>> sinks;
  for (int i = 0; i < 4; ++i) {
    SpeechRequest other = request;
    if (i % 2 != 0) {
      other.say.text = "The fox number " + std::to_string(i);
      other.sampling.seed = static_cast<uint64_t>(i);
      other.sampling.temperature = 0.3f * static_cast<float>(i);
      other.terms.max_frames = request.terms.max_frames / 2 + 1;
    }
    other.terms.initial_chunk_frames = i % 3;
    sinks.push_back(submit(*server, other));
  }
  for (int i = 0; i < 4; ++i) {
    const std::vector<float> got = samples(*sinks[i]);
    if (i % 2 == 0) {
      EXPECT_TRUE(got == alone) << "request " << i;
    }
  }
}

/// Writes NaN to the scratch memory of the next step, and makes it grow.
void poison_scratch(StepContext& ctx) {
  const std::vector<float> bad(size_t{3} << 18, std::numeric_limits<float>::quiet_NaN());
  const View scratch = ctx.arena.take({std::ssize(bad)}, DType::kF32);
  store(ctx, bad, scratch);
  ctx.arena.take({8 << 20}, DType::kU8);
  synchronize(ctx);
}

/// Requests with draws of several kinds, for steps that are compared with other steps.
std::vector<SpeechRequest> varied_requests(const Model& model) {
  std::vector<SpeechRequest> all(5);
  for (size_t i = 0; i < all.size(); ++i) {
    SpeechRequest& request = all[i] = request_of(model);
    request.say.text = i == 1 ? "Good morning" : "The fox number " + std::to_string(i);
    // Text beside the frames, which some steps project and later ones do not.
    if (model.name.starts_with("qwen3_tts") && i % 2 == 1) request.say.in_prompt = false;
    request.sampling.temperature = 0.3f * static_cast<float>(i);
    request.terms.max_frames = 40;
    request.terms.ignore_stop = true;
    if (model.name == "bagpiper") request.writing.max_tokens = 8;
  }
  return all;
}

TEST_P(OnGpu, RecalledStepsDrawAsStepsThatAreQueued) {
  const auto pipeline = load(GetParam(), WeightType::kBF16, kGpu);
  if (pipeline->graph().ar().fill_size(1) == 0) GTEST_SKIP() << "its stage has no fill()";
  Runner queued(*pipeline), recalled(*pipeline, 1, false);
  std::vector<Track> wanted, got;
  for (const SpeechRequest& request : varied_requests(GetParam())) {
    wanted.push_back(queued.open(request));
    got.push_back(recalled.open(request));
  }
  const Stream& stream = *recalled.context().stream;
  uint64_t before = 0;
  size_t turn = 0;
  struct Phase {
    size_t size, among;  // requests of a step, and the number of those that take turns
  };
  for (const auto& [size, among] : {Phase{1, 1}, {5, 5}, {2, 5}, {1, 5}}) {  // five run as eight
    for (int i = 0; i < 7; ++i, ++turn) {
      std::vector<Track*> order_wanted, order_got;
      for (size_t j = turn; j < turn + size; ++j) {
        order_wanted.push_back(&wanted[j % among]);
        order_got.push_back(&got[j % among]);
      }
      queued.step(order_wanted);
      recalled.step(order_got);
      for (size_t j = 0; j < wanted.size(); ++j)
        ASSERT_EQ(got[j].codes, wanted[j].codes) << size << " rows, step " << i;
      poison_scratch(recalled.context());
    }
    EXPECT_GT(stream.recalled(), before) << size << " rows";
    before = stream.recalled();
  }
  EXPECT_EQ(queued.context().stream->recalled(), 0u);
  RecordProperty("recalled", std::to_string(stream.recalled()));
}

TEST_P(OnGpu, NarrowWeightsStayClose) {
  if (is_text_on_cpu(GetParam())) GTEST_SKIP() << "its first stage runs on the CPU";
  SpeechRequest request = golden_request(GetParam());
  request.terms.max_frames = 1;
  TraceOptions options;
  options.threads = 1;
  options.logit_steps = 64;
  // Returns the logits of the first code that is not forced. Before it, narrow weights change no
  // input.
  const auto first = [&](WeightType weights, Device device) {
    Result<Trace> traced = trace_request(*load(GetParam(), weights, device), request, options);
    EXPECT_TRUE(traced.ok()) << (traced.ok() ? "" : traced.error().message);
    const Trace trace = traced.take();
    const auto steps = static_cast<size_t>(trace.logit_steps);
    for (size_t step = 0; step < steps; ++step) {
      for (const std::vector<float>& code : trace.logits) {
        const size_t width = code.size() / steps;
        const auto row = std::span(code).subspan(step * width, width);
        if (std::ranges::any_of(row, [](float logit) { return std::isfinite(logit); }))
          return std::vector<float>(row.begin(), row.end());
      }
    }
    ADD_FAILURE() << "all codes are forced";
    return std::vector<float>{};
  };
  const std::vector<float> exact = first(WeightType::kF32, Device::kCpu);
  // With bf16 weights, a GPU also rounds activations to bf16.
  for (const auto& [weights, bound] :
       {std::pair{WeightType::kF32, 1e-5}, {WeightType::kBF16, 0.04}, {WeightType::kQ8, 0.1}}) {
    const std::vector<float> other = first(weights, kGpu);
    ASSERT_EQ(other.size(), exact.size());
    double error = 0, power = 0;
    for (size_t i = 0; i < exact.size(); ++i) {
      if (!std::isfinite(exact[i])) continue;  // a part of a head that was not computed on the CPU
      error += std::pow(double{other[i]} - exact[i], 2);
      power += double{exact[i]} * exact[i];
    }
    EXPECT_LT(std::sqrt(error / power), bound) << weight_type_name(weights);
    RecordProperty(weight_type_name(weights),
                   std::to_string(100 * std::sqrt(error / power)) + " %");
  }
}

SpeechRequest chat(const std::string& schema = "") {
  SpeechRequest request;
  request.sampling.temperature = 0.f;
  request.writing.text_only = true;
  request.writing.max_tokens = 60;
  request.writing.chat = std::make_shared<Chat>(
      Chat{.messages = R"([{"role": "user", "content": "Hello there!"}])", .schema = schema});
  return request;
}

class WritesOnGpu : public CheckpointOnGpu {};

TEST_P(WritesOnGpu, AsOnTheCpu) {
  SpeechRequest request = chat();
  if (std::string(GetParam()).starts_with("llm")) request.writing.top_logprobs = 0;
  const auto want = answer(GetParam(), request, Device::kCpu);
  const auto got = answer(GetParam(), request, kGpu);
  EXPECT_FALSE(want->text().empty());
  EXPECT_EQ(got->text(), want->text());
  ASSERT_EQ(got->scores().size(), want->scores().size());
  for (size_t i = 0; i < want->scores().size(); ++i)
    EXPECT_NEAR(got->scores()[i], want->scores()[i], 1e-3) << i;
}

class MasksOnGpu : public WritesOnGpu {};

TEST_P(MasksOnGpu, HoldAnAnswerToItsSchema) {
  SpeechRequest request = chat(R"({"type": "object", "required": ["answer"],
      "properties": {"answer": {"enum": ["yes", "no"]}}, "additionalProperties": false})");
  request.sampling.temperature = 1.f;
  const auto got = answer(GetParam(), request, kGpu);
  const nlohmann::json value = nlohmann::json::parse(got->text(), nullptr, false);
  ASSERT_TRUE(value.is_object() && value.contains("answer")) << got->text();
  EXPECT_TRUE(value["answer"] == "yes" || value["answer"] == "no") << got->text();
  EXPECT_EQ(got->text(), answer(GetParam(), request, Device::kCpu)->text());
}

INSTANTIATE_TEST_SUITE_P(cuda, MasksOnGpu, testing::Values("llm/qwen3"),
                         [](const auto&) { return std::string("qwen3"); });

INSTANTIATE_TEST_SUITE_P(cuda, WritesOnGpu,
                         testing::Values("llm/qwen3", "llm/kinds/gemma2", "llm/kinds/gemma3_text",
                                         "llm/kinds/olmo2", "llm/kinds/phi3", "llm/kinds/smollm3",
                                         "step_audio2/golden/checkpoint"),
                         test_name);

INSTANTIATE_TEST_SUITE_P(cuda, OnGpu, testing::ValuesIn(kModels),
                         [](const auto& tested) { return tested.param.name; });

TEST(WarmUp, RecordsStepsAndChunks) {
  if (const std::string why = device_missing(kGpu); !why.empty()) GTEST_SKIP() << why;
  const Model& csm = kModels[3];
  EngineOptions options;
  options.max_batch = 2;
  const auto server = engine(csm, WeightType::kF32, options);
  warm_up(*server, options.max_batch, 100);
  for (const StageMetrics& stage : server->metrics().stages) {
    EXPECT_GT(stage.replayed.value(), 0) << stage.stage;
  }
}

TEST(CpuOnly, AFamilyWithoutStagesForAGpuSaysSo) {
  LoadOptions options;
  options.model = std::string(SYRINX_SOURCE_DIR) + "/voices/finch";
  options.device = "cuda";
  try {
    load_pipeline(options);
    FAIL();
  } catch (const LoadError& fault) {
    EXPECT_NE(std::string(fault.what()).find("--device cuda"), std::string::npos) << fault.what();
  }
  options.device = "gpu";
  EXPECT_THROW(load_pipeline(options), LoadError);
  options.device = "auto";
  EXPECT_EQ(load_pipeline(options)->graph().ar().device(), Device::kCpu);
}

}  // namespace
}  // namespace syrinx
