#include "text/sentences.h"

#include <gtest/gtest.h>

#include <random>

#include "text/segment_queue.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx {
namespace {

using Strings = std::vector<std::string>;

/// Returns the sentences without the white space around them.
Strings split(const std::string& text, const SentenceOptions& options = {}) {
  Strings out;
  for (const Sentence& each : split_sentences(text, options)) {
    std::string piece = text.substr(each.begin, each.end - each.begin);
    while (!piece.empty() && is_space(static_cast<uint8_t>(piece.back()))) piece.pop_back();
    while (!piece.empty() && is_space(static_cast<uint8_t>(piece[0]))) piece.erase(0, 1);
    out.push_back(piece);
  }
  return out;
}

TEST(Sentences, EndAtMarks) {
  EXPECT_EQ(split("One. Two! Three? Four"), (Strings{"One.", "Two!", "Three?", "Four"}));
  EXPECT_EQ(split("Really?! Yes."), (Strings{"Really?!", "Yes."}));
  EXPECT_EQ(split("all small. what now? good."), (Strings{"all small.", "what now?", "good."}));
  EXPECT_EQ(split("No end"), (Strings{"No end"}));
  EXPECT_EQ(split(""), Strings{});
  EXPECT_EQ(split("  Lead. Trail.  "), (Strings{"Lead.", "Trail."}));
}

TEST(Sentences, KnowAbbreviationsAndNumbers) {
  EXPECT_EQ(split("Mr. Smith met Dr. J. R. Jones. They left."),
            (Strings{"Mr. Smith met Dr. J. R. Jones.", "They left."}));
  EXPECT_EQ(split("It costs 3.14 dollars. See No. 5, Fig. 2 and pp. 3-4."),
            (Strings{"It costs 3.14 dollars.", "See No. 5, Fig. 2 and pp. 3-4."}));
  EXPECT_EQ(split("In the U.S. Army, e.g. here, at 5 p.m. Monday. In the U.S. The end."),
            (Strings{"In the U.S. Army, e.g. here, at 5 p.m. Monday.", "In the U.S.", "The end."}));
  EXPECT_EQ(split("Acme Inc. Chairman Bob vs. Al. Go to example.org now. Done."),
            (Strings{"Acme Inc. Chairman Bob vs. Al. Go to example.org now.", "Done."}));
  EXPECT_EQ(split("it is 3 in. wide, 500 sq. ft. in all. he came in. it shut."),
            (Strings{"it is 3 in. wide, 500 sq. ft. in all.", "he came in.", "it shut."}));
  EXPECT_EQ(
      split("Cpl. Jones read Vol. III and ch. IV. Chapters. I said no. I left."),
      (Strings{"Cpl. Jones read Vol. III and ch. IV.", "Chapters.", "I said no.", "I left."}));
  EXPECT_EQ(split("1. First item. 2. Second."), (Strings{"1. First item.", "2. Second."}));
  EXPECT_EQ(split("Born in 1990. Then more."), (Strings{"Born in 1990.", "Then more."}));
  EXPECT_EQ(split("So do I. Then Plan B. We act on Jan. 5."),
            (Strings{"So do I.", "Then Plan B.", "We act on Jan. 5."}));
}

TEST(Sentences, KnowFootnotes) {
  EXPECT_EQ(split("It was powder.1 The day came.[12] He left.\u00b9 She "
                  "\u201cstayed.\u201d\u00b2\u2074 Yes"),
            (Strings{"It was powder.1", "The day came.[12]", "He left.\u00b9",
                     "She \u201cstayed.\u201d\u00b2\u2074", "Yes"}));
  EXPECT_EQ(split("See v1.2 The end of sect.1 The law of 5 m\u00b2. No"),
            (Strings{"See v1.2 The end of sect.1 The law of 5 m\u00b2.", "No"}));
  EXPECT_EQ(split("Use example.1 as it is, Dr.[1] Smith, or list.[0] First"),
            (Strings{"Use example.1 as it is, Dr.[1] Smith, or list.[0] First"}));
}

TEST(Sentences, KnowInitialsAndNumbersAfterAbbreviations) {
  EXPECT_EQ(split("J. P. Morgan met C. Smith. See gate no. B7 and Art. II of it. End"),
            (Strings{"J. P. Morgan met C. Smith.", "See gate no. B7 and Art. II of it.", "End"}));
  EXPECT_EQ(split("Of 4 in. (10 cm) and 1\u00bd tsp. salt in the 3rd c. BC. End"),
            (Strings{"Of 4 in. (10 cm) and 1\u00bd tsp. salt in the 3rd c. BC.", "End"}));
  EXPECT_EQ(split("In Boston, Mass. Tom met no. 5. It was powder.2,3 The end."),
            (Strings{"In Boston, Mass. Tom met no. 5.", "It was powder.2,3", "The end."}));
  EXPECT_EQ(split("It was powder.12,345 The end."), (Strings{"It was powder.12,345 The end."}));
}

TEST(Sentences, KnowDaysAmountsAndMissingSpaces) {
  EXPECT_EQ(split("He came on Wed. Tom came on Mon. March 3 and Fri. Night."),
            (Strings{"He came on Wed.", "Tom came on Mon. March 3 and Fri. Night."}));
  EXPECT_EQ(split("Approx. $5, no. €6. Min. 3 and max. 5 of 5 mil. or 7 kg. in all."),
            (Strings{"Approx. $5, no. €6.", "Min. 3 and max. 5 of 5 mil. or 7 kg. in all."}));
  EXPECT_EQ(split("It rained.\"Go!\"She went.Why?So. Node.Js and example.com.The end"),
            (Strings{"It rained.\"Go!\"", "She went.", "Why?", "So.",
                     "Node.Js and example.com.The end"}));
}

TEST(Sentences, KnowEllipsesAndQuotes) {
  EXPECT_EQ(split("Well... maybe. Well... Maybe."),
            (Strings{"Well... maybe.", "Well...", "Maybe."}));
  EXPECT_EQ(split("Hm… no. Hm… No."), (Strings{"Hm… no.", "Hm…", "No."}));
  EXPECT_EQ(split("\"Stop!\" he said. \"Why?\" \"Because.\" (It ended.) So."),
            (Strings{"\"Stop!\" he said.", "\"Why?\"", "\"Because.\"", "(It ended.)", "So."}));
  EXPECT_EQ(split("He said “Go.” Then “No!” she cried. «Oui.» Bien."),
            (Strings{"He said “Go.”", "Then “No!” she cried.", "«Oui.»", "Bien."}));
  EXPECT_EQ(split("**Bold.** ¿Qué? ¡No!"), (Strings{"**Bold.**", "¿Qué?", "¡No!"}));
}

TEST(Sentences, KnowLinesAndParagraphs) {
  EXPECT_EQ(split("A line of prose that is wrapped somewhere near the\nMiddle of it. Next"),
            (Strings{"A line of prose that is wrapped somewhere near the\nMiddle of it.", "Next"}));
  EXPECT_EQ(
      split("A long line of prose that ends a sentence here. He met\nAlice there. End."),
      (Strings{"A long line of prose that ends a sentence here.", "He met\nAlice there.", "End."}));
  EXPECT_EQ(split("Title\n\nText begins"), (Strings{"Title", "Text begins"}));
  EXPECT_EQ(split("Shopping:\n- milk\n- eggs\r\n- bread"),
            (Strings{"Shopping:", "- milk", "- eggs", "- bread"}));
  EXPECT_EQ(split("Roses are red\nViolets are blue"),
            (Strings{"Roses are red", "Violets are blue"}));
  const auto pieces = split_sentences("One. Two.\n\nThree.\n \nFour.");
  ASSERT_EQ(pieces.size(), 4u);
  EXPECT_FALSE(pieces[0].ends_paragraph);
  EXPECT_TRUE(pieces[1].ends_paragraph);
  EXPECT_TRUE(pieces[2].ends_paragraph);
  EXPECT_FALSE(pieces[3].ends_paragraph);
}

TEST(Sentences, KnowWritingWithoutSpaces) {
  EXPECT_EQ(split("床前明月光。疑是地上霜！是吗？"),
            (Strings{"床前明月光。", "疑是地上霜！", "是吗？"}));
  EXPECT_EQ(split("他说：「你好。」然后走了。"), (Strings{"他说：「你好。」", "然后走了。"}));
  EXPECT_EQ(split("मैं यहाँ हूँ। तुम कहाँ हो?"), (Strings{"मैं यहाँ हूँ।", "तुम कहाँ हो?"}));
  EXPECT_EQ(split("OK!明月。"), (Strings{"OK!", "明月。"}));
}

TEST(Sentences, LongOnesAreCutWhereItIsSensible) {
  const SentenceOptions options{.max_chars = 30};
  EXPECT_EQ(split("one two three four, five six seven eight nine", options),
            (Strings{"one two three four,", "five six seven eight nine"}));
  EXPECT_EQ(split("one two three four; five, six seven eight nine", options),
            (Strings{"one two three four;", "five, six seven eight nine"}));
  EXPECT_EQ(split("one two three four five six seven eight", options),
            (Strings{"one two three four five six", "seven eight"}));
  EXPECT_EQ(split(std::string(70, 'x'), options),
            (Strings{std::string(30, 'x'), std::string(30, 'x'), std::string(10, 'x')}));
  std::string marks;
  for (int i = 0; i < 40; ++i) marks += "e\u0301";
  for (const auto& piece : split(marks, options)) EXPECT_EQ(piece[0], 'e');
}

TEST(Sentences, ShortOnesAreJoined) {
  const SentenceOptions options{.min_chars = 10};
  EXPECT_EQ(split("Oh! No! What now? Nothing at all. End.", options),
            (Strings{"Oh! No! What now?", "Nothing at all.", "End."}));
  EXPECT_EQ(split("Oh!\n\nNo!", options), (Strings{"Oh!", "No!"}));
}

TEST(Sentences, AtTheirLimits) {
  // A line of 45 bytes is a separate piece. A line of 46 bytes is prose that continues.
  for (const size_t size : {45u, 46u}) {
    const std::string line = "Verse " + std::string(size - 6, 'a');
    EXPECT_EQ(split(line + "\nNext").size(), size == 45 ? 2u : 1u) << size;
    EXPECT_EQ(split("A title\n" + line + "\nNext").size(), size == 45 ? 3u : 2u) << size;
  }
  const std::string prose = "It is a long line of prose that ends somewhere in";
  EXPECT_EQ(split(prose + "\n" + prose + "\nA short line\nNext").size(),
            2u);  // the length of the last line decides
  EXPECT_EQ(split(prose + "\n198. Next").size(), 2u);
  EXPECT_EQ(split(prose + "\n1984, next").size(), 1u);
  EXPECT_EQ(split(prose + "\n1984) next").size(), 1u) << "a year is no item of a list";
  EXPECT_EQ(split("Oh! No!", {.min_chars = 3}).size(), 2u);
  EXPECT_EQ(split("Oh! No!", {.min_chars = 4}).size(), 1u);
  EXPECT_EQ(split("all small, plan x. or not").size(), 1u);
  EXPECT_EQ(split("all small, plan be. or not").size(), 2u);
  EXPECT_EQ(split("Yes, one two three four five six seven", {.max_chars = 30}),
            (Strings{"Yes, one two three four five", "six seven"}));  // the cut is not too early
}

/// Returns a random text of characters and words that the rules use.
std::string random_text(std::mt19937& random, size_t parts) {
  static const Strings kParts = {" ",      "  ",
                                 "\n",     "\r\n",
                                 "\n\n",   ".",
                                 "!",      "?",
                                 "...",    "…",
                                 "。",     "，",
                                 "、",     "\"",
                                 "”",      ")",
                                 "(",      "Mr",
                                 "Dr.",    "U.S.",
                                 "a",      "The",
                                 "then",   "I",
                                 "No",     "word",
                                 "Hello",  "明月",
                                 "1",      "42",
                                 "3.14",   "-",
                                 "- ",     "*",
                                 ";",      ":",
                                 ",",      ", ",
                                 "é",      "e\u0301",
                                 "\xff",   "\xe6\x98",
                                 "\u2029", "\t",
                                 "x.y",    "supercalifragilistic",
                                 ".\n",    "? ",
                                 "! ",     ". "};
  std::string text;
  for (size_t i = 0; i < parts; ++i) text += kParts[random() % kParts.size()];
  return text;
}

/// Returns the number of characters as SentenceOptions counts them, without white space at the
/// ends.
size_t length(std::string_view text) {
  size_t count = 0;
  bool space = true, gap = false;
  for (size_t at = 0; at < text.size();) {
    const CodePoint code = utf8_at(text, at);
    at += code.size;
    const bool now = is_space(code.value);
    if (now) gap = !space || gap;
    if (!now) count += gap ? 2 : 1, gap = false;
    space = now;
  }
  return count;
}

TEST(SentenceProperties, PiecesCoverTheTextAndFit) {
  std::mt19937 random(11);
  for (int round = 0; round < 4000; ++round) {
    const std::string text = random_text(random, 1 + random() % 60);
    const SentenceOptions options{.max_chars = 8 + random() % 60, .min_chars = random() % 20};
    size_t at = 0;
    for (const Sentence& each : split_sentences(text, options)) {
      ASSERT_EQ(each.begin, at);
      ASSERT_GT(each.end, each.begin);
      at = each.end;
      EXPECT_LE(length(text.substr(each.begin, each.end - each.begin)), options.max_chars)
          << text << "\n>>" << text.substr(each.begin, each.end - each.begin) << "<<";
    }
    ASSERT_EQ(at, text.size());
  }
}

TEST(SentenceProperties, StreamsGiveTheSame) {
  std::mt19937 random(12);
  for (int round = 0; round < 4000; ++round) {
    const std::string text = random_text(random, 1 + random() % 60);
    const SentenceOptions options{.max_chars = 8 + random() % 60, .min_chars = random() % 20};
    SentenceStream stream(options);
    std::vector<SentenceStream::Item> items;
    const size_t most = 1 + random() % 8;
    for (size_t at = 0; at < text.size();) {
      const size_t size = 1 + random() % most;
      stream.push(std::string_view(text).substr(at, size), items);
      at += size;
    }
    stream.finish(items);
    const auto want = split_sentences(text, options);
    ASSERT_EQ(items.size(), want.size()) << text;
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ(items[i].place.begin, want[i].begin) << text;
      EXPECT_EQ(items[i].place.end, want[i].end) << text;
      EXPECT_EQ(items[i].place.ends_paragraph, want[i].ends_paragraph) << text;
      EXPECT_EQ(items[i].text, text.substr(want[i].begin, want[i].end - want[i].begin));
    }
  }
}

