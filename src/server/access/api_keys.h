// Which keys may use the server. Const after construction; any thread.
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
  /// One key per line; empty lines and lines that begin with '#' are skipped. Throws LoadError
  /// when the file cannot be read or holds no key.
  static ApiKeys from_file(const std::string& path);

  /// Without keys each request is admitted.
  bool empty() const { return keys_.empty(); }
  /// Which of the keys an Authorization header carries. The time that this takes does not depend on
  /// how much of a key was right, or on which one.
  std::optional<size_t> find(std::string_view authorization) const;
  bool admits(std::string_view authorization) const {
    return empty() || find(authorization).has_value();
  }

 private:
  std::vector<std::string> keys_;
};

}  // namespace syrinx
