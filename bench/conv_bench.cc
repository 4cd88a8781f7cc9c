// Convolutions of codec decoders over one second of 24 kHz audio at each stage (or a chunk of it),
// f32. Compares with oneDNN if it is installed: the same shape in its blocked layout, with dilation
// split into phases, its fastest way.
// conv_bench --benchmark_repetitions=7 --benchmark_report_aggregates_only=true
#include "bench.h"
#include "kernels/conv.h"
#ifdef SYRINX_BENCH_DNNL
#include <omp.h>

#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#endif

namespace syrinx {
namespace {

struct ConvCase {
  int64_t channels, time, dilation;
};

struct TransposeCase {
  int64_t in, out, stride, time;
};

void work(benchmark::State& state, double flops) { state.counters["MFLOP"] = 1e-6 * flops; }

constexpr int64_t kTaps = 7;

void run_conv(benchmark::State& state, const ConvCase& c, int threads) {
  bench::Machine machine(threads);
  const PackedConv1d packed = PackedConv1d::pack(bench::filled({c.channels, c.channels, kTaps}, 1));
  const Tensor x = bench::filled({c.time + 6 * c.dilation, c.channels}, 2);
  Tensor out({c.time, c.channels}, DType::kF32);
  for (auto _ : state) conv1d(machine.ctx, packed, x, out, c.dilation);
  work(state, 2.0 * c.time * c.channels * c.channels * kTaps);
}

void run_transpose(benchmark::State& state, const TransposeCase& c, int threads) {
  bench::Machine machine(threads);
  const auto packed =
      PackedConvTranspose1d::pack(bench::filled({c.in, c.out, 2 * c.stride}, 1), c.stride);
  const Tensor x = bench::filled({c.time + 1, c.in}, 2);
  Tensor out({c.time * c.stride, c.out}, DType::kF32);
  for (auto _ : state) conv_transpose1d(machine.ctx, packed, x, out);
  work(state, 2.0 * c.time * c.in * c.out * 2 * c.stride);
}

#ifdef SYRINX_BENCH_DNNL
using dnnl::memory;

/// A primitive with memories in its preferred layouts, run on `threads` OpenMP threads.
struct Prepared {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;

  void argument(int kind, const memory::desc& desc, uint32_t seed) {
    memory m(desc, engine);
    const Tensor values =
        bench::filled({static_cast<int64_t>(desc.get_size() / sizeof(float))}, seed);
    std::copy_n(values.f32(), values.view().count(), static_cast<float*>(m.get_data_handle()));
    arguments[kind] = m;
  }
};

/// Dilation d becomes d rows of an image whose width is time / d.
void run_conv_dnnl(benchmark::State& state, const ConvCase& c, int threads) {
  omp_set_num_threads(threads);
  Prepared p;
  using F = memory::format_tag;
  const int64_t width = c.time / c.dilation;
  const auto f32 = memory::data_type::f32;
  const memory::desc x({c.dilation, c.channels, 1, width + 6}, f32, F::nChw8c);
  const memory::desc w({c.channels, c.channels, 1, kTaps}, f32, F::any);
  const memory::desc y({c.dilation, c.channels, 1, width}, f32, F::nChw8c);
  const dnnl::convolution_forward::primitive_desc pd({dnnl::prop_kind::forward_inference,
                                                      dnnl::algorithm::convolution_direct,
                                                      x,
                                                      w,
                                                      y,
                                                      {1, 1},
                                                      {0, 0},
                                                      {0, 0}},
                                                     p.engine);
  p.primitive = dnnl::convolution_forward(pd);
  p.argument(DNNL_ARG_SRC, pd.src_desc(), 1);
  p.argument(DNNL_ARG_WEIGHTS, pd.weights_desc(), 2);
  p.argument(DNNL_ARG_DST, pd.dst_desc(), 3);
  for (auto _ : state) {
    p.primitive.execute(p.stream, p.arguments);
    p.stream.wait();
  }
  state.SetLabel(pd.impl_info_str());
  work(state, 2.0 * width * c.dilation * c.channels * c.channels * kTaps);
}

void run_transpose_dnnl(benchmark::State& state, const TransposeCase& c, int threads) {
  omp_set_num_threads(threads);
  Prepared p;
  using F = memory::format_tag;
  const auto f32 = memory::data_type::f32;
  const int64_t t_out = (c.time - 1) * c.stride + 2 * c.stride;
  const memory::desc x({1, c.in, c.time}, f32, F::nwc);
  const memory::desc w({c.out, c.in, 2 * c.stride}, f32, F::any);
  const memory::desc y({1, c.out, t_out}, f32, F::nwc);
  const dnnl::deconvolution_forward::primitive_desc pd({dnnl::prop_kind::forward_inference,
                                                        dnnl::algorithm::deconvolution_direct,
                                                        x,
                                                        w,
                                                        y,
                                                        {c.stride},
                                                        {0},
                                                        {0}},
                                                       p.engine);
  p.primitive = dnnl::deconvolution_forward(pd);
  p.argument(DNNL_ARG_SRC, pd.src_desc(), 1);
  p.argument(DNNL_ARG_WEIGHTS, pd.weights_desc(), 2);
  p.argument(DNNL_ARG_DST, pd.dst_desc(), 3);
  for (auto _ : state) {
    p.primitive.execute(p.stream, p.arguments);
    p.stream.wait();
  }
  state.SetLabel(pd.impl_info_str());
  work(state, 2.0 * c.time * c.in * c.out * 2 * c.stride);
}
#endif

template <class Case>
void add(const std::string& name, void (*body)(benchmark::State&, const Case&, int), Case c) {
  for (const int threads : {1, 2}) {
    bench::best_of(
        benchmark::RegisterBenchmark(concat(name, "/threads:", threads).c_str(),
                                     [=](benchmark::State& state) { body(state, c, threads); }));
  }
}

void add_conv(const ConvCase& c) {
  const std::string shape = concat("k7 ", c.channels, " ch @ ", c.time, " dilation ", c.dilation);
  add(shape + "/syrinx", run_conv, c);
#ifdef SYRINX_BENCH_DNNL
  add(shape + "/onednn", run_conv_dnnl, c);
#endif
}

void add_transpose(const TransposeCase& c) {
  const std::string shape = concat("transposed ", c.in, "->", c.out, " s", c.stride, " @ ", c.time);
  add(shape + "/syrinx", run_transpose, c);
#ifdef SYRINX_BENCH_DNNL
  add(shape + "/onednn", run_transpose_dnnl, c);
#endif
}

}  // namespace
}  // namespace syrinx

int main(int argc, char** argv) {
  for (const int64_t dilation : {1, 3, 9}) {
    syrinx::add_conv({64, 24000, dilation});
    syrinx::add_conv({128, 12000, dilation});
    syrinx::add_conv({256, 3000, dilation});
    syrinx::add_conv({512, 375, dilation});
  }
  for (const int64_t chunk : {12, 4}) {  // chunks of 80 ms of one second, and shorter ones
    syrinx::add_conv({64, 24000 / chunk, 3});
    syrinx::add_conv({256, 3000 / chunk, 3});
    syrinx::add_conv({512, 375 / chunk, 3});
  }
  syrinx::add_transpose({512, 256, 8, 375});
  syrinx::add_transpose({256, 128, 4, 3000});
  syrinx::add_transpose({128, 64, 2, 12000});
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
