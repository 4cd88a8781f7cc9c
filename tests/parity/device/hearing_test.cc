// Tests models that hear on a GPU, real or emulated: their texts, ids and log-probabilities are the
// CPU's, alone and among others.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/worst.h"
#include "families/whisper/alignment.h"
#include "families/whisper/pipeline.h"
#include "on_gpu.h"

namespace syrinx {
namespace {

/// Returns samples of a tone that rises.
std::vector<float> rising_tone(int count) {
  std::vector<float> samples;
  for (int i = 0; i < count; ++i)
    samples.push_back(0.3f * std::sin(0.0001f * static_cast<float>(i) * static_cast<float>(i)));
  return samples;
}

/// Models that hear whole recordings. The joint networks of transducers run on the CPU.
class HearsOnGpu : public CheckpointOnGpu {
 protected:
  static Device device_of(const Node& node) {
    return node.ar ? node.ar->device() : node.chunk->device();
  }
  /// Returns a request that transcribes a recording or, if the model transcribes none, answers it.
  static SpeechRequest request_of(const Pipeline& model, int length) {
    const auto recording = std::make_shared<Recording>(Recording{rising_tone(length), 16000});
    auto transcribes = model.dictation({.recording = recording});
    SpeechRequest request;
    if (transcribes.ok()) {
      request = transcribes.take();
    } else {
      request.writing.recordings = {recording};
      request.writing.chat = std::make_shared<Chat>(
          Chat{R"([{"role": "user", "content": [{"type": "audio", "audio": ""}]}])", ""});
      request.writing.text_only = true;
    }
    request.sampling.temperature = 0.f;
    if (!std::string(GetParam()).starts_with("bagpiper")) request.writing.top_logprobs = 0;
    request.writing.max_tokens = 12;
    return request;
  }
  /// Returns the texts about recordings of these lengths, which are heard at the same time.
  static std::vector<std::shared_ptr<Reader>> texts(Device device, std::vector<int> lengths) {
    const std::shared_ptr<const Pipeline> model = load(GetParam(), device);
    EXPECT_EQ(device_of(model->graph().nodes()[0]), device);
    Engine engine(model, {.threads = 2});
    std::vector<std::shared_ptr<Reader>> readers;
    for (const int length : lengths) {
      readers.push_back(std::make_shared<Reader>());
      const auto id = engine.submit(request_of(*model, length), readers.back());
      if (!id.ok()) throw InternalError(id.error().message);
    }
    for (const auto& reader : readers) {
      const Outcome outcome = reader->wait();
      EXPECT_NE(outcome.reason, FinishReason::kError) << outcome.error.message;
    }
    return readers;
  }
};

TEST_P(HearsOnGpu, AsOnTheCpuAloneAndInACrowd) {
  const int length = 32000;
  const auto want = texts(Device::kCpu, {length})[0], got = texts(kGpu, {length})[0];
  EXPECT_FALSE(want->text().empty());
  EXPECT_EQ(got->text(), want->text());
  ASSERT_EQ(got->scores().size(), want->scores().size());
  for (size_t i = 0; i < want->scores().size(); ++i) {
    const float score = want->scores()[i];
    EXPECT_NEAR(got->scores()[i], score, std::max(1e-3f, 2e-6f * std::abs(score))) << i;
  }
  const auto crowd = texts(kGpu, {length, length / 2, length + 160});
  EXPECT_EQ(crowd[0]->text(), got->text());
  EXPECT_EQ(crowd[0]->scores(), got->scores());
}

INSTANTIATE_TEST_SUITE_P(
    cuda, HearsOnGpu,
    testing::Values("qwen3_asr/golden/hf/checkpoint", "qwen3_omni/golden/published/checkpoint",
                    "bagpiper/golden/checkpoint", "glm4_voice/golden/checkpoint",
                    "step_audio2/golden/checkpoint", "transducer/golden/tdt/checkpoint"),
    test_name);

/// Whisper's encoder and decoder.
class TranscribesOnGpu : public CheckpointOnGpu {
 protected:
  using Window = whisper::Window;

