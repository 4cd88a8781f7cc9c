#include "cli/files/epub.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <random>

#include "base/error.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

std::string deflated(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// Returns a ZIP archive; every second file is compressed.
std::string zip_of(const Files& files) {
  std::string bytes, directory;
  const auto put = [](std::string& to, uint64_t value, int size) {
    for (int i = 0; i < size; ++i) to += static_cast<char>(i < 8 ? value >> (8 * i) : 0);
  };
  for (size_t i = 0; i < files.size(); ++i) {
    const auto& [name, data] = files[i];
    const std::string packed = i % 2 == 1 ? deflated(data) : data;
    const size_t local = bytes.size();
    put(bytes, 0x04034b50, 4), put(bytes, 0, 22), put(bytes, name.size(), 4);
    bytes += name + packed;
    put(directory, 0x02014b50, 4), put(directory, 0, 6), put(directory, i % 2 == 1 ? 8 : 0, 2);
    put(directory, 0, 8), put(directory, packed.size(), 4), put(directory, data.size(), 4);
    put(directory, name.size(), 4), put(directory, 0, 10), put(directory, local, 4);
    directory += name;
  }
  const size_t begin = bytes.size();
  bytes += directory;
  put(bytes, 0x06054b50, 4), put(bytes, 0, 6), put(bytes, files.size(), 2);
  put(bytes, directory.size(), 4), put(bytes, begin, 4), put(bytes, 0, 2);
  return bytes;
}

std::string page(const std::string& body) {
  return "<?xml version='1.0'?><!DOCTYPE html><html xmlns='http://www.w3.org/1999/xhtml'>"
         "<head><title>T</title><style>p {}</style></head><body>" +
         body + "</body></html>";
}

const std::string kNav = page(
    "<nav epub:type='landmarks'><ol><li><a href='a.xhtml'>Cover</a></li></ol></nav>"
    "<nav epub:type='toc'><h1>Contents</h1><ol><li><a href='text/a%20b.xhtml'>One &amp; "
    "Two</a><ol><li><a href='text/a%20b.xhtml#x'>Inner</a></li></ol></li>"
    "<li><a href='c.xhtml'>The <i>End</i></a></li></ol></nav>");

Files book() {
  return {{"mimetype", "application/epub+zip"},
          {"META-INF/container.xml",
           "<container><rootfiles><rootfile full-path='OPS/book.opf'/></rootfiles></container>"},
          {"OPS/book.opf",
           "<package><metadata xmlns:dc='d'><dc:title>A\n Book</dc:title><dc:creator>An "
           "Author</dc:creator></metadata><manifest><item id='n' href='nav.xhtml' "
           "properties='nav'/><item id='a' href='text/a%20b.xhtml'/><item id='c' "
           "href='./text/../c.xhtml'/><item id='s' href='side.xhtml'/></manifest><spine>"
           "<itemref idref='n'/><itemref idref='a'/><itemref idref='s' linear='no'/>"
           "<itemref idref='c'/></spine></package>"},
          {"OPS/nav.xhtml", kNav},
          {"OPS/text/a b.xhtml",
           page("<h1>One and<br/>Two</h1><h1>One</h1><p>café&nbsp;au\n <b>lait</b>"
                "<sup><a href='#n1'>1</a></sup>.</p><table><tr><td>a</td><td>b</td></tr></table>"
                "<h2 id='x'>Inner</h2><p># 1<br/>two</p><pre>x\n y</pre>")},
          {"OPS/c.xhtml", page("<p>Last<span epub:type='pagebreak'>7</span> words.</p>"
                               "<aside epub:type='footnote'>1. A note.</aside>")}};
}

Epub epub_of(const std::string& bytes) {
  const TestDir dir;
  std::ofstream(dir.path("book.epub"), std::ios::binary) << bytes;
  return read_epub(dir.path("book.epub"));
}

std::string fault(const std::string& bytes) {
  try {
    epub_of(bytes);
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

TEST(Epub, ChaptersOfTheTableOfContents) {
  const Epub epub = epub_of(zip_of(book()));
  EXPECT_EQ(epub.names.title, "A Book");
  EXPECT_EQ(epub.names.author, "An Author");
  EXPECT_EQ(epub.text,
            "# One & Two\n\nOne and Two\n\nOne\n\ncafé au lait.\n\na, b\n\n## Inner\n\n"
            "1\ntwo\n\nx\ny\n\n# The End\n\nLast words.\n\n1. A note.\n\n");
}

TEST(Epub, EpubTwoAndNoTableOfContents) {
  Files files = book();
  std::string& package = files[2].second;
  package.replace(package.find("properties='nav'"), 16, "");
  EXPECT_NE(epub_of(zip_of(files)).text.find("# One and Two\n\n# One\n\ncafé"), std::string::npos);
  package.replace(package.find("<spine>"), 7, "<spine toc='n'>");
  files[3].second =
      "<ncx><navMap><navPoint><navLabel><text>First</text></navLabel><content "
      "src='text/a%20b.xhtml#nowhere'/></navPoint><navPoint><navLabel><text>Last words"
      "</text></navLabel><content src='c.xhtml'/></navPoint></navMap></ncx>";
  const std::string text = epub_of(zip_of(files)).text;
  EXPECT_NE(text.find("# First\n\nOne and Two\n\n"), std::string::npos) << text;
  EXPECT_NE(text.find("# Last words\n\n1. A note."), std::string::npos) << text;
}

TEST(Epub, FaultsAreReported) {
  EXPECT_NE(fault("PK\x03\x04 no archive"), "");
  Files files = book();
  files[4].second = page("<p>unclosed");
  EXPECT_NE(fault(zip_of(files)).find("a b.xhtml"), std::string::npos);
  files[4].second = page(std::string(17 << 20, ' '));
  EXPECT_NE(fault(zip_of(files)).find("at most"), std::string::npos);
  files[4].second = page(std::string(15 << 20, ' '));
  std::string& package = files[2].second;
  for (int i = 0; i < 20; ++i) package.insert(package.find("</spine>"), "<itemref idref='a'/>");
  EXPECT_NE(fault(zip_of(files)).find("too many bytes"), std::string::npos);
  files.pop_back();
  EXPECT_NE(fault(zip_of(files)), "");
  files = book();
  files[4].second.insert(files[4].second.find("html>") + 4,
                         " [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;'>]");
  EXPECT_EQ(fault(zip_of(files)), "");
  std::string bomb = "<!ENTITY a0 '" + std::string(1000, 'x') + "'>";
  for (char i = '1'; i < '6'; ++i) {
    bomb += std::string("<!ENTITY a") + i + " '";
    for (int k = 0; k < 20; ++k) bomb += std::string("&a") + static_cast<char>(i - 1) + ';';
    bomb += "'>";
  }
  files[4].second = "<!DOCTYPE html [" + bomb + "]><html><body>&a5;</body></html>";
  EXPECT_NE(fault(zip_of(files)), "");
}

/// Reports a protected book; a file that is not read, such as a font, may be encrypted.
TEST(Epub, EncryptedPagesAreNamed) {
  Files files = book();
  files.push_back({"META-INF/encryption.xml",
                   "<encryption xmlns:enc='e'><enc:EncryptedData><enc:CipherData>"
                   "<enc:CipherReference URI='OPS/font.otf'/></enc:CipherData></enc:EncryptedData>"
                   "</encryption>"});
  EXPECT_EQ(fault(zip_of(files)), "");
  std::string& encryption = files.back().second;
  encryption.replace(encryption.find("OPS/font.otf"), 12, "OPS/c.xhtml");
  EXPECT_NE(fault(zip_of(files)).find("OPS/c.xhtml: it is encrypted"), std::string::npos);
}

/// Any damage is a fault or leaves a text.
TEST(Epub, DamagedBytes) {
  const std::string whole = zip_of(book());
  std::mt19937 random(5);
  for (int round = 0; round < 400; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 1 + round % 4; ++i) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (round % 5 == 0) bytes.resize(random() % bytes.size());
    fault(bytes);
  }
}

}  // namespace
}  // namespace syrinx
