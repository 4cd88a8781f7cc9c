// For tests of the families with S3 speech tokens: their golden checkpoints, and their stages.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/worst.h"
#include "families/family.h"
#include "io/test_dir.h"
#include "model/graph.h"
#include "model/run_streams.h"

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

/// Expects two requests to have equal frames in the first 40 steps, and logits that hardly differ.
inline void expect_same_speech(const Pipeline& model, const SpeechRequest& ours,
                               const SpeechRequest& theirs) {
  Runner runner(model);
  Track a = runner.open(ours), b = runner.open(theirs);
  EXPECT_TRUE(std::ranges::equal(a.state->prompt_ids(), b.state->prompt_ids()));
  for (int i = 0; i < 40; ++i) runner.step(a), runner.step(b);
  float worst = 0;
  for (size_t i = 0; i < a.logits.size(); ++i)
    worst = worse(worst, relative(a.logits[i], b.logits[i]));
  EXPECT_LT(worst, 1e-4f);
  testing::Test::RecordProperty("logits", std::to_string(worst * 1e6));
  EXPECT_EQ(a.frames, b.frames);
}

}  // namespace syrinx
