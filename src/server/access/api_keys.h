// The keys that may use the server. Const after construction; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

class ApiKeys {
 public:
  ApiKeys() = default;
  /// Empty keys are ignored.
  explicit ApiKeys(std::vector<std::string> keys);
  /// Reads one key per line; skips empty lines and lines that begin with '#'. Throws LoadError when
  /// the file cannot be read or has no key.
  static ApiKeys from_file(const std::string& path);

  /// Returns whether the list has no keys. The server then admits every request.
  bool empty() const { return keys_.empty(); }
  /// Returns the key in an Authorization header if the list has it; borrows from the list. The time
  /// does not depend on which key matches or on how many of its bytes are right.
  std::optional<std::string_view> find(std::string_view authorization) const;
  bool admits(std::string_view authorization) const {
    return empty() || find(authorization).has_value();
  }

 private:
  std::vector<std::string> keys_;
};

}  // namespace syrinx
