#include "base/line_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "base/clock.h"

namespace syrinx {
namespace {

/// A pipe, read only when the test reads it.
class Pipe {
 public:
  Pipe() {
    EXPECT_EQ(::pipe2(ends_, O_CLOEXEC), 0);
    ::fcntl(ends_[0], F_SETFL, O_NONBLOCK);
    ::fcntl(ends_[1], F_SETPIPE_SZ, 4096);
  }
  ~Pipe() {
    close_reader();
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int writer() const { return ends_[1]; }
  void close_reader() { close_one(ends_[0]); }
  void close_writer() { close_one(ends_[1]); }
  /// Reads what is there.
  std::string take() const {
    std::string out;
    char block[4096];
    for (ssize_t got; (got = ::read(ends_[0], block, sizeof block)) > 0;) out.append(block, got);
    return out;
  }
  /// Reads until `text` has come; "" and a failure after 5 s.
  std::string take_until(const std::string& text) const {
    std::string out;
    for (const double until_s = now_s() + 5; now_s() < until_s;) {
      out += take();
      if (out.find(text) != std::string::npos) return out;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ADD_FAILURE() << "'" << text << "' did not come";
    return "";
  }

 private:
  static void close_one(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
  int ends_[2] = {-1, -1};
};

/// Waits until so many lines are dropped; fails after 5 s.
void wait_for_dropped(const LineLog& log, uint64_t count) {
  for (const double until_s = now_s() + 5; log.dropped() < count && now_s() < until_s;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(log.dropped(), count);
}

/// A write to a closed pipe fails and does not end the process, also after the test.
struct LineLogTest : testing::Test {
  static void SetUpTestSuite() { std::signal(SIGPIPE, SIG_IGN); }
};

std::string numbered_line(int number) {
  return "line " + std::to_string(number) + std::string(200, '.');
}

TEST_F(LineLogTest, WritesLinesInOrderBeforeItEnds) {
  const Pipe pipe;
  {
    LineLog log({.descriptor = pipe.writer()});
    for (const char* line : {"one", "two", "", "three"}) log.add(line);
  }
  EXPECT_EQ(pipe.take(), "one\ntwo\n\nthree\n");
}

TEST_F(LineLogTest, NeverWaitsForAPipeThatIsNotRead) {
  const Pipe pipe;
  constexpr int kLines = 1000;
  LineLog log({.descriptor = pipe.writer(), .max_bytes = 8192});
  const double began_s = now_s();
  for (int i = 0; i < kLines; ++i) log.add(numbered_line(i));
  EXPECT_LT(now_s() - began_s, 1);
  const uint64_t dropped = log.dropped();
  EXPECT_GT(dropped, kLines / 2u);
  EXPECT_LT(dropped, static_cast<uint64_t>(kLines));
  // The report comes by itself when writing goes on, in the place of the lines, and once.
  const std::string report = "log: " + std::to_string(dropped) + " lines were dropped here";
  std::string text = pipe.take_until(report);
  EXPECT_LT(text.find("line 0."), text.find(report));
  log.add("after");
  text += pipe.take_until("after\n");
  EXPECT_EQ(text.find("dropped"), text.rfind("dropped"));
  EXPECT_LT(text.find(report), text.find("after\n"));
  EXPECT_EQ(log.dropped(), dropped);
}

TEST_F(LineLogTest, TheReportStandsBetweenTheLinesAroundTheLoss) {
  const Pipe pipe;
  LineLog log({.descriptor = pipe.writer(), .max_bytes = 8192});
  for (int i = 0; i < 200; ++i) log.add(numbered_line(i));
  const uint64_t dropped = log.dropped();
  std::string text;
  for (const double until_s = now_s() + 5; text.size() < 5000 && now_s() < until_s;) {
    text += pipe.take();  // there is room again, and lines still wait
  }
  log.add("after");
  text += pipe.take_until("after\n");
  const size_t report = text.find("log: " + std::to_string(dropped) + " lines were dropped here");
  ASSERT_NE(report, std::string::npos);
  EXPECT_LT(report, text.find("after\n"));
  EXPECT_LT(text.rfind("line "), report);
}

TEST_F(LineLogTest, EndsInTimeWhenThePipeIsNotRead) {
  const Pipe pipe;
  // A number that no other test gets, for a thread that writes its last line later.
  const int descriptor = ::fcntl(pipe.writer(), F_DUPFD_CLOEXEC, 200);
  const double began_s = now_s();
  {
    LineLog log({.descriptor = descriptor, .patience_s = 0.1});
    for (int i = 0; i < 100; ++i) log.add(numbered_line(i));
  }
  EXPECT_GE(now_s() - began_s, 0.1);
  EXPECT_LT(now_s() - began_s, 1);
  ::close(descriptor);
}

TEST_F(LineLogTest, CountsLinesOfAClosedPipe) {
  Pipe pipe;
  LineLog log({.descriptor = pipe.writer()});
  log.add("heard");
  pipe.take_until("heard\n");
  pipe.close_reader();
  log.add("one");
  log.add("two");
  wait_for_dropped(log, 2);
  log.add("three");
  wait_for_dropped(log, 3);
}

TEST_F(LineLogTest, ReportsAfterAFailureWhenWritingGoesOn) {
  // A descriptor that fails for a while, as a full disk does: another file takes its place.
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  const Pipe pipe;
  LineLog log({.descriptor = full});
  log.add("lost");
  log.add("lost, too");
  wait_for_dropped(log, 2);
  ASSERT_EQ(::dup2(pipe.writer(), full), full);
  log.add("written");
  const std::string text = pipe.take_until("\nwritten\n");
  EXPECT_EQ(text.find("log: 2 lines were dropped here"), 0u) << text;
  EXPECT_EQ(log.dropped(), 2u);
  ::close(full);
}

TEST_F(LineLogTest, WaitsForADescriptorThatDoesNotBlock) {
  const Pipe pipe;
  ::fcntl(pipe.writer(), F_SETFL, O_NONBLOCK);
  LineLog log({.descriptor = pipe.writer()});
  for (int i = 0; i < 100; ++i) log.add(numbered_line(i));
  log.add("end");
  const std::string text = pipe.take_until("\nend\n");
  for (int i = 0; i < 100; ++i) EXPECT_NE(text.find(numbered_line(i) + "\n"), std::string::npos);
  EXPECT_EQ(log.dropped(), 0u);
}

}  // namespace
}  // namespace syrinx
