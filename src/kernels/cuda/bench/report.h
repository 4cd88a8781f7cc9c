// Prints measurements, and writes each as a line of JSON.
#pragma once

#include <cstdio>
#include <string>

namespace syrinx::cuda {

/// Prints each result and writes it to a file. Used by one thread.
class Report {
 public:
  /// `path`: file for lines of JSON; null: no file.
  explicit Report(const char* path) : file_(path ? std::fopen(path, "w") : nullptr) {}
  ~Report() {
    if (file_) std::fclose(file_);
  }
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  std::FILE* file() const { return file_; }
  /// Reports the GPU's highest rates: bytes copied and bf16 operations, both per second.
  void machine(const char* gpu, double copy, double gemm) {
    std::printf("%s: copy %.0f GB/s, bf16 product %.0f TFLOP/s\n", gpu, copy * 1e-9, gemm * 1e-12);
    if (file_) {
      std::fprintf(file_,
                   "{\"part\": \"ceilings\", \"gpu\": \"%s\", \"copy_gb_s\": %.1f, "
                   "\"bf16_tflop_s\": %.1f}\n",
                   gpu, copy * 1e-9, gemm * 1e-12);
    }
    flush();
  }
  /// Reports the time of a model's kernel, and the least time that its bytes or operations take.
  void row(const std::string& model, const std::string& what, int batch, double seconds,
           double floor_seconds) {
    const double share = floor_seconds / seconds;
    std::printf("%-15s %-22s %4d %9.1f us  floor %8.1f us  %3.0f %%\n", model.c_str(), what.c_str(),
                batch, seconds * 1e6, floor_seconds * 1e6, share * 100);
    if (file_) {
      std::fprintf(file_,
                   "{\"part\": \"kernel\", \"model\": \"%s\", \"kernel\": \"%s\", \"batch\": %d, "
                   "\"us\": %.2f, \"floor_us\": %.2f, \"share\": %.3f}\n",
                   model.c_str(), what.c_str(), batch, seconds * 1e6, floor_seconds * 1e6, share);
    }
    flush();
  }
  /// Reports that `what` could not be measured.
  void failure(const std::string& what, const char* why) {
    std::printf("FAILED %s: %s\n", what.c_str(), why);
    if (file_) std::fprintf(file_, "{\"part\": \"failed\", \"what\": \"%s\"}\n", what.c_str());
    flush();
    ++failed_;
  }
  int failed() const { return failed_; }

 private:
  void flush() {
    std::fflush(stdout);
    if (file_) std::fflush(file_);
  }
  std::FILE* file_;
  int failed_ = 0;
};

}  // namespace syrinx::cuda
