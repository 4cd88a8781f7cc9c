// Who may use the server. Const after construction; any thread.
#pragma once

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

  /// Without keys everybody is admitted.
  bool empty() const { return keys_.empty(); }
  /// Whether an Authorization header carries one of the keys. The time that this takes does not
  /// depend on how much of a key was right.
  bool admits(std::string_view authorization) const;

 private:
  std::vector<std::string> keys_;
};

}  // namespace syrinx
