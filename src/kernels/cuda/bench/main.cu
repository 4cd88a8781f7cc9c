// Times the kernels at the shapes of real models against the ceilings of the same machine:
//   gpu_bench [OUT.jsonl [PART...]]
// The parts are ceilings launches steps prompts products attention prefill sample conv experts;
// without PART, all run in this order. A share is a kernel's ideal time divided by its real time.
// The ideal time is the time to copy the kernel's bytes (weights or cache once, activations in and
// out) at the measured bandwidth. Launches are replayed from a graph, over enough copies of the
// weights to exceed the cache. Results are medians of 9 replays. OUT.jsonl gets one JSON object a
// line, so an interrupted run keeps its results.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "kernels/attention.h"
#include "kernels/cuda/bench/launches.h"
#include "kernels/cuda/bench/library_product.h"
#include "kernels/cuda/bench/report.h"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/matrix_layout.h"
#include "kernels/cuda/products.h"
#include "kernels/cuda/sample_call.h"
#include "kernels/experts.h"
#include "kernels/norm.h"
#include "kernels/qkv.h"

namespace syrinx::cuda {
namespace {

constexpr int kBatches[] = {1, 8, 16, 32, 64, 128};
constexpr int kContext = 500;

struct Model {
  const char* name;
  int hidden, layers, heads, kv_heads, dim, ffn, vocabulary;
};
constexpr Model kModels[] = {
    {"qwen3-tts-1.7b", 2048, 28, 16, 8, 128, 6144, 3072},
    {"qwen3-predictor", 1024, 5, 16, 8, 128, 3072, 2048},
    {"qwen3-tts-0.6b", 1024, 28, 16, 8, 128, 3072, 3072},
    {"orpheus-3b", 3072, 28, 24, 8, 128, 8192, 156940},
    {"csm-1b", 2048, 16, 32, 8, 64, 8192, 2051},
};

/// Writes pseudo-random numbers: bf16 or f32 between -0.05 and 0.05, or any bytes.
struct Fill {
  void* to;
  DType dtype;
  __device__ void operator()(int64_t i) const {
    uint32_t h = static_cast<uint32_t>(i) * 2654435761u ^ static_cast<uint32_t>(i >> 32);
    h ^= h >> 15;
    h *= 2246822519u;
    h ^= h >> 13;
    const float x = (static_cast<float>(h >> 8) * 0x1p-24f - 0.5f) * 0.1f;
    if (dtype == DType::kF32) {
      static_cast<float*>(to)[i] = x;
    } else if (dtype == DType::kU8) {
      static_cast<uint8_t*>(to)[i] = static_cast<uint8_t>(h >> 16);
    } else {
      static_cast<uint16_t*>(to)[i] = gpu::float_to_bf16(x);
    }
  }
};

struct Machine {
  ThreadPool pool{1};
  Arena arena{Device::kCuda};
  std::unique_ptr<Stream> stream = Stream::create(Device::kCuda);
  Arena host;
  StepContext ctx{pool, arena, host, *stream};
  LibraryProduct library;
  double copy_bytes_s = 0, gemm_flops = 0;

