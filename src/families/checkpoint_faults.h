// For tests of checkpoints whose files contradict each other or need something that a family lacks.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/check.h"
#include "families/checkpoint_copy.h"
#include "families/family.h"

namespace syrinx {

/// A change of a file, and a part of the resulting load error. "": loading still succeeds.
struct Change {
  /// `from` and `to`: the replaced text and its replacement, or a JSON pointer ("/key") and the
  /// JSON written there. An empty `from` removes the file.
  const char *file, *from, *to;
  const char* named;
};

struct Changes {
  const char *name, *family, *dir;
  std::vector<Change> all;
};

/// Loads the checkpoint once for each change, with only this change. Expects the named errors.
inline void expect_faults(const Changes& row) {
  const auto found = std::ranges::find(families(), std::string_view(row.family), &Family::name);
  ASSERT_NE(found, families().end());
  const CheckpointCopy copy(std::string(SYRINX_BINARY_DIR "/parity/") + row.dir);
  for (const Change& change : row.all) {
    const std::string path = copy.dir.path(change.file);
    const std::string before = std::filesystem::exists(path) ? slurp(path) : "{}";
    if (*change.from == 0) {
      std::filesystem::remove(path);
    } else if (*change.from == '/') {
      nlohmann::json json = nlohmann::json::parse(before);
      json[nlohmann::json::json_pointer(change.from)] = nlohmann::json::parse(change.to);
      copy.dir.write(change.file, json.dump());
    } else {
      copy.replace(change.file, change.from, change.to);
    }
    const std::string fault = load_fault_of([&] {
      found->load({copy.dir.path(), "copy", WeightType::kF32});
    });
    const std::string what = concat(change.file, ": ", change.from, " ", change.to, ": ", fault);
    if (*change.named == 0) {
      EXPECT_EQ(fault, "") << what;
    } else {
      EXPECT_NE(fault.find(change.named), std::string::npos) << what;
    }
    copy.dir.write(change.file, before);
  }
}

}  // namespace syrinx
