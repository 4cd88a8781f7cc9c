// For tests: builds ONNX files from nodes and tensors.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/float16.h"

namespace syrinx::onnx_fixture {

inline std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
  return out + static_cast<char>(value);
}
inline std::string number(uint32_t id, uint64_t value) { return varint(id << 3) + varint(value); }
inline std::string bytes(uint32_t id, const std::string& value) {
  return varint(id << 3 | 2) + varint(value.size()) + value;
}

/// Returns a TensorProto of f32. With `packed`, the data is in float_data, not raw_data.
inline std::string tensor(const std::string& name, const std::vector<int64_t>& sizes,
                          const std::vector<float>& values, bool packed = false) {
  std::string out;
  for (const int64_t size : sizes) out += number(1, static_cast<uint64_t>(size));
  std::string data(values.size() * 4, 0);
  std::memcpy(data.data(), values.data(), data.size());
  return out + number(2, 1) + bytes(8, name) + bytes(packed ? 4 : 9, data);
}
/// Returns a TensorProto of f16.
inline std::string half_tensor(const std::string& name, const std::vector<int64_t>& sizes,
                               const std::vector<float>& values) {
  constexpr uint64_t kHalf = 10;
  std::string out, data(values.size() * 2, 0);
  for (const int64_t size : sizes) out += number(1, static_cast<uint64_t>(size));
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t bits = f32_to_f16(values[i]);
    std::memcpy(data.data() + 2 * i, &bits, 2);
  }
  return out + number(2, kHalf) + bytes(8, name) + bytes(9, data);
}
inline std::string node(const std::string& op, const std::string& name,
                        const std::vector<std::string>& inputs, const std::string& output = "") {
  std::string out;
  for (const std::string& input : inputs) out += bytes(1, input);
  if (!output.empty()) out += bytes(2, output);
  return out + bytes(3, name) + bytes(4, op);
}
/// Returns a TensorProto of 8-bit integers. With `varints`, they are in int32_data, not raw_data.
inline std::string narrow_tensor(const std::string& name, const std::vector<int64_t>& sizes,
                                 const std::vector<int>& values, bool varints = false) {
  std::string out, data;
  for (const int64_t size : sizes) out += number(1, static_cast<uint64_t>(size));
  for (const int value : values) {
    data += varints ? varint(static_cast<uint64_t>(int64_t{value}))
                    : std::string(1, static_cast<char>(value));
  }
  constexpr uint64_t kSigned = 3;
  return out + number(2, kSigned) + bytes(8, name) + bytes(varints ? 5 : 9, data);
}
inline std::string model(const std::vector<std::string>& nodes,
                         const std::vector<std::string>& tensors) {
  std::string graph;
  for (const std::string& each : nodes) graph += bytes(1, each);
  for (const std::string& each : tensors) graph += bytes(5, each);
  return number(1, 8) + bytes(2, "maker") + bytes(7, graph);
}

}  // namespace syrinx::onnx_fixture
