// For tests: a temporary directory, files from text, and damaged variants of a valid file.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>

namespace syrinx {

/// A new directory below the system's temporary directory; removed with its contents.
class TestDir {
 public:
  TestDir() {
    std::string name = (std::filesystem::temp_directory_path() / "syrinx-test-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TestDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestDir(const TestDir&) = delete;
  TestDir& operator=(const TestDir&) = delete;

  std::string path(const std::string& name = "") const {
    return name.empty() ? path_ : path_ + "/" + name;
  }
  /// Writes a file and creates the directories above it; returns its path.
  std::string write(const std::string& name, const std::string& bytes) const {
    const std::filesystem::path at = path(name);
    std::filesystem::create_directories(at.parent_path());
    // Removes the old file first, as some file systems wait for the disk when a file is truncated
    // and rewritten.
    std::filesystem::remove(at);
    std::ofstream(at, std::ios::binary) << bytes;
    return at.string();
  }

 private:
  std::string path_;
};

inline std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Calls `use` with each prefix of `valid`, then with `count` random changes of `valid`: bytes
/// replaced, inserted or removed, parts repeated. The changes are the same in every run.
inline void for_each_damage(const std::string& valid, int count,
                            const std::function<void(const std::string&)>& use) {
  for (size_t size = 0; size < valid.size(); ++size) use(valid.substr(0, size));
  std::mt19937 random(7);
  const auto below = [&](size_t bound) { return bound ? random() % bound : 0; };
  for (int round = 0; round < count; ++round) {
    std::string bytes = valid;
    for (size_t change = 0; change <= below(4); ++change) {
      const size_t at = below(bytes.size());
      switch (below(5)) {
        case 0:
          if (!bytes.empty()) bytes[at] = static_cast<char>(random());
          break;
        case 1:
          if (!bytes.empty()) bytes[at] ^= static_cast<char>(1u << below(8));
          break;
        case 2:
          bytes.insert(at, 1, "0123456789{}[]\":,-e\\\0\xff"[below(22)]);
          break;
        case 3:
          bytes.erase(at, 1 + below(4));
          break;
        default:
          bytes.insert(at, bytes.substr(below(bytes.size()), below(16)));
      }
    }
    use(bytes);
  }
}

}  // namespace syrinx
