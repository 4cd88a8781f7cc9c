#include "io/hyper_yaml.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/check.h"
#include "base/number.h"
#include "io/file.h"

namespace syrinx {
namespace {

constexpr std::string_view kReference = "!ref ";

std::string trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == text.npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

/// Returns the line without its comment. A comment begins with a '#' outside quotes, at the start
/// or after a space.
std::string_view without_comment(std::string_view line) {
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (quote) {
      quote = line[i] == quote ? 0 : quote;
    } else if (line[i] == '\'' || line[i] == '"') {
      quote = line[i];
    } else if (line[i] == '#' && (i == 0 || line[i - 1] == ' ')) {
      return line.substr(0, i);
    }
  }
  return line;
}

/// Returns the position of the ':' that ends a line's key, which may be quoted.
size_t end_of_key(const std::string& content) {
  const bool quoted = content[0] == '\'' || content[0] == '"';
  size_t end = quoted ? content.find(content[0], 1) : 0;
  while (quoted && end != content.npos && content.compare(end, 2, "''") == 0)
    end = content.find(content[0], end + 2);
  return end == content.npos ? end : content.find(':', end);
}

/// Removes quotes; within single quotes, two single quotes become one.
std::string unquoted(const std::string& text) {
  const bool quoted = text.size() > 1 && (text[0] == '\'' || text[0] == '"');
  if (!quoted || text.back() != text[0]) return text;
  std::string out = text.substr(1, text.size() - 2);
  for (size_t at = 0; text[0] == '\'' && (at = out.find("''", at)) != out.npos; ++at)
    out.erase(at, 1);
  return out;
}

}  // namespace

HyperYaml HyperYaml::load(const std::string& path) {
  return parse(read_file(path, kMaxBytes), path);
}

HyperYaml HyperYaml::parse(const std::string& text, const std::string& path) {
  HyperYaml out;
  out.path_ = path;
  struct Level {
    size_t indent;
    std::string scope;
  };
  std::vector<Level> levels;
  std::istringstream lines(text);
  std::string raw;
  int64_t at = 0, open_lists = 0;
  std::string last;  // the key whose list the items extend
  while (std::getline(lines, raw)) {
    ++at;
    const std::string line(without_comment(raw));
    const std::string content = trimmed(line);
    if (content.empty()) continue;
    if (open_lists > 0) {
      for (const char ch : content) open_lists += (ch == '[') - (ch == ']');
      continue;
    }
    if (content[0] == '-' && content.size() > 1 && content[1] == ' ') {
      out.add_item(last, trimmed(std::string_view(content).substr(1)), at);
      continue;
    }
    const size_t colon = end_of_key(content);
    const bool pair =
        colon != content.npos && (colon + 1 == content.size() || content[colon + 1] == ' ');
    if (!pair || content[0] == '-' || line[0] == '\t') {
      load_fault(path, concat("line ", at), "expected \"key: value\", got " + shown(content));
    }
    const size_t indent = line.find_first_not_of(' ');
    while (!levels.empty() && levels.back().indent >= indent) levels.pop_back();
    const std::string scope = levels.empty() ? "" : levels.back().scope;
    const std::string key = scope + unquoted(content.substr(0, colon));
    const std::string value = trimmed(std::string_view(content).substr(colon + 1));
    for (const char ch : value) open_lists += (ch == '[') - (ch == ']');
    if (open_lists < 0) load_fault(path, concat("line ", at), "a ] lacks its [");
    if (open_lists == 0 && !out.values_.emplace(key, unquoted(value)).second) {
      load_fault(path, key, "is given twice");
    }
    levels.push_back({indent, key + "."});
    last = value.empty() ? key : "";
    if (out.values_.size() > kMaxKeys || levels.size() > kMaxDepth) {
      load_fault(path, concat("line ", at), "too many keys, or keys nested too deeply");
    }
  }
  if (open_lists > 0) load_fault(path, "", "a [ lacks its ]");
  return out;
}

/// Adds a line "- item" to the list of `key`, which is stored as a list on one line.
void HyperYaml::add_item(const std::string& key, const std::string& item, int64_t line) {
  if (key.empty()) load_fault(path_, concat("line ", line), "a list item has no key before it");
  std::string& value = values_[key];
  value = value.empty() ? "[" + item + "]" : value.substr(0, value.size() - 1) + ", " + item + "]";
  if (value.size() > kMaxBytes) load_fault(path_, key, "is too long");
}

