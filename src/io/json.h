// Reads config files with typed getters that have limits. A LoadError has the file, the key with
// its path, the expected and the actual value. Files are limited in size and depth; a repeated key
// is a fault. A Config is a cheap handle that keeps its document alive. Const after load; may be
// read by many threads.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace syrinx {

/// One object of a JSON file. A key with the value null counts as absent.
class Config {
 public:
  static constexpr size_t kMaxBytes = 16 << 20;
  static constexpr int kMaxDepth = 64;
  /// Most items of a list or map that a getter returns.
  static constexpr size_t kMaxList = 1 << 16;
  static constexpr int64_t kMaxInt = std::numeric_limits<int64_t>::max();
  static constexpr double kMaxFloat = std::numeric_limits<double>::max();

  /// Reads a file whose outermost value is an object.
  static Config load(const std::string& path);
  /// Parses a text; `path` is for messages.
  static Config parse(const std::string& text, const std::string& path);

  bool has(const std::string& key) const;
  /// Returns all keys, sorted, including those whose value is null.
  std::vector<std::string> keys() const;
  /// Returns file and key, for messages: "config.json: talker_config.hidden_size".
  std::string where(const std::string& key = "") const;
  /// Throws LoadError with where(key) and `what`.
  [[noreturn]] void fail(const std::string& key, const std::string& what) const;
  /// Does the same unless `fine`.
  void check(const std::string& key, bool fine, const std::string& what) const;
  /// Refuses an unsupported value: fails with "only `what` is supported" unless `fine`.
  void only(const std::string& key, bool fine, const std::string& what) const;
  /// Refuses an unsupported value of a key: a present value must be `want`.
  void only(const std::string& key, const std::string& want) const;
  template <std::integral T>
  void only(const std::string& key, T want) const {
    if constexpr (std::same_as<T, bool>) {
      only(key, opt_b(key, want) == want, want ? "true" : "false");
    } else {
      only_i(key, want);
    }
  }
  /// Checks that a value, if present, is `want`; `whose`: what else has that value, for messages.
  void same(const std::string& key, int64_t want, const std::string& whose) const;

  // Getters of one value, as T. Numbers must be in [min, max] and fit T; 8.0 is accepted as an
  // integer, 8.5 is not.
  template <std::integral T = int64_t>
  T i(const std::string& key, int64_t min = 0, int64_t max = kMaxInt) const {
    return static_cast<T>(integer(key, min, std::min<int64_t>(max, std::numeric_limits<T>::max())));
  }
  template <std::floating_point T = double>
  T f(const std::string& key, double min = -kMaxFloat, double max = kMaxFloat) const {
    return static_cast<T>(number(key, min, max));
  }
  std::string s(const std::string& key) const;
  bool b(const std::string& key) const;
  Config sub(const std::string& key) const;

  // Getters that return `absent` if the key is absent; a wrong type is a fault.
  template <std::integral T = int64_t>
  T opt_i(const std::string& key, int64_t absent, int64_t min = 0, int64_t max = kMaxInt) const {
    return has(key) ? i<T>(key, min, max) : static_cast<T>(absent);
  }
  template <std::floating_point T = double>
  T opt_f(const std::string& key, double absent, double min = -kMaxFloat,
          double max = kMaxFloat) const {
    return has(key) ? f<T>(key, min, max) : static_cast<T>(absent);
  }
  std::string opt_s(const std::string& key, const std::string& absent) const;
  bool opt_b(const std::string& key, bool absent) const;
  std::optional<Config> opt_sub(const std::string& key) const;

  // Getters of lists and maps of one type, with at most kMaxList items.
  std::vector<int64_t> ints(const std::string& key, int64_t min = 0, int64_t max = kMaxInt) const;
  std::vector<double> floats(const std::string& key) const;
  std::vector<std::string> strings(const std::string& key) const;
  std::vector<Config> subs(const std::string& key) const;
  std::map<std::string, int64_t> map_i(const std::string& key, int64_t min = 0,
                                       int64_t max = kMaxInt) const;
  std::map<std::string, std::string> map_s(const std::string& key) const;

  /// Returns the JSON object, for values that the getters do not cover.
  const nlohmann::json& raw() const { return *node_; }

 private:
  using Json = nlohmann::json;
  Config(std::shared_ptr<const Json> root, const Json* node, std::string file, std::string scope);
  const Json* find(const std::string& key) const;
  const Json& get(const std::string& key, const char* want) const;
  const Json& list(const std::string& key) const;
  int64_t integer(const std::string& key, int64_t min, int64_t max) const;
  double number(const std::string& key, double min, double max) const;
  void only_i(const std::string& key, int64_t want) const;
  [[noreturn]] void wrong(const std::string& key, const std::string& want, const Json& got) const;
  int64_t as_int(const std::string& key, const Json& value, int64_t min, int64_t max) const;
  double as_float(const std::string& key, const Json& value, double min, double max) const;
  std::string as_string(const std::string& key, const Json& value) const;
  Config as_sub(const std::string& key, const Json& value) const;

  std::shared_ptr<const Json> root_;
  const Json* node_;
  std::string file_, scope_;  // `scope_` is empty or ends with a dot: "talker_config."
};

}  // namespace syrinx
