// The voice encoder of Chatterbox, which describes a speaker's sound to the language model. Silence
// at the ends is cut off; windows of 1.6 s that overlap by half go through an LSTM; their unit
// vectors are averaged. Const after construction, shared by threads; a Work is used by one call at
// a time.
// Source: chatterbox:src/chatterbox/models/voice_encoder/*.py; librosa.effects.trim.
#pragma once

#include <span>
#include <vector>

#include "audio/mel.h"
#include "nn/lstm.h"

namespace syrinx::chatterbox {

class SpeakerEncoder {
 public:
  static constexpr int kSampleRate = 16000;  ///< Hz

  /// The state of one recording between calls.
  class Work {
   public:
    bool done() const { return window_ == windows_; }
    /// Returns the unit vector; complete when done.
    const std::vector<float>& vector() const { return vector_; }

   private:
    friend class SpeakerEncoder;
    std::vector<float> mel_;  // [frames, mels], zeros after the recording's end
    int64_t windows_ = 0, window_ = 0;
    size_t layer_ = 0;
    Tensor rows_;  // [steps, windows of the piece, width]: the next layer's input
    std::vector<float> vector_;
  };

  /// `weights`: ve.safetensors; sizes are read from the shapes.
  explicit SpeakerEncoder(const Weights& weights);

  /// Returns the length of the vector.
  int64_t width() const { return project_.out(); }
  /// Begins a recording; `samples` at 16 kHz.
  Work open(std::span<const float> samples) const;
  /// Computes the next piece of an unfinished work.
  void run(StepContext& ctx, Work& work) const;
  size_t bytes() const;

 private:
  MelSpectrogram mel_;
  std::vector<Lstm> layers_;
  PackedLinear project_;
};

/// Returns the part of `samples` from the first to the last frame that is less than 20 dB below the
/// loudest frame.
std::span<const float> without_silent_ends(std::span<const float> samples);

}  // namespace syrinx::chatterbox
