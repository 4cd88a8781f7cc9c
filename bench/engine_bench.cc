// Measures whole requests through the engine, in processor seconds of the process, with one thread.
//   engine_bench long CHECKPOINT [SECONDS]
// A long text, minute by minute of its audio: SECONDS of audio are a minute (60; for small codecs,
// whose frames are shorter than the published ones', the seconds of as many frames).
// Small checkpoints of the goldens show costs that may grow (prompts, caches, sampler, codec), not
// the cost of a step of a large decoder.
//   engine_bench guided [ROUNDS]
// Rows a processor second of OpusLM-Dialogue's layout with 12 layers of width 1024, random weights
// in 8 bits and the codec of published size: 16 requests without guidance, 8 with it, whose
// companions are rows as well, alone and behind 60 words, which are not guided.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench.h"
#include "engine/collector.h"
#include "io/test_dir.h"
#include "runtime/runtime.h"

namespace syrinx {
namespace {

constexpr int kMinutes = 6;

std::unique_ptr<Engine> engine_of(LoadOptions load) {
  load.weights_cache = "off";
  load.engine.threads = 1;
  load.engine.repetition_s = 0;
  load.engine.max_unread_s = 1e9;
  return load_engine(load);
}

/// Records processor seconds at every minute of audio; ends after the given length.
class Minutes : public Sink {
 public:
  explicit Minutes(double samples) : samples_(samples) {}
  void audio(std::span<const float> samples) override {
    heard_ += static_cast<double>(samples.size());
    while (marks_.size() <= kMinutes && heard_ >= samples_ * static_cast<double>(marks_.size())) {
      marks_.push_back(1e-3 * bench::processor_ms());
    }
    if (marks_.size() > kMinutes) done_ = true;
  }
  void finished(const Outcome& outcome) override {
    reason_ = outcome.reason;
    done_ = true;
  }
  void wait() const {
    while (!done_) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const std::vector<double>& marks() const { return marks_; }

 private:
  const double samples_;
  double heard_ = 0;
  std::vector<double> marks_{1e-3 * bench::processor_ms()};
  FinishReason reason_ = FinishReason::kStop;
  std::atomic<bool> done_ = false;
};

void long_text(const std::string& checkpoint, double seconds) {
  LoadOptions load;
  load.model = checkpoint;
  load.weights = "f32";
  const auto engine = engine_of(load);
  SpeechRequest request;
  while (request.say.text.size() < 190'000) {
    request.say.text += "Fox number " + std::to_string(request.say.text.size()) +
                        " ran over the hill, and then it went home to sleep until the morning. ";
  }
  request.sampling.seed = 1;
  const auto sink =
      std::make_shared<Minutes>(seconds * engine->pipeline().info().speech.sample_rate);
  const auto id = engine->submit(request, sink);
  if (!id.ok()) throw LoadError(id.error().message);
  sink->wait();
  engine->cancel(id.value());
  std::printf("|");
  const std::vector<double>& marks = sink->marks();
  for (size_t i = 1; i < marks.size(); ++i) std::printf(" %.2f |", marks[i] - marks[i - 1]);
  std::printf("\n");
}

constexpr const char* kDialogue =
    R"({"model_type": "opuslm_dialogue", "vocab_size": 62670, "text_token_end": 62600,
    "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 12,
    "num_attention_heads": 16, "num_key_value_heads": 16, "rope_theta": 130000,
    "rms_norm_eps": 1e-5, "max_position_embeddings": 8192, "ssl_token_start": 256,
    "ssl_token_end": 5256, "codec_token_start": 5256, "codec_token_end": 13448,
    "text_token_start": 13448, "nq": 9, "pad_token_id": 0, "eos_token_id": 5,
    "system_prompt_token_id": 8, "user_input_token_id": 9, "assistant_output_token_id": 10,
    "codec_ssl_start_end_token_id": 34, "text_bpe_start_end_token_id": 35,
    "spk_start_end_token_id": 37, "codec_ssl_asr_task_token_id": 80,
    "codec_ssl_tts_task_token_id": 81, "codec_ssl_plain_tts_task_token_id": 82,
    "text_dialogue_task_token_id": 88, "audio_dialogue_task_token_id": 89})";

/// Returns rows per processor second of `count` requests; rows of companions count for guided
/// sequences.
double rows_a_second(Engine& engine, int count, bool guided, int words) {
  constexpr int kFrames = 48, kTail = 8;
  std::vector<std::shared_ptr<Collector>> sinks;
  const double began = bench::processor_ms();
  for (int i = 0; i < count; ++i) {
    SpeechRequest request;
    request.sampling.seed = static_cast<uint64_t>(i);
    request.terms.ignore_stop = true;
    request.terms.max_frames = kFrames;
    request.sampling.guidance = guided ? 3.f : 1.f;
    if (words > 0) {
      request.writing.chat =
          std::make_shared<Chat>(Chat{R"([{"role": "user", "content": "a"}])", "", {}});
      request.writing.max_tokens = words;
    } else {
      request.say.text = "a";
    }
    sinks.push_back(std::make_shared<Collector>());
    const auto id = engine.submit(request, sinks.back());
    if (!id.ok()) throw LoadError(id.error().message);
  }
  for (const auto& sink : sinks) {
    if (sink->wait().reason == FinishReason::kError) throw LoadError(sink->wait().error.message);
  }
  const int steps = words + (kFrames + kTail) * (guided ? 2 : 1);
  return 1e3 * count * steps / (bench::processor_ms() - began);
}

void guidance(int rounds) {
  const TestDir dir;
  dir.write("config.json", kDialogue);
  LoadOptions load;
  load.model = dir.path();
  load.weights = "q8";
  load.dummy = true;
  load.engine.policy = "throughput";
  const auto engine = engine_of(load);
  rows_a_second(*engine, 2, true, 4);  // runs once before the measurement
  std::printf("| rows a processor second | 16 unguided | 8 guided | |\n|---|---|---|---|\n");
  for (int round = 0; round < rounds; ++round) {
    for (const int words : {0, 60}) {
      const double none = rows_a_second(*engine, 16, false, words);
      const double pairs = rows_a_second(*engine, 8, true, words);
      std::printf("| %s | %.0f | %.0f | %.0f %% |\n", words > 0 ? "words, then speech" : "speech",
                  none, pairs, 100 * pairs / none);
    }
  }
}

}  // namespace
}  // namespace syrinx

int main(int argc, char** argv) try {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "long" && argc > 2) {
    syrinx::long_text(argv[2], argc > 3 ? std::atof(argv[3]) : 60);
  } else if (what == "guided") {
    syrinx::guidance(argc > 2 ? std::atoi(argv[2]) : 3);
  } else {
    std::fputs("engine_bench long CHECKPOINT [SECONDS] | engine_bench guided [ROUNDS]\n", stderr);
    return 2;
  }
  return 0;
} catch (const syrinx::LoadError& error) {
  std::fprintf(stderr, "engine_bench: %s\n", error.what());
  return 1;
}
