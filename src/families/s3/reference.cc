#include "families/s3/reference.h"

#include <algorithm>

namespace syrinx {
namespace {

constexpr int64_t kMostTokens = 1500;  // most tokens of a voice, 25 a second

MelOptions mel_options(int64_t bands, double top_hz) {
  MelOptions o;
  o.sample_rate = S3ReferenceEncoder::kMelRate, o.n_fft = 1920, o.hop = 480;
  o.mels = static_cast<int>(bands), o.high_hz = top_hz;
  o.framing = MelFraming::kHalfHop;
  o.power = MelPower::kSoftMagnitude;
  return o;
}

}  // namespace

S3ReferenceEncoder::S3ReferenceEncoder(const Weights& tokenizer, const Weights& speaker,
                                       const S3FlowConfig& flow, double mel_top_hz)
    : ratio_(flow.ratio),
      mel_(mel_options(flow.mel, mel_top_hz)),
      tokenizer_(tokenizer),
      speaker_(speaker) {
  if (speaker_.width() != flow.speaker)
    speaker.fault("xvector.dense.linear.weight",
                  concat("expected a vector of ", flow.speaker, ", got ", speaker_.width()));
}

S3ReferenceEncoder::Work S3ReferenceEncoder::open(std::span<const float> at_16k,
                                                  std::span<const float> at_24k) const {
  Work work;
  work.tokens_ = tokenizer_.open(at_16k);
  work.speaker_ = speaker_.open(at_16k);
  work.samples_.assign(at_24k.begin(), at_24k.end());
  return work;
}

void S3ReferenceEncoder::run(StepContext& ctx, Work& work) const {
  if (!work.mel_done_) {
    work.mel_ = mel_(work.samples_);
    work.mel_done_ = true;
  } else if (!work.speaker_.done()) {
    speaker_.run(ctx, work.speaker_);
  } else {
    tokenizer_.run(ctx, work.tokens_);
  }
}

S3Reference S3ReferenceEncoder::take(Work& work, int64_t spare) const {
  S3Reference out;
  const int64_t bands = mel_.mels(), frames = static_cast<int64_t>(work.mel_.size()) / bands;
  out.tokens = work.tokens_.tokens();
  const auto count = std::min(static_cast<int64_t>(out.tokens.size()), frames / ratio_);
  out.tokens.resize(static_cast<size_t>(count));
  out.mel = Tensor({std::min(frames, count * ratio_ + spare), bands}, DType::kF32);
  std::copy_n(work.mel_.begin(), out.mel.view().count(), out.mel.f32());
  out.speaker = work.speaker_.vector();
  return out;
}

S3Reference S3ReferenceEncoder::take_filled(Work& work) const {
  const int64_t bands = mel_.mels();
  const int64_t want = std::ssize(work.tokens_.tokens()) * ratio_;
  while (!work.mel_.empty() && std::ssize(work.mel_) < want * bands)
    work.mel_.push_back(work.mel_[work.mel_.size() - static_cast<size_t>(bands)]);
  return take(work);
}

void put_reference(const S3Reference& reference, Voice& voice) {
  voice.tensors["tokens"] = tensor_of(std::span<const int32_t>(reference.tokens));
  voice.tensors["mel"] = reference.mel.clone();
  voice.tensors["speaker_vector"] = tensor_of(std::span<const float>(reference.speaker));
}

Result<std::shared_ptr<const S3FlowVoice>> flow_voice(const Voice& voice, const S3Flow& flow) {
  const S3FlowConfig& config = flow.config();
  Result<std::vector<float>> speaker = voice_floats(voice, "speaker_vector", config.speaker);
  if (!speaker) return speaker.error();
  std::vector<int32_t> tokens;
  Tensor mel;
  if (voice.find("tokens")) {
    Result<std::vector<int32_t>> ids = voice_ids(voice, "tokens", kMostTokens, config.vocab);
    if (!ids) return ids.error();
    tokens = ids.take();
    auto frames = static_cast<int64_t>(tokens.size()) * config.ratio;
    const Tensor* found = voice.find("mel");
    const int64_t given = found ? found->view().count() / config.mel : 0;
    if (given > frames && given < frames + config.ratio) frames = given;
    Result<std::vector<float>> values = voice_floats(voice, "mel", frames * config.mel);
    if (!values) return values.error();
    if (frames > 0) {
      mel = Tensor({frames, config.mel}, DType::kF32);
      std::copy(values.value().begin(), values.value().end(), mel.f32());
    }
  }
  return flow.voice(std::move(tokens), std::move(mel), speaker.value());
}

}  // namespace syrinx
