// Parts of the command line that need no model: files and subtitles.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>
#include <vector>

#include "audio/wav.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/line/help.h"
#include "cli/line/interrupt.h"
#include "cli/line/load_line.h"
#include "cli/line/progress_line.h"
#include "cli/line/stop_signal.h"
#include "cli/speak/audio_file.h"
#include "cli/speak/subtitles.h"
#include "cli/speak/text_input.h"
#include "cli/talk/microphone.h"
#include "tensor/device_health.h"

namespace syrinx {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(AudioFile, HeaderIsPutRightAtTheEnd) {
  const std::string path = testing::TempDir() + "syrinx_audio_file.wav";
  AudioFile file(path, 24000);
  file.write(std::vector<float>(10));
  EXPECT_FALSE(std::ifstream(path).good()) << "half a file has its name already";
  file.write(std::vector<float>(5));
  file.finish();
  EXPECT_EQ(read(path), wav_header(24000, 15) + std::string(30, '\0'));
  std::remove(path.c_str());
}

/// A signal between the last check() of one guard and the next guard is not lost.
TEST(InterruptGuard, ReportsASignalThatTheLastOneMissed) {
  {
    const InterruptGuard missed;
    std::raise(SIGTERM);
  }
  const InterruptGuard guard;
  try {
    guard.check();
    FAIL() << "the signal was lost";
  } catch (const Interrupted& interrupted) {
    EXPECT_EQ(interrupted.signal, SIGTERM);
  }
  EXPECT_NO_THROW(guard.check());
}

/// A recorder that sends nothing more does not block, and ends with the microphone.
TEST(Microphone, DoesNotWaitForItsRecorder) {
  const double began_s = now_s();
  {
    Microphone microphone("head -c 700 /dev/zero; sleep 60");
    std::vector<float> samples;
    EXPECT_TRUE(microphone.read(samples));
    EXPECT_EQ(samples.size(), 320u);
    EXPECT_TRUE(microphone.read(samples));
    EXPECT_TRUE(samples.empty());
  }
  EXPECT_LT(now_s() - began_s, 10);
}

TEST(Microphone, ReportsTheEndOfTheRecording) {
  Microphone microphone("head -c 701 /dev/zero");
  std::vector<float> samples;
  EXPECT_TRUE(microphone.read(samples));
  EXPECT_FALSE(microphone.read(samples));
  EXPECT_EQ(samples.size(), 30u);
}

TEST(Microphone, ReportsAFailedRecorder) {
  Microphone microphone("head -c 640 /dev/zero; exit 3");
  std::vector<float> samples;
  EXPECT_TRUE(microphone.read(samples));
  EXPECT_THROW(microphone.read(samples), LoadError);
}

TEST(Help, IsBrokenBetweenWords) {
  const std::string gap(30, ' ');
  EXPECT_EQ(help_entry("--a", "b", 40), "  --a" + gap.substr(5) + "b\n");
  EXPECT_EQ(help_entry("--a", "four five six", 40),
            "  --a" + gap.substr(5) + "four five\n" + gap + "six\n");
  EXPECT_EQ(help_entry("--a", "four five6 six", 40),
            "  --a" + gap.substr(5) + "four five6\n" + gap + "six\n");
  EXPECT_EQ(help_entry("--a", "longer-than-there-is-room", 40),
            "  --a" + gap.substr(5) + "longer-than-there-is-room\n");
  EXPECT_EQ(help_entry(std::string(27, 'a'), "b", 40),
            "  " + std::string(27, 'a') + "\n" + gap + "b\n");
  EXPECT_EQ(help_entry("--a", "", 40), "  --a\n");
}

TEST(ProgressLine, IsCutWhereTheTerminalEnds) {
  EXPECT_EQ(first_columns("chapter 1", 7), "chapter");
  EXPECT_EQ(first_columns("chapter", 7), "chapter");
  EXPECT_EQ(first_columns("für", 2), "fü");
  EXPECT_EQ(first_columns("日本語", 5), "日本");
  EXPECT_EQ(first_columns("x\xe6\x97", 80), "x\xe6\x97");
  EXPECT_EQ(first_columns("x", 0), "");
}

TEST(LoadLine, NamesWhatIsDoneAndTheTimeLeft) {
  ModelProgress progress{.model = "llama", .total_bytes = 3 << 20};
  EXPECT_EQ(load_text(progress, 2), "loading llama: 0 bytes of 3.0 MiB");
  progress.done_bytes = 1 << 20;
  EXPECT_EQ(load_text(progress, 2), "loading llama: 1.0 MiB of 3.0 MiB, 4 s left");
  EXPECT_EQ(load_text(progress, 62), "loading llama: 1.0 MiB of 3.0 MiB, 2 min 4 s left");
  progress.done_bytes = 4 << 20;  // above the total, as two files have the same tensor
  EXPECT_EQ(load_text(progress, 2), "loading llama: 3.0 MiB of 3.0 MiB, 0 s left");
}

TEST(LoadLine, IsLoggedEveryFewSeconds) {
  std::vector<std::string> lines;
  const auto report = log_load([&](const std::string& line) { lines.push_back(line); }, 5);
  ModelProgress progress{.model = "llama", .done_bytes = 1, .total_bytes = 2, .began_s = now_s()};
  report(progress);
  EXPECT_TRUE(lines.empty()) << "a short load";
  progress.began_s -= 6;
  report(progress);
  report(progress);
  EXPECT_EQ(lines, std::vector<std::string>{"loading llama: 1 bytes of 2 bytes, 7 s left"});
  progress.ended = true;
  report(progress);
  EXPECT_EQ(lines.size(), 1u);
}

TEST(AudioFile, FlacStatesItsLength) {
  const std::string path = testing::TempDir() + "syrinx_audio_file.flac";
  AudioFile file(path, 16000, AudioFormat::kFlac);
  for (int i = 0; i < 7; ++i) file.write(std::vector<float>(1000, 0.1f));
  file.finish();
  const std::string bytes = read(path);
  ASSERT_GT(bytes.size(), 42u);
  uint64_t total = 0;  // 36-bit total of STREAMINFO, before its MD5
  for (size_t i = 21; i < 26; ++i) total = total << 8 | static_cast<uint8_t>(bytes[i]);
  EXPECT_EQ(total & 0xFFFFFFFFF, 7000u);
  EXPECT_NE(bytes.substr(26, 16), std::string(16, '\0')) << "no MD5";
  std::remove(path.c_str());
}

TEST(AudioFile, AnOlderFileStaysUntilTheNewOneIsWhole) {
  const std::string path = testing::TempDir() + "syrinx_audio_older.wav";
  const std::string link = testing::TempDir() + "syrinx_audio_link.wav";
  std::remove(link.c_str());
  std::ofstream(path) << "older";
  ASSERT_EQ(symlink(path.c_str(), link.c_str()), 0);
  {
    AudioFile file(link, 24000);
    file.write(std::vector<float>(10));
  }
  EXPECT_EQ(read(path), "older");
  AudioFile file(link, 24000);
  file.finish();
  EXPECT_EQ(read(path), wav_header(24000, 0)) << "the file behind the link";
  std::remove(link.c_str());
  std::remove(path.c_str());
}

TEST(AudioFile, FormatsByName) {
  EXPECT_EQ(format_of_file("a.FLAC"), AudioFormat::kFlac);
  EXPECT_EQ(format_of_file("book.m4b"), AudioFormat::kM4a);
  EXPECT_EQ(format_of_file("/dev/stdout"), AudioFormat::kWav) << "nothing to tell one by";
  EXPECT_EQ(format_of_file("-"), AudioFormat::kWav);
  try {
    format_of_file("a.xyz");
    ADD_FAILURE() << "a.xyz is written";
  } catch (const LoadError& error) {
    for (const char* part : {"a.xyz", "'xyz'", "wav, flac, mp3, opus, ogg, aac, m4a, m4b or pcm"})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(AudioFile, FailuresLeaveNothingBehind) {
  const std::string folder = testing::TempDir() + "syrinx_audio_discard";
  std::filesystem::create_directory(folder);
  { AudioFile unused(folder + "/a.wav", 24000); }
  { AudioFile(folder + "/a.wav", 24000).write(std::vector<float>(10)); }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove(folder);
  AudioFile nowhere("/no/such/directory/a.wav", 24000);
  EXPECT_THROW(nowhere.write(std::vector<float>(1)), LoadError);
}

TEST(TextInput, WhatIsNoText) {
  EXPECT_EQ(why_no_text(""), "");
  EXPECT_EQ(why_no_text("Gr\xC3\xBC\xC3\x9F Gott,\tLeute.\r\n\f"), "");
  EXPECT_EQ(why_no_text("Hello \xff\xfe there."), "") << "a few accidents";
  EXPECT_NE(why_no_text(std::string_view("\x7f"
                                         "ELF\2\1\1\0\0\0",
                                         10))
                .find("zero byte at 7"),
            std::string::npos);
  EXPECT_NE(why_no_text(std::string_view("\xff\xfeH\0i\0", 6)).find("iconv"), std::string::npos);
  EXPECT_NE(why_no_text(std::string_view("PK\x03\x04\x14\0", 6)).find("syrinx book"),
            std::string::npos);
  EXPECT_NE(why_no_text("%PDF-1.7\n").find("pdftotext"), std::string::npos);
  std::string noise;
  for (int i = 1; i < 1000; ++i) noise += static_cast<char>(1 + i * i % 255);
  EXPECT_NE(why_no_text(noise), "");
}

TEST(TextInput, Windows1252IsReadAndReported) {
  const std::string path = testing::TempDir() + "/windows-1252.txt";
  const auto read = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    std::ostringstream report;
    const std::string text = read_text(path, &report);
    return std::pair(text, report.str());
  };
  const auto [text, report] = read("Caf\xe9 \x93ouvert\x94");
  EXPECT_EQ(text, "Caf\u00e9 \u201couvert\u201d");
  EXPECT_EQ(report, path + " is not valid UTF-8 and was read as Windows-1252.\n");
  EXPECT_EQ(read("\xEF\xBB\xBFGr\u00fcn").first, "Gr\u00fcn");
  EXPECT_EQ(read("Gr\u00fcn").second, "");
  EXPECT_THROW(read(std::string("\xff\xfeH\0i\0", 6)), LoadError) << "UTF-16";
  std::filesystem::remove(path);
}

/// Returns a mark for each word outside tags and brackets; one each second at 10 frames a second.
std::vector<WordMark> marked(std::string_view text) {
  const auto is_part = [&](size_t i) {
    return (std::isalnum(static_cast<unsigned char>(text[i])) != 0) || text[i] == '\'';
  };
  std::vector<WordMark> words;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '<' || text[at] == '[') at = text.find_first_of(">]", at);
    size_t end = at;
    while (end < text.size() && is_part(end)) ++end;
    const auto frame = static_cast<int64_t>(words.size()) * 10;
    if (end > at) words.push_back({static_cast<int64_t>(at), static_cast<int64_t>(end), frame});
    at = std::max(end, at + 1);
  }
  return words;
}

