#include "runtime/fingerprint.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "audio/sha256.h"
#include "base/check.h"

namespace syrinx {
namespace {

constexpr int64_t kWhole = int64_t{64} << 20, kEnd = int64_t{8} << 20;
constexpr int64_t kPieces = 256, kPiece = int64_t{16} << 10;
constexpr size_t kMostFiles = 10'000;
constexpr int kMostDepth = 8;

/// Appends the digest of bytes [begin, begin + size) to `out`, 8 MiB at a time.
void digest_part(int fd, const std::string& path, int64_t begin, int64_t size, std::string& out) {
  std::string buffer;
  while (size > 0) {
    buffer.resize(static_cast<size_t>(std::min(size, kEnd)));
    const ssize_t got = pread(fd, buffer.data(), buffer.size(), begin);
    if (got <= 0) throw LoadError(concat(path, ": ", got < 0 ? std::strerror(errno) : "cut short"));
    out += sha256_hex(std::string_view(buffer).substr(0, static_cast<size_t>(got)));
    begin += got, size -= got;
  }
}

/// 64 digits for the contents of a file.
std::string digest_file(const std::string& path, int64_t size) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw LoadError(path + ": " + std::strerror(errno));
  std::string parts;
  try {
    if (size <= kWhole) {
      digest_part(fd, path, 0, size, parts);
    } else {
      digest_part(fd, path, 0, kEnd, parts);
      for (int64_t i = 0; i < kPieces; ++i) {
        digest_part(fd, path, kEnd + (size - 2 * kEnd - kPiece) / kPieces * i, kPiece, parts);
      }
      digest_part(fd, path, size - kEnd, kEnd, parts);
    }
  } catch (...) {
    close(fd);
    throw;
  }
  close(fd);
  return sha256_hex(parts);
}

}  // namespace

std::string fingerprint(const std::string& dir) {
  namespace fs = std::filesystem;
  std::vector<std::string> names;
  try {
    for (auto it =
             fs::recursive_directory_iterator(dir, fs::directory_options::follow_directory_symlink);
         it != fs::recursive_directory_iterator(); ++it) {
      const std::string name = it->path().filename().string();
      if (name.starts_with(".") || it.depth() >= kMostDepth) {
        it.disable_recursion_pending();
        continue;
      }
      if (!it->is_regular_file() || name.ends_with(".md")) continue;
      names.push_back(it->path().lexically_relative(dir).string());
      if (names.size() > kMostFiles) throw LoadError(dir + ": too many files for a model");
    }
    std::sort(names.begin(), names.end());
    std::string all;
    for (const std::string& name : names) {
      const std::string path = (fs::path(dir) / name).string();
      const auto size = static_cast<int64_t>(fs::file_size(path));
      all += concat(name, "\n", size, "\n", digest_file(path, size), "\n");
    }
    return sha256_hex(all);
  } catch (const fs::filesystem_error& e) {
    throw LoadError(e.what());
  }
}

}  // namespace syrinx
