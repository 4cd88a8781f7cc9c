// How families open recordings that become voices: what all of them write down, and, for those
// whose voice is the frames of a codec, all of it. For families/*/voice.*.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "audio/resampler.h"
#include "model/voice_work.h"

namespace syrinx {

/// A VoiceWork that keeps the recording's samples and begins the voice with what is known of it.
class RecordedVoice : public VoiceWork {
 protected:
  RecordedVoice(const VoiceEncoderInfo& info, const Recording& recording)
      : samples(recording.samples), rate_(recording.sample_rate) {
    voice = {.family = info.family,
             .encoder = info.version,
             .mode = recording.mode,
             .text = recording.text,
             .seconds = recording.seconds()};
  }
  /// `samples` at this rate, in Hz.
  void resample(int rate, Resampling how) {
    samples = resampled(samples, rate_, rate, how);
    rate_ = rate;
  }

  /// A vector of the voice, f32 [size].
  void keep(const char* name, std::span<const float> vector) {
    Tensor kept({std::ssize(vector)}, DType::kF32);
    std::ranges::copy(vector, kept.f32());
    voice.tensors.emplace(name, std::move(kept));
  }

  std::vector<float> samples;

 private:
  int rate_;
};

inline constexpr const char* kVoiceCodes = "codes";  ///< i32 [T, C]

/// Voices that are a recording's frames of codes. A Codec has open(), room(), run(), frames() and a
/// config() of its codebooks and hop.
template <typename Codec>
class CodeVoices : public VoiceEncoder {
 public:
  /// `codec` is asked when a recording is opened; it may load what it gives. `rate` in Hz.
  CodeVoices(VoiceEncoderInfo info, int rate, std::function<const Codec&()> codec)
      : info_(std::move(info)), rate_(rate), codec_(std::move(codec)) {}

  const VoiceEncoderInfo& info() const override { return info_; }
  std::unique_ptr<VoiceEncoding> open(const Recording& recording) const override {
    return std::make_unique<Encoding>(codec_(), rate_, info_, recording);
  }
  void run(StepContext& ctx, std::span<VoiceEncoding* const> batch) const override {
    for (VoiceEncoding* encoding : batch) static_cast<Encoding*>(encoding)->run(ctx);
  }

 private:
  class Encoding : public RecordedVoice {
   public:
    Encoding(const Codec& codec, int rate, const VoiceEncoderInfo& info, const Recording& recording)
        : RecordedVoice(info, recording), codec_(codec), codec_rate_(rate) {
      start(work());
    }

   private:
    Pieces work() {
      const int64_t q = codec_.config().codebooks, hop = codec_.config().hop();
      resample(codec_rate_, Resampling::kHann);
      co_await PieceEnd();
      const int64_t total = codec_.frames(std::ssize(samples));
      Tensor codes({total, q}, DType::kI32);
      typename Codec::Stream stream = codec_.open();
      for (int64_t at = 0; at < total;) {
        const int64_t n = std::min(total - at, codec_.room(ctx(), stream));
        const size_t begin = at * hop, count = std::min<size_t>(n * hop, samples.size() - begin);
        codec_.run(ctx(), stream, std::span(samples).subspan(begin, count),
                   {codes.i32() + at * q, static_cast<size_t>(n * q)});
        at += n;
        co_await PieceEnd();
      }
      voice.tensors.emplace(kVoiceCodes, std::move(codes));
    }

    const Codec& codec_;
    int codec_rate_;
  };

  VoiceEncoderInfo info_;
  int rate_;
  std::function<const Codec&()> codec_;
};

/// Of a voice that takes `frames` of a prompt that has room for `most`.
inline Error recording_too_long(const Voice& voice, int64_t frames, int64_t most) {
  const auto lasting = [&](int64_t count) {
    const double seconds = voice.seconds * static_cast<double>(count) / static_cast<double>(frames);
    return voice.seconds > 0 ? concat(" (", std::floor(10 * seconds) / 10, " s)") : std::string();
  };
  return {ErrorCode::kInvalid,
          concat("the recording of the voice is too long for the model: ", frames, " frames",
                 lasting(frames), ", at most ", most, lasting(most), " fit"),
          "voice"};
}

/// The frames [T, C] of such a voice, at most so many, or why it is none for a model of C
/// codebooks.
inline Result<std::vector<int32_t>> voice_codes(const Voice& voice, int64_t codebooks,
                                                int64_t most) {
  const Tensor* codes = voice.find(kVoiceCodes);
  if (!codes || codes->dtype() != DType::kI32 || codes->shape().dims() != 2 ||
      codes->shape()[1] != codebooks) {
    return Error{ErrorCode::kInvalid,
                 concat("the voice is none of this model: it needs \"", kVoiceCodes,
                        "\" i32 [frames, ", codebooks, "]"),
                 "voice"};
  }
  if (codes->shape()[0] > most) return recording_too_long(voice, codes->shape()[0], most);
  return std::vector<int32_t>(codes->i32(), codes->i32() + codes->shape().count());
}

}  // namespace syrinx
