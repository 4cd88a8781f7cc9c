// Options of a thread that packs the weights of a model: the threads to use, and a store that keeps
// packed weights for later starts. The code that loads a model creates a PackingScope. The scope
// applies to its thread. Otherwise, every constructor between that code and the layers would need
// a parameter for it.
#pragma once

#include "kernels/packed_matrix.h"

namespace syrinx {

/// Writes panels [begin, end) of a matrix, the first one to `to`. Several threads may call it at
/// once; a panel has the same bytes in every call. May throw.
using MakePanels = FunctionRef<void(int64_t begin, int64_t end, uint8_t* to)>;

/// A store of packed matrices. It is called in the order in which a model is built, which never
/// changes. AbsentTensors are not packed, so the store receives no calls for them.
class PackedStore {
 public:
  virtual ~PackedStore() = default;
  /// Returns the data of the next matrix. If it returns an empty tensor, keep() is called for the
  /// matrix. `matrix` lacks only its data. The store may call `make` to verify its data.
  virtual Tensor find(const PackedMatrix& matrix, MakePanels make) = 0;
  virtual void keep(const PackedMatrix& matrix, const View& data) = 0;
};

/// While a scope exists, this thread packs matrices with `pool` and keeps them in `store`; both may
/// be null. The scopes of a thread must be destroyed in reverse order.
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

/// Returns the data for a matrix that has everything but its data.
Tensor pack_panels(const PackedMatrix& matrix, MakePanels make);

}  // namespace syrinx
