#include "runtime/fingerprint.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/check.h"
#include "io/digest.h"
#include "io/file.h"

namespace syrinx {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kWhole = int64_t{64} << 20, kEnd = int64_t{8} << 20;
constexpr int64_t kPieces = 256, kPiece = int64_t{16} << 10;
// covers the names and types of a safetensors file
constexpr int64_t kBeginning = int64_t{64} << 10;
constexpr size_t kMostFiles = 10'000;
constexpr int kMostDepth = 8;

/// A file, and the concatenated digests of the parts given to add().
class Digested {
 public:
  explicit Digested(const std::string& path)
      : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) throw LoadError(path + ": " + std::strerror(errno));
  }
  ~Digested() { ::close(fd_); }
  Digested(const Digested&) = delete;
  Digested& operator=(const Digested&) = delete;

  /// Adds the bytes [begin, begin + size), 8 MiB at a time.
  void add(int64_t begin, int64_t size) {
    std::string buffer;
    while (size > 0) {
      buffer.resize(static_cast<size_t>(std::min(size, kEnd)));
      const ssize_t got = ::pread(fd_, buffer.data(), buffer.size(), begin);
      if (got <= 0)
        throw LoadError(concat(path_, ": ", got < 0 ? std::strerror(errno) : "cut short"));
      parts_ += sha256_hex(std::string_view(buffer).substr(0, static_cast<size_t>(got)));
      begin += got, size -= got;
    }
  }
  /// Returns 64 hexadecimal digits.
  std::string digest() const { return sha256_hex(parts_); }

 private:
  std::string path_, parts_;
  int fd_;
};

/// Returns 64 hexadecimal digits for the contents of a file.
std::string digest_file(const std::string& path, int64_t size) {
  Digested file(path);
  if (size <= kWhole) {
    file.add(0, size);
  } else {
    file.add(0, kEnd);
    for (int64_t i = 0; i < kPieces; ++i) {
      file.add(kEnd + (size - 2 * kEnd - kPiece) / kPieces * i, kPiece);
    }
    file.add(size - kEnd, kEnd);
  }
  return file.digest();
}

struct ModelFile {
  std::string name, path;  // name relative to the directory; full path
  int64_t size = 0;
};

/// Words in the names of GGUF files that are parts of models in the same folder.
constexpr const char* kParts[] = {"tokenizer", "decoder", "mimi"};

/// Returns the paths of a model that is one file: the file; the file's name with ".json" appended;
/// and for a .gguf file, other .gguf files whose names have a word of kParts.
std::vector<std::string> paths_of_file(const std::string& file) {
  std::vector<std::string> paths{file};
  if (is_file(file + ".json")) paths.push_back(file + ".json");
  if (!file.ends_with(".gguf")) return paths;
  const fs::path folder = fs::path(file).parent_path();
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder)) {
    const std::string name = entry.path().filename().string();
    const bool part = name.ends_with(".gguf") && std::ranges::any_of(kParts, [&](const char* word) {
                        return name.find(word) != name.npos;
                      });
    if (part && entry.is_regular_file() && !fs::equivalent(entry.path(), file))
      paths.push_back(entry.path().string());
  }
  return paths;
}

/// Returns the files of the model `dir`, in the order of their names.
std::vector<ModelFile> model_files(const std::string& dir) {
  std::vector<ModelFile> files;
  const auto by_name = [](const ModelFile& a, const ModelFile& b) { return a.name < b.name; };
  try {
    if (is_file(dir)) {
      for (const std::string& path : paths_of_file(dir)) {
        files.push_back(
            {fs::path(path).filename().string(), path, static_cast<int64_t>(fs::file_size(path))});
      }
      std::sort(files.begin(), files.end(), by_name);
      return files;
    }
    for (auto it =
             fs::recursive_directory_iterator(dir, fs::directory_options::follow_directory_symlink);
         it != fs::recursive_directory_iterator(); ++it) {
      const std::string name = it->path().filename().string();
      if (name.starts_with(".") || it.depth() >= kMostDepth) {
        it.disable_recursion_pending();
        continue;
      }
      if (!it->is_regular_file() || name.ends_with(".md")) continue;
      files.push_back({it->path().lexically_relative(dir).string(), it->path().string(),
                       static_cast<int64_t>(it->file_size())});
      if (files.size() > kMostFiles) throw LoadError(dir + ": has too many files for a model");
    }
  } catch (const fs::filesystem_error& e) {
    throw LoadError(e.what());
  }
  std::sort(files.begin(), files.end(), by_name);
  return files;
}

}  // namespace

std::string fingerprint(const std::string& dir) {
  std::string all;
  for (const ModelFile& file : model_files(dir)) {
    all += concat(file.name, "\n", file.size, "\n", digest_file(file.path, file.size), "\n");
  }
  return sha256_hex(all);
}

ModelStamp stamp(const std::string& dir) {
  ModelStamp stamp;
  std::string all;
  for (const ModelFile& file : model_files(dir)) {
    std::error_code error;
    const fs::file_time_type changed = fs::last_write_time(file.path, error);
    if (error) throw LoadError(file.path + ": " + error.message());
    Digested beginning(file.path);
    beginning.add(0, std::min(file.size, kBeginning));
    // In libc++ the count has 128 bits, which streams cannot write.
    const std::chrono::nanoseconds age = changed.time_since_epoch();
    all += concat(file.name, "\n", file.size, "\n", age.count(), "\n", beginning.digest(), "\n");
    stamp.bytes += file.size;
  }
  stamp.digest = sha256_hex(all);
  return stamp;
}

}  // namespace syrinx
