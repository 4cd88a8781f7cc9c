#include "cli/files/batch_list.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "cli/files/book_work.h"
#include "cli/line/exit.h"
#include "io/file.h"
#include "text/surrogates.h"

namespace syrinx {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxLineBytes = size_t{1} << 20;
constexpr size_t kMaxIdLetters = 100;
constexpr size_t kMaxManifestBytes = size_t{8} << 30;

bool is_id(const std::string& id) {
  if (id.empty() || id.size() > kMaxIdLetters || id.front() == '.') return false;
  for (const char c : id) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && c != '.' && c != '_' && c != '-') return false;
  }
  return true;
}

[[noreturn]] void line_fault(const std::string& path, size_t line, const std::string& what) {
  load_fault(path, concat("line ", line), what);
}

/// Gathers the invalid lines of a list, which is then refused before anything is spoken.
class InvalidLines {
 public:
  void add(size_t line, const std::string& what) {
    ++count_;
    if (first_.empty()) {
      first_ = what;
    } else if (count_ <= kMostNamed) {
      others_ += (others_.empty() ? "" : ", ") + std::to_string(line);
    }
  }
  /// Throws LoadError if there are invalid lines: the first fault and the numbers of other lines.
  void check() const {
    if (count_ == 0) return;
    if (count_ == 1) throw LoadError(first_);
    throw LoadError(
        concat(first_, "; also invalid: line ", others_,
               count_ > kMostNamed ? concat(" and ", count_ - kMostNamed, " more") : ""));
  }

 private:
  static constexpr size_t kMostNamed = 10;
  size_t count_ = 0;
  std::string first_, others_;
};

/// Returns the first field of `fields` that a batch line may not set, because `syrinx batch` sets
/// it. Returns null if `fields` has no such field.
const char* own_field(const ordered_json& fields) {
  for (const char* ours : {"stream", "stream_format", "response_format", "encoding"}) {
    if (fields.contains(ours)) return ours;
  }
  return nullptr;
}

/// Reads a line, without its key.
BatchItem read_item(const std::string& path, size_t number, const std::string& text,
                    const ordered_json& fields) {
  if (text.size() > kMaxLineBytes) {
    line_fault(path, number, concat("has ", text.size(), " bytes, at most ", kMaxLineBytes));
  }
  ordered_json line = ordered_json::parse(mend_halves(text).value_or(text), nullptr, false);
  if (!line.is_object()) line_fault(path, number, "expected a JSON object");
  char id[32];
  std::snprintf(id, sizeof id, "%08zu", number);
  BatchItem item{.id = id, .body = {}};
  if (const auto at = line.find("id"); at != line.end()) {
    if (!at->is_string() || !is_id(at->get<std::string>())) {
      line_fault(path, number,
                 concat("'id' must be 1 to ", kMaxIdLetters,
                        " letters, digits, '.', '_' or '-', and must not begin with '.'"));
    }
    item.id = at->get<std::string>();
    line.erase(at);
  }
  if (line.contains("text")) {
    if (line.contains("input"))
      line_fault(path, number, "has both 'text' and 'input'; give only one of them");
    line["input"] = line["text"];
    line.erase("text");
    item.text_field = "text";
  }
  if (!line.contains("input") || !line["input"].is_string()) {
    line_fault(path, number, "expected 'input' or 'text', a string");
  }
  if (const char* ours = own_field(line); ours != nullptr) {
    line_fault(path, number, concat("'", ours, "' is not allowed in a line; use --format"));
  }
  for (const auto& [field, value] : fields.items()) {
    if (!line.contains(field)) line[field] = value;
  }
  line["response_format"] = "wav";
  line["stream"] = false;
  item.body = line.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  return item;
}

ordered_json entry_line(const std::string& id, const BatchEntry& entry) {
  ordered_json line = {{"id", id}, {"key", entry.key}};
  if (entry.done()) {
    line["file"] = entry.file;
    line["seconds"] = entry.seconds;
    line["sample_rate"] = entry.sample_rate_hz;
    line["finish_reason"] = entry.finish_reason;
  } else {
    line["error"] = entry.fault;
  }
  return line;
}

std::string dumped(const ordered_json& line) {
  return line.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

template <typename T>
T value_or(const ordered_json& line, const char* name, T otherwise) {
  const auto at = line.find(name);
  if (at == line.end()) return otherwise;
  if constexpr (std::is_arithmetic_v<T>) {
    if (at->is_number()) return at->get<T>();
  } else {
    if (at->is_string()) return at->get<T>();
  }
  return otherwise;
}

}  // namespace

