#include "io/program.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace syrinx {
namespace {

TEST(RunProgram, InputAndOutput) {
  std::string text;
  for (int i = 0; i < 30000; ++i) text += "line " + std::to_string(i) + "\n";
  for (const std::string& input : {std::string(), std::string("a"), text}) {
    const auto got = run_program({"cat"}, input);
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_EQ(got.value(), input);
  }
  // One that does not read all of its input.
  EXPECT_EQ(run_program({"head", "-c", "4"}, text).value(), "line");
  EXPECT_EQ(run_program({"printf", "%s|%s", "a b", "$HOME"}, "").value(), "a b|$HOME");
}

TEST(RunProgram, Faults) {
  const auto gone = run_program({"no-such-program-here"}, "");
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().code, ErrorCode::kNotFound);
  EXPECT_NE(gone.error().message.find("no-such-program-here is not installed"), std::string::npos);
  EXPECT_NE(run_program({"false"}, "").error().message.find("status 1"), std::string::npos);
  const double began_s = now_s();
  const auto slow = run_program({"sleep", "20"}, "x", {.timeout_s = 0.1});
  EXPECT_NE(slow.error().message.find("took more than"), std::string::npos);
  EXPECT_LT(now_s() - began_s, 5);
  const auto silent = run_program({"sh", "-c", "exec >&-; exec sleep 20"}, "", {.timeout_s = 0.1});
  EXPECT_NE(silent.error().message.find("took more than"), std::string::npos);
  EXPECT_LT(now_s() - began_s, 5);
  const auto loud = run_program({"yes"}, "", {.max_output = 1000});
  EXPECT_NE(loud.error().message.find("printed more than"), std::string::npos);
}

}  // namespace
}  // namespace syrinx
