// The parts of the command line that need no model: files and subtitles.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "audio/wav.h"
#include "base/error.h"
#include "cli/audio_file.h"
#include "cli/subtitles.h"

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
  EXPECT_EQ(read(path).substr(0, 44), wav_header(24000));
  file.write(std::vector<float>(5));
  file.finish();
  EXPECT_EQ(read(path), wav_header(24000, 15) + std::string(30, '\0'));
  std::remove(path.c_str());
}

TEST(AudioFile, FailuresLeaveNothingBehind) {
  const std::string path = testing::TempDir() + "syrinx_audio_discard.wav";
  AudioFile file(path, 24000);
  file.discard();  // before anything was written
  file.write(std::vector<float>(10));
  file.discard();
  EXPECT_FALSE(std::ifstream(path).good());
  AudioFile nowhere("/no/such/directory/a.wav", 24000);
  EXPECT_THROW(nowhere.write(std::vector<float>(1)), LoadError);
}

TEST(Subtitles, CuesEndAtSentencesAndAreShort) {
  const std::string text = "Hello, world. This one is a rather long sentence without any end";
  std::vector<WordMark> words;
  int64_t frame = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(" ,.", at), text.size());
    words.push_back({static_cast<int64_t>(at), static_cast<int64_t>(end), frame});
    frame += 10;
    at = text.find_first_not_of(" ,.", end);
  }
  EXPECT_EQ(to_srt(text, words, 10, 3700.5),
            "1\n00:00:00,000 --> 00:00:02,000\nHello, world.\n\n"
            "2\n00:00:02,000 --> 00:00:10,000\nThis one is a rather long sentence without\n\n"
            "3\n00:00:10,000 --> 01:01:40,500\nany end\n\n");
}

TEST(Subtitles, WordLines) {
  const std::vector<WordMark> words = {{0, 5, 0}, {6, 11, 25}, {6, 99, 30}, {7, 6, 30}};
  EXPECT_EQ(word_lines("hello world", words, 25), "    0.00  hello\n    1.00  world\n");
  EXPECT_EQ(to_srt("hello world", {}, 25, 1), "");
}

}  // namespace
}  // namespace syrinx
