// The voice encoder of Chatterbox, which describes a speaker's sound to the language model. It
// cuts off silence at both ends. An LSTM processes windows of 1.6 s that overlap by half, and
// their unit vectors are averaged. Const after construction, shared by threads. One call at a time
// may use a Work. Source: chatterbox:src/chatterbox/models/voice_encoder/*.py;
// librosa.effects.trim.
#pragma once

#include <span>
#include <vector>

#include "audio/mel.h"
#include "nn/lstm.h"

namespace syrinx::chatterbox {

class SpeakerEncoder {
 public:
  static constexpr int kSampleRate = 16000;  ///< Hz

  /// The state of one recording that is being encoded.
  class Work {
   public:
    bool done() const { return window_ == windows_; }
    /// Returns the unit vector, which is complete after done().
    const std::vector<float>& vector() const { return vector_; }

   private:
    friend class SpeakerEncoder;
    std::vector<float> mel_;  // [frames, mels], with zeros after the end of the recording
    int64_t windows_ = 0, window_ = 0;
    size_t layer_ = 0;
    Tensor rows_;  // [steps, windows of the piece, width], input of the next layer
    std::vector<float> vector_;
  };

  /// Loads the encoder from `weights`, ve.safetensors. Reads sizes from the shapes of tensors.
  explicit SpeakerEncoder(const Weights& weights);

  /// Returns the length of the vector.
  int64_t width() const { return project_.out(); }
  /// Begins to encode a recording. `samples` are at 16 kHz.
  Work open(std::span<const float> samples) const;
  /// Computes the next piece of an unfinished Work.
  void run(StepContext& ctx, Work& work) const;
  size_t bytes() const;

 private:
  MelSpectrogram mel_;
  std::vector<Lstm> layers_;
  PackedLinear project_;
};

/// Returns the part of `samples` from the first to the last frame whose level is less than 20 dB
/// below that of the loudest frame.
std::span<const float> without_silent_ends(std::span<const float> samples);

}  // namespace syrinx::chatterbox
