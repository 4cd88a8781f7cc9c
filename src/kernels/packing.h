// Options of a thread that packs the weights of a model: the threads to use, and a store of packed
// weights for later starts. The code that loads a model creates a PackingScope; layers and families
// only pack and do not know of it. Therefore the scope belongs to the thread instead of being a
// parameter of every constructor in between.
#pragma once

#include "kernels/packed_matrix.h"

namespace syrinx {

/// Writes panels [begin, end) of a matrix, the first one to `to`. Several threads may call it at
/// once; a panel has the same bytes each time. May throw.
using MakePanels = FunctionRef<void(int64_t begin, int64_t end, uint8_t* to)>;

/// A store of packed matrices. Its calls come in the order in which a model is built, which is the
/// same each time. AbsentTensors are not packed, so the store is not called for them.
class PackedStore {
 public:
  virtual ~PackedStore() = default;
  /// Returns the data of the next matrix, or an empty tensor; keep() is then called for the matrix.
  /// `matrix` lacks only its data; the store may call `make` to verify its own data.
  virtual Tensor find(const PackedMatrix& matrix, MakePanels make) = 0;
  virtual void keep(const PackedMatrix& matrix, const View& data) = 0;
};

/// While a scope exists, this thread packs matrices with `pool` and keeps them in `store`; either
/// may be null. Scopes of a thread are destroyed in reverse order.
class PackingScope {
 public:
  PackingScope(ThreadPool* pool, PackedStore* store);
  ~PackingScope();
  PackingScope(const PackingScope&) = delete;
  PackingScope& operator=(const PackingScope&) = delete;

 private:
  friend Tensor pack_panels(const PackedMatrix& matrix, MakePanels make);
  ThreadPool* pool_;
  PackedStore* store_;
  PackingScope* outer_;
};

/// Returns the data of a matrix that lacks only its data.
Tensor pack_panels(const PackedMatrix& matrix, MakePanels make);

}  // namespace syrinx
