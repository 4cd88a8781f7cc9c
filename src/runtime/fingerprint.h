// A digest that identifies a model's files. Two processes that run parts of one model compare it.
// Free functions; any thread.
#pragma once

#include <cstdint>
#include <string>

namespace syrinx {

/// Returns the SHA-256 (hexadecimal) of the names, sizes and contents of the files below `dir`, in
/// the order of their names. Omits hidden files and *.md; follows links. A file above 64 MiB is
/// read only in parts: 8 MiB at both ends (in safetensors, the beginning has all names, types and
/// shapes) and 256 evenly spaced pieces of 16 KiB. Retraining changes all of these parts, but a
/// single changed bit may be missed. Throws LoadError if a file cannot be read.
std::string fingerprint(const std::string& dir);

/// A digest that changes with a model's files on this machine, and is computed quickly.
struct ModelStamp {
  /// The SHA-256 (hexadecimal) of the names, sizes, times of change and first 64 KiB of all files.
  std::string digest;
  int64_t bytes = 0;  ///< size of all files together
};

/// Returns the stamp of the files that fingerprint() covers. Throws LoadError if a file cannot be
/// read.
ModelStamp stamp(const std::string& dir);

}  // namespace syrinx
