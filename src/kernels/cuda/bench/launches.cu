#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "kernels/cuda/bench/launches.h"
#include "tensor/cuda/cuda_check.h"

namespace syrinx::cuda {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point began) {
  return std::chrono::duration<double, std::micro>(Clock::now() - began).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

__global__ void nothing() {}

/// Lets the next kernel start at once, and waits for the previous kernel, as real kernels do.
__global__ void nothing_early() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

struct Graph {
  Graph(cudaStream_t stream, int nodes, int blocks, bool early) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    config.blockDim = dim3(256);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = early ? 1 : 0;
    for (int i = 0; i < nodes; ++i)
      check(cudaLaunchKernelEx(&config, early ? nothing_early : nothing), "launch");
    check(cudaStreamEndCapture(stream, &graph), "end of capture");
    const auto began = Clock::now();
    check(cudaGraphInstantiate(&run, graph, 0), "instantiate");
    instantiate_us = microseconds_since(began);
  }
  ~Graph() {
    cudaGraphExecDestroy(run);
    cudaGraphDestroy(graph);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t run = nullptr;
  double instantiate_us = 0;
};

}  // namespace

void bench_launches(std::FILE* file) {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  cudaEvent_t begin = nullptr, end = nullptr;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  for (const int blocks : {1, 132}) {
    for (const bool early : {false, true}) {
      for (const int nodes : {100, 700, 1400}) {
        const Graph graph(stream, nodes, blocks, early);
        std::vector<double> device_us, host_us;
        for (int i = 0; i < 15; ++i) {
          check(cudaEventRecord(begin, stream), "record");
          const auto began = Clock::now();
          check(cudaGraphLaunch(graph.run, stream), "launch of a graph");
          host_us.push_back(microseconds_since(began));
          check(cudaEventRecord(end, stream), "record");
          check(cudaEventSynchronize(end), "graph");
          float ms = 0;
          check(cudaEventElapsedTime(&ms, begin, end), "elapsed");
          device_us.push_back(ms * 1e3);
        }
        const double node_us = median(device_us) / nodes, launch_us = median(host_us);
        std::printf(
            "launches: %4d kernels of %3d blocks%s: %.3f us a kernel, host %.1f us, "
            "instantiated in %.0f us\n",
            nodes, blocks, early ? ", early" : "", node_us, launch_us, graph.instantiate_us);
        if (file) {
          std::fprintf(file,
                       "{\"part\": \"launches\", \"nodes\": %d, \"blocks\": %d, \"early\": %s, "
                       "\"node_us\": %.3f, \"host_us\": %.2f, \"instantiate_us\": %.1f}\n",
                       nodes, blocks, early ? "true" : "false", node_us, launch_us,
                       graph.instantiate_us);
        }
      }
    }
  }
  std::vector<double> queued_us, event_us;
  for (int i = 0; i < 50; ++i) {
    const auto began = Clock::now();
    nothing<<<1, 32, 0, stream>>>();
    check(cudaEventRecord(end, stream), "record");
    queued_us.push_back(microseconds_since(began));
    check(cudaEventSynchronize(end), "wait");
    event_us.push_back(microseconds_since(began));
  }
  std::printf("launches: one kernel and an event: queued in %.1f us, over after %.1f us\n",
              median(queued_us), median(event_us));
  if (file) {
    std::fprintf(file, "{\"part\": \"launches\", \"queued_us\": %.2f, \"event_us\": %.2f}\n",
                 median(queued_us), median(event_us));
  }
  cudaEventDestroy(end);
  cudaEventDestroy(begin);
  cudaStreamDestroy(stream);
}

}  // namespace syrinx::cuda
