// Packed weights of one model in a file, so that the next start maps them instead of
// packing. The file has the matrices in the order in which the model is built, and a
// table that describes each matrix. Nothing in the file is trusted. Header and table have
// a checksum and must match the file's size. A matrix must have the expected type and
// sizes and the right checksum. In addition, one of its panels, another one at each
// start, is packed again and compared. This detects files made from other weights or by
// another program. From the first invalid matrix on, all matrices are packed, and a new
// file is written. A cache that cannot be used is reported through say(), and is not an
// error. File, little-endian: header (below), matrices at multiples of 64 bytes, table.
// The file gets its name when it is complete. If two processes write it, the later file
// remains.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/file.h"
#include "kernels/packing.h"

namespace syrinx {

/// Path, key and limits of the file with packed weights.
struct WeightsCacheOptions {
  std::string path;  ///< ends with WeightsCache::kSuffix; its directory is created if necessary
  /// Identifies the inputs of the matrices, at most 64 bytes. A file with another key is not used.
  std::string key;
  /// Limit of the bytes of all files with the suffix in this directory. The files unused for the
  /// longest time are removed.
  int64_t most_bytes = int64_t{64} << 30;
  std::chrono::hours unused_for{30 * 24};  ///< files unused for longer are removed
  int64_t leave_free = int64_t{2} << 30;   ///< free bytes on the disk that a new file must leave
  /// Whether find() copies matrices instead of returning the mapped file, whose pages all processes
  /// share. For a process that needs its weights in memory near its own cores.
  bool copied = false;
  /// Receives a line for each fault, without its line end.
  std::function<void(const std::string&)> say = {};
};

/// One load of a model, by one thread. The tensors that find() returns keep the file mapped, unless
/// they are copies.
class WeightsCache : public PackedStore {
 public:
  static constexpr const char* kSuffix = ".syrinx-weights";

  explicit WeightsCache(WeightsCacheOptions options);

  Tensor find(const PackedMatrix& matrix, MakePanels make) override;
  void keep(const PackedMatrix& matrix, const View& data) override;
  /// Completes the load of the whole model: renames a new file, or marks an old file as used.
  /// Removes the files of other models that are unused for `unused_for` or exceed most_bytes.
  void finish();

  struct Header {
    char magic[16];
    char key[64];
    uint64_t matrices, table_at, table_sum, sum;  // `sum`: checksum of the fields before it
  };
  struct Entry {
    int64_t type, out, k;
    uint64_t at, bytes, sum;
  };

 private:
  void open();
  std::string fault_of(const Entry& entry, const PackedMatrix& matrix, MakePanels make) const;
  void say(const std::string& what) const;
  void begin_file();
  void append(Entry entry, const void* data);
  void make_room(int64_t bytes) const;

  WeightsCacheOptions options_;
  std::shared_ptr<const MappedFile> file_;  // the file that is read; null after an invalid matrix
  std::vector<Entry> table_;                // table of file_
  size_t next_ = 0;                         // number of valid matrices returned so far
  std::unique_ptr<NewFile> new_file_;
  std::vector<Entry> new_table_;
  bool given_up_ = false;  // true if no file will be written
  uint64_t chance_ = 0;    // selects the panels to compare
};

/// Returns 64 bits that change with any byte. Protects against damage, not against attacks.
uint64_t checksum(const void* data, size_t bytes);

/// Returns the default directory for packed weights: `weights` in $CACHE_DIRECTORY (systemd), or
/// `syrinx/weights` in $XDG_CACHE_HOME or ~/.cache. Returns "" if none of the three is known.
std::string default_weights_cache();

}  // namespace syrinx
