// Orpheus by TTS.cpp, for comparison. This file only calls it and has none of its code. README.md
// says how to build it and orpheus_gguf.py makes MODEL.
//   ttscpp MODEL THREADS FRAMES
// Reads a prompt of 16 ids and then 7 ids for each of FRAMES frames (85 ms), which are given and
// not drawn, so that random weights make codes that the codec knows (drawing costs it more); the
// codec decodes all of them in the end, as it does there. Once, then `ready`, then once more for
// each line of standard input. One line a request: seconds of audio, seconds, processor seconds.
#include <time.h>

#include <cstdio>
#include <iostream>
#include <random>
#include <string>

#include "models/orpheus/model.h"

namespace {

double seconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

class Orpheus {
 public:
  Orpheus(const char* model, int threads)
      : any_(runner_from_file(model, threads, generation_configuration(), true)),
        runner_(dynamic_cast<orpheus_runner&>(*any_)) {}

  /// Speaks; returns the seconds of audio.
  double speak(int frames) {
    std::minstd_rand rng(1);
    runner_.octx->reset();
    orpheus_ubatch batch(16, std::vector<uint32_t>(16, 128000));
    for (int i = 0; i < 7 * frames; ++i) {
      runner_.decode(batch);
      const uint32_t id = 128266 + static_cast<uint32_t>(i % 7) * 4096 + rng() % 4096;
      runner_.octx->output_tokens.push_back(id);
      ++runner_.octx->n_outputs;
      batch = orpheus_ubatch(1, {id});
    }
    std::vector<std::vector<uint32_t>> codes = runner_.prepare_output_tokens();
    tts_response response;
    runner_.srunner->run(codes, &response);
    return static_cast<double>(response.n_outputs) / 24000;
  }

 private:
  std::unique_ptr<tts_generation_runner> any_;
  orpheus_runner& runner_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return std::fprintf(stderr, "ttscpp MODEL THREADS FRAMES\n"), 2;
  Orpheus orpheus(argv[1], std::stoi(argv[2]));
  const int frames = std::stoi(argv[3]);
  orpheus.speak(frames);
  std::puts("ready");
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    const double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    const double audio = orpheus.speak(frames);
    std::printf("audio %.3f wall %.3f cpu %.3f\n", audio, seconds(CLOCK_MONOTONIC) - wall,
                seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    std::fflush(stdout);
  }
}
