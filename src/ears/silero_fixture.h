// For tests: generates weights of Silero's detector by the formula of tests/parity/silero.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace syrinx::fixture {

/// Returns number `i` as made() of make_golden.py does.
inline float made_number(uint64_t seed, uint64_t i) {
  uint64_t z = ((seed << 32) + i + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  return static_cast<float>(static_cast<double>(z >> 40) / 8388608.0 - 1);
}

struct MadeTensor {
  const char* name;
  std::vector<size_t> shape;
  double fan_in;  ///< 0 means that the tensor is a bias
};

inline const std::vector<MadeTensor>& made_tensors() {
  static const std::vector<MadeTensor> all = {{"stft_conv.weight", {258, 1, 256}, 256},
                                              {"conv1.weight", {128, 129, 3}, 387},
                                              {"conv1.bias", {128}, 0},
                                              {"conv2.weight", {64, 128, 3}, 384},
                                              {"conv2.bias", {64}, 0},
                                              {"conv3.weight", {64, 64, 3}, 192},
                                              {"conv3.bias", {64}, 0},
                                              {"conv4.weight", {128, 64, 3}, 192},
                                              {"conv4.bias", {128}, 0},
                                              {"lstm_cell.weight_ih", {512, 128}, 128},
                                              {"lstm_cell.weight_hh", {512, 128}, 128},
                                              {"lstm_cell.bias_ih", {512}, 0},
                                              {"lstm_cell.bias_hh", {512}, 0},
                                              {"final_conv.weight", {1, 128, 1}, 1},
                                              {"final_conv.bias", {1}, 0}};
  return all;
}

/// Returns a safetensors file without the tensor `left_out`. Adds `more` to the bias of the last
/// layer. A large value makes everything a voice; a large negative value makes nothing a voice.
inline std::string made_weights(float more = 0, const std::string& left_out = "") {
  nlohmann::json header;
  std::string data;
  for (uint64_t place = 0; place < made_tensors().size(); ++place) {
    const MadeTensor& tensor = made_tensors()[place];
    if (tensor.name == left_out) continue;
    const auto scale = static_cast<float>(tensor.fan_in > 0 ? std::sqrt(6 / tensor.fan_in) : 0.1);
    size_t count = 1;
    for (const size_t size : tensor.shape) count *= size;
    const size_t begin = data.size();
    for (size_t i = 0; i < count; ++i) {
      const bool last = place + 1 == made_tensors().size();
      const float value = made_number(place + 1, i) * scale + (last ? more : 0);
      data.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    header[tensor.name] = {
        {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t size = text.size();
  return std::string(reinterpret_cast<const char*>(&size), 8) + text + data;
}

}  // namespace syrinx::fixture