  /// Submits tasks together, and waits for all of them.
  static void run(Device device, std::span<const std::shared_ptr<FamilyTask>> tasks,
                  WeightType weights = WeightType::kF32) {
    const std::shared_ptr<const Pipeline> model = load(GetParam(), device, weights);
    for (const Node& node : model->graph().nodes())
      EXPECT_EQ(node.ar ? node.ar->device() : node.chunk->device(), device) << node.name;
    Engine engine(model, {.threads = 2});
    std::vector<std::shared_ptr<Reader>> readers;
    for (const auto& task : tasks) {
      SpeechRequest request;
      request.task = task;
      request.writing.max_tokens = 12;
      readers.push_back(std::make_shared<Reader>());
      const auto id = engine.submit(request, readers.back());
      if (!id.ok()) throw InternalError(id.error().message);
    }
    for (const auto& reader : readers) {
      const Outcome outcome = reader->wait();
      EXPECT_NE(outcome.reason, FinishReason::kError) << outcome.error.message;
    }
  }
  static const whisper::ModelConfig& config() {
    static const auto model = load(GetParam(), Device::kCpu);
    return static_cast<const whisper::Whisper&>(*model).config();
  }
  /// Transcribes windows with these numbers of samples.
  static std::vector<std::shared_ptr<Window>> heard(Device device, std::vector<int> lengths,
                                                    WeightType weights = WeightType::kF32) {
    std::vector<std::shared_ptr<Window>> windows;
    for (const int length : lengths) {
      WhisperRecording recording(static_cast<int>(config().encoder.mels));
      recording.push(rising_tone(length), true);
      windows.push_back(std::make_shared<Window>());
      windows.back()->audio = recording.window(0);
      windows.back()->audio.rows = windows.back()->audio.frames / 2 + 5;
      windows.back()->keep_rows = true;
    }
    run(device, std::vector<std::shared_ptr<FamilyTask>>(windows.begin(), windows.end()), weights);
    return windows;
  }
};

TEST_P(TranscribesOnGpu, AsOnTheCpu) {
  const int length = 16000;
  const whisper::Heard want = heard(Device::kCpu, {length})[0]->heard;
  const whisper::Heard got = heard(kGpu, {length})[0]->heard;
  EXPECT_EQ(got.language, want.language);
  EXPECT_EQ(got.ids, want.ids);
  EXPECT_FALSE(want.ids.empty());
  EXPECT_NEAR(got.no_speech_prob, want.no_speech_prob, 1e-5);
  EXPECT_GT(want.no_speech_prob, 0);
  ASSERT_EQ(got.logprobs.size(), want.logprobs.size());
  for (size_t i = 0; i < want.logprobs.size(); ++i)
    EXPECT_NEAR(got.logprobs[i], want.logprobs[i], 1e-4) << i;
  float worst = 0;
  ASSERT_EQ(got.rows->size(), want.rows->size());
  for (size_t i = 0; i < want.rows->size(); ++i)
    worst = worse(worst, std::fabs((*got.rows)[i] - (*want.rows)[i]));
  EXPECT_LT(worst, 1e-4f);
}

TEST_P(TranscribesOnGpu, TheSameAloneAndInACrowd) {
  const int length = 16000;
  for (const WeightType weights : {WeightType::kF32, WeightType::kBF16, WeightType::kQ8}) {
    const whisper::Heard alone = heard(kGpu, {length}, weights)[0]->heard;
    const auto crowd = heard(kGpu, {length, length / 2, length}, weights);
    for (const size_t i : {0, 2}) {
      EXPECT_EQ(crowd[i]->heard.ids, alone.ids) << weight_type_name(weights);
      EXPECT_EQ(crowd[i]->heard.logprobs, alone.logprobs) << weight_type_name(weights);
      EXPECT_TRUE(*crowd[i]->heard.rows == *alone.rows) << weight_type_name(weights);
    }
  }
}

TEST_P(TranscribesOnGpu, AlignsAsOnTheCpu) {
  std::vector<std::shared_ptr<whisper::Alignment>> made;
  for (const Device device : {Device(Device::kCpu), kGpu}) {
    made.push_back(std::make_shared<whisper::Alignment>());
    const size_t numbers = size_t{WhisperEncoder::kRows} * size_t(config().width());
    made.back()->rows =
        std::make_shared<const std::vector<float>>(rising_tone(static_cast<int>(numbers)));
    made.back()->frames = 60, made.back()->language = "en", made.back()->text = {1, 2, 5};
    const std::shared_ptr<FamilyTask> task = made.back();
    run(device, std::span(&task, 1));
  }
  for (const auto part : {&whisper::Alignment::weights, &whisper::Alignment::probabilities}) {
    const std::vector<float>&want = (*made[0]).*part, &got = (*made[1]).*part;
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-3) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(cuda, TranscribesOnGpu, testing::Values("whisper/small"), test_name);

/// Recognisers of live speech.
class HearsLiveOnGpu : public CheckpointOnGpu {
 protected:
  /// Returns the texts of recordings of these lengths, which are heard at the same time.
  static std::vector<std::shared_ptr<Reader>> texts(Device device, std::vector<int> lengths,
                                                    bool scores = true) {
    const std::shared_ptr<const Pipeline> model = load(GetParam(), device);
    for (const Node& node : model->graph().nodes()) {
      if (node.name == "joint") continue;  // on the CPU
      EXPECT_EQ(node.ar ? node.ar->device() : node.chunk->device(), device) << node.name;
    }
    Engine engine(model, {.threads = 2});
    const HearingFacts& facts = model->info().hearing;
    std::vector<std::shared_ptr<Reader>> readers;
    for (const int length : lengths) {
      std::vector<float> samples = rising_tone(length);
      samples.resize((samples.size() + facts.frame - 1) / facts.frame * facts.frame + facts.tail);
      readers.push_back(std::make_shared<Reader>());
      const auto id = engine.submit(model->listening({.scores = scores}).take(), readers.back());
      if (!id.ok()) throw InternalError(id.error().message);
      engine.append_samples(id.value(), std::move(samples), true);
    }
    for (const auto& reader : readers) {
      const Outcome outcome = reader->wait();
      EXPECT_NE(outcome.reason, FinishReason::kError) << outcome.error.message;
    }
    for (const StageMetrics& stage : engine.metrics().stages) {
      if (stage.stage != "lm") continue;
      EXPECT_EQ(stage.replayed.value() > 0, device == kGpu);
    }
    return readers;
  }
};

TEST_P(HearsLiveOnGpu, AsOnTheCpuAloneAndInACrowd) {
  const int length = 24000;
  const auto want = texts(Device::kCpu, {length})[0], got = texts(kGpu, {length})[0];
  EXPECT_FALSE(want->text().empty());
  EXPECT_EQ(got->text(), want->text());
  ASSERT_EQ(got->scores().size(), want->scores().size());
  for (size_t i = 0; i < want->scores().size(); ++i)
    EXPECT_NEAR(got->scores()[i], want->scores()[i], 1e-4) << i;
  const auto crowd = texts(kGpu, {length, length / 2, length});
  for (const size_t i : {0, 2}) {
    EXPECT_EQ(crowd[i]->text(), got->text()) << i;
    EXPECT_EQ(crowd[i]->scores(), got->scores()) << i;
  }
  EXPECT_EQ(texts(kGpu, {length}, false)[0]->text(), got->text());
}

INSTANTIATE_TEST_SUITE_P(cuda, HearsLiveOnGpu,
                         testing::Values("kyutai_stt/golden/small/checkpoint",
                                         "kyutai_stt/golden/transformers/checkpoint",
                                         "voxtral_realtime/golden/small/checkpoint",
                                         "transducer/golden/small/checkpoint"),
                         test_name);

}  // namespace
}  // namespace syrinx