  cudaStream_t native() const { return static_cast<cudaStream_t>(stream->native()); }
  Tensor random(Shape shape, DType dtype) {
    Tensor t(shape, dtype, Device::kCuda);
    for_each(ctx, "fill", t.view().count(), Fill{t.view().data, dtype});
    return t;
  }
};

/// Returns the seconds of one call of `work`: the median over 9 replays of a graph that contains
/// `inside` calls. Three replays before them are not counted.
double time_of(Machine& m, int inside, const std::function<void(int)>& work) {
  work(0);  // creates handles, plans and the arena's memory before the capture
  m.stream->synchronize();
  m.arena.reset();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t run = nullptr;
  check(cudaStreamBeginCapture(m.native(), cudaStreamCaptureModeThreadLocal), "capture");
  try {
    for (int i = 0; i < inside; ++i) {
      const Arena::Mark mark(m.arena);
      work(i);
    }
  } catch (...) {  // otherwise the open capture of the stream would make all later calls fail
    cudaStreamEndCapture(m.native(), &graph);
    cudaGraphDestroy(graph);
    throw;
  }
  check(cudaStreamEndCapture(m.native(), &graph), "end of capture");
  check(cudaGraphInstantiate(&run, graph, 0), "graph");
  cudaEvent_t begin = nullptr, end = nullptr;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  std::vector<double> seconds;
  for (int i = 0; i < 12; ++i) {
    check(cudaEventRecord(begin, m.native()), "record");
    check(cudaGraphLaunch(run, m.native()), "replay");
    check(cudaEventRecord(end, m.native()), "record");
    check(cudaEventSynchronize(end), "replay");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end), "elapsed");
    if (i >= 3) seconds.push_back(ms * 1e-3 / inside);
  }
  cudaEventDestroy(end);
  cudaEventDestroy(begin);
  cudaGraphExecDestroy(run);
  cudaGraphDestroy(graph);
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

/// Makes a matrix directly on the device.
PackedMatrix random_matrix(Machine& m, int64_t out, int64_t k, WeightType type) {
  PackedMatrix w;
  w.type = type;
  w.out = out;
  w.k = k;
  const int64_t rows = w.panels() * PackedMatrix::kPanel, stride = matrix_padded_k(k);
  if (type == WeightType::kQ8) {
    w.data = m.random({rows * stride + 2 * rows * (stride / kChunk)}, DType::kU8);
    // Scales are read as bf16; random bytes would include NaN.
    View scales{static_cast<char*>(w.data.view().data) + rows * stride,
                DType::kBF16,
                {rows * (stride / kChunk)},
                Device::kCuda};
    for_each(m.ctx, "fill", scales.count(), Fill{scales.data, DType::kBF16});
  } else {
    w.data = m.random({rows * stride}, type == WeightType::kBF16 ? DType::kBF16 : DType::kF32);
  }
  return w;
}

GemmOut to_one(const View& out, int64_t width, GemmOut::Store store = GemmOut::Store::kSet) {
  GemmOut to;
  to.count = 1;
  to.parts[0] = {0, static_cast<int>(width), out.f32(), out.shape[1], 0};
  to.store = store;
  return to;
}

double floor_of(const Machine& m, double bytes) { return bytes / m.copy_bytes_s; }

void ceilings(Machine& m, Report& report) {
  cudaDeviceProp prop{};
  check(cudaGetDeviceProperties(&prop, 0), "properties");
  constexpr int64_t kBytes = int64_t{2} << 30;
  const Tensor from = m.random({kBytes}, DType::kU8), to({kBytes}, DType::kU8, Device::kCuda);
  cudaEvent_t begin = nullptr, end = nullptr;  // not in a graph, because its copies are slower
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  float ms = 0;
  for (int i = 0; i < 3; ++i) {  // only the last result is used
    check(cudaEventRecord(begin, m.native()), "record");
    check(cudaMemcpyAsync(to.view().data, from.view().data, kBytes, cudaMemcpyDeviceToDevice,
                          m.native()),
          "copy");
    check(cudaEventRecord(end, m.native()), "record");
    check(cudaEventSynchronize(end), "copy");
    check(cudaEventElapsedTime(&ms, begin, end), "elapsed");
  }
  cudaEventDestroy(end);
  cudaEventDestroy(begin);
  const double copy = ms * 1e-3;
  m.copy_bytes_s = 2.0 * kBytes / copy;
  constexpr int64_t kSide = 8192;
  const PackedMatrix w = random_matrix(m, kSide, kSide, WeightType::kBF16);
  const Tensor x = m.random({kSide, kSide}, DType::kBF16);
  const Tensor out({kSide, kSide}, DType::kF32, Device::kCuda);
  const double gemm = time_of(m, 2, [&](int) {
    m.library.queue(m.native(), w.data.view().data, kSide, kSide, x.view().data, kSide, out.f32());
  });
  m.gemm_flops = 2.0 * kSide * kSide * kSide / gemm;
  report.machine(prop.name, m.copy_bytes_s, m.gemm_flops);
}

void bench_linear(Machine& m, Report& report, const Model& model, const char* what, int64_t out,
                  int64_t in, bool gated, WeightType type) {
  const int64_t rows = gated ? 2 * out : out;
  const double bytes = static_cast<double>(rows) * in * (type == WeightType::kQ8 ? 1.03 : 2);
  const int copies = std::clamp(static_cast<int>(256e6 / bytes), 1, 24);
  std::vector<PackedMatrix> weights;
  for (int i = 0; i < copies; ++i) weights.push_back(random_matrix(m, rows, in, type));
  const std::string name = std::string(what) + " " + weight_type_name(type);
  for (const int batch : kBatches) {
    const Tensor x = m.random({batch, in}, DType::kF32);
    const Tensor to({batch, out}, DType::kF32, Device::kCuda);
    const GemmOut put = to_one(to, out, gated ? GemmOut::Store::kSiluGate : GemmOut::Store::kSet);
    const double moved = bytes + 4.0 * batch * (in + out);
    const double flops = 2.0 * batch * rows * in;
    const double floor = std::max(floor_of(m, moved), flops / m.gemm_flops);
    report.row(
        model.name, name, batch,
        time_of(m, std::max(copies, 8), [&](int i) { linear(m.ctx, weights[i % copies], x, put); }),
        floor);
    if (type != WeightType::kBF16) continue;
    const Tensor rounded = m.random({batch, matrix_padded_k(in)}, DType::kBF16);
    const Tensor sums({batch, rows}, DType::kF32, Device::kCuda);
    report.row(model.name, name + " lib", batch,
               time_of(m, std::max(copies, 8),
                       [&](int i) {
                         m.library.queue(m.native(), weights[i % copies].data.view().data, rows,
                                         matrix_padded_k(in), rounded.view().data, batch,
                                         sums.f32());
                       }),
               floor);
  }
}

/// Runs `work` with an environment variable that selects kernels, if `value` is not empty.
template <typename F>
void with(const char* variable, const char* value, const F& work) {
  if (*value != 0) setenv(variable, value, 1);
  work();
  unsetenv(variable);
}

/// Measures a product with the rows of prompts: the kernel for small batches, and both tiles of the
/// kernel for many rows.
void bench_many_rows(Machine& m, Report& report, const Model& model, const char* what, int64_t out,
                     int64_t in, bool gated, WeightType type) {
  const int64_t matrix_rows = gated ? 2 * out : out;
  const PackedMatrix w = random_matrix(m, matrix_rows, in, type);
  for (const int rows : {96, 256, 1024, 2048}) {
    const Tensor x = m.random({rows, matrix_padded_k(in)}, DType::kBF16);
    const Tensor to({rows, out}, DType::kF32, Device::kCuda);
    const GemmOut put = to_one(to, out, gated ? GemmOut::Store::kSiluGate : GemmOut::Store::kSet);
    const double flops = 2.0 * rows * matrix_rows * in;
    const double bytes = static_cast<double>(w.data.bytes()) + rows * (2.0 * in + 4.0 * out);
    const double floor = std::max(floor_of(m, bytes), flops / m.gemm_flops);
    for (const char* products : {"narrow", "small", "large"}) {
      const std::string name = std::string(what) + " " + weight_type_name(type) + " " + products;
      with("SYRINX_GPU_PRODUCTS", products, [&] {
        report.row(model.name, name, rows, time_of(m, 4, [&](int) { linear(m.ctx, w, x, put); }),
                   floor);
      });
    }
  }
}

/// A batch of sequences of kContext positions, each with one new row, and their cache.
struct Cache {
  Cache(Machine& m, const Model& model, DType dtype, int layers, int batch)
      : spec{layers, model.kv_heads, model.dim, dtype},
        pages_each(static_cast<int>(KvPool::pages_for(kContext))),
        memory(m.random({static_cast<int64_t>(KvPool::page_bytes(spec)) * pages_each * batch / 2},
                        DType::kBF16)),
        pool(spec, int64_t{pages_each} * batch, memory) {
    // The bytes are small numbers when read as bf16, as f16 or as int8 with scales.
    for (int b = 0; b <= batch; ++b) begin.push_back(b);
    length.assign(batch, kContext);
    for (int p = 0; p < pages_each * batch; ++p) table.push_back(p);
    ragged = Ragged{begin, length, table, pages_each};
    numbers = Tensor({static_cast<int64_t>(begin.size() + length.size() + table.size())},
                     DType::kI32, Device::kCuda);
    std::vector<int32_t> all(begin);
    all.insert(all.end(), length.begin(), length.end());
    all.insert(all.end(), table.begin(), table.end());
    device_copy({all.data(), DType::kI32, numbers.shape()}, numbers);
    ragged.on_device = numbers.i32();
  }
  double bytes_read() const {
    return static_cast<double>(KvPool::page_bytes(spec)) / spec.layers * kContext /
           KvPool::kPageRows * length.size();
  }

