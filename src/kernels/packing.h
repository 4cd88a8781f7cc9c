// How a thread packs the weights of the model that it builds: on which threads, and where packed
// ones are kept for the next time. The code that loads a model opens a PackingScope; layers and
// families only pack and know nothing of it, which is why it belongs to the thread instead of being
// a parameter of every constructor between the two.
#pragma once

#include "kernels/packed_matrix.h"

namespace syrinx {

/// Writes panels [begin, end) of a matrix, the first one to `to`. Threads may call it at once, and
/// any panel gives the same bytes each time. May throw.
using MakePanels = FunctionRef<void(int64_t begin, int64_t end, uint8_t* to)>;

/// A store of packed matrices. Its calls come in the order in which a model is built, which is the
/// same each time; AbsentTensors are not packed, so there is no call for them.
class PackedStore {
 public:
  virtual ~PackedStore() = default;
  /// The data of the matrix that comes next, or an empty tensor: then keep() follows.
  /// `matrix` has all but its data; the store may call `make` to verify its own data.
  virtual Tensor find(const PackedMatrix& matrix, MakePanels make) = 0;
  virtual void keep(const PackedMatrix& matrix, const View& data) = 0;
};

/// While it lives, matrices packed by this thread use `pool` and are kept in `store`; either may be
/// null. Scopes of a thread end in the reverse order of their beginnings.
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

/// The data of a matrix that has all but that.
Tensor pack_panels(const PackedMatrix& matrix, MakePanels make);

}  // namespace syrinx
