// Books: chapters and parts of a text, and files that survive an interruption.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "audio/wav.h"
#include "base/check.h"
#include "base/error.h"
#include "cli/files/book_text.h"
#include "cli/files/book_work.h"
#include "io/file.h"

namespace syrinx {
namespace {

std::vector<std::string> titles(std::string_view text) {
  std::vector<std::string> out;
  size_t at = 0;
  for (const Chapter& chapter : find_chapters(text)) {
    EXPECT_EQ(chapter.begin, at);
    at = chapter.end;
    out.push_back(chapter.title);
  }
  EXPECT_EQ(at, text.size());
  return out;
}

using Names = std::vector<std::string>;

TEST(BookText, Chapters) {
  EXPECT_EQ(titles(""), Names{""});
  EXPECT_EQ(titles("Only words.\n"), Names{""});
  EXPECT_EQ(titles("A Title\n\nCHAPTER I\n\nOne.\n\nChapter 2: Two\n\nTwo.\n"),
            (Names{"CHAPTER I", "Chapter 2: Two"}));
  const std::string foreword(300, 'x');
  EXPECT_EQ(titles(foreword + "\n\nKapitel 1\n\nEins.\n"), (Names{"", "Kapitel 1"}));
  // A sentence that begins with a word like "Part" or "Chapter" is not a heading.
  EXPECT_EQ(titles("x\n\nPart of the reason is this.\n\ny\n\nChapter and verse\n\n"), Names{""});
  EXPECT_EQ(titles("x\n\nThe end\nChapter 3\nof it\n"), Names{""});
}

TEST(BookText, GutenbergsHeadings) {
  // A table of contents, then each number with its title on the next line.
  EXPECT_EQ(titles("Alice\n\nContents\n\n CHAPTER I.     Down the Rabbit-Hole\n CHAPTER II.    The "
                   "Pool of Tears\n\n\nCHAPTER I.\nDown the Rabbit-Hole\n\n\nAlice was.\n\n"
                   "CHAPTER II.\nThe Pool of Tears,\nand more\n\nCuriouser.\n"),
            (Names{"CHAPTER I. Down the Rabbit-Hole", "CHAPTER II. The Pool of Tears, and more"}));
  // Many lines directly after a number are text, not a title.
  EXPECT_EQ(titles("x\n\nChapter 3\nof it\nall\nhere\n\ny\n"), Names{""});
  EXPECT_EQ(titles("Chapter 1\nChapter 2\n\nText of it.\n"), Names{""});
  // A table of contents with one line for each chapter: only the last line has text after it.
  EXPECT_EQ(titles("CHAPTER I\n\nCHAPTER II\n\nCHAPTER I\n\nOne.\n\nCHAPTER II\n\nTwo.\n"),
            (Names{"CHAPTER I", "CHAPTER II"}));
  EXPECT_EQ(titles("PART ONE\n\nCHAPTER 1\n\nOne.\n\nCHAPTER 2\n\nTwo.\n"),
            (Names{"PART ONE. CHAPTER 1", "CHAPTER 2"}));
}

// An empty line may separate a number from its title. A line that looks like text is not a title.
TEST(Book, TitlesStandApart) {
  EXPECT_EQ(titles("CHAPTER I\n\nJONATHAN HARKER'S JOURNAL\n\n(_Kept in shorthand._)\n\n3 May.\n\n"
                   "CHAPTER II\n\nThe End of the Castle\n\nOne.\n\nCHAPTER III\n\nNo.\n\nTwo.\n\n"
                   "CHAPTER IV\n\nHe went out of the Castle\n\nThree.\n"),
            (Names{"CHAPTER I. JONATHAN HARKER'S JOURNAL", "CHAPTER II. The End of the Castle",
                   "CHAPTER III", "CHAPTER IV"}));
  EXPECT_EQ(titles("I\n\nThe Sea\n\nOne.\n\n\nII\n\n\"Ah!\"\n\nTwo.\n\n\nIII\n\n42\n\nThree.\n"),
            (Names{"I. The Sea", "II", "III"}));
}

TEST(BookText, RomanNumerals) {
  EXPECT_EQ(titles("   I\n\nOne.\n\n   II\n\nTwo.\n\nI\n\nNew.\n"), (Names{"I", "II", "I"}));
  EXPECT_EQ(titles("I.\nIntroduction\n\nOne.\n\nII.\nThe Machine\n\nTwo.\n"),
            (Names{"I. Introduction", "II. The Machine"}));
  EXPECT_EQ(titles("BOOK ONE\n\nI.\nTHE EVE\n\nOne.\n\nII.\nTHE STAR\n\nTwo.\n"),
            (Names{"BOOK ONE. I. THE EVE", "II. THE STAR"}));
  // These lines are not headings: numbered sections within a titled story, a single letter,
  // numerals that do not count from I.
  EXPECT_EQ(titles("I. A SCANDAL\n\nI.\n\nOne.\n\nII.\n\nTwo.\n\nII. THE LEAGUE\n\nThree.\n"),
            (Names{"I. A SCANDAL", "II. THE LEAGUE"}));
  EXPECT_EQ(titles("x\n\nI\n\ny\n"), Names{""});
  EXPECT_EQ(titles("x\n\nV\n\ny\n\nX\n\nz\n\nMIX\n\n"), Names{""});
  EXPECT_EQ(titles("CHAPTER I\n\nOne.\n\nI\n\na\n\nII\n\nb\n"), Names{"CHAPTER I"});
}

TEST(BookText, Markdown) {
  EXPECT_EQ(titles("# Book\n\n## One\n\nText.\n\n## Two\n\nText.\n\n### Deeper\n\nText.\n"),
            (Names{"Book. One", "Two"}));
  EXPECT_EQ(titles("### One\nText.\n### Two\nText.\n#hash\n#\n"), (Names{"One", "Two"}));
}

TEST(BookText, PartsHoldEverySentenceOnce) {
  std::string text = "# One\n\n";
  for (int i = 0; i < 200; ++i) {
    text += "Sentence number " + std::to_string(i) + " of this text. ";
    if (i % 7 == 6) text += "\n\n";
    if (i == 120) text += "\n\n# Two\n\n";
  }
  const auto chapters = find_chapters(text);
  ASSERT_EQ(chapters.size(), 2u);
  const auto parts = cut_book(text, chapters);
  std::string joined;
  size_t chapter = 0;
  for (const BookPart& part : parts) {
    EXPECT_LT(part.text.size(), 2500u);
    EXPECT_GE(part.chapter, chapter);
    chapter = part.chapter;
    joined += part.text;
  }
  EXPECT_EQ(chapter, 1u);
  EXPECT_EQ(joined.find('#'), std::string::npos);
  for (int i = 0; i < 200; ++i) {
    const std::string name = "number " + std::to_string(i) + " of";
    const size_t at = joined.find(name);
    ASSERT_NE(at, std::string::npos) << name;
    EXPECT_EQ(joined.find(name, at + 1), std::string::npos) << name;
  }
  EXPECT_TRUE(cut_book(" \n\n ", find_chapters(" \n\n ")).empty());
}

TEST(BookText, PartsEndWithThePausesOfTheLayout) {
  const std::string words(900, 'x');
  const std::string text =
      "# One\nText.\n\n" + words + ".\n\n" + words + "\n\n" + words + ".\n\n# Two\n\nMore.";
  const auto chapters = find_chapters(text);
  const auto parts = cut_book(text, chapters);
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(parts[0].text.substr(0, 10), "One\n\nText.");  // a heading is a separate paragraph
  std::vector<float> pauses;
  for (const BookPart& part : parts) pauses.push_back(part.pause_s);
  EXPECT_EQ(pauses, (std::vector<float>{0.4f, 0.4f, 0.7f, 0.7f}));
  for (const BookPart& part : cut_book(text, chapters, false)) {
    EXPECT_EQ(text.substr(part.begin, part.text.size()), part.text);
  }
}

TEST(BookText, Names) {
  const BookNames alice =
      find_names("The Project Gutenberg eBook\n\nTitle: Alice\n\nAuthor: Lewis Carroll\n");
  EXPECT_EQ(alice.title, "Alice");
  EXPECT_EQ(alice.author, "Lewis Carroll");
  const BookNames matter = find_names("---\ntitle: \"A: B\"\nauthor: C\n---\nTitle: later\n");
  EXPECT_EQ(matter.title, "A: B");
  EXPECT_EQ(matter.author, "C");
  EXPECT_EQ(find_names("No names.\nThe title: none\n").title, "");
  EXPECT_EQ(find_names(std::string(60, '\n') + "Title: late\n").title, "");
}

TEST(BookText, ProjectGutenbergsLicenceIsLeftOut) {
  const std::string header = "The Project Gutenberg eBook of Alice\n\nTitle: Alice\n\n";
  EXPECT_EQ(
      without_licence(header +
                      "*** START OF THE PROJECT GUTENBERG EBOOK ALICE ***\n\nCHAPTER I\n\n"
                      "*** She ***\n\n*** END OF THE PROJECT GUTENBERG EBOOK ALICE ***\nLicence"),
      "\n\nCHAPTER I\n\n*** She ***\n\n");
  EXPECT_EQ(
      without_licence("a\n***START OF THIS PROJECT GUTENBERG EBOOK THE ADVENTURES OF\nSHERLOCK "
                      "HOLMES***\nb\n"),
      "\nb\n");
  const std::vector<std::string> others = {header + "She",
                                           "*** The end of Project Gutenberg ***\n",
                                           "x *** START OF THE PROJECT GUTENBERG EBOOK ***",
                                           "*** START OF IT ***\n\nProject Gutenberg ***",
                                           "***",
                                           ""};
  for (const std::string& whole : others) EXPECT_EQ(without_licence(whole), whole);
}

TEST(BookText, FrontMatterIsLeftOut) {
  EXPECT_EQ(without_front_matter("---\ntitle: A\nTags:\n  - b\n- c\n\n# d\ndraft: no\n---\nShe\n"),
            "She\n");
  EXPECT_EQ(without_front_matter("---\ntitle: A\n---"), "");
  for (const std::string whole : {"---\nShe said: no.\n---\nHe\n", "---\ntitle: A\n", "---", "",
                                  "title: A\n---\nHe\n", "----\ntitle: A\n---\nHe\n"})
    EXPECT_EQ(without_front_matter(whole), whole);
}

TEST(BookText, FileNames) {
  EXPECT_EQ(chapter_file_name({"CHAPTER I. Down, \"down\"/../x", 0, 0}, 3, 12),
            "03-chapter-i-down-down-x");
  EXPECT_EQ(chapter_file_name({"", 0, 0}, 7, 200), "007");
  EXPECT_EQ(chapter_file_name({"Über Äpfel", 0, 0}, 1, 1), "01-Über-Äpfel");
  EXPECT_LE(chapter_file_name({std::string(500, 'a'), 0, 0}, 1, 1).size(), 60u);
}

class BookFiles : public testing::Test {
 protected:
  void SetUp() override { TearDown(); }
  void TearDown() override {
    for (const char* end : {".part", ".journal", ".wav", ".cue"})
      std::remove((path_ + end).c_str());
  }
  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  // Each test has its own directory, because tests run in parallel.
  const std::string path_ = concat(testing::TempDir(), "syrinx_",
                                   testing::UnitTest::GetInstance()->current_test_info()->name());
  const std::vector<float> one_ = {0.25f, -0.25f}, two_ = {0.5f};
};

TEST_F(BookFiles, GoesOnAfterAnInterruption) {
  {
    BookWork work(path_, "f", false);
    work.add(one_, true, PartEnd::kWhole);
  }
  // Writes half a part, as if the program had ended while writing.
  std::ofstream(path_ + ".part", std::ios::binary | std::ios::app) << "rest";
  BookWork work(path_, "f", false);
  EXPECT_EQ(work.place().parts, 1u);
  EXPECT_EQ(work.place().samples, 2u);
  work.add(two_, true, PartEnd::kCutShort);
  EXPECT_EQ(work.place().cut_short, 1u);
  EXPECT_EQ(work.place().marks, (std::vector<uint64_t>{0, 2}));
  work.finish_file(path_ + ".wav", {.format = AudioFormat::kWav, .in_rate_hz = 16000},
                   {{"One", 0}, {"Two", 2}});
  std::string want = wav_header(16000, 3);
  append_s16(std::vector<float>{0.25f, -0.25f, 0.5f}, want);
  EXPECT_EQ(read(path_ + ".wav"), want);
  EXPECT_NE(read(path_ + ".cue").find("TITLE \"Two\""), std::string::npos);
  EXPECT_EQ(work.place().samples, 0u);
  EXPECT_EQ(work.place().all_samples, 3u);
  work.finish();
  EXPECT_FALSE(is_file(path_ + ".part") || is_file(path_ + ".journal"));
}

/// A chapter without samples leaves no file and no mark.
TEST_F(BookFiles, AFileWithoutSamplesIsSkipped) {
  std::ofstream(path_ + ".wav") << "of an earlier run";
  {
    BookWork work(path_, "f", false);
    work.add({}, true, PartEnd::kLeftOut);
    work.skip_file(path_ + ".wav");
    EXPECT_FALSE(is_file(path_ + ".wav"));
    work.add(one_, true, PartEnd::kWhole);
  }
  BookWork work(path_, "f", false);
  EXPECT_EQ(work.place().left_out, 1u);
  EXPECT_EQ(work.place().parts, 2u);
  EXPECT_EQ(work.place().marks, (std::vector<uint64_t>{0}));
}

TEST_F(BookFiles, AnotherBookIsNotMixedIn) {
  { BookWork(path_, "f", false).add(one_, true, PartEnd::kWhole); }
  EXPECT_THROW(BookWork(path_, "g", false), LoadError);
  EXPECT_EQ(BookWork(path_, "g", true).place().parts, 0u);
}

TEST_F(BookFiles, OneProcessAtATime) {
  BookWork work(path_, "f", false);
  work.add(one_, true, PartEnd::kWhole);
  for (const bool restart : {false, true}) {
    EXPECT_THROW(BookWork(path_, "f", restart), LoadError);
  }
  EXPECT_EQ(read(path_ + ".part").size(), 4u);
}

TEST_F(BookFiles, LostAudioIsNoticed) {
  { BookWork(path_, "f", false).add(one_, true, PartEnd::kWhole); }
  std::remove((path_ + ".part").c_str());
  EXPECT_THROW(BookWork(path_, "f", false), LoadError);
  std::ofstream(path_ + ".journal") << "not a journal";
  EXPECT_THROW(BookWork(path_, "f", false), LoadError);
}

TEST(CueSheet, Times) {
  EXPECT_EQ(cue_sheet("a \"b\".wav", 16000, {{"", 0}, {"T", 16000 * 61 + 8000}}),
            "FILE \"a 'b'.wav\" WAVE\n  TRACK 01 AUDIO\n    INDEX 01 00:00:00\n"
            "  TRACK 02 AUDIO\n    TITLE \"T\"\n    INDEX 01 01:01:37\n");
  EXPECT_NE(fingerprint_of("a"), fingerprint_of("b"));
  EXPECT_EQ(fingerprint_of(""), "cbf29ce484222325");
}

}  // namespace
}  // namespace syrinx
