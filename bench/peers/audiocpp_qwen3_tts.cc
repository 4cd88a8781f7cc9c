// Qwen3-TTS by audio.cpp, for comparison: ours are its calls, nothing of it is here. README.md says
// how to build it and random_checkpoint.py makes MODEL.
//   audiocpp_qwen3_tts MODEL THREADS WEIGHTS CONV FRAMES RUNS
// WEIGHTS: q8_0, bf16, f16 or f32, of linears; CONV: f16 or f32, of convolutions. One warm-up, then
// RUNS requests one after another; its sessions take one at a time and have their own weights. One
// line a run: seconds of audio, seconds until all of it was there, processor seconds.
#include <time.h>

#include <cstdio>
#include <memory>
#include <string>

#include "engine/framework/runtime/session.h"
#include "engine/models/qwen3_tts/loader.h"

namespace {

double seconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
  namespace rt = engine::runtime;
  if (argc != 7) return std::fprintf(stderr, "usage: see the beginning of the source\n"), 2;
  const auto model = engine::models::qwen3_tts::load_qwen3_tts_model(argv[1]);
  rt::SessionOptions options;
  options.backend.type = engine::core::BackendType::Cpu;
  options.backend.threads = std::stoi(argv[2]);
  options.options["qwen3_tts.weight_type"] = argv[3];
  options.options["qwen3_tts.speech_decoder_weight_type"] = argv[3];
  options.options["qwen3_tts.conv_weight_type"] = argv[4];
  const auto any =
      model->create_task_session({rt::VoiceTaskKind::Tts, rt::RunMode::Offline}, options);
  auto* session = dynamic_cast<rt::IOfflineVoiceTaskSession*>(any.get());
  if (!session) return std::fprintf(stderr, "no offline session\n"), 1;
  rt::TaskRequest request;
  request.text_input = rt::Transcript{"Hello there.", "english"};
  request.options = {{"speaker", "ryan"}, {"max_tokens", argv[5]}, {"seed", "1"}};
  any->prepare(rt::build_preparation_request(request));
  for (int run = -1; run < std::stoi(argv[6]); ++run) {
    const double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    const rt::TaskResult result = session->run(request);
    const auto& audio = result.audio_output.value();
    if (run < 0) continue;
    std::printf("audio %.3f wall %.3f cpu %.3f\n",
                static_cast<double>(audio.samples.size()) / audio.sample_rate,
                seconds(CLOCK_MONOTONIC) - wall, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    std::fflush(stdout);
  }
}
