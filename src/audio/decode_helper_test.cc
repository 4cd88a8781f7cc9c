#include "audio/decode_helper.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "audio/decode_wire.h"
#include "audio/recording_files_test.h"
#include "audio/recording_libav.h"

namespace syrinx {
namespace {

/// Decodes a file; returns its samples or its error as text.
std::string outcome(const std::string& file, const RecordingLimits& limits) {
  const auto decoded = decode_file(file, limits);
  if (!decoded) return decoded.error().message + " " + decoded.error().param;
  const auto& samples = decoded.value().samples;
  return decoded.value().format + " " + std::to_string(decoded.value().sample_rate) + " " +
         std::string(reinterpret_cast<const char*>(samples.data()), samples.size() * sizeof(float));
}

Error fault_of(const DecodeHelper& helper, const std::string& file, RecordingLimits limits = {}) {
  limits.helper = &helper;
  const auto decoded = decode_file(file, limits);
  return decoded.ok() ? Error{ErrorCode::kInternal, "decoded"} : decoded.error();
}

/// Returns a helper whose children run `instead`.
DecodeHelper helper_that(void (*instead)(int socket)) { return DecodeHelper({.instead = instead}); }

const std::string& good_file() {
  static const std::string file = encoded(AudioFormat::kWav, tone(1));
  return file;
}

constexpr AudioFormat kFormats[] = {AudioFormat::kWav,  AudioFormat::kFlac, AudioFormat::kMp3,
                                    AudioFormat::kOpus, AudioFormat::kAac,  AudioFormat::kM4a};

/// Runs the tests with the filter, if this machine permits it, and without it.
class DecodeApart : public testing::TestWithParam<bool> {
 protected:
  const DecodeHelper helper_{{.filter = GetParam()}};
  RecordingLimits apart(RecordingLimits limits = {}) const {
    limits.helper = &helper_;
    return limits;
  }
};

INSTANTIATE_TEST_SUITE_P(Filter, DecodeApart, testing::Bool());

TEST_P(DecodeApart, SaysWhatHolds) {
  EXPECT_NE(helper_.confinement().find("resource limits"), std::string::npos);
  EXPECT_EQ(helper_.filtered(), helper_.confinement() == "seccomp and resource limits");
  EXPECT_FALSE(helper_.filtered() && !GetParam());
}

TEST_P(DecodeApart, GoodFilesAreTheSameToTheSample) {
  for (const AudioFormat format : kFormats) {
    const std::string file = encoded(format, tone(3));
    EXPECT_EQ(outcome(file, apart()), outcome(file, {})) << audio_format_name(format);
    for (const size_t count : {size_t{1}, size_t{5000}}) {
      std::vector<float> here, there;
      RecordingReader near(file), far(file, apart());
      while (near.read(count, here).take()) {
      }
      while (far.read(count, there).take()) {
      }
      EXPECT_EQ(here, there);
      EXPECT_EQ(near.sample_rate(), far.sample_rate());
      EXPECT_EQ(near.claimed_s(), far.claimed_s());
    }
  }
}

TEST_P(DecodeApart, RefusalsAreTheSame) {
  const std::string data(4 * kRateHz, '\x11');
  std::vector<float> no_number = tone(1);
  no_number[1600] = std::numeric_limits<float>::quiet_NaN();
  const int64_t huge = int64_t{0xFFFFFFF0};
  std::vector<std::string> files = {"",
                                    "nothing",
                                    std::string(100'000, 'a'),
                                    wav(data, 1, 1, 1),
                                    wav(data, 1, 64),
                                    wav(data, 0x7777),
                                    wav(data, 1, 1, kRateHz, 16, huge),
                                    float_wav(no_number),
                                    wav(""),
                                    "ffconcat version 1.0\nfile '/etc/hostname'\n",
                                    std::string("\0\0\0\x18"
                                                "ftypM4A ",
                                                12) +
                                        std::string(200, '\xff')};
  for (const std::string magic : {"fLaC", "OggS", "ID3\4", "\x1a\x45\xdf\xa3", "caff", "FORM",
                                  "#!AMR\n", ".snd", "\xff\xf1\x50\x80", "riff"}) {
    files.push_back(magic + std::string(3000, '\xff'));
    files.push_back(magic + std::string(3000, '\0'));
  }
  for (const std::string& file : files) EXPECT_EQ(outcome(file, apart()), outcome(file, {}));
  EXPECT_EQ(outcome(good_file(), apart({.max_bytes = 100})),
            outcome(good_file(), {.max_bytes = 100}));
}

TEST_P(DecodeApart, TheFirstOfTwoChannels) {
  std::string data;
  for (int i = 0; i < kRateHz; ++i) {
    le(data, static_cast<uint16_t>(i % 1000), 2);
    le(data, static_cast<uint16_t>(-5000), 2);
  }
  const std::string file = wav(data, 1, 2);
  EXPECT_EQ(outcome(file, apart({.first_channel = true})), outcome(file, {.first_channel = true}));
  EXPECT_NE(outcome(file, apart({.first_channel = true})), outcome(file, apart()));
}

TEST_P(DecodeApart, DamagedFilesAreTheSame) {
  std::mt19937 random(5);
  for (const AudioFormat format : kFormats) {
    const std::string valid = encoded(format, tone(0.35));
    for (int run = 0; run < 8; ++run) {
      std::string file = valid;
      for (int change = 0; change < 4; ++change) {
        const size_t within = random() % 2 == 0 ? 64 : file.size();
        file[random() % std::min(within, file.size())] = static_cast<char>(random());
      }
      EXPECT_EQ(outcome(file, apart({.max_s = 10})), outcome(file, {.max_s = 10}));
    }
  }
}

/// Decodes a small file with very long silence. Neither process may use more memory than the limit.
TEST_P(DecodeApart, Bombs) {
  const std::string zeros = encoded(AudioFormat::kFlac, std::vector<float>(size_t{100} * kRateHz));
  EXPECT_LT(zeros.size(), size_t{100'000});
  EXPECT_EQ(fault_of(helper_, zeros, {.max_s = 90}).message, "the recording is longer than 90 s");
}

TEST_P(DecodeApart, ManyAtATime) {
  const std::string file = encoded(AudioFormat::kMp3, tone(1));
  const std::string expected = outcome(file, {});
  std::atomic<int> same = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 3; ++turn) same += outcome(file, apart()) == expected ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, 18);
}

/// A recording that was not read to its end must not disturb later recordings.
TEST_P(DecodeApart, AReaderMayStopAnywhere) {
  const std::string file = encoded(AudioFormat::kFlac, tone(60));
  for (int i = 0; i < 5; ++i) {
    RecordingReader reader(file, apart());
    std::vector<float> some;
    EXPECT_TRUE(reader.read(1000, some).take());
  }
  EXPECT_EQ(outcome(good_file(), apart()), outcome(good_file(), {}));
}

// ---------------------------------------------------------------------------- confinement

/// Tries forbidden actions in a child. Sends one sample for each action: 1 if it was possible.
void try_everything(int socket) {
  std::vector<float> possible;
  const auto tried = [&](bool done) { possible.push_back(done ? 1 : 0); };
  tried(open("/etc/hostname", O_RDONLY) >= 0);
  tried(open("/proc/self/environ", O_RDONLY) >= 0);
  tried(::socket(AF_INET, SOCK_STREAM, 0) >= 0);
  int ends[2];
  tried(pipe(ends) == 0);
  tried(dup(socket) >= 0);
  tried(getenv("PATH") != nullptr);
  constexpr size_t kMuch = size_t{1} << 30;
  tried(mmap(nullptr, kMuch, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
        MAP_FAILED);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  tried(child > 0);
  // Only the filter forbids the following actions.
  tried(kill(getppid(), 0) == 0);
  tried(mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
        MAP_FAILED);
  tried(getpid() > 0);
  const DecodeInfo info{.sample_rate = 8000};
  DecodeMessageHead head{DecodeMessage::kInfo, sizeof info};
  write_whole(socket, &head, sizeof head);
  write_whole(socket, &info, sizeof info);
  head = {DecodeMessage::kSamples, static_cast<uint32_t>(possible.size() * sizeof(float))};
  write_whole(socket, &head, sizeof head);
  write_whole(socket, possible.data(), head.bytes);
  head = {DecodeMessage::kEnd, 0};
  write_whole(socket, &head, sizeof head);
}

TEST(DecodeChild, MayDoNothingElse) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need what is forbidden";
#endif
  for (const bool filter : {true, false}) {
    const DecodeHelper helper({.filter = filter, .instead = try_everything});
    const auto tried = decode_file(good_file(), {.helper = &helper});
    ASSERT_TRUE(tried.ok()) << tried.error().message;
    std::vector<float> expected(8, 0);
    const bool nobody = geteuid() == 0;
    expected.push_back(helper.filtered() || nobody ? 0 : 1);  // a signal to another process
    expected.push_back(helper.filtered() ? 0 : 1);
    expected.push_back(helper.filtered() ? 0 : 1);
    if (nobody) expected[8] = tried.value().samples[8];  // the user "nobody" may not exist
    EXPECT_EQ(tried.value().samples, expected) << helper.confinement();
  }
}

// ---------------------------------------------------------------------------- bad children

TEST(DecodeChild, ThatCrashesFailsAlone) {
  const DecodeHelper helper = helper_that([](int) { __builtin_trap(); });
  for (int i = 0; i < 3; ++i) {
    const Error error = fault_of(helper, good_file());
    EXPECT_EQ(error.code, ErrorCode::kInvalid);
    EXPECT_EQ(error.message, "the recording crashed its decoder (Illegal instruction)");
  }
}

TEST(DecodeChild, ThatHangsIsEnded) {
  for (void (*hang)(int) : {+[](int) {
                              for (std::atomic<int> turn = 0;; ++turn) {
                              }
                            },
                            +[](int socket) {  // waits for bytes that never arrive
                              char byte = 0;
                              while (read_whole(socket, &byte, 1)) {
                              }
                            }}) {
    const DecodeHelper helper = helper_that(hang);
    const Error error = fault_of(helper, good_file(), {.max_decode_s = 0.1});
    EXPECT_EQ(error.code, ErrorCode::kInvalid);
    EXPECT_EQ(error.message, "decoding the recording took longer than 0.1 s");
  }
}

TEST(DecodeChild, ThatIsKilledIsOurFault) {
  const DecodeHelper helper = helper_that([](int) { raise(SIGKILL), kill(getpid(), SIGKILL); });
  const Error error = fault_of(helper, good_file());
  if (helper.filtered()) return;  // the filter forbids the child to kill itself
  EXPECT_EQ(error.code, ErrorCode::kInternal);
  EXPECT_EQ(error.message, "the decoder of the recording was killed");
}

TEST(DecodeChild, ThatSaysNothingEndsEarly) {
  const DecodeHelper helper = helper_that([](int) {});
  EXPECT_EQ(fault_of(helper, good_file()).message, "the decoder of the recording sent no answer");
}

template <DecodeMessage kKind, uint32_t kBytes>
void say(int socket) {
  const DecodeMessageHead head{kKind, kBytes};
  const std::vector<char> bytes(std::min<uint32_t>(kBytes, 4096), '\xff');
  write_whole(socket, &head, sizeof head);
  for (uint32_t left = kBytes; left > 0;) {
    const auto part = std::min<uint32_t>(left, static_cast<uint32_t>(bytes.size()));
    if (!write_whole(socket, bytes.data(), part)) return;
    left -= part;
  }
}

TEST(DecodeChild, ThatDoesNotTakeTheWholeFileIsHeardAtOnce) {
  const std::string file(16 << 20, 'x');  // larger than a socket's buffer
  const RecordingLimits limits{.max_bytes = file.size(), .max_decode_s = 5};
  EXPECT_EQ(fault_of(helper_that([](int) {}), file, limits).message,
            "the decoder of the recording sent no answer");
  EXPECT_EQ(fault_of(helper_that(say<DecodeMessage::kFault, 3>), file, limits).message, "???");
}

TEST(DecodeChild, ThatSpeaksNonsenseIsNotBelieved) {
  using Kind = DecodeMessage;
  for (void (*nonsense)(int) :
       {say<Kind{99}, 0>, say<Kind::kEnd, 0>, say<Kind::kSamples, 400>, say<Kind::kInfo, 4>,
        say<Kind::kInfo, 50>, say<Kind::kInfo, 5000>, say<Kind::kSamples, 0xFFFFFFFFu>}) {
    const DecodeHelper helper = helper_that(nonsense);
    const Error error = fault_of(helper, good_file());
    EXPECT_EQ(error.code, ErrorCode::kInvalid);
    EXPECT_EQ(error.message, "the decoder of the recording sent an invalid answer");
  }
  const DecodeHelper helper = helper_that(say<Kind::kFault, 3>);
  EXPECT_EQ(fault_of(helper, good_file()).message, "???");
}

void say_too_much(int socket) {
  const DecodeInfo info{.sample_rate = 8000};
  DecodeMessageHead head{DecodeMessage::kInfo, sizeof info};
  write_whole(socket, &head, sizeof head);
  write_whole(socket, &info, sizeof info);
  const std::vector<float> samples(10'000);
  head = {DecodeMessage::kSamples, static_cast<uint32_t>(samples.size() * sizeof(float))};
  while (write_whole(socket, &head, sizeof head) &&
         write_whole(socket, samples.data(), head.bytes)) {
  }
}

TEST(DecodeChild, ThatGivesTooMuchIsStopped) {
  const DecodeHelper helper = helper_that(say_too_much);
  EXPECT_EQ(fault_of(helper, good_file(), {.max_s = 60}).message,
            "the recording is longer than 60 s");
}

TEST(DecodeChild, ThatHasNoMemorySaysSo) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers end a program that asks for this much memory";
#endif
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const DecodeJob job{.file_bytes = uint64_t{1} << 50, .max_s = 1, .max_decode_s = 1};
  ASSERT_TRUE(write_whole(ends[0], &job, sizeof job));
  run_decode_job(ends[1]);
  DecodeMessageHead head;
  ASSERT_TRUE(read_whole(ends[0], &head, sizeof head));
  EXPECT_EQ(head.kind, DecodeMessage::kFault);
  std::string text(head.bytes, ' ');
  ASSERT_TRUE(read_whole(ends[0], text.data(), text.size()));
  EXPECT_EQ(text, "decoding the recording needs too much memory");
  close(ends[0]);
  close(ends[1]);
}

TEST(DecodeHelper, ThatIsGoneSaysSo) {
  const DecodeHelper helper;
  kill(helper.pid(), SIGKILL);
  const Error error = fault_of(helper, good_file());
  EXPECT_EQ(error.code, ErrorCode::kOverloaded);
  EXPECT_EQ(error.message,
            "recordings cannot be decoded now: the process that decodes them was killed");
  EXPECT_GT(error.retry_after_s, 0);
}

/// Returns options whose replacement helper is this program, which then runs only the next test.
DecodeHelperOptions with_successors() {
  return {.again = {"/proc/self/exe", "--gtest_also_run_disabled_tests",
                    "--gtest_filter=DecodeHelper.DISABLED_Successor"}};
}
TEST(DecodeHelper, DISABLED_Successor) { run_decode_helper(); }

TEST(DecodeHelper, ThatWasKilledIsStartedAgain) {
  const DecodeHelper helper(with_successors());
  const std::string expected = outcome(good_file(), {});
  for (int i = 0; i < 3; ++i) {
    const pid_t pid = helper.pid();
    kill(pid, SIGKILL);
    EXPECT_EQ(outcome(good_file(), {.helper = &helper}), expected);
    EXPECT_NE(helper.pid(), pid);
    EXPECT_EQ(outcome(good_file(), {.helper = &helper}), expected);
  }
  std::vector<std::thread> threads;
  std::atomic<int> same = 0;
  kill(helper.pid(), SIGKILL);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back(
        [&] { same += outcome(good_file(), {.helper = &helper}) == expected ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, 4);
}

/// Kills the helper and waits for its end, at which the kernel kills its children. Until then the
/// children continue to decode. The helper stays a zombie.
void end_helper(const DecodeHelper& helper) {
  const pid_t pid = helper.pid();
  kill(pid, SIGKILL);
  siginfo_t ended = {};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT), 0);
}

/// If the helper is lost during a recording, the recording is decoded again, but only once.
TEST(DecodeHelper, WhatWasLostIsDecodedOnceMore) {
  const DecodeHelper helper(with_successors());
  const std::string file = encoded(AudioFormat::kFlac, tone(60));
  const auto expected = decode_file(file, {});
  ASSERT_TRUE(expected.ok());
  RecordingReader reader(file, {.helper = &helper});
  std::vector<float> samples;
  EXPECT_TRUE(reader.read(1000, samples).take());
  end_helper(helper);
  while (reader.read(50'000, samples).take()) {
  }
  EXPECT_EQ(samples, expected.value().samples);
  EXPECT_EQ(reader.sample_rate(), expected.value().sample_rate);

  RecordingReader unlucky(file, {.helper = &helper});
  samples.clear();
  EXPECT_TRUE(unlucky.read(1000, samples).take());
  end_helper(helper);
  while (samples.size() < 500'000) ASSERT_TRUE(unlucky.read(1000, samples).ok());
  end_helper(helper);
  Result<bool> more = true;
  while (more.ok() && more.value()) more = unlucky.read(50'000, samples);
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().code, ErrorCode::kOverloaded);
  EXPECT_EQ(outcome(good_file(), {.helper = &helper}), outcome(good_file(), {}));
}

TEST(DecodeHelper, WithoutAProgramItStaysAway) {
  const DecodeHelper helper({.again = {"/nonexistent"}});
  EXPECT_EQ(outcome(good_file(), {.helper = &helper}), outcome(good_file(), {}));
  kill(helper.pid(), SIGKILL);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(fault_of(helper, good_file()).code, ErrorCode::kOverloaded);
  }
}

}  // namespace
}  // namespace syrinx
