#include "families/chatterbox/cloning.h"

#include "audio/loudness.h"
#include "audio/resampler.h"
#include "families/chatterbox/voice.h"
#include "families/loading/checkpoint.h"
#include "io/file.h"

namespace syrinx::chatterbox {
namespace {

constexpr size_t kReferenceSeconds = 10;

std::span<const float> first(const std::vector<float>& samples, size_t count) {
  return std::span(samples).first(std::min(samples.size(), count));
}

}  // namespace

class Cloning::Encoding : public VoiceEncoding {
 public:
  Encoding(const Encoders& encoders, const Recording& recording, const CloningPlan& plan)
      : encoders_(encoders) {
    voice_.mode = recording.mode;
    voice_.text = recording.text;
    voice_.seconds = recording.seconds();
    constexpr int kMelRate = S3ReferenceEncoder::kMelRate, kRate = S3Tokenizer::kSampleRate;
    // As in the authors' code, librosa's resampler makes the language model's input. torchaudio's
    // makes the flow's input, which is cut before it is resampled.
    std::vector<float> high =
        resampled(recording.samples, recording.sample_rate, kMelRate, Resampling::kSoxr);
    if (plan.loudness) bring_to_loudness(high, kMelRate, *plan.loudness);
    const std::vector<float> low = resampled(high, kMelRate, kRate, Resampling::kSoxr);
    const std::span<const float> head = first(high, kReferenceSeconds * kMelRate);
    reference_ = encoders.reference.open(resampled(head, kMelRate, kRate, Resampling::kHann), head);
    prompt_ = encoders.reference.tokenizer().open(first(low, plan.prompt_s * kRate));
    speaker_ = encoders.speaker.open(low);
  }

  bool done() const override { return reference_.done() && prompt_.done() && speaker_.done(); }
  void run(StepContext& ctx) {
    if (!reference_.done()) return encoders_.reference.run(ctx, reference_);
    if (!prompt_.done()) return encoders_.reference.tokenizer().run(ctx, prompt_);
    encoders_.speaker.run(ctx, speaker_);
  }
  syrinx::Voice take() override {
    voice_.tensors["prompt_speech"] = tensor_of(std::span<const int32_t>(prompt_.tokens()));
    // As in the authors' code, half a token of mel is kept at the end.
    put_reference(encoders_.reference.take(reference_, encoders_.reference.ratio() - 1), voice_);
    voice_.tensors["speaker"] = tensor_of(std::span<const float>(speaker_.vector()));
    voice_.tensors["emotion"] = tensor_of(std::span(&kDefaultEmotion, 1));
    return std::move(voice_);
  }
  syrinx::Voice& voice() { return voice_; }

 private:
  const Encoders& encoders_;
  syrinx::Voice voice_;
  S3ReferenceEncoder::Work reference_;
  S3Tokenizer::Work prompt_;
  SpeakerEncoder::Work speaker_;
};

Cloning::Cloning(const LoadSpec& spec, const ModelConfig& config, const CloningPlan& plan)
    : plan_(plan), spec_(spec), config_(config) {
  info_.family = plan.family;
  info_.min_s = plan.least_s;
  info_.version = "1.2";
  info_.modes.push_back({.name = "clone"});
}

const Cloning::Encoders& Cloning::encoders() const {
  std::call_once(once_, [this] {
    const Weights codec(weights_at(spec_, join_path(spec_.dir, plan_.codec)));
    const Weights speaker(weights_at(spec_, join_path(spec_.dir, plan_.speaker)));
    const Weights tokenizer = codec.scope("tokenizer"), vector = codec.scope("speaker_encoder");
    const auto build = [&] {
      auto encoders = std::unique_ptr<const Encoders>(new Encoders{
          S3ReferenceEncoder(tokenizer, vector, config_.flow), SpeakerEncoder(speaker)});
      if (encoders->speaker.width() != config_.speaker)
        speaker.fault("proj.weight", concat("expected a vector of ", config_.speaker, ", got ",
                                            encoders->speaker.width()));
      encoders_ = std::move(encoders);
    };
    // Ignores unused tensors: filters, which are computed here, and counters of the training.
    speaker.build([&] {
      vector.build(
          [&] {
            tokenizer.build(build, {"_mel_filters", "window"});
          },
          {"*.num_batches_tracked"});
    });
  });
  return *encoders_;
}

std::unique_ptr<VoiceEncoding> Cloning::open(const Recording& recording) const {
  auto encoding = std::make_unique<Encoding>(encoders(), recording, plan_);
  encoding->voice().family = info_.family;
  encoding->voice().encoder = info_.version;
  if (recording.mode.empty()) encoding->voice().mode = info_.modes.front().name;
  return encoding;
}

void Cloning::run(StepContext& ctx, std::span<VoiceEncoding* const> batch) const {
  for (VoiceEncoding* each : batch) static_cast<Encoding*>(each)->run(ctx);
}

std::string missing_for_cloning(const LoadSpec& spec, const Weights& s3gen,
                                const CloningPlan& plan) {
  if (spec.dummy) return "";
  if (!is_file(join_path(spec.dir, plan.speaker))) return concat(plan.speaker, " is missing");
  for (const char* name : {"tokenizer.encoder.conv1.weight", "speaker_encoder.head.conv1.weight"}) {
    if (!s3gen.has(name)) return concat(plan.codec, " has no ", name);
  }
  return "";
}

}  // namespace syrinx::chatterbox
