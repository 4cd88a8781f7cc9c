#include "families/zonos/voice.h"

#include "families/loading/recorded_voice.h"

namespace syrinx::zonos {
namespace {

constexpr const char* kSpeaker = "speaker";  // f32 [width]

using Encoder = std::unique_ptr<SpeakerEncoder>;

Pieces hear(const Encoder& encoder, RecordedVoice& recorded) {
  recorded.resample(encoder->sample_rate(), Resampling::kHann);
  co_await PieceEnd();
  std::vector<float> vector;
  for (Pieces p = encoder->run(recorded.ctx_slot(), recorded.samples, vector); !p.done();
       p.next()) {
    co_await PieceEnd();
  }
  recorded.keep(kSpeaker, vector);
}

Result<std::vector<double>> vector_of(const Voice& voice, int64_t width) {
  const Result<std::vector<float>> vector = voice_floats(voice, kSpeaker, width);
  if (!vector) return vector.error();
  return std::vector<double>(vector.value().begin(), vector.value().end());
}

Result<std::vector<double>> vector_of(const Speakers& speakers, const std::string& name) {
  const auto found = speakers.find(name);
  if (found != speakers.end()) return found->second;
  std::string known = "none";
  for (const auto& [each, vector] : speakers) known += ", " + each;
  return Error{ErrorCode::kNotFound,
               "the model has no voice \"" + name + "\"; its voices are " + known, "voice"};
}

}  // namespace

Result<std::vector<double>> speaker_vector(const Speakers& speakers, int64_t width,
                                           const SpeechRequest& request) {
  if (request.voice.mix.empty()) {
    if (request.voice.data) return vector_of(*request.voice.data, width);
    if (request.voice.name.empty() || request.voice.name == "none") return std::vector<double>();
    return vector_of(speakers, request.voice.name);
  }
  double all = 0;
  for (const VoiceShare& share : request.voice.mix) all += share.weight;
  std::vector<double> sum(static_cast<size_t>(width));
  for (const VoiceShare& share : request.voice.mix) {
    const Result<std::vector<double>> vector =
        share.data ? vector_of(*share.data, width) : vector_of(speakers, share.voice);
    if (!vector) return vector.error();
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += share.weight / all * vector.value()[i];
  }
  return sum;
}

Result<Voice> voice_of_vector(std::span<const float> vector, int64_t width) {
  return embedding_voice("zonos", "x-vector", kSpeaker, vector, width);
}

std::unique_ptr<VoiceEncoder> make_voices(std::function<std::unique_ptr<SpeakerEncoder>()> load) {
  VoiceEncoderInfo info{
      .family = "zonos", .version = "2", .modes = {{"x-vector"}}, .min_s = 1, .max_s = 30};
  return std::make_unique<RecordedVoices<Encoder>>(std::move(info), std::move(load), hear);
}

}  // namespace syrinx::zonos
