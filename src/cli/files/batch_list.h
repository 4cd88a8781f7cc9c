// The files of `syrinx batch`: the list of texts, and the manifest of results. One thread; faults
// are LoadErrors that name file and line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace syrinx {

/// A line of the list.
struct BatchItem {
  std::string id;        ///< name of the line, and of its audio file
  std::string body;      ///< body of a speech request (JSON)
  std::string key = {};  ///< hash of the body; audio that was made with another key is made again
  std::string text_field = "input";  ///< name of the line's field that is the body's `input`
};

/// The lines for one machine: lines whose number, from 0, modulo `count` is `index`.
struct BatchShard {
  int index = 0, count = 1;
};
/// Parses "2/8", which is the second of eight. Throws UsageError.
BatchShard read_shard(const std::string& text);

/// Reads JSON Lines: `input` or `text`, an `id` (letters, digits, '.', '_', '-'; by default the
/// line's number), and other fields of a speech request. `fields`: a JSON object with defaults for
/// all lines, or empty. Every id must be unique in the whole list.
std::vector<BatchItem> read_batch(const std::string& path, const std::string& fields,
                                  BatchShard shard);

/// The result of an item.
struct BatchEntry {
  std::string key = {};
  std::string file = {};  ///< the audio file; empty if the item failed
  double seconds = 0;
  int sample_rate_hz = 0;
  std::string finish_reason = {};
  std::string fault = {};

  bool done() const { return !file.empty(); }
  /// Returns whether the audio ends early: it reached its bound, or the voice repeated itself.
  bool cut_short() const { return done() && finish_reason != "stop"; }
};

/// A file of JSON Lines, one line for each finished item. add() appends a line, which is on disk
/// when the call returns. write_all() writes all lines in the order of the list.
class BatchManifest {
 public:
  /// Reads the existing file; ignores an incomplete last line.
  explicit BatchManifest(std::string path);
  ~BatchManifest();
  BatchManifest(const BatchManifest&) = delete;
  BatchManifest& operator=(const BatchManifest&) = delete;

  /// Returns the result of the item if its key is the same; null otherwise.
  const BatchEntry* find(const BatchItem& item) const;
  void add(const std::string& id, BatchEntry entry);
  void write_all(const std::vector<BatchItem>& order) const;

 private:
  const std::string path_;
  std::map<std::string, BatchEntry> entries_;  // results by id
  int fd_ = -1;
};

}  // namespace syrinx
