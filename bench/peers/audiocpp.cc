// Speech by audio.cpp, for comparison. This file only calls it and has none of its code. README.md
// says how to build it and random_checkpoint.py makes MODEL. audiocpp FAMILY MODEL THREADS WEIGHTS
// CONV FRAMES FAMILY: qwen3_tts, chatterbox, voxcpm2, higgs_audio or fish_speech. WEIGHTS: q8_0,
// bf16, f16, f32 or native, of linears; CONV: the same of Qwen3-TTS' convolutions, of Chatterbox'
// flow and vocoder as a whole, of the others' codecs. Speaks FRAMES frames once, prints `ready`,
// and then once more for each line of standard input; its sessions take one request at a time.
// Prints one line per request: seconds of audio, seconds until its end, processor seconds.
#include <time.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>

#include "engine/framework/runtime/session.h"
#include "engine/models/chatterbox/loader.h"
#include "engine/models/fish_audio/loader.h"
#include "engine/models/higgs_audio_tts/loader.h"
#include "engine/models/qwen3_tts/loader.h"
#include "engine/models/voxcpm2/loader.h"

namespace {

namespace rt = engine::runtime;

struct Arguments {
  std::string model, weights, conv, frames;
  int threads;
};

/// Speaks; returns the seconds of audio.
using Speaker = std::function<double()>;

double seconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Returns three seconds of any sound as a voice; its sound does not matter.
rt::AudioBuffer recording() {
  rt::AudioBuffer audio{24000, 1, {}};
  std::minstd_rand rng(1);
  for (int n = 0; n < 3 * 24000; ++n) {
    const double noise = static_cast<double>(rng()) / static_cast<double>(std::minstd_rand::max());
    audio.samples.push_back(static_cast<float>(0.3 * std::sin(0.03 * n) + 0.2 * (noise - 0.5)));
  }
  return audio;
}

template <class Model>
Speaker session(std::shared_ptr<Model> model, rt::VoiceTaskKind kind,
                const rt::SessionOptions& options, const rt::TaskRequest& request) {
  std::shared_ptr<rt::IVoiceTaskSession> any =
      model->create_task_session({kind, rt::RunMode::Offline}, options);
  auto* offline = dynamic_cast<rt::IOfflineVoiceTaskSession*>(any.get());
  if (!offline) throw std::runtime_error("no offline session");
  any->prepare(rt::build_preparation_request(request));
  return [model, any, offline, request] {
    const rt::TaskResult result = offline->run(request);
    const auto& audio = result.audio_output.value();
    return static_cast<double>(audio.samples.size()) / audio.sample_rate;
  };
}

Speaker speaker(const std::string& family, const Arguments& a) {
  rt::SessionOptions options;
  options.backend.type = engine::core::BackendType::Cpu;
  options.backend.threads = a.threads;
  rt::TaskRequest request;
  request.options = {{"max_tokens", a.frames}, {"seed", "1"}};
  if (family == "qwen3_tts") {
    options.options = {{"qwen3_tts.weight_type", a.weights},
                       {"qwen3_tts.speech_decoder_weight_type", a.weights},
                       {"qwen3_tts.conv_weight_type", a.conv}};
    request.text_input = rt::Transcript{"Hello there.", "english"};
    request.options["speaker"] = "ryan";
    return session(std::shared_ptr(engine::models::qwen3_tts::load_qwen3_tts_model(a.model)),
                   rt::VoiceTaskKind::Tts, options, request);
  }
  if (family == "chatterbox") {
    options.options = {{"chatterbox.weight_type", a.conv},
                       {"chatterbox.t3_weight_type", a.weights}};
    request.text_input = rt::Transcript{"Hello there.", "en"};
    request.options["stop_on_eos"] = "false";
    request.voice = rt::VoiceCondition{rt::VoiceReference{recording(), std::nullopt}, std::nullopt};
    return session(std::shared_ptr(engine::models::chatterbox::load_chatterbox_model(a.model)),
                   rt::VoiceTaskKind::VoiceCloning, options, request);
  }
  request.text_input = rt::Transcript{"Hello there.", "en"};
  const auto speak = [&](auto model, const char* linears, const char* codec) {
    options.options = {{linears, a.weights}, {codec, a.conv}};
    return session(std::shared_ptr(std::move(model)), rt::VoiceTaskKind::Tts, options, request);
  };
  if (family == "voxcpm2") {
    request.options["min_tokens"] = a.frames;
    request.options["retry_badcase"] = "false";
    return speak(engine::models::voxcpm2::load_voxcpm2_model(a.model), "voxcpm2.weight_type",
                 "voxcpm2.audiovae_weight_type");
  }
  if (family == "higgs_audio") {
    return speak(engine::models::higgs_audio_tts::load_higgs_audio_tts_model(a.model),
                 "higgs_audio_tts.ar_weight_type", "higgs_audio_tts.codec_weight_type");
  }
  if (family == "fish_speech") {
    return speak(engine::models::fish_audio::load_fish_audio_model(a.model),
                 "fish_audio.weight_type", "fish_audio.codec_weight_type");
  }
  throw std::runtime_error("unknown family " + family);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 7) return std::fprintf(stderr, "usage: see the beginning of the source\n"), 2;
  const Speaker speak = speaker(argv[1], {argv[2], argv[4], argv[5], argv[6], std::stoi(argv[3])});
  speak();
  std::printf("ready\n");
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    const double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    const double audio = speak();
    std::printf("audio %.3f wall %.3f cpu %.3f\n", audio, seconds(CLOCK_MONOTONIC) - wall,
                seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    std::fflush(stdout);
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
