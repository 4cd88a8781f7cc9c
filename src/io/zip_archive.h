// Reads zip archives: those of PyTorch, with uncompressed entries (including zip64), and archives
// with compressed entries. Checks the table of contents when it is read; faults are LoadErrors.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "io/file.h"

namespace syrinx {

/// Position of an entry's bytes in the file, [begin, end).
struct ZipEntry {
  uint64_t begin = 0, end = 0;
  uint64_t unpacked = 0;  ///< size in bytes without compression
  bool deflated = false;
  uint64_t size() const { return end - begin; }
};

/// The entries of one mapped archive, by name.
class ZipArchive {
 public:
  static constexpr size_t kMaxEntries = 1 << 20;
  /// `compressed`: entries may be deflated.
  explicit ZipArchive(std::shared_ptr<const MappedFile> file, bool compressed = false);

  /// Finds an entry; null if the archive lacks it.
  const ZipEntry* find(const std::string& name) const;
  const std::unordered_map<std::string, ZipEntry>& entries() const { return entries_; }
  /// Returns an entry's bytes as they are in the archive.
  std::string_view text(const ZipEntry& entry) const;

 private:
  void read_directory(uint64_t begin, uint64_t size, uint64_t count, bool compressed);
  std::shared_ptr<const MappedFile> file_;
  std::unordered_map<std::string, ZipEntry> entries_;
};

}  // namespace syrinx
