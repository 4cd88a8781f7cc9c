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
  // The program does not read all of its input.
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

std::string ask(KeptProgram& program, const std::string& input, char end = '\n',
                double timeout_s = 10) {
  const auto got = program.ask(input, [&](std::string_view all) { return all.ends_with(end); },
                               {.timeout_s = timeout_s});
  return got.ok() ? got.value() : got.error().message;
}

TEST(KeptProgram, AnswersEachTime) {
  auto cat = KeptProgram::start({"cat"});
  ASSERT_TRUE(cat.ok()) << cat.error().message;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(*cat.value(), "one\n"), "one\n");
  std::string text;  // longer than the buffers of a terminal and a pipe
  for (int i = 0; i < 30000; ++i) text += "line " + std::to_string(i) + "\n";
  EXPECT_EQ(ask(*cat.value(), text + "$", '$'), text + "$");
  // The program's C library must write line by line, as on a terminal.
  auto lines = KeptProgram::start({"sh", "-c", "test -t 1 && exec sed s/a/b/"});
  ASSERT_TRUE(lines.ok());
  EXPECT_EQ(ask(*lines.value(), "aa\n"), "ba\n");
  EXPECT_EQ(ask(*lines.value(), "xa\n"), "xb\n");
}

TEST(KeptProgram, Faults) {
  EXPECT_EQ(KeptProgram::start({"no-such-program-here"}).error().code, ErrorCode::kNotFound);
  auto gone = KeptProgram::start({"sh", "-c", "read line; exit 3"});
  ASSERT_TRUE(gone.ok());
  EXPECT_EQ(ask(*gone.value(), "x\n"), "the program sh has ended");
  EXPECT_EQ(ask(*gone.value(), "x\n"), "the program sh stopped answering");
  const double began_s = now_s();
  {
    auto silent = KeptProgram::start({"sleep", "20"});
    ASSERT_TRUE(silent.ok());
    EXPECT_NE(ask(*silent.value(), "x\n", '\n', 0.1).find("took more than"), std::string::npos);
  }  // the destructor kills the program
  EXPECT_LT(now_s() - began_s, 5);
  auto loud = KeptProgram::start({"yes"});
  ASSERT_TRUE(loud.ok());
  const auto never = [](std::string_view) { return false; };
  EXPECT_NE(loud.value()->ask("", never, {.max_output = 1000}).error().message.find("printed more"),
            std::string::npos);
}

}  // namespace
}  // namespace syrinx
