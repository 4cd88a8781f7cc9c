// Reads the part of YAML that hyperpyyaml configs use: maps by indentation, scalars, and lists on
// one line. Tags (!new:package.Class) are kept as the value of their key; no object is built from
// them. "!ref <name>", and products of references, are replaced by their values. Bracketed lists
// over several lines are skipped. Lists of scalars with one item per line after "- " are read. Keys
// may be quoted. Faults are LoadErrors with file, line or key. Const after load; may be read by
// many threads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace syrinx {

class HyperYaml {
 public:
  static constexpr size_t kMaxBytes = 1 << 20, kMaxKeys = 4096, kMaxDepth = 16;

  static HyperYaml load(const std::string& path);
  /// Parses a text; `path` is for messages.
  static HyperYaml parse(const std::string& text, const std::string& path);

  /// Returns whether a key exists. Keys include their path: "flow.decoder.estimator.channels".
  bool has(const std::string& key) const { return values_.contains(key); }
  /// Throws LoadError with the file, the key and `what`.
  [[noreturn]] void fail(const std::string& key, const std::string& what) const;
  /// Does the same unless `fine`.
  void check(const std::string& key, bool fine, const std::string& what) const;
  /// Checks that a key has the value `want`.
  void only(const std::string& key, const std::string& want) const;
  /// Checks that the class of a key, without its package, is `name`.
  void only_class(const std::string& key, const std::string& name) const;

  std::string s(const std::string& key) const;
  int64_t i(const std::string& key, int64_t min, int64_t max) const;
  double f(const std::string& key, double min, double max) const;
  bool b(const std::string& key) const;
  /// Reads "[8, 5, 3]". From nested brackets, returns all numbers in order.
  std::vector<int64_t> ints(const std::string& key, int64_t min, int64_t max) const;
  /// Reads "[one, 'two']". A scalar is read as a list of one text. Empty texts are faults.
  std::vector<std::string> texts(const std::string& key) const;
  /// Returns all keys in alphabetical order.
  std::vector<std::string> keys() const;

 private:
  void add_item(const std::string& key, const std::string& item, int64_t line);
  std::string resolve(const std::string& key, const std::string& value) const;
  std::string path_;
  std::map<std::string, std::string> values_;
};

}  // namespace syrinx