TEST(SentenceStream, GivesASentenceOnceTheNextBegins) {
  SentenceStream stream;
  std::vector<SentenceStream::Item> items;
  stream.push("Hello there.", items);
  EXPECT_TRUE(items.empty());
  stream.push(" ", items);
  EXPECT_TRUE(items.empty());
  stream.push("H", items);
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].text, "Hello there. ");
  stream.push("ow are you?", items);
  stream.finish(items);
  EXPECT_EQ(items.back().text, "How are you?");
  EXPECT_EQ(items.back().place.begin, 13u);
}

TEST(SentenceStream, MuchAtOnceIsCutAtOnce) {
  std::string text;
  while (text.size() < 10'000) text += "One more sentence. ";
  SentenceStream stream;
  std::vector<SentenceStream::Item> items;
  stream.push(text, items);
  EXPECT_GT(items.size(), 500u);
}

TEST(SentenceStream, EndlessMarksCostLittle) {
  for (const char* part : {".", " ", "!\"", "\n", ")"}) {
    SentenceStream stream;
    std::vector<SentenceStream::Item> items;
    for (int i = 0; i < 40'000; ++i) stream.push(part, items);
    stream.finish(items);
    EXPECT_FALSE(items.empty());
  }
}

TEST(Sentences, ALongScriptIsAPieceOfItsOwn) {
  const std::string script = "<script>" + std::string(5000, 'x') + ". Go! </script>";
  const std::string text = "Before it. Here " + script + " there. After it.";
  const auto pieces = split_sentences(text);
  ASSERT_EQ(pieces.size(), 5u);
  std::string read;
  for (const Sentence& each : pieces) {
    const std::string part = text.substr(each.begin, each.end - each.begin);
    EXPECT_EQ(each.hidden, part == script) << part.substr(0, 40);
    if (!each.hidden) read += part;
  }
  EXPECT_EQ(read, "Before it. Here  there. After it.");
  SegmentQueue queue(10'000, false, 0);
  queue.push(text, true);
  EXPECT_EQ(queue.next(), "Before it. Here ");
  EXPECT_EQ(queue.next(), " there. After it.");
  EXPECT_EQ(queue.next(), "");
  // A text about HTML is spoken, not hidden. A script without an end hides no text after it.
  const std::string about = "Use `<script>` here. " + std::string(3000, 'y') + ". See `</script>`.";
  for (const Sentence& each : split_sentences(about)) EXPECT_FALSE(each.hidden);
  for (const Sentence& each : split_sentences("A <script> is. " + std::string(3000, 'z')))
    EXPECT_FALSE(each.hidden);
}

}  // namespace
}  // namespace syrinx
