// Functions that write and read parts of messages, for message.cc and step_message.cc.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "link/message.h"

namespace syrinx {

inline void append_words(std::string& out, std::string_view words) {
  append_number(out, static_cast<uint32_t>(words.size()));
  out += words;
}
/// Reads a string that append_words() wrote; returns a view into the message.
inline std::string_view read_words(ByteReader& in) { return in.bytes(in.number<uint32_t>()); }

/// Writes a message; `fields(out)` writes its fields.
template <typename Fields>
void append_message(std::string& out, MessageKind kind, Fields&& fields) {
  const size_t begin = out.size();
  append_number(out, uint32_t{0});
  append_number(out, static_cast<uint8_t>(kind));
  fields(out);
  const size_t size = out.size() - begin - sizeof(uint32_t);
  SYRINX_CHECK(size <= kMostMessage, "message too large: ", size, " bytes");
  const auto length = static_cast<uint32_t>(size);
  std::memcpy(out.data() + begin, &length, sizeof length);
}

}  // namespace syrinx
