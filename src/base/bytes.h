// Little-endian numbers in bytes that are exchanged with other processes. Header only.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/check.h"
#include "base/error.h"

namespace syrinx {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers must be little-endian in memory");

template <typename T>
concept PlainNumber = std::is_arithmetic_v<T>;

template <PlainNumber T>
void append_number(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
/// Appends the bytes of the numbers, without their count.
template <PlainNumber T>
void append_array(std::string& out, std::span<const T> values) {
  out.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

/// Reads from the front of some bytes. Every call throws LoadError, with `what` in the message, if
/// too few bytes are left.
class ByteReader {
 public:
  ByteReader(std::string_view bytes, const char* what) : rest_(bytes), what_(what) {}

  size_t left() const { return rest_.size(); }
  std::string_view bytes(size_t count) {
    if (count > rest_.size()) {
      throw LoadError(concat(what_, ": expected ", count, " more bytes, got ", rest_.size()));
    }
    const std::string_view out = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return out;
  }
  template <PlainNumber T>
  T number() {
    T value;
    std::memcpy(&value, bytes(sizeof value).data(), sizeof value);
    return value;
  }
  template <PlainNumber T>
  T number(T most) {
    const T value = number<T>();
    if (value > most) {
      throw LoadError(concat(what_, ": expected at most ", +most, ", got ", +value));
    }
    return value;
  }
  /// Fills `to` completely.
  template <PlainNumber T>
  void array(std::span<T> to) {
    const std::string_view from = bytes(to.size_bytes());
    if (!to.empty()) std::memcpy(to.data(), from.data(), from.size());
  }
  /// Throws LoadError if bytes are left.
  void end() const {
    if (!rest_.empty()) throw LoadError(concat(what_, ": ", rest_.size(), " bytes too many"));
  }

 private:
  std::string_view rest_;
  const char* what_;
};

}  // namespace syrinx
