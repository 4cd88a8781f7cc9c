// Measures one decode step by ggml, for comparison with decoder_bench: B sequences with 512 cached
// positions get one more token each; blocks, final norm and logits. The graph is ours, and as fast
// as ggml's operations allow: q, k and v in one product, gate and up in another, the query heads
// that share a key head side by side in one product over an f16 cache in its preferred order.
// ggml_step small|mid B THREADS SECONDS Prints a line for each type of weights and kind of
// attention: the fastest step in ms, by the clock and in processor time of all threads. How to
// build it: README.md beside this file.
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

struct Size {
  int layers, hidden, heads, kv_heads, head_dim, ffn, vocabulary;
};
constexpr int kContext = 512;

struct FreeContext {
  void operator()(ggml_context* c) const { ggml_free(c); }
};
struct FreeBuffer {
  void operator()(ggml_backend_buffer* b) const { ggml_backend_buffer_free(b); }
};
struct FreeGraph {
  void operator()(ggml_gallocr* a) const { ggml_gallocr_free(a); }
};
using Context = std::unique_ptr<ggml_context, FreeContext>;
using Buffer = std::unique_ptr<ggml_backend_buffer, FreeBuffer>;
using GraphMemory = std::unique_ptr<ggml_gallocr, FreeGraph>;

Context context(size_t tensors) {
  return Context(
      ggml_init({tensors * ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true}));
}

