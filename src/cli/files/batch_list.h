// What `syrinx batch` reads and keeps: the list of texts, and the manifest of what was made of it.
// One thread; faults are LoadErrors that name file and line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace syrinx {

/// A line of the list.
struct BatchItem {
  std::string id;    ///< of its file too
  std::string body;  ///< of a speech request (JSON)
  std::string
      key;  ///< changes with what it is made of: what was made of another text is made again
};

/// Which lines a machine takes: those whose number, from 0, is `index` modulo `count`.
struct BatchShard {
  int index = 0, count = 1;
};
/// "2/8" is the second of eight. Throws UsageError.
BatchShard read_shard(const std::string& text);

/// JSON Lines: `input` or `text`, an `id` (letters, digits, '.', '_', '-'; by default the line's
/// number), and what else a speech request may have. `fields` is a JSON object or empty: what a
/// line does not say itself. Every id may be there once in the whole list.
std::vector<BatchItem> read_batch(const std::string& path, const std::string& fields,
                                  BatchShard shard);

/// What became of an item.
struct BatchEntry {
  std::string key = {};
  std::string file = {};  ///< empty: it failed
  double seconds = 0;
  int sample_rate_hz = 0;
  std::string finish_reason = {};
  std::string fault = {};

  bool done() const { return !file.empty(); }
  /// The bound of its length was reached, or it repeated itself.
  bool cut_short() const { return done() && finish_reason != "stop"; }
};

/// A file of JSON Lines, one for each item that ended. While the work goes on lines are added, and
/// on disk when add() returns; write_all() puts them in the order of the list.
class BatchManifest {
 public:
  /// Reads what is there; a last line that was cut short counts as not there.
  explicit BatchManifest(std::string path);
  ~BatchManifest();
  BatchManifest(const BatchManifest&) = delete;
  BatchManifest& operator=(const BatchManifest&) = delete;

  /// What became of the item, if it was made of the same body; null otherwise.
  const BatchEntry* find(const BatchItem& item) const;
  void add(const std::string& id, BatchEntry entry);
  void write_all(const std::vector<BatchItem>& order) const;

 private:
  const std::string path_;
  std::map<std::string, BatchEntry> entries_;  // by id
  int fd_ = -1;
};

}  // namespace syrinx
