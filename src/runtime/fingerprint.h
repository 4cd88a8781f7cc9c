// What distinguishes a model's files from others: two processes that hold parts of one model
// compare it. Free functions; any thread.
#pragma once

#include <cstdint>
#include <string>

namespace syrinx {

/// SHA-256 (hexadecimal) over the names, sizes and contents of the files below `dir`, in the order
/// of their names; hidden ones and *.md are left out, links are followed. For a file above 64 MiB
/// the contents are 8 MiB at either end (in safetensors the first hold all names, types and shapes)
/// and 256 pieces of 16 KiB spread evenly: another training changes all of them, a single bit may
/// be missed. Throws LoadError for what cannot be read.
std::string fingerprint(const std::string& dir);

/// What changes with the files of a model on this machine, at next to no cost.
struct ModelStamp {
  std::string digest;  ///< SHA-256 (hexadecimal): names, sizes, times of change, first 64 KiB each
  int64_t bytes = 0;   ///< of all files
};

/// Returns the state of the files that fingerprint() reads. Throws LoadError for what cannot be
/// read.
ModelStamp stamp(const std::string& dir);

}  // namespace syrinx
