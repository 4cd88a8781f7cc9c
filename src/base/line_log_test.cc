#include "base/line_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include "base/clock.h"

namespace syrinx {
namespace {

/// A pipe that is read only when the test reads it.
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
  /// Reads the available bytes.
  std::string take() const {
    std::string out;
    char block[4096];
    for (ssize_t got; (got = ::read(ends_[0], block, sizeof block)) > 0;) out.append(block, got);
    return out;
  }
  /// Reads until `text` has arrived. Fails after 5 s and returns an empty string.
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

std::string numbered_line(int number) {
  return "line " + std::to_string(number) + std::string(200, '.');
}

/// Checks numbered lines: each must arrive in its place, or be counted in a report of dropped ones.
struct Account {
  int next = 0;           // the number of the next line
  uint64_t reported = 0;  // sum of the dropped lines in all reports
  std::string rest = {};  // an incomplete last line

  /// Reads the lines before line `end`; fails after 5 s.
  void read_until(const Pipe& pipe, int end) {
    for (const double until_s = now_s() + 5; next < end && now_s() < until_s;) {
      rest += pipe.take();
      for (size_t at; (at = rest.find('\n')) != std::string::npos; rest.erase(0, at + 1)) {
        take_line(rest.substr(0, at));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(next, end);
  }
  void take_line(const std::string& line) {
    int lost = 0;
    if (std::sscanf(line.c_str(), "log: %d line", &lost) == 1) {
      EXPECT_GT(lost, 0);
      next += lost;
      reported += static_cast<uint64_t>(lost);
    } else {
      EXPECT_EQ(line, numbered_line(next));
      ++next;
    }
  }
};

/// Waits until `count` lines are dropped; fails after 5 s.
void wait_for_dropped(const LineLog& log, uint64_t count) {
  for (const double until_s = now_s() + 5; log.dropped() < count && now_s() < until_s;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(log.dropped(), count);
}

/// A write to a closed pipe fails without ending the process, also after the test.
struct LineLogTest : testing::Test {
  static void SetUpTestSuite() { std::signal(SIGPIPE, SIG_IGN); }
};

TEST_F(LineLogTest, WritesLinesInOrderBeforeItEnds) {
  const Pipe pipe;
  {
    LineLog log({.descriptor = pipe.writer()});
    for (const char* line : {"one", "two", "", "three"}) log.add(line);
  }
  EXPECT_EQ(pipe.take(), "one\ntwo\n\nthree\n");
}

TEST_F(LineLogTest, NeverWaitsForAPipeThatIsNotReadAndReportsTheLossInItsPlace) {
  const Pipe pipe;
  constexpr int kLines = 1000;
  LineLog log({.descriptor = pipe.writer(), .max_bytes = 8192});
  const double began_s = now_s();
  for (int i = 0; i < kLines; ++i) log.add(numbered_line(i));
  EXPECT_LT(now_s() - began_s, 1);
  const uint64_t dropped = log.dropped();
  EXPECT_GT(dropped, kLines / 2u);
  Account account;
  account.read_until(pipe, kLines);  // the last report arrives without a further line
  EXPECT_EQ(account.reported, dropped);
  log.add(numbered_line(kLines));
  account.read_until(pipe, kLines + 1);
  EXPECT_EQ(account.reported, dropped);
  EXPECT_EQ(log.dropped(), dropped);
}

TEST_F(LineLogTest, EndsInTimeWhenThePipeIsNotRead) {
  const Pipe pipe;
  // A descriptor number that no other test uses, as the thread may write its last line later.
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
  // The descriptor fails for a while, as on a full disk. Later another file replaces it.
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
