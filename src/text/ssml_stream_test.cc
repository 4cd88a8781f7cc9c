#include "text/ssml_stream.h"

#include <gtest/gtest.h>

#include "base/fuzzing.h"
namespace syrinx {
namespace {

/// Returns the pieces of a text that arrives in parts of `size` bytes: documents in [], and joined
/// plain text.
std::string pieces(SsmlStream stream, std::string_view text, size_t size) {
  std::vector<SsmlStream::Piece> all;
  for (size_t at = 0; at < text.size(); at += size) stream.push(text.substr(at, size), all);
  stream.finish(all);
  std::string out;
  for (const auto& piece : all) out += piece.document ? "[" + piece.text + "]" : piece.text;
  return out;
}

TEST(SsmlStream, DistinguishesDocumentsFromPlainText) {
  const std::string cases[][2] = {
      {"Hello.", "Hello."},
      {"<speak>a</speak>", "[<speak>a</speak>]"},
      {" \n<speak x='1'>a<s>b</s></speak >", "[ \n<speak x='1'>a<s>b</s></speak >]"},
      {"<?xml version='1.0'?> <speak>a</speak>", "[<?xml version='1.0'?> <speak>a</speak>]"},
      {"<speak>a</speak><speak>b</speak>", "[<speak>a</speak>][<speak>b</speak>]"},
      {"<speak>a</speak> and on", "[<speak>a</speak>] and on"},
      {"<speak>a</speak>\n", "[<speak>a</speak>]\n"},
      {"\xef\xbb\xbf<speak>a</speak>", "[\xef\xbb\xbf<speak>a</speak>]"},
      {"\xef\xbb", "\xef\xbb"},
      {" \v<speak>a</speak>", " \v<speak>a</speak>"},    // \v is not white space in XML
      {"Say <speak>a</speak>", "Say <speak>a</speak>"},  // begins as plain text
      {"<speaker>", "<speaker>"},
      {"<sp", "<sp"},
      {"  ", "  "},
      {"<?xml version='1.0'?> <p>a</p>", "<?xml version='1.0'?> <p>a</p>"},
      {"<speak><!-- </speak> --><![CDATA[</speak>]]>a</speak>b",
       "[<speak><!-- </speak> --><![CDATA[</speak>]]>a</speak>]b"},
      {"<speak/>b", "[<speak/>]b"},
      {"<!DOCTYPE speak><speak>a</speak>b", "[<!DOCTYPE speak><speak>a</speak>]b"},
      {"<!-- c --><speak>a</speak>", "[<!-- c --><speak>a</speak>]"},
      {"<!DOCTYPE html><p>a</p>", "<!DOCTYPE html><p>a</p>"},
      {"<speak>a", "[<speak>a]"},
      {"<speak>a<!-- ", "[<speak>a<!-- ]"},
  };
  for (const auto& [text, want] : cases) {
    for (const size_t size : {1, 2, 3, 7, 1000}) {
      EXPECT_EQ(pieces(SsmlStream(), text, size), want) << size;
    }
    EXPECT_EQ(pieces(SsmlStream(false), text, 2), text);
  }
}

TEST(SsmlStream, TakesWhatMustBeADocument) {
  EXPECT_EQ(pieces(SsmlStream(true), "Hello <b>x</b>", 3), "[Hello <b>x</b>]");
  EXPECT_EQ(pieces(SsmlStream(true, true), "Hello <b>x</b>", 3), "[<speak>Hello <b>x</b></speak>]");
  EXPECT_EQ(pieces(SsmlStream(true, true), "<speak>a</speak>", 3), "[<speak>a</speak>]");
}

TEST(SsmlStream, BeginsAnewBehindAnEnd) {
  SsmlStream stream;
  std::vector<SsmlStream::Piece> all;
  stream.push("Plain.", all);
  stream.finish(all);
  stream.push("<speak>a</speak>", all);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[1].document);
}

TEST(SsmlStream, LongDocumentsAreScannedOnce) {
  SsmlStream stream;
  std::vector<SsmlStream::Piece> all;
  stream.push("<speak>", all);
  for (int i = 0; i < 100'000; ++i) stream.push("<s>a</s>", all);
  stream.push("</speak>", all);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].text.size(), 800'015u);
}

/// For any pieces, the documents are those of the whole text, and no byte is lost.
TEST(SsmlStreamFuzz, HoweverTheTextIsCut) {
  Mutator mutator(
      {"<speak>a</speak><speak>b</speak>", "<speak>a</speak> and on", "Say <speak>a</speak>",
       "<?xml version='1.0'?> <speak>a</speak>",
       "<speak><!-- </speak> --><![CDATA[</speak>]]>a</speak>b", " \n<speak x='1'>a</speak >"},
      {"<speak>", "</speak>", "<speak/>", "<!--", "-->", "<![CDATA[", "]]>", "<?xml ", "?>",
       "\xef\xbb\xbf", " ", "\n", "<", ">", "'", "</speak", "\xff"});
  const auto spoken_of = [](const std::vector<SsmlStream::Piece>& all) {
    std::string out;
    bool in_plain = false;  // plain text may be returned in any pieces
    for (const auto& piece : all) {
      if (piece.document || !in_plain) out += piece.document ? "\1" : "\2";
      in_plain = !piece.document;
      out += piece.text;
    }
    return out;
  };
  const int inputs = fuzz_inputs(8000);
  int documents = 0;
  for (int i = 0; i < inputs && !testing::Test::HasFailure(); ++i) {
    const std::string text = mutator.next();
    std::vector<SsmlStream::Piece> whole, cut;
    SsmlStream at_once = i % 3 == 0 ? SsmlStream(i % 2 == 0) : SsmlStream(), in_pieces = at_once;
    at_once.push(text, whole);
    at_once.finish(whole);
    for (const std::string& piece : mutator.cut(text)) in_pieces.push(piece, cut);
    in_pieces.finish(cut);
    EXPECT_EQ(spoken_of(cut), spoken_of(whole)) << text;
    std::string all;
    for (const auto& piece : whole) {
      all += piece.text;
      documents += piece.document ? 1 : 0;
    }
    EXPECT_EQ(all, text);
  }
  EXPECT_GT(documents, inputs / 8);
}

}  // namespace
}  // namespace syrinx
