#include "kernels/packing.h"

#include <exception>
#include <mutex>

#include "base/memory.h"
#include "tensor/absent.h"

namespace syrinx {
namespace {

thread_local PackingScope* innermost_scope = nullptr;

void make_all(const PackedMatrix& matrix, MakePanels make, ThreadPool* pool, uint8_t* to) {
  if (!pool) return make(0, matrix.panels(), to);
  std::mutex mutex;
  std::exception_ptr thrown;
  pool->parallel_for(matrix.panels(), 1, [&](int64_t begin, int64_t end) {
    try {
      make(begin, end, to + begin * matrix.panel_bytes());
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!thrown) thrown = std::current_exception();
    }
  });
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace

PackingScope::PackingScope(ThreadPool* pool, PackedStore* store)
    : pool_(pool), store_(store), outer_(innermost_scope) {
  innermost_scope = this;
}

PackingScope::~PackingScope() { innermost_scope = outer_; }

Tensor pack_panels(const PackedMatrix& matrix, MakePanels make) {
  const int64_t bytes = matrix.panels() * matrix.panel_bytes();
  if (AbsentTensors::here()) return Tensor(Shape{bytes}, DType::kU8);
  const PackingScope* scope = innermost_scope;
  PackedStore* store = scope ? scope->store_ : nullptr;
  if (store) {
    Tensor found = store->find(matrix, make);
    if (!found.empty()) return found;
  }
  expect_memory(bytes);
  Tensor data(Shape{bytes}, DType::kU8);
  make_all(matrix, make, scope ? scope->pool_ : nullptr, static_cast<uint8_t*>(data.view().data));
  if (store) store->keep(matrix, data);
  return data;
}

}  // namespace syrinx
