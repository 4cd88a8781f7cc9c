// Packed weights of one model in a file, so that the next start maps them instead of packing. The
// file holds the matrices in the order in which the model is built, and a table that describes each
// of them. Nothing in it is trusted. Header and table have a checksum and must fit the file's size.
// A matrix must be the one that the model asks for and have its checksum. One of its panels,
// another one at each start, is packed anew and compared, which also detects a file of other
// weights or of another program. From the first invalid matrix on, all are packed, and a new file
// is written. A cache that cannot be used is reported through say() and is not an error.
//
// File, little-endian: header (below), matrices at multiples of 64 bytes, table. It appears under
// its name when it is complete; of two processes that write it the later one wins.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/file.h"
#include "kernels/packing.h"

namespace syrinx {

/// Where packed weights are kept, and how many bytes.
struct WeightsCacheOptions {
  std::string path;  ///< ends with WeightsCache::kSuffix; its directory is made if need be
  std::string key;   ///< identifies what the matrices depend on, at most 64 bytes; another key:
                     ///< packed anew
  /// All files with the suffix in that directory; those unused for longest go first.
  int64_t most_bytes = int64_t{64} << 30;
  int64_t leave_free = int64_t{2} << 30;  ///< bytes of the disk that a new file does not take
  /// True: find() returns memory of its own instead of the mapped file, whose pages all processes
  /// share; for a process that needs its weights in the memory of its own cores.
  bool copied = false;
  std::function<void(const std::string&)> say = {};  ///< called with each fault, a line without its
                                                     ///< end
};

/// For one load of a model by one thread. The tensors of find() keep the file mapped, unless they
/// are copied.
class WeightsCache : public PackedStore {
 public:
  static constexpr const char* kSuffix = ".syrinx-weights";

  explicit WeightsCache(WeightsCacheOptions options);

  Tensor find(const PackedMatrix& matrix, MakePanels make) override;
  void keep(const PackedMatrix& matrix, const View& data) override;
  /// After the whole model was built: a new file gets its name, or an old one counts as used.
  void finish();

  struct Header {
    char magic[16];
    char key[64];
    uint64_t matrices, table_at, table_sum, sum;  // `sum`: of what stands before it
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
  std::shared_ptr<const MappedFile> file_;  // what is read, while all was right
  std::vector<Entry> table_;                // of it
  size_t next_ = 0;                         // matrices asked for
  std::unique_ptr<NewFile> new_file_;
  std::vector<Entry> new_table_;
  bool given_up_ = false;  // nothing is written
  uint64_t chance_ = 0;    // which panels are compared
};

/// 64 bits that change with any byte; against damage, not against malice.
uint64_t checksum(const void* data, size_t bytes);

/// Where caches of packed weights lie by default: $CACHE_DIRECTORY (systemd) or syrinx in
/// $XDG_CACHE_HOME or ~/.cache, and there `weights`; "" when none of them is known.
std::string default_weights_cache();

}  // namespace syrinx
