#include "server/access/api_keys.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "base/ascii.h"
#include "base/error.h"

namespace syrinx {
namespace {

/// Compares in a time that depends only on the length of `given`.
bool equal_in_constant_time(std::string_view key, std::string_view given) {
  size_t difference = key.size() ^ given.size();
  for (size_t i = 0; i < given.size(); ++i) {
    difference |=
        static_cast<unsigned char>(key[i % key.size()]) ^ static_cast<unsigned char>(given[i]);
  }
  return difference == 0;
}

}  // namespace

ApiKeys::ApiKeys(std::vector<std::string> keys) : keys_(std::move(keys)) {
  std::erase_if(keys_, [](const std::string& key) { return key.empty(); });
}

ApiKeys ApiKeys::from_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw LoadError("cannot read the API keys in " + path);
  std::vector<std::string> keys;
  bool first = true;
  for (std::string line; std::getline(file, line);) {
    std::string_view key = line;
    if (first && key.starts_with("\xEF\xBB\xBF")) key.remove_prefix(3);  // a byte order mark
    first = false;
    key = trimmed(key);
    if (!key.empty() && key.front() != '#') keys.emplace_back(key);
  }
  if (keys.empty()) throw LoadError("expected at least one API key in " + path);
  return ApiKeys(std::move(keys));
}

std::optional<std::string_view> ApiKeys::find(std::string_view authorization) const {
  constexpr std::string_view kScheme = "bearer ";
  const std::string_view given = trimmed(authorization);
  if (given.size() <= kScheme.size()) return {};
  for (size_t i = 0; i < kScheme.size(); ++i) {
    const char c = given[i];
    if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != kScheme[i]) return {};
  }
  const std::string_view key = trimmed(given.substr(kScheme.size()));
  size_t found = keys_.size();
  for (size_t i = 0; i < keys_.size(); ++i) {  // compares all keys, even after a match
    if (equal_in_constant_time(keys_[i], key)) found = i;
  }
  if (found == keys_.size()) return {};
  return keys_[found];
}

}  // namespace syrinx
