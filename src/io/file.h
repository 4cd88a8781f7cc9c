// Reads and writes files: reads small files whole with a size limit, maps large files read-only,
// and writes new files that get their name only once they are complete. Faults throw LoadError with
// the path. A MappedFile may be shared and read by many threads.
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

/// Makes text from a file safe to print: escapes control bytes, cuts the text after `limit` bytes.
std::string shown(std::string_view text, size_t limit = 120);

/// Formats a size: "12 bytes", "1.5 KiB", "3.0 MiB" or "1.25 GiB".
std::string size_text(uint64_t bytes);

/// Throws LoadError with the message "path: entry: what"; an empty entry is omitted.
[[noreturn]] void load_fault(const std::string& path, const std::string& entry,
                             const std::string& what);

/// Returns the contents of a regular file of at most `limit` bytes.
std::string read_file(const std::string& path, size_t limit);

/// Returns whether `path` is a regular file; follows links, as the hub's cache consists of links.
bool is_file(const std::string& path);
/// Returns whether `path` is a directory; follows links.
bool is_directory(const std::string& path);
/// Joins `directory` and `name` with one slash.
std::string join_path(const std::string& directory, const std::string& name);

/// A regular file mapped read-only; unmapped when its last owner is destroyed. Writing to the
/// mapping crashes. Reading crashes after another program has truncated the file, so checkpoints
/// must be replaced by rename.
class MappedFile {
 public:
  static std::shared_ptr<const MappedFile> open(const std::string& path);
  /// Reads the file into memory instead of mapping it, for files that other programs may replace.
  /// Later changes of the file then have no effect. Throws LoadError if the file changes during the
  /// read.
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

/// Identifies the version of the file at a path: its identity and the times of its last changes.
/// All zeros if the file does not exist.
struct FileStamp {
  uint64_t device = 0, number = 0, bytes = 0;
  int64_t written_ns = 0, changed_ns = 0;
  bool operator==(const FileStamp&) const = default;
};
/// Returns the present stamp of the file at `path`. Throws nothing.
FileStamp file_stamp(const std::string& path);

/// Returns the result of `load`, which reads several related files. If a file was replaced or
/// written during the call, runs `load` again, at most 3 times in total; then throws LoadError.
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
      load_fault(paths.front(), "", "was replaced repeatedly while it was read");
    }
  }
}

/// Writes to a temporary file beside `path`. commit() renames it to `path`; without commit() it is
/// removed. If `path` is a link, its target is replaced. The new file gets the owner and
/// permissions of the earlier file. If `path` is a device or a pipe, it is written directly. The
/// temporary file is locked (flock) while it is written. One thread at a time.
class NewFile {
 public:
  explicit NewFile(const std::string& path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void append(const void* data, size_t size);
  /// Overwrites bytes that were appended earlier. Does nothing for a device or a pipe.
  void overwrite(uint64_t offset, const void* data, size_t size);
  /// Appends bytes [begin, end) of the contents of `other`.
  void append_part_of(const NewFile& other, uint64_t begin, uint64_t end);
  uint64_t size() const { return size_; }
  /// Renames the file to its path. With `durable`, first writes its contents to disk.
  void commit(bool durable = true);

 private:
  [[noreturn]] void fail(const char* doing) const;
  bool in_place() const { return temporary_.empty(); }
  void put(uint64_t offset, const void* data, size_t size);
  // `temporary_` is empty for a device or a pipe, and after commit().
  std::string path_, temporary_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

/// Throws LoadError if NewFile cannot write `path`. Call it before the work whose result the file
/// will contain. During the call, this thread blocks signals that end the program.
void need_writable(const std::string& path);

}  // namespace syrinx
