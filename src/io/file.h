// Files as everything below reads and writes them: whole small files with a bound, big files mapped
// read-only, and new files that appear under their name only once they are complete.
// Faults throw LoadError naming the path. A MappedFile may be shared and read by many threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace syrinx {

/// Text from a file as it may be shown to people: control bytes escaped, cut after `limit` bytes.
std::string shown(std::string_view text, size_t limit = 120);

/// "12 bytes", "1.5 KiB", "3.0 MiB" or "1.25 GiB".
std::string size_text(uint64_t bytes);

/// LoadError's message: "path: entry: what"; an empty entry is left out.
[[noreturn]] void load_fault(const std::string& path, const std::string& entry,
                             const std::string& what);

/// The whole of a regular file of at most `limit` bytes.
std::string read_file(const std::string& path, size_t limit);

/// Whether `path` is an existing regular file (through links: the hub's cache is made of them).
bool is_file(const std::string& path);
/// Whether `path` is an existing directory, through links.
bool is_directory(const std::string& path);
/// `directory` and `name` joined by one slash.
std::string join_path(const std::string& directory, const std::string& name);

/// A regular file mapped read-only; unmapped when the last owner goes. Writing to it is a crash,
/// and so is reading it after another program truncated the file: checkpoints must be replaced by
/// rename.
class MappedFile {
 public:
  static std::shared_ptr<const MappedFile> open(const std::string& path);
  /// The same with the bytes in memory, for files that other programs replace while they are read:
  /// what becomes of the file afterwards does not matter. LoadError where it changed meanwhile.
  static std::shared_ptr<const MappedFile> read(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

 private:
  MappedFile(std::string path, const std::byte* data, size_t size)
      : path_(std::move(path)), data_(data), size_(size) {}
  std::string path_;
  const std::byte* data_;
  size_t size_;
};

/// Which file a path leads to, and when it was written to last; all zero where there is none.
struct FileStamp {
  uint64_t device = 0, number = 0, bytes = 0;
  int64_t written_ns = 0, changed_ns = 0;
  bool operator==(const FileStamp&) const = default;
};
FileStamp file_stamp(const std::string& path);

/// What `load` makes of files that belong together. Where one of them was replaced or written to
/// meanwhile it is done again, at most 3 times; then LoadError.
template <typename Load>
auto load_together(const std::vector<std::string>& paths, const Load& load) {
  const auto stamps = [&paths] {
    std::vector<FileStamp> out;
    for (const std::string& path : paths) out.push_back(file_stamp(path));
    return out;
  };
  constexpr int kMostAttempts = 3;
  for (int attempt = 1;; ++attempt) {
    const std::vector<FileStamp> before = stamps();
    try {
      auto made = load();
      if (stamps() == before) return made;
    } catch (const LoadError&) {
      if (stamps() == before) throw;
    }
    if (attempt == kMostAttempts) {
      load_fault(paths.front(), "", "is replaced again and again while it is read");
    }
  }
}

/// Writes to a temporary file beside `path`; commit() puts it in place, otherwise it vanishes. For
/// a link, what it leads to is replaced. Users that could read and write the earlier file may do so
/// with the new one. What is there and no regular file (a device, a pipe) is written to as it is.
/// The temporary file is locked (flock) while it is written. One thread at a time.
class NewFile {
 public:
  explicit NewFile(const std::string& path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void append(const void* data, size_t size);
  /// Writes over bytes that were appended earlier; those of a device or a pipe stay as they are.
  void overwrite(uint64_t offset, const void* data, size_t size);
  /// Appends bytes [begin, end) of what `other` holds.
  void append_part_of(const NewFile& other, uint64_t begin, uint64_t end);
  uint64_t size() const { return size_; }
  /// Before it gets its name it is on disk, unless it is not `durable`.
  void commit(bool durable = true);

 private:
  [[noreturn]] void fail(const char* doing) const;
  bool in_place() const { return temporary_.empty(); }
  void put(uint64_t offset, const void* data, size_t size);
  std::string path_, temporary_;  // without a temporary one: a device, a pipe, or committed
  int fd_ = -1;
  uint64_t size_ = 0;
};

/// Throws LoadError where a NewFile cannot be written: to be asked before the work whose result it
/// is to hold. Signals that end a program wait meanwhile, if this is its only thread.
void need_writable(const std::string& path);

}  // namespace syrinx