TEST(Subtitles, CuesEndAtSentencesAndAreShort) {
  const std::string text = "Hello, world. This one is a rather long sentence without any end";
  EXPECT_EQ(to_srt(text, marked(text), 10, 3700.5),
            "1\n00:00:00,000 --> 00:00:02,000\nHello, world.\n\n"
            "2\n00:00:02,000 --> 00:00:10,000\nThis one is a rather long sentence without\n\n"
            "3\n00:00:10,000 --> 01:01:40,500\nany end\n\n");
}

TEST(Subtitles, CuesHaveThePunctuationOfTheText) {
  const auto cues = [](std::string_view text) {
    std::string out;
    std::istringstream srt(to_srt(text, marked(text), 10, 99));
    for (std::string line; std::getline(srt, line);) {
      if (!line.empty() && line.find("-->") == line.npos &&
          line.find_first_not_of("0123456789") == 0)
        out += (out.empty() ? "" : "|") + line;
    }
    return out;
  };
  EXPECT_EQ(cues("Mr. Hill met Dr. Lee at St. Mary's. It rained."),
            "Mr. Hill met Dr. Lee at St. Mary's.|It rained.");
  EXPECT_EQ(cues("\u201cI know,\u201d she said. \u201cNo!\u201d"),
            "\u201cI know,\u201d she said.|\u201cNo!\u201d");
  EXPECT_EQ(cues("Half past three \u2014 no? They spoke\u2014once (twice)."),
            "Half past three \u2014 no?|They spoke\u2014once (twice).");
  EXPECT_EQ(cues("The *Queen Mary*; a [pause 1s] b<break time=\"1s\"/>c."),
            "The Queen Mary; a b c.");
  EXPECT_EQ(cues("# One\n\n* * *\n\nTwo[^1]."), "One|Two");
  const std::string wide =
      "\u00e9\u00e9\u00e9\u00e9 \u00e9\u00e9\u00e9\u00e9";  // 9 characters, 17 bytes
  std::vector<WordMark> words;
  std::string text;
  for (int64_t i = 0; i < 4; ++i) {
    words.push_back({i * 18, i * 18 + 17, i});
    text += wide + ' ';
  }
  EXPECT_EQ(to_srt(text, words, 1, 4).find("\n2\n"), std::string::npos) << "39 characters";
}

TEST(Subtitles, WordLines) {
  const std::vector<WordMark> words = {{0, 5, 0}, {6, 11, 25}, {6, 99, 30}, {7, 6, 30}};
  EXPECT_EQ(word_lines("hello world", words, 25), "    0.00  hello\n    1.00  world\n");
  EXPECT_EQ(to_srt("hello world", {}, 25, 1), "");
}

TEST(StopSignal, ALostGpuStopsTheProcessWithCodeOne) {
  const auto lives = [](bool loses) {
    StopSignal stop;
    stop.arm();
    StopSignal::watch_device(
        [](const std::string& line) { std::fprintf(stderr, "%s", line.c_str()); });
    loses ? report_lost_device("an illegal address") : static_cast<void>(kill(getpid(), SIGTERM));
    const bool stopped = stop.wait() == StopSignal::Event::kStop;
    std::_Exit(stopped ? StopSignal::end_watch() : 2);
  };
  EXPECT_EXIT(lives(true), testing::ExitedWithCode(1), "cannot use the GPU.*an illegal address");
  EXPECT_EXIT(lives(false), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace syrinx
