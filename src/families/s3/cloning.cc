#include "families/s3/cloning.h"

#include "audio/resampler.h"
#include "io/file.h"
#include "io/onnx_weights.h"

namespace syrinx {

class S3Cloning::Encoding : public VoiceEncoding {
 public:
  Encoding(const S3ReferenceEncoder& encoder, const Recording& recording, bool filled)
      : encoder_(encoder), filled_(filled) {
    const auto at = [&](int rate) {
      return resampled(recording.samples, recording.sample_rate, rate, Resampling::kHann);
    };
    work_ = encoder.open(at(S3Tokenizer::kSampleRate), at(S3ReferenceEncoder::kMelRate));
  }

  bool done() const override { return work_.done(); }
  void run(StepContext& ctx) { encoder_.run(ctx, work_); }
  Voice take() override {
    put_reference(filled_ ? encoder_.take_filled(work_) : encoder_.take(work_), voice);
    return std::move(voice);
  }

  Voice voice;

 private:
  const S3ReferenceEncoder& encoder_;
  const bool filled_;
  S3ReferenceEncoder::Work work_;
};

std::string S3Cloning::Files::missing() const {
  for (const std::string& file : {tokenizer, speaker}) {
    if (!is_file(file)) return concat(file.substr(file.rfind('/') + 1), " is missing");
  }
  return "";
}

S3Cloning::S3Cloning(VoiceEncoderInfo info, Files files, const S3FlowConfig& flow, bool dummy,
                     bool filled)
    : info_(std::move(info)),
      files_(std::move(files)),
      flow_(flow),
      dummy_(dummy),
      filled_(filled) {}

const S3ReferenceEncoder& S3Cloning::encoder() const {
  std::call_once(once_, [this] {
    const Weights tokenizer(dummy_ ? dummy_weights() : open_s3_tokenizer_onnx(files_.tokenizer));
    const Weights speaker(dummy_ ? dummy_weights() : open_onnx_weights(files_.speaker));
    speaker.build([&] {
      tokenizer.build([&] {
        encoder_ = std::make_unique<const S3ReferenceEncoder>(tokenizer, speaker, flow_);
      });
    });
  });
  return *encoder_;
}

std::unique_ptr<VoiceEncoding> S3Cloning::open(const Recording& recording) const {
  auto encoding = std::make_unique<Encoding>(encoder(), recording, filled_);
  Voice& voice = encoding->voice;
  voice.family = info_.family;
  voice.encoder = info_.version;
  voice.text = recording.text;
  voice.seconds = recording.seconds();
  voice.mode = recording.mode;
  for (const VoiceMode& mode : info_.modes) {
    if (voice.mode.empty() && (!mode.needs_text || !recording.text.empty())) voice.mode = mode.name;
  }
  return encoding;
}

void S3Cloning::run(StepContext& ctx, std::span<VoiceEncoding* const> batch) const {
  for (VoiceEncoding* each : batch) static_cast<Encoding*>(each)->run(ctx);
}

}  // namespace syrinx
