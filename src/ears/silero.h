// Silero's detector of speech: the probability of speech in each 32 ms. It is a small network
// (309,633 weights): magnitudes of a short Fourier transform, four convolutions, an LSTM. Its
// authors publish the weights (silero-vad 5 and 6, silero_vad_16k.safetensors, MIT); they are not
// part of the program. Source: silero_vad/tinygrad_model.py.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ears/voice_activity.h"

namespace syrinx {

/// The network with its weights. Const after loading; threads share it.
class SileroVad {
 public:
  static constexpr size_t kChunk = 512;   ///< samples at kHearingRate per probability: 32 ms
  static constexpr size_t kBefore = 64;   ///< samples of the previous chunk that are read again
  static constexpr size_t kHidden = 128;  ///< width of the LSTM's hidden state and of its cell

  /// `path` is a file, or a directory with silero_vad_16k.safetensors. Throws LoadError.
  static std::shared_ptr<const SileroVad> load(const std::string& path);

  /// The state of a stream between calls.
  struct State {
    std::array<float, kHidden> hidden{}, cell{};
  };
  /// Returns the probability of speech in kBefore + kChunk samples. Changes the state.
  float probability(std::span<const float> samples, State& state) const;

 private:
  struct Convolution {
    int in = 0, out = 0, stride = 1;
    std::vector<float> weight;  // [3, in, out]
    std::vector<float> bias;
  };
  static void run(const Convolution& conv, const std::vector<float>& from, std::vector<float>& to);

  std::vector<float> transform_;  // [256, 258]
  std::array<Convolution, 4> convolutions_;
  std::vector<float> gates_;       // [2 * kHidden, 4 * kHidden]: for the input, then for the state
  std::vector<float> gates_bias_;  // sum of both biases
  std::vector<float> last_;
  float last_bias_ = 0;
};

/// Computes the probabilities of one stream while its samples arrive. One thread at a time.
class SileroStream {
 public:
  explicit SileroStream(std::shared_ptr<const SileroVad> model);
  /// Adds samples. Returns the probabilities of the chunks that are now complete.
  std::vector<float> hear(std::span<const float> samples);

 private:
  const std::shared_ptr<const SileroVad> model_;
  std::vector<float> waiting_;  // kBefore processed samples, then less than a chunk of new ones
  SileroVad::State state_;
};

/// Makes a detector. A voice begins when the probability reaches `threshold`, and ends when it
/// falls below threshold - 0.15, as in Silero's VADIterator.
std::unique_ptr<VoiceActivity> open_silero_activity(std::shared_ptr<const SileroVad> model,
                                                    double threshold);

}  // namespace syrinx