  KvSpec spec;
  int pages_each;
  Tensor memory;
  KvPool pool;
  std::vector<int32_t> begin, length, table;
  Tensor numbers;
  Ragged ragged;
};

void bench_attention(Machine& m, Report& report, const Model& model, DType dtype) {
  for (const int batch : kBatches) {
    const int layers = std::clamp(128 / batch, 2, 16);
    const Cache cache(m, model, dtype, layers, batch);
    const int64_t q_width = int64_t{model.heads} * model.dim;
    const int64_t kv_width = int64_t{model.kv_heads} * model.dim;
    const Tensor qkv = m.random({batch, q_width + 2 * kv_width}, DType::kF32);
    const Tensor out({batch, q_width}, DType::kF32, Device::kCuda);
    const AttentionSpec spec{0.1f};
    const double floor =
        floor_of(m, cache.bytes_read() + 4.0 * batch * (2 * q_width + 2 * kv_width));
    for (const char* cores : {"", "f32"}) {
      if (*cores != 0 && dtype == DType::kI8) continue;  // never on tensor cores
      with("SYRINX_GPU_ATTENTION", cores, [&] {
        const double s = time_of(m, 2 * layers, [&](int i) {
          write_and_attend(m.ctx, {qkv, 0, model.heads, model.dim},
                           {qkv, q_width, model.kv_heads, model.dim},
                           {qkv, q_width + kv_width, model.kv_heads, model.dim}, cache.pool,
                           i % layers, cache.ragged, spec, out);
        });
        report.row(model.name, concat("attention ", dtype_name(dtype), *cores != 0 ? " plain" : ""),
                   batch, s, floor);
      });
    }
  }
}

/// Measures attention over prompts: one sequence of several lengths, and 64 sequences of 30 rows.
void bench_prefill(Machine& m, Report& report, const Model& model) {
  struct Case {
    int sequences, rows;
  };
  for (const Case& c : {Case{1, 32}, Case{1, 128}, Case{1, 500}, Case{64, 30}}) {
    const Cache cache(m, model, DType::kF16, 1, c.sequences);
    std::vector<int32_t> begin;
    for (int b = 0; b <= c.sequences; ++b) begin.push_back(b * c.rows);
    const std::vector<int32_t> length(static_cast<size_t>(c.sequences), c.rows);
    const Ragged ragged{begin, length, cache.table, cache.pages_each};
    const int rows = c.sequences * c.rows;
    const int64_t q_width = int64_t{model.heads} * model.dim;
    const Tensor q = m.random({rows, q_width}, DType::kF32);
    const Tensor out({rows, q_width}, DType::kF32, Device::kCuda);
    const double flops = 2.0 * rows * c.rows * q_width;  // two products over half of the square
    const double floor = std::max(flops / m.gemm_flops, floor_of(m, 8.0 * rows * q_width));
    for (const char* cores : {"", "f32"}) {
      with("SYRINX_GPU_ATTENTION", cores, [&] {
        const double s = time_of(m, 4, [&](int) {
          syrinx::paged_attention(m.ctx, all_heads(q, model.heads), cache.pool, 0, ragged, {0.1f},
                                  out);
        });
        report.row(model.name,
                   concat("prefill ", c.sequences, " x ", c.rows, *cores != 0 ? " plain" : ""),
                   rows, s, floor);
      });
    }
  }
}

void bench_sample(Machine& m, Report& report, const Model& model) {
  for (const int batch : kBatches) {
    const Tensor logits = m.random({batch, model.vocabulary}, DType::kF32);
    scale(m.ctx, logits, 200);  // logits between -10 and 10
    std::vector<DeviceSampleRow> rows(static_cast<size_t>(batch));
    for (int i = 0; i < batch; ++i) {
      rows[i].params.temperature = 0.9f;
      rows[i].params.top_k = 50;
      rows[i].seed = static_cast<uint64_t>(i);
      rows[i].range_count = 1;
    }
    const IdRange whole{0, static_cast<int32_t>(model.vocabulary)};
    Tensor ranges({static_cast<int64_t>(sizeof(whole))}, DType::kU8, Device::kCuda);
    device_copy({const_cast<IdRange*>(&whole), DType::kU8, ranges.shape()}, ranges);
    const auto bytes = static_cast<int64_t>(rows.size() * sizeof(DeviceSampleRow));
    Tensor on_device({bytes}, DType::kU8, Device::kCuda);
    device_copy({rows.data(), DType::kU8, {bytes}}, on_device);
    const Tensor ids({batch}, DType::kI32, Device::kCuda),
        status({batch}, DType::kI32, Device::kCuda);
    const Tensor work({batch, model.vocabulary}, DType::kF32, Device::kCuda);
    SampleCall call;
    call.logits = logits.f32();
    call.vocabulary = model.vocabulary;
    call.rows = static_cast<const DeviceSampleRow*>(on_device.view().data);
    call.ranges = static_cast<const IdRange*>(ranges.view().data);
    if (model.vocabulary > kSharedVocabulary) call.work = work.f32();
    call.ids = ids.i32();
    call.status = status.view().i32();
    const double s = time_of(m, 16, [&](int) { launch_sample(m.ctx, call, batch); });
    report.row(model.name, "sample top-k 50", batch, s,
               floor_of(m, 4.0 * batch * model.vocabulary));
  }
}

/// Measures a whole decode step of the backbone, in which every layer has its own weights.
void bench_step(Machine& m, Report& report, const Model& model, WeightType type) {
  const int64_t q_width = int64_t{model.heads} * model.dim;
  const int64_t kv_width = int64_t{model.kv_heads} * model.dim;
  const int64_t qkv_width = q_width + 2 * kv_width;
  struct Layer {
    PackedMatrix qkv, o, up, down;
  };
  std::vector<Layer> layers;
  double bytes = 0;
  for (int i = 0; i < model.layers; ++i) {
    layers.push_back({random_matrix(m, qkv_width, model.hidden, type),
                      random_matrix(m, model.hidden, q_width, type),
                      random_matrix(m, 2 * int64_t{model.ffn}, model.hidden, type),
                      random_matrix(m, model.hidden, model.ffn, type)});
    const Layer& l = layers.back();
    bytes += static_cast<double>(l.qkv.data.bytes() + l.o.data.bytes() + l.up.data.bytes() +
                                 l.down.data.bytes());
  }
  const PackedMatrix head = random_matrix(m, model.vocabulary, model.hidden, type);
  bytes += static_cast<double>(head.data.bytes());
  const Tensor norm = m.random({model.hidden}, DType::kF32);
  const RopeTable rope_table = RopeTable({model.dim, 1e6}, kContext + 1).on_device(Device::kCuda);
  for (const int batch : kBatches) {
    const Cache cache(m, model, DType::kF16, model.layers, batch);
    const Tensor x = m.random({batch, model.hidden}, DType::kF32);
    const Tensor normed({batch, model.hidden}, DType::kF32, Device::kCuda);
    const Tensor qkv({batch, qkv_width}, DType::kF32, Device::kCuda);
    const Tensor mixed({batch, q_width}, DType::kF32, Device::kCuda);
    const Tensor inner({batch, model.ffn}, DType::kF32, Device::kCuda);
    const Tensor logits({batch, model.vocabulary}, DType::kF32, Device::kCuda);
    const auto add = GemmOut::Store::kAdd;
    const auto after_norm = [&](const PackedMatrix& w, const GemmOut& out) {
      if (norms_in_product(batch, model.hidden))
        return linear(m.ctx, w, x, out, {norm.f32(), 1e-6f});
      syrinx::rms_norm(m.ctx, x, norm, 1e-6f, normed);
      linear(m.ctx, w, normed, out);
    };
    const double s = time_of(m, 1, [&](int) {
      for (int i = 0; i < model.layers; ++i) {
        const Layer& l = layers[i];
        after_norm(l.qkv, to_one(qkv, qkv_width));
        Qkv heads{qkv, model.heads, model.kv_heads, model.dim};
        heads.rope = &rope_table;
        syrinx::attend_qkv(m.ctx, heads, cache.pool, i, cache.ragged, {0.1f}, mixed);
        linear(m.ctx, l.o, mixed, to_one(x, model.hidden, add));
        after_norm(l.up, to_one(inner, model.ffn, GemmOut::Store::kSiluGate));
        linear(m.ctx, l.down, inner, to_one(x, model.hidden, add));
      }
      after_norm(head, to_one(logits, model.vocabulary));
    });
    report.row(model.name, std::string("decode step ") + weight_type_name(type), batch, s,
               floor_of(m, bytes + cache.bytes_read() * model.layers));
  }
}

void bench_conv(Machine& m, Report& report) {
  struct Case {
    int channels, rows;
  };
  // One second of 24 kHz audio at the stages of a decoder like SNAC's; taps: 7.
  for (const Case& c : {Case{512, 375}, Case{256, 3000}, Case{128, 12000}, Case{64, 24000}}) {
    Tensor weight({c.channels, c.channels, 7}, DType::kF32);
    for (int64_t i = 0; i < weight.view().count(); ++i)
      weight.f32()[i] = static_cast<float>(i * 37 % 1000) * 1e-4f - 0.05f;
    const Tensor x = m.random({c.rows + 6, c.channels}, DType::kF32);
    const Tensor out({c.rows, c.channels}, DType::kF32, Device::kCuda);
    const double flops = 2.0 * c.rows * c.channels * c.channels * 7;
    for (const WeightType type : {WeightType::kF32, WeightType::kBF16}) {
      const PackedConv1d w = PackedConv1d::pack(weight, {}, 1, type).on_device(Device::kCuda);
      const double s = time_of(m, 8, [&](int) { syrinx::conv1d(m.ctx, w, x, out); });
      // The limit for f32 without tensor cores is 67 TFLOP/s (datasheet of an H200).
      report.row("codec", concat("conv k7 c", c.channels, " ", weight_type_name(type)), 1, s,
                 flops / (type == WeightType::kF32 ? 67e12 : m.gemm_flops));
    }
  }
}

/// Measures the experts of a layer of Qwen3-Omni's thinker and talker. The ideal time reads the
/// experts that rows choose independently of each other.
void bench_experts(Machine& m, Report& report) {
  struct Case {
    const char* name;
    int hidden, inner, top;
  };
  constexpr int kExperts = 128, kCalls = 8;
  for (const Case& c : {Case{"omni-thinker", 2048, 768, 8}, Case{"omni-talker", 1024, 384, 6}}) {
    Tensor up({c.inner, c.hidden}, DType::kF32), down({c.hidden, c.inner}, DType::kF32);
    for (int64_t i = 0; i < up.view().count(); ++i)
      up.f32()[i] = down.f32()[i] = static_cast<float>(i * 37 % 1000) * 1e-4f - 0.05f;
    for (const WeightType type : {WeightType::kBF16, WeightType::kQ8}) {
      const PackedLinear first = PackedLinear::pack_gated({up}, {up}, type);
      const PackedLinear second = PackedLinear::pack(down, type);
      std::vector<PackedLinear> ups, downs;
      for (int e = 0; e < kExperts; ++e) {
        ups.push_back(first.on_device(Device::kCuda));
        downs.push_back(second.on_device(Device::kCuda));
      }
      std::vector<const PackedLinear*> up_of, down_of;
      for (int e = 0; e < kExperts; ++e) up_of.push_back(&ups[e]), down_of.push_back(&downs[e]);
      const ExpertTable table(up_of, down_of);
      for (const int batch : kBatches) {
        const Tensor x = m.random({batch, c.hidden}, DType::kF32);
        const Tensor logits = m.random({int64_t{kCalls} * batch, kExperts}, DType::kF32);
        const Tensor out = m.random({batch, c.hidden}, DType::kF32);
        const double s = time_of(m, kCalls, [&](int i) {
          const View own = logits.view().slice(int64_t{i} * batch, int64_t{i + 1} * batch);
          syrinx::add_experts(m.ctx, table, x, own, c.top, true, out);
        });
        const double unused = std::pow(1 - static_cast<double>(c.top) / kExperts, batch);
        report.row(c.name, concat("experts ", weight_type_name(type)), batch, s,
                   floor_of(m, (1 - unused) * static_cast<double>(kExperts) *
                                   static_cast<double>(first.bytes() + second.bytes())));
      }
    }
  }
}

void attempt(Report& report, const std::string& what, const std::function<void()>& part) {
  try {
    part();
  } catch (const std::exception& e) {
    report.failure(what, e.what());
    cudaGetLastError();
  }
}

int run(int count, char** arguments) {
  if (const std::string why = device_missing(Device::kCuda); !why.empty()) {
    std::printf("%s\n", why.c_str());
    return 77;
  }
  const std::vector<std::string> parts(arguments + std::min(count, 2), arguments + count);
  const auto wanted = [&](const char* part) {
    return parts.empty() || std::find(parts.begin(), parts.end(), part) != parts.end();
  };
  Machine m;
  Report report(count > 1 ? arguments[1] : nullptr);
  ceilings(m, report);  // every share divides by a ceiling
  if (wanted("launches")) attempt(report, "launches", [&] { bench_launches(report.file()); });
  const auto each = [&](const char* part, const std::function<void(const Model&)>& work) {
    if (!wanted(part)) return;
    for (const Model& model : kModels) {
      attempt(report, concat(part, " of ", model.name), [&] { work(model); });
    }
  };
  constexpr WeightType kTypes[] = {WeightType::kBF16, WeightType::kQ8};
  each("steps", [&](const Model& model) {
    for (const WeightType type : kTypes) bench_step(m, report, model, type);
  });
  each("prompts", [&](const Model& model) {
    const int64_t q = int64_t{model.heads} * model.dim, kv = int64_t{model.kv_heads} * model.dim;
    for (const WeightType type : kTypes) {
      bench_many_rows(m, report, model, "qkv", q + 2 * kv, model.hidden, false, type);
      bench_many_rows(m, report, model, "gate+up", model.ffn, model.hidden, true, type);
      bench_many_rows(m, report, model, "down", model.hidden, model.ffn, false, type);
    }
  });
  each("products", [&](const Model& model) {
    const int64_t q = int64_t{model.heads} * model.dim, kv = int64_t{model.kv_heads} * model.dim;
    for (const WeightType type : kTypes) {
      bench_linear(m, report, model, "qkv", q + 2 * kv, model.hidden, false, type);
      bench_linear(m, report, model, "o", model.hidden, q, false, type);
      bench_linear(m, report, model, "gate+up", model.ffn, model.hidden, true, type);
      bench_linear(m, report, model, "down", model.hidden, model.ffn, false, type);
      bench_linear(m, report, model, "head", model.vocabulary, model.hidden, false, type);
    }
  });
  each("attention", [&](const Model& model) {
    for (const DType dtype : {DType::kF16, DType::kI8}) bench_attention(m, report, model, dtype);
  });
  each("prefill", [&](const Model& model) { bench_prefill(m, report, model); });
  each("sample", [&](const Model& model) { bench_sample(m, report, model); });
  if (wanted("conv")) attempt(report, "conv", [&] { bench_conv(m, report); });
  if (wanted("experts")) attempt(report, "experts", [&] { bench_experts(m, report); });
  return report.failed() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace syrinx::cuda

int main(int count, char** arguments) { return syrinx::cuda::run(count, arguments); }
