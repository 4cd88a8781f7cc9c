// Makes voices from recordings: the networks are loaded with the first recording, and a coroutine
// of the family makes the voice with them. This file also has the coroutine for voices that are the
// frames of a codec.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "audio/resampler.h"
#include "families/loading/lazy.h"
#include "families/loading/voice_tensors.h"
#include "io/weights.h"
#include "model/voice_work.h"

namespace syrinx {

/// A recording that becomes a voice: its samples, and the parts of the voice made so far.
class RecordedVoice : public VoiceWork {
 public:
  RecordedVoice(const VoiceEncoderInfo& info, const Recording& recording)
      : samples(recording.samples), rate_(recording.sample_rate) {
    voice = {.family = info.family,
             .encoder = info.version,
             .mode = recording.mode,
             .text = recording.text,
             .seconds = recording.seconds()};
    for (const VoiceMode& mode : info.modes) {
      const bool fits = !mode.needs_text || !recording.text.empty();
      if (voice.mode.empty() && fits) voice.mode = mode.name;
    }
  }
  using VoiceWork::ctx;
  using VoiceWork::ctx_slot;
  using VoiceWork::start;
  using VoiceWork::voice;

  /// Returns the samples resampled to `rate` Hz.
  std::vector<float> at(int rate, Resampling how) const {
    return resampled(samples, rate_, rate, how);
  }
  /// Replaces the samples by resampled ones.
  void resample(int rate, Resampling how) {
    samples = at(rate, how);
    rate_ = rate;
  }

  /// Stores a vector of the voice, f32 [size].
  void keep(const char* name, std::span<const float> vector) {
    voice.tensors.emplace(name, tensor_of(vector));
  }

  std::vector<float> samples;

 private:
  int rate_;
};

/// Makes voices from recordings with a family's networks.
template <typename Networks>
class RecordedVoices : public VoiceEncoder {
 public:
  /// The coroutine that makes a voice. Both arguments outlive it.
  using Work = std::function<Pieces(const Networks& networks, RecordedVoice& voice)>;

  /// `load` loads the networks when the first recording arrives.
  RecordedVoices(VoiceEncoderInfo info, std::function<Networks()> load, Work work)
      : info_(std::move(info)), networks_(std::move(load)), work_(std::move(work)) {}

  const VoiceEncoderInfo& info() const override { return info_; }
  /// Begins to encode a recording. Throws LoadError if the networks cannot be loaded.
  std::unique_ptr<VoiceEncoding> open(const Recording& recording) const override {
    auto voice = std::make_unique<RecordedVoice>(info_, recording);
    voice->start(work_(networks_.get(), *voice));
    return voice;
  }
  void run(StepContext& ctx, std::span<VoiceEncoding* const> batch) const override {
    for (VoiceEncoding* voice : batch) static_cast<RecordedVoice*>(voice)->run(ctx);
  }
  const Networks& networks() const { return networks_.get(); }

