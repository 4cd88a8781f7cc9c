#include "families/cosyvoice2/cloning.h"

#include <algorithm>
#include <cmath>

#include "audio/resampler.h"
#include "io/file.h"
#include "io/onnx_weights.h"

namespace syrinx::cosyvoice2 {
namespace {

constexpr const char* kTokenizerFile = "speech_tokenizer_v2.onnx";
constexpr const char* kSpeakerFile = "campplus.onnx";
constexpr const char* kFamily = "cosyvoice2";
constexpr const char* kZeroShot = "zero-shot";
constexpr const char* kCrossLingual = "cross-lingual";
constexpr const char* kSpeaker = "speaker";  // of a vector alone

}  // namespace

class Cloning::Encoding : public VoiceEncoding {
 public:
  Encoding(const S3ReferenceEncoder& encoder, const Recording& recording) : encoder_(encoder) {
    const auto at = [&](int rate) {
      return resampled(recording.samples, recording.sample_rate, rate);
    };
    work_ = encoder.open(at(S3Tokenizer::kSampleRate), at(S3ReferenceEncoder::kMelRate));
  }

  bool done() const override { return work_.done(); }
  void run(StepContext& ctx) { encoder_.run(ctx, work_); }
  syrinx::Voice take() override {
    put_reference(encoder_.take(work_), voice);
    return std::move(voice);
  }

  syrinx::Voice voice;

 private:
  const S3ReferenceEncoder& encoder_;
  S3ReferenceEncoder::Work work_;
};

Cloning::Cloning(const LoadSpec& spec, const ModelConfig& config)
    : spec_(spec), flow_(config.flow) {
  info_.family = kFamily;
  info_.version = "1.0";
  info_.modes.push_back({.name = kZeroShot, .needs_text = true});
  info_.modes.push_back({.name = kCrossLingual});
}

const S3ReferenceEncoder& Cloning::encoder() const {
  std::call_once(once_, [this] {
    const auto path = [this](const char* file) { return join_path(spec_.dir, file); };
    const Weights tokenizer(spec_.dummy ? dummy_weights()
                                        : open_s3_tokenizer_onnx(path(kTokenizerFile)));
    const Weights speaker(spec_.dummy ? dummy_weights() : open_onnx_weights(path(kSpeakerFile)));
    speaker.build([&] {
      tokenizer.build([&] {
        encoder_ = std::make_unique<const S3ReferenceEncoder>(tokenizer, speaker, flow_);
      });
    });
  });
  return *encoder_;
}

std::unique_ptr<VoiceEncoding> Cloning::open(const Recording& recording) const {
  auto encoding = std::make_unique<Encoding>(encoder(), recording);
  syrinx::Voice& voice = encoding->voice;
  voice.family = info_.family;
  voice.encoder = info_.version;
  voice.text = recording.text;
  voice.seconds = recording.seconds();
  voice.mode = recording.mode;
  if (voice.mode.empty()) voice.mode = recording.text.empty() ? kCrossLingual : kZeroShot;
  return encoding;
}

void Cloning::run(StepContext& ctx, std::span<VoiceEncoding* const> batch) const {
  for (VoiceEncoding* each : batch) static_cast<Encoding*>(each)->run(ctx);
}

std::string missing_for_cloning(const LoadSpec& spec) {
  if (spec.dummy) return "";
  for (const char* file : {kTokenizerFile, kSpeakerFile}) {
    if (!is_file(join_path(spec.dir, file))) return concat(file, " is missing");
  }
  return "";
}

Result<Voice> voice_of(const syrinx::Voice& data, const ModelConfig& config,
                       const Frontend& frontend, const S3Flow& flow) {
  Voice voice;
  if (data.mode == kZeroShot) {
    voice.prompt_text = frontend.prompt_text(data.text);
    Result<std::vector<int32_t>> tokens =
        voice_ids(data, "tokens", config.max_positions, config.speech_codes);
    if (!tokens) return tokens.error();
    voice.prompt_speech = tokens.take();
  } else if (data.mode != kCrossLingual && data.mode != kSpeaker) {
    return Error{ErrorCode::kInvalid, concat("this model has no voices of mode '", data.mode, "'"),
                 "voice"};
  }
  Result<std::shared_ptr<const S3FlowVoice>> flowing = flow_voice(data, flow);
  if (!flowing) return flowing.error();
  voice.flow = flowing.take();
  return voice;
}

Result<syrinx::Voice> speaker_voice(std::span<const float> vector, const ModelConfig& config) {
  const auto size = static_cast<int64_t>(vector.size());
  const bool finite =
      std::all_of(vector.begin(), vector.end(), [](float x) { return std::isfinite(x); });
  if (size != config.flow.speaker || !finite) {
    return Error{ErrorCode::kInvalid,
                 concat("expected ", config.flow.speaker, " finite numbers of CAM++, got ", size,
                        finite ? "" : ", some of them not finite"),
                 "embedding"};
  }
  syrinx::Voice voice{.family = kFamily, .encoder = "given", .mode = kSpeaker};
  voice.tensors["speaker_vector"] = tensor_of(vector);
  return voice;
}

}  // namespace syrinx::cosyvoice2
