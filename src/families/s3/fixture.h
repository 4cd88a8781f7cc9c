// For tests of the families with S3 speech tokens: their golden checkpoints, and their stages.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "families/family.h"
#include "io/test_dir.h"
#include "model/graph.h"
#include "model/step_runner.h"

namespace syrinx {

inline std::string parity(const std::string& name) { return SYRINX_BINARY_DIR "/parity/" + name; }

/// A copy of a family's golden checkpoint with the authors' voice "cloned", but without the file
/// `left_out`.
struct ClonedCheckpoint {
  explicit ClonedCheckpoint(const std::string& family, const std::string& left_out = "") {
    const std::string golden = parity(family + "/golden/");
    for (const auto& each : std::filesystem::directory_iterator(golden + "checkpoint")) {
      const std::filesystem::path name = each.path().filename();
      if (name != left_out) std::filesystem::create_symlink(each.path(), dir.path(name));
    }
    std::filesystem::create_directory(dir.path("voices"));
    std::filesystem::create_symlink(golden + "cloned.pt", dir.path("voices/cloned.pt"));
  }
  LoadSpec spec() const { return {.dir = dir.path(), .model = "tiny"}; }
  TestDir dir;
};

/// Returns the samples that chunk stages make from a sequence's frames, one call per stage.
inline std::vector<float> through_chunk_stages(const Graph& graph, const Sequence& sequence,
                                               std::span<const int32_t> codes, StepContext& ctx) {
  std::vector<float> values;
  const int64_t frames = std::ssize(codes) / graph.links()[0].stage->in_width();
  for (const Link& link : graph.links()) {
    const auto stream = open_stream(*link.stage, sequence);
    std::vector<float> out(
        static_cast<size_t>(frames * link.stage->most_out() * link.stage->out_width()));
    ChunkJob job;
    job.state = stream.get();
    if (values.empty()) {
      job.codes = codes;
    } else {
      job.values = values;
    }
    job.fresh = static_cast<int>(frames);
    job.last = true;
    job.out = out;
    link.stage->run(ctx, {&job, 1});
    values = std::move(out);
  }
  return values;
}

}  // namespace syrinx
