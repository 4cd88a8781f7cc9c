#include "ears/speech_fixture.h"

#include <memory>

#include "audio/resampler.h"
#include "base/check.h"
#include "ears/recogniser.h"
#include "engine/collector.h"
#include "runtime/runtime.h"

namespace syrinx {

std::vector<float> spoken(const std::string& text, const std::string& speaker) {
  static const auto engine = [] {
    LoadOptions options;
    options.voices_dir = SYRINX_SOURCE_DIR "/voices";
    options.engine.threads = 1;
    return load_engine(options);
  }();
  SpeechRequest request;
  request.say.text = text;
  request.voice.name = speaker;
  request.sampling.seed = 5;
  const auto sink = std::make_shared<Collector>();
  const auto submitted = engine->submit(request, sink);
  SYRINX_CHECK(submitted.ok(), "the voice does not speak");
  sink->wait();
  return resampled(sink->samples(), engine->pipeline().info().speech.sample_rate, kHearingRate);
}

}  // namespace syrinx