 private:
  const VoiceEncoderInfo info_;
  const Lazy<Networks> networks_;
  const Work work_;
};

inline constexpr const char* kVoiceCodes = "codes";  ///< i32 [T, C]

/// Stores the frames that a codec makes from the samples, in pieces. A Codec has open(), room(),
/// run(), frames() and a config() with codebooks and hop.
template <typename Codec>
Pieces hear_frames(const Codec& codec, RecordedVoice& recorded) {
  const int64_t q = codec.config().codebooks, hop = codec.config().hop();
  const int64_t total = codec.frames(std::ssize(recorded.samples));
  Tensor codes({total, q}, DType::kI32);
  typename Codec::Stream stream = codec.open();
  for (int64_t at = 0; at < total;) {
    const int64_t n = std::min(total - at, codec.room(recorded.ctx(), stream));
    const size_t begin = at * hop;
    const size_t count = std::min<size_t>(n * hop, recorded.samples.size() - begin);
    codec.run(recorded.ctx(), stream, std::span(recorded.samples).subspan(begin, count),
              {codes.i32() + at * q, static_cast<size_t>(n * q)});
    at += n;
    co_await PieceEnd();
  }
  recorded.voice.tensors.emplace(kVoiceCodes, std::move(codes));
}

/// Does the same for a codec whose run() is a coroutine that returns Pieces, such as XCodecEncoder.
template <typename Codec>
requires requires(const Codec& codec, StepContext* const& ctx, Tensor& codes) {
  codec.run(ctx, std::span<const float>(), codes);
}
Pieces hear_frames(const Codec& codec, RecordedVoice& recorded) {
  Tensor codes;
  for (Pieces p = codec.run(recorded.ctx_slot(), recorded.samples, codes); !p.done(); p.next()) {
    co_await PieceEnd();
  }
  recorded.voice.tensors.emplace(kVoiceCodes, std::move(codes));
}

/// Encodes a recording of any rate like hear_frames(). `rate`: the codec's rate in Hz.
template <typename Codec>
Pieces hear_frames_at(const Codec& codec, int rate, RecordedVoice& recorded) {
  recorded.resample(rate, Resampling::kHann);
  co_await PieceEnd();
  for (Pieces p = hear_frames(codec, recorded); !p.done(); p.next()) co_await PieceEnd();
}

/// Makes an encoder of voices that are a recording's frames of codes. `load` loads the codec.
/// `rate`: in Hz.
template <typename Codec>
std::unique_ptr<VoiceEncoder> voices_of_frames(VoiceEncoderInfo info, int64_t rate,
                                               std::function<std::unique_ptr<Codec>()> load) {
  return std::make_unique<RecordedVoices<std::unique_ptr<Codec>>>(
      std::move(info), std::move(load),
      [rate](const std::unique_ptr<Codec>& codec, RecordedVoice& recorded) {
        return hear_frames_at(*codec, static_cast<int>(rate), recorded);
      });
}

/// Does the same. `load` makes a Codec(config, weights) from all tensors of `weights` but `extras`.
template <typename Codec, typename CodecConfig>
std::unique_ptr<VoiceEncoder> voices_of_frames(VoiceEncoderInfo info, int64_t rate,
                                               const CodecConfig& config, const Weights& weights,
                                               const NamePatterns& extras = {}) {
  return voices_of_frames<Codec>(std::move(info), rate, [config, weights, extras] {
    std::unique_ptr<Codec> codec;
    weights.build([&] { codec = std::make_unique<Codec>(config, weights); }, extras);
    return codec;
  });
}

/// Returns the error for a voice whose data does not fit the model.
inline Error foreign_voice(const std::string& why) {
  return {ErrorCode::kInvalid, "the voice does not fit this model: " + why, "voice"};
}

/// Returns the error for a voice of `frames` frames if a prompt can have only `most`.
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

/// Returns the frames [T, C] of a voice, at most `most`. Returns an Error if they do not fit.
inline Result<std::vector<int32_t>> voice_codes(const Voice& voice, int64_t codebooks,
                                                int64_t most) {
  const Tensor* codes = voice.find(kVoiceCodes);
  if (!codes || codes->dtype() != DType::kI32 || codes->shape().dims() != 2 ||
      codes->shape()[0] < 1 || codes->shape()[1] != codebooks) {
    return foreign_voice(concat("it needs \"", kVoiceCodes, "\" i32 [frames, ", codebooks, "]"));
  }
  if (codes->shape()[0] > most) return recording_too_long(voice, codes->shape()[0], most);
  return std::vector<int32_t>(codes->i32(), codes->i32() + codes->shape().count());
}

/// Does the same, and checks codes: below `first` in codebook 0, below `others` in the other ones.
inline Result<std::vector<int32_t>> voice_codes(const Voice& voice, int64_t codebooks, int64_t most,
                                                int64_t first, int64_t others) {
  Result<std::vector<int32_t>> codes = voice_codes(voice, codebooks, most);
  if (!codes) return codes;
  for (size_t i = 0; i < codes.value().size(); ++i) {
    const int64_t below = i % static_cast<size_t>(codebooks) == 0 ? first : others;
    const int32_t code = codes.value()[i];
    if (code < 0 || code >= below)
      return foreign_voice(concat("code ", code, " must be from 0 to ", below - 1));
  }
  return codes;
}

}  // namespace syrinx
