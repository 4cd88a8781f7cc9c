// Reads the wire format of protocol buffers field by field from untrusted memory: every length is
// checked against the remaining bytes. For io/ only. Source: protobuf.dev, "Encoding".
#pragma once

#include <cstdint>
#include <string_view>

namespace syrinx {

/// One field. `number` is set for the wire types varint, fixed64 and fixed32, `bytes` for
/// length-delimited types.
struct ProtoField {
  enum Wire : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  uint32_t id = 0;
  Wire wire = kVarint;
  uint64_t number = 0;
  std::string_view bytes = {};
};

/// Reads the fields of a message in order.
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view message) : rest_(message) {}
  /// Reads the next field. Returns false at the end and at an invalid field; see broken().
  bool next(ProtoField& field);
  /// Returns whether the message ended at an invalid place.
  bool broken() const { return broken_; }
  /// Reads a number of a packed list; returns false at its end.
  bool varint(uint64_t& out);
  bool empty() const { return rest_.empty(); }

 private:
  bool fixed(size_t size, uint64_t& out);
  std::string_view rest_;
  bool broken_ = false;
};

}  // namespace syrinx