double now_ms(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

/// Times of the fastest step: by the clock, and processor time of all threads.
struct Best {
  double wall_ms = 1e9, cpu_ms = 1e9;
};

/// Returns the buffer type with the weights' order of ggml's fastest products; null if there is
/// none on this machine.
ggml_backend_buffer_type_t repacking() {
  ggml_backend_reg_t reg = ggml_backend_cpu_reg();
  auto extra = reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(
      ggml_backend_reg_get_proc_address(reg, "ggml_backend_dev_get_extra_bufts"));
  if (!extra) return nullptr;
  for (auto* type = extra(ggml_backend_reg_dev_get(reg, 0)); type && *type; ++type) {
    if (std::strstr(ggml_backend_buft_name(*type), "REPACK")) return *type;
  }
  return nullptr;
}

/// Fills a tensor with random numbers of its type.
void fill(ggml_tensor* tensor) {
  const int64_t columns = tensor->ne[0], rows = ggml_nelements(tensor) / columns;
  std::vector<float> row(static_cast<size_t>(columns));
  std::vector<uint8_t> all(ggml_nbytes(tensor));
  const size_t bytes = ggml_row_size(tensor->type, columns);
  uint32_t seed = 1;
  for (int64_t r = 0; r < rows; ++r) {
    for (float& v : row) {
      seed = seed * 1664525u + 1013904223u;
      v = static_cast<float>(static_cast<int32_t>(seed)) * 0x1p-31f * 0.1f;
    }
    uint8_t* to = all.data() + static_cast<size_t>(r) * bytes;
    if (tensor->type == GGML_TYPE_F32) {
      std::memcpy(to, row.data(), bytes);
    } else {
      ggml_quantize_chunk(tensor->type, row.data(), to, 0, 1, columns, nullptr);
    }
  }
  ggml_backend_tensor_set(tensor, all.data(), 0, all.size());
}

struct Block {
  ggml_tensor *norm, *mlp_norm, *qkv, *o, *gate_up, *down, *k, *v;
};

class Model {
 public:
  Model(const Size& size, ggml_type type, ggml_backend_buffer_type_t where, int b, bool flash)
      : size_(size), b_(b), flash_(flash), matrices_(context(500)), others_(context(500)) {
    const Size& s = size_;
    const int q = s.heads * s.head_dim, kv = s.kv_heads * s.head_dim;
    const auto matrix = [&](int in, int out) {
      return ggml_new_tensor_2d(matrices_.get(), type, in, out);
    };
    const auto vector = [&](int n) { return ggml_new_tensor_1d(others_.get(), GGML_TYPE_F32, n); };
    const auto cache = [&](int a, int c) {
      return ggml_new_tensor_4d(others_.get(), GGML_TYPE_F16, a, c, s.kv_heads, b);
    };
    for (int i = 0; i < s.layers; ++i) {
      blocks_.push_back({vector(s.hidden), vector(s.hidden), matrix(s.hidden, q + 2 * kv),
                         matrix(q, s.hidden), matrix(s.hidden, 2 * s.ffn), matrix(s.ffn, s.hidden),
                         cache(s.head_dim, kContext),
                         flash ? cache(s.head_dim, kContext) : cache(kContext, s.head_dim)});
    }
    norm_ = vector(s.hidden);
    head_ = matrix(s.hidden, s.vocabulary);
    x_ = ggml_new_tensor_2d(others_.get(), GGML_TYPE_F32, s.hidden, b);
    positions_ = ggml_new_tensor_1d(others_.get(), GGML_TYPE_I32, b);
    ggml_backend_buffer_type_t plain = ggml_backend_cpu_buffer_type();
    buffers_.emplace_back(
        ggml_backend_alloc_ctx_tensors_from_buft(matrices_.get(), where ? where : plain));
    buffers_.emplace_back(ggml_backend_alloc_ctx_tensors_from_buft(others_.get(), plain));
    for (ggml_context* c : {matrices_.get(), others_.get()}) {
      for (ggml_tensor* t = ggml_get_first_tensor(c); t; t = ggml_get_next_tensor(c, t)) {
        if (t != positions_) fill(t);
      }
    }
    const std::vector<int32_t> last(static_cast<size_t>(b), kContext - 1);
    ggml_backend_tensor_set(positions_, last.data(), 0, last.size() * sizeof(int32_t));
  }

  ggml_cgraph* graph(ggml_context* c) const {
    ggml_cgraph* g = ggml_new_graph_custom(c, 4096, false);
    ggml_tensor* x = x_;
    for (const Block& block : blocks_) {
      x = ggml_add(c, x, ggml_mul_mat(c, block.o, attend(c, g, block, norm(c, x, block.norm))));
      ggml_tensor* both = ggml_mul_mat(c, block.gate_up, norm(c, x, block.mlp_norm));
      x = ggml_add(c, x, ggml_mul_mat(c, block.down, ggml_swiglu(c, both)));
    }
    ggml_build_forward_expand(g, ggml_mul_mat(c, head_, norm(c, x, norm_)));
    return g;
  }

 private:
  static ggml_tensor* norm(ggml_context* c, ggml_tensor* x, ggml_tensor* weight) {
    return ggml_mul(c, ggml_rms_norm(c, x, 1e-6f), weight);
  }
  /// Computes attention, [hidden, B] -> [heads * head_dim, B]; writes the new keys and values to
  /// the end of the cache.
  ggml_tensor* attend(ggml_context* c, ggml_cgraph* g, const Block& block, ggml_tensor* x) const {
    const Size& s = size_;
    const int d = s.head_dim, group = s.heads / s.kv_heads;
    ggml_tensor* qkv = ggml_mul_mat(c, block.qkv, x);
    const auto part = [&](int first, int heads) {
      return ggml_view_3d(c, qkv, d, heads, b_, size_t(d) * 4, qkv->nb[1], size_t(first) * d * 4);
    };
    const auto turned = [&](ggml_tensor* t) {
      return ggml_rope_ext(c, t, positions_, nullptr, d, GGML_ROPE_TYPE_NEOX, 0, 10000, 1, 0, 1, 32,
                           1);
    };
    ggml_tensor* q = turned(part(0, s.heads));
    ggml_tensor* k = turned(part(s.heads, s.kv_heads));
    ggml_tensor* v = part(s.heads + s.kv_heads, s.kv_heads);
    const auto store = [&](ggml_tensor* from, ggml_tensor* to, bool across) {
      const size_t at = across ? (kContext - 1) * to->nb[0] : (kContext - 1) * to->nb[1];
      ggml_tensor* place =
          across ? ggml_view_4d(c, to, 1, d, s.kv_heads, b_, to->nb[1], to->nb[2], to->nb[3], at)
                 : ggml_view_4d(c, to, d, 1, s.kv_heads, b_, to->nb[1], to->nb[2], to->nb[3], at);
      ggml_tensor* rows = across ? ggml_reshape_4d(c, ggml_cont(c, from), 1, d, s.kv_heads, b_)
                                 : ggml_reshape_4d(c, ggml_cont(c, from), d, 1, s.kv_heads, b_);
      ggml_build_forward_expand(g, ggml_cpy(c, rows, place));
    };
    store(k, block.k, false);
    store(v, block.v, !flash_);
    q = ggml_reshape_4d(c, q, d, group, s.kv_heads, b_);
    const float scale = 1 / std::sqrt(static_cast<float>(d));
    if (flash_) {
      ggml_tensor* out = ggml_flash_attn_ext(c, q, block.k, block.v, nullptr, scale, 0, 0);
      // [d, kv_heads, group, B] is permuted back before o.
      if (group > 1) out = ggml_cont(c, ggml_permute(c, out, 0, 2, 1, 3));
      return ggml_reshape_2d(c, out, int64_t{d} * s.heads, b_);
    }
    ggml_tensor* chances = ggml_soft_max_ext(c, ggml_mul_mat(c, block.k, q), nullptr, scale, 0);
    return ggml_reshape_2d(c, ggml_mul_mat(c, block.v, chances), int64_t{d} * s.heads, b_);
  }

  Size size_;
  int b_;
  bool flash_;
  Context matrices_, others_;
  std::vector<Buffer> buffers_;
  std::vector<Block> blocks_;
  ggml_tensor *norm_, *head_, *x_, *positions_;
};

Best best_step(const Model& model, ggml_backend_t backend, double seconds) {
  Context c(ggml_init({size_t{16} << 20, nullptr, true}));
  ggml_cgraph* graph = model.graph(c.get());
  const GraphMemory memory(ggml_gallocr_new(ggml_backend_get_default_buffer_type(backend)));
  ggml_gallocr_alloc_graph(memory.get(), graph);
  Best best;
  const double end = now_ms(CLOCK_MONOTONIC) + 1e3 * seconds;
  for (int i = 0; i < 3 || now_ms(CLOCK_MONOTONIC) < end; ++i) {
    const double wall = now_ms(CLOCK_MONOTONIC), cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID);
    ggml_backend_graph_compute(backend, graph);
    best.cpu_ms = std::min(best.cpu_ms, now_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    best.wall_ms = std::min(best.wall_ms, now_ms(CLOCK_MONOTONIC) - wall);
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return std::fprintf(stderr, "ggml_step small|mid B THREADS SECONDS\n"), 2;
  const std::string name = argv[1];
  const Size size =
      name == "small" ? Size{6, 384, 6, 6, 64, 1024, 4096} : Size{16, 1024, 16, 8, 64, 3072, 30000};
  const int b = std::atoi(argv[2]), threads = std::atoi(argv[3]);
  ggml_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  ggml_backend_t backend = ggml_backend_cpu_init();
  ggml_backend_cpu_set_n_threads(backend, threads);
  struct Kind {
    const char* name;
    ggml_type type;
    ggml_backend_buffer_type_t where;
  };
  // Q8_0 is repacked on ARM only.
  const std::vector<Kind> kinds = {{"Q4_0 repacked", GGML_TYPE_Q4_0, repacking()},
                                   {"Q4_0", GGML_TYPE_Q4_0, nullptr},
                                   {"Q8_0", GGML_TYPE_Q8_0, nullptr},
                                   {"F16", GGML_TYPE_F16, nullptr}};
  for (const Kind& kind : kinds) {
    for (const bool flash : {false, true}) {
      const Model model(size, kind.type, kind.where, b, flash);
      const Best best = best_step(model, backend, std::atof(argv[4]));
      std::printf("%s B=%d threads=%d %s %s: %.3f ms, %.3f of processors\n", name.c_str(), b,
                  threads, kind.name, flash ? "flash" : "plain", best.wall_ms, best.cpu_ms);
      std::fflush(stdout);
    }
  }
  ggml_backend_free(backend);
}
