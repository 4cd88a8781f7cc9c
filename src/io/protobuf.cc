#include "io/protobuf.h"

namespace syrinx {

bool ProtoReader::varint(uint64_t& out) {
  out = 0;
  for (int i = 0; i < 10 && static_cast<size_t>(i) < rest_.size(); ++i) {
    const auto byte = static_cast<unsigned char>(rest_[i]);
    if (i == 9 && byte > 1) break;  // the number has more than 64 bits
    out |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      rest_.remove_prefix(i + 1);
      return true;
    }
  }
  broken_ = !rest_.empty();
  return false;
}

bool ProtoReader::fixed(size_t size, uint64_t& out) {
  if (rest_.size() < size) return false;
  out = 0;
  for (size_t i = 0; i < size; ++i)
    out |= static_cast<uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
  rest_.remove_prefix(size);
  return true;
}

bool ProtoReader::next(ProtoField& field) {
  uint64_t key = 0;
  if (broken_ || rest_.empty() || !varint(key)) return false;
  field = {};
  field.id = static_cast<uint32_t>(key >> 3);
  field.wire = static_cast<ProtoField::Wire>(key & 7);
  bool good = key >> 3 > 0 && key >> 3 < (1u << 29);
  switch (field.wire) {
    case ProtoField::kVarint:
      good = good && varint(field.number);
      break;
    case ProtoField::kFixed64:
      good = good && fixed(8, field.number);
      break;
    case ProtoField::kFixed32:
      good = good && fixed(4, field.number);
      break;
    case ProtoField::kBytes: {
      uint64_t size = 0;
      good = good && varint(size) && size <= rest_.size();
      if (!good) break;
      field.bytes = rest_.substr(0, size);
      rest_.remove_prefix(size);
      break;
    }
    default:
      good = false;
  }
  broken_ = !good;
  return good;
}

}  // namespace syrinx
