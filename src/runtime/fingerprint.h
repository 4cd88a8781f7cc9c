// A digest that identifies a model's files: two processes that run parts of one model compare it.
// Free functions; any thread.
#pragma once

#include <cstdint>
#include <string>

namespace syrinx {

/// Returns the SHA-256 (hexadecimal) of the names, sizes and contents of the files below `dir`, in
/// the order of their names. Hidden files and *.md are omitted; links are followed. A file above 64
/// MiB is read only in part: 8 MiB at either end (in safetensors, the beginning has all names,
/// types and shapes) and 256 pieces of 16 KiB, spread evenly. Retraining changes all of these, but
/// a single changed bit may be missed. Throws LoadError if a file cannot be read.
std::string fingerprint(const std::string& dir);

/// A digest that changes with a model's files on this machine, and needs little time.
struct ModelStamp {
  /// The SHA-256 (hexadecimal) of the names, sizes, times of change and first 64 KiB of all files.
  std::string digest;
  int64_t bytes = 0;  ///< size of all files
};

/// Returns the stamp of the files that fingerprint() reads. Throws LoadError if a file cannot be
/// read.
ModelStamp stamp(const std::string& dir);

}  // namespace syrinx
