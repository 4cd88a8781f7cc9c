// The values, each with a name, from which a chunk node opens the stream of a request. The
// request's process makes them (ChunkStage::bundle). The stage reads them (ChunkStage::open) in the
// same process or, as bytes, in another one.
//
// Bytes, little-endian: "SYB", version, number of entries u16. For each entry: length of the name
// u8, name, kind u8, then a number u64, or the count u32 of 4-byte values and these values.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace syrinx {

class Bundle {
 public:
  static constexpr size_t kMostEntries = 64;
  static constexpr size_t kMostBytes = size_t{64} << 20;

  /// Sets a value; replaces an earlier value of the same name. Names have at most 255 bytes.
  void set(std::string name, uint64_t number) { values_[std::move(name)] = number; }
  void set(std::string name, std::vector<int32_t> ints) {
    values_[std::move(name)] = std::move(ints);
  }
  void set(std::string name, std::vector<float> floats) {
    values_[std::move(name)] = std::move(floats);
  }

  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  // These functions remove a value and return it. They throw LoadError with the name if the value
  // is missing, of another kind, of another size than `count` values (-1: any size), above `most`,
  // or not finite.
  uint64_t number(std::string_view name, uint64_t most = UINT64_MAX);
  std::vector<int32_t> ints(std::string_view name, int64_t count = -1);
  std::vector<float> floats(std::string_view name, int64_t count = -1);
  float single(std::string_view name) { return floats(name, 1)[0]; }

  void append_to(std::string& bytes) const;
  /// Reads the bytes of a bundle. Throws LoadError for bytes that append_to() cannot write.
  /// Allocates no more than the given bytes need, whatever sizes they state.
  static Bundle parse(std::string_view bytes);

  bool operator==(const Bundle&) const = default;

 private:
  using Value = std::variant<uint64_t, std::vector<int32_t>, std::vector<float>>;
  Value take(std::string_view name, size_t kind);
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace syrinx