void HyperYaml::fail(const std::string& key, const std::string& what) const {
  load_fault(path_, key, what);
}

void HyperYaml::check(const std::string& key, bool fine, const std::string& what) const {
  if (!fine) fail(key, what);
}

void HyperYaml::only(const std::string& key, const std::string& want) const {
  check(key, s(key) == want, concat("expected ", want, ", got ", shown(s(key))));
}

void HyperYaml::only_class(const std::string& key, const std::string& name) const {
  check(key, s(key).ends_with("." + name), concat("expected ", name, ", got ", shown(s(key))));
}

/// Resolves a value that begins with !ref: "<a>" is the value of a, "<a> * <b>" a product.
std::string HyperYaml::resolve(const std::string& key, const std::string& value) const {
  if (!value.starts_with(kReference)) return value;
  std::istringstream words(value.substr(kReference.size()));
  std::string word, first;
  int64_t product = 1;
  int factors = 0;
  for (; words >> word; first = word) {
    if (word == "*") continue;
    int64_t factor = 0;
    if (word.front() == '<' && word.back() == '>') {
      const auto found = values_.find(word.substr(1, word.size() - 2));
      if (found == values_.end() || found->second.starts_with(kReference)) {
        fail(key, "refers to " + shown(word) + ", which has no value");
      }
      word = found->second;
    }
    ++factors;
    if (!parse_number(word, factor) || std::abs(factor) > 1 << 20 || factors > 4) {
      if (factors > 1) fail(key, "cannot compute " + shown(value));
      continue;
    }
    product *= factor;
  }
  return factors == 1 ? first : std::to_string(product);
}

std::string HyperYaml::s(const std::string& key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) fail(key, "is missing");
  return resolve(key, found->second);
}

int64_t HyperYaml::i(const std::string& key, int64_t min, int64_t max) const {
  const std::string value = s(key);
  int64_t out = 0;
  if (!parse_number(value, out) || out < min || out > max) {
    fail(key, concat("expected an integer in [", min, ", ", max, "], got ", shown(value)));
  }
  return out;
}

double HyperYaml::f(const std::string& key, double min, double max) const {
  const std::string value = s(key);
  double out = 0;
  if (!parse_number(value, out) || !(out >= min && out <= max)) {
    fail(key, concat("expected a number in [", min, ", ", max, "], got ", shown(value)));
  }
  return out;
}

bool HyperYaml::b(const std::string& key) const {
  const std::string value = s(key);
  if (value == "True" || value == "true") return true;
  if (value == "False" || value == "false") return false;
  fail(key, "expected True or False, got " + shown(value));
}

std::vector<std::string> HyperYaml::texts(const std::string& key) const {
  const std::string value = s(key);
  const bool list = value.size() > 1 && value.front() == '[' && value.back() == ']';
  std::istringstream items(list ? value.substr(1, value.size() - 2) : value);
  std::vector<std::string> out;
  for (std::string item; std::getline(items, item, list ? ',' : '\n');) {
    out.push_back(unquoted(trimmed(item)));
  }
  if (out.empty() || std::count(out.begin(), out.end(), "") > 0) {
    fail(key, "expected words, got " + (value.empty() ? "nothing" : shown(value)));
  }
  return out;
}

std::vector<std::string> HyperYaml::keys() const {
  std::vector<std::string> out;
  for (const auto& [key, value] : values_) out.push_back(key);
  return out;
}

std::vector<int64_t> HyperYaml::ints(const std::string& key, int64_t min, int64_t max) const {
  std::string value = s(key);
  if (value.empty() || value[0] != '[') fail(key, "expected a list, got " + shown(value));
  for (char& ch : value)
    if (ch == '[' || ch == ']' || ch == ',') ch = ' ';
  std::istringstream words(value);
  std::vector<int64_t> out;
  for (std::string word; words >> word;) {
    int64_t item = 0;
    if (!parse_number(word, item) || item < min || item > max) {
      fail(key, concat("expected integers in [", min, ", ", max, "], got ", shown(word)));
    }
    out.push_back(item);
  }
  return out;
}

}  // namespace syrinx
