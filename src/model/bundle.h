// The values of a request from which a chunk node opens its stream, each under a name. Made in the
// process of the request (ChunkStage::bundle), read by the stage (ChunkStage::open) there or, as
// bytes, in another process.
//
// Bytes, little-endian: "SYB", version, entries u16; of each: length of the name u8, name, kind u8,
// then a number u64, or the count u32 of 4-byte values and the values.
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
  // Removes a value and returns it. Each throws LoadError with the name of the entry if it is
  // missing, of another kind, of another size than expected (`count` values; -1: any), above
  // `most`, or not finite.
  uint64_t number(std::string_view name, uint64_t most = UINT64_MAX);
  std::vector<int32_t> ints(std::string_view name, int64_t count = -1);
  std::vector<float> floats(std::string_view name, int64_t count = -1);
  float single(std::string_view name) { return floats(name, 1)[0]; }

  void append_to(std::string& bytes) const;
  /// Reads bytes. Throws LoadError for anything that append_to() does not write. Allocates no more
  /// than the given bytes need, whatever sizes they state.
  static Bundle parse(std::string_view bytes);

  bool operator==(const Bundle&) const = default;

 private:
  using Value = std::variant<uint64_t, std::vector<int32_t>, std::vector<float>>;
  Value take(std::string_view name, size_t kind);
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace syrinx
