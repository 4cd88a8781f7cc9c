#include "base/program_path.h"

#include <gtest/gtest.h>

namespace syrinx {
namespace {

TEST(ProgramPath, IsTheSameWithoutTheLinkOfProc) {
  const std::filesystem::path path = program_path();
  EXPECT_TRUE(path.is_absolute()) << path;
  EXPECT_TRUE(std::filesystem::is_regular_file(path)) << path;
  EXPECT_EQ(program_path("/nowhere"), std::filesystem::canonical(path));
}

}  // namespace
}  // namespace syrinx