BatchShard read_shard(const std::string& text) {
  int index = 0, count = 0;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%d/%d%c", &index, &count, &rest) != 2 || index < 1 ||
      index > count) {
    throw UsageError("--shard: '" + text +
                     "' is invalid; expected a form like 2/8, the second of eight parts");
  }
  return {index - 1, count};
}

std::vector<BatchItem> read_batch(const std::string& path, const std::string& fields,
                                  BatchShard shard) {
  ordered_json extra = ordered_json::object();
  if (!fields.empty()) {
    extra = ordered_json::parse(fields, nullptr, false);
    if (!extra.is_object()) throw UsageError("--extra: expected a JSON object");
    if (const char* ours = own_field(extra); ours != nullptr) {
      throw UsageError(concat("--extra: '", ours, "' is not allowed; use --format"));
    }
  }
  std::ifstream file;
  if (path != "-") {
    file.open(path);
    if (!file) load_fault(path, "", std::string("cannot open: ") + std::strerror(errno));
  }
  std::istream& in = path == "-" ? std::cin : file;
  std::vector<BatchItem> out;
  std::unordered_set<std::string> ids;
  std::string line;
  int64_t taken = 0;
  InvalidLines invalid;
  for (size_t number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    try {
      BatchItem item = read_item(path, number, line, extra);
      if (!ids.insert(item.id).second) {
        line_fault(path, number, "the id '" + item.id + "' occurs twice");
      }
      if (taken++ % shard.count != shard.index) continue;
      item.key = fingerprint_of(item.body);
      out.push_back(std::move(item));
    } catch (const LoadError& fault) {
      invalid.add(number, fault.what());
    }
  }
  if (in.bad()) load_fault(path, "", "cannot be read to its end");
  invalid.check();
  return out;
}

BatchManifest::BatchManifest(std::string path) : path_(std::move(path)) {
  std::string text;
  if (is_file(path_)) text = read_file(path_, kMaxManifestBytes);
  const size_t whole = text.rfind('\n') + 1;  // 0 without a line feed
  size_t number = 0;
  for (size_t at = 0; at < whole;) {
    const size_t end = text.find('\n', at);
    const ordered_json line = ordered_json::parse(text.substr(at, end - at), nullptr, false);
    at = end + 1;
    ++number;
    const std::string id = line.is_object() ? value_or<std::string>(line, "id", "") : "";
    if (!is_id(id))
      line_fault(path_, number, "is not an entry of a manifest; choose another directory with -o");
    entries_[id] = {.key = value_or<std::string>(line, "key", ""),
                    .file = value_or<std::string>(line, "file", ""),
                    .seconds = value_or<double>(line, "seconds", 0),
                    .sample_rate_hz = value_or<int>(line, "sample_rate", 0),
                    .finish_reason = value_or<std::string>(line, "finish_reason", ""),
                    .fault = value_or<std::string>(line, "error", "")};
  }
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd_ < 0 || ::ftruncate(fd_, static_cast<off_t>(whole)) != 0) {
    load_fault(path_, "", std::string("cannot write: ") + std::strerror(errno));
  }
}

BatchManifest::~BatchManifest() {
  if (fd_ >= 0) ::close(fd_);
}

const BatchEntry* BatchManifest::find(const BatchItem& item) const {
  const auto at = entries_.find(item.id);
  return at == entries_.end() || at->second.key != item.key ? nullptr : &at->second;
}

void BatchManifest::add(const std::string& id, BatchEntry entry) {
  const std::string line = dumped(entry_line(id, entry));
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t done = ::write(fd_, rest.data(), rest.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) load_fault(path_, "", std::string("cannot write: ") + std::strerror(errno));
    rest.remove_prefix(static_cast<size_t>(done));
  }
  entries_[id] = std::move(entry);
}

void BatchManifest::write_all(const std::vector<BatchItem>& order) const {
  NewFile file(path_);
  for (const BatchItem& item : order) {
    const auto at = entries_.find(item.id);
    if (at == entries_.end()) continue;
    const std::string line = dumped(entry_line(item.id, at->second));
    file.append(line.data(), line.size());
  }
  file.commit();
}

}  // namespace syrinx
