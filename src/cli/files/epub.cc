#include "cli/files/epub.h"

#include <expat.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/check.h"
#include "cli/speak/text_input.h"
#include "io/zip_archive.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx {
namespace {

constexpr uint64_t kMostPage = uint64_t{16} << 20;   // bytes of a file in the archive
constexpr uint64_t kMostRead = uint64_t{256} << 20;  // bytes of all files that are read
constexpr size_t kMostFiles = 20'000;                // files in the package
constexpr size_t kMostChapters = 2000;               // later ones belong to the last of these
constexpr size_t kMostTitle = 200;                   // bytes

/// Returns the bytes of an entry, inflated if need be; nothing if they are damaged.
std::optional<std::string> unpacked(const ZipArchive& zip, const ZipEntry& entry) {
  const std::string_view packed = zip.text(entry);
  if (!entry.deflated) return std::string(packed);
  std::string out(entry.unpacked, '\0');
  z_stream stream{};
  SYRINX_CHECK(inflateInit2(&stream, -MAX_WBITS) == Z_OK, "inflateInit2 failed");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(std::min<size_t>(packed.size(), UINT32_MAX));
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool whole = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  return whole ? std::optional(std::move(out)) : std::nullopt;
}

/// Receives the elements and the text of a file. Names have small letters and no prefix.
class XmlReader {
 public:
  virtual ~XmlReader() = default;
  /// Parses a file. Returns what is wrong with it; "" if nothing is. Unknown entities become
  /// spaces.
  std::string parse(std::string_view bytes);

 protected:
  virtual void open(const std::string& name) = 0;
  virtual void close(const std::string& name) = 0;
  virtual void words(std::string_view text) = 0;
  /// Returns an attribute of the element that opens; "" if it is missing.
  std::string_view attribute(std::string_view name) const {
    for (const XML_Char** at = attributes_; at != nullptr && at[0] != nullptr; at += 2) {
      if (name == at[0]) return at[1];
    }
    return {};
  }
  bool attribute_has(std::string_view name, std::string_view word) const {
    return concat(' ', attribute(name), ' ').find(concat(' ', word, ' ')) != std::string::npos;
  }

 private:
  static std::string plain(const XML_Char* name) {
    const std::string lower = lower_ascii(name);
    return lower.substr(lower.find(':') + 1);
  }
  const XML_Char** attributes_ = nullptr;
  size_t given_ = 0;  // bytes of text
};

std::string XmlReader::parse(std::string_view bytes) {
  const std::unique_ptr<XML_ParserStruct, void (*)(XML_Parser)> owner(XML_ParserCreate(nullptr),
                                                                      XML_ParserFree);
  XML_Parser parser = owner.get();
  static constexpr auto kSelf = [](void* data) { return static_cast<XmlReader*>(data); };
  XML_SetUserData(parser, this);
  XML_SetElementHandler(
      parser,
      [](void* data, const XML_Char* name, const XML_Char** attributes) {
        kSelf(data)->attributes_ = attributes;
        kSelf(data)->open(plain(name));
      },
      [](void* data, const XML_Char* name) { kSelf(data)->close(plain(name)); });
  XML_SetCharacterDataHandler(parser, [](void* data, const XML_Char* text, int size) {
    XmlReader& self = *kSelf(data);
    self.given_ += static_cast<size_t>(size);  // entities may make much text of few bytes
    if (self.given_ <= kMostPage) self.words({text, static_cast<size_t>(size)});
  });
  // An empty document type makes names such as &nbsp; valid.
  XML_UseForeignDTD(parser, XML_TRUE);
  XML_SetParamEntityParsing(parser, XML_PARAM_ENTITY_PARSING_ALWAYS);
  XML_SetExternalEntityRefHandler(parser, [](XML_Parser of, const XML_Char* context,
                                             const XML_Char*, const XML_Char*, const XML_Char*) {
    XML_Parser none = XML_ExternalEntityParserCreate(of, context, nullptr);
    const int status = none == nullptr ? XML_STATUS_ERROR : XML_Parse(none, "", 0, XML_TRUE);
    if (none != nullptr) XML_ParserFree(none);
    return status;
  });
  XML_SetSkippedEntityHandler(
      parser, [](void* data, const XML_Char* /*name*/, int) { kSelf(data)->words(" "); });
  if (XML_Parse(parser, bytes.data(), static_cast<int>(bytes.size()), XML_TRUE) == XML_STATUS_OK) {
    return given_ <= kMostPage ? "" : "the text is too long";
  }
  return concat(XML_ErrorString(XML_GetErrorCode(parser)), " in line ",
                XML_GetCurrentLineNumber(parser));
}

/// Returns the text with single spaces, cut to the length of a title.
std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : trimmed(text)) {
    const bool space = static_cast<unsigned char>(c) <= ' ';
    if (!space || (!out.empty() && out.back() != ' ')) out += space ? ' ' : c;
  }
  out.resize(std::min(out.size(), kMostTitle));
  out.resize(out.size() - utf8_unfinished(out));
  return out;
}

/// Returns the letters and digits of a text, in small letters.
std::string letters_of(std::string_view text) {
  std::string out;
  const std::string lower = to_lower(text);
  for (size_t at = 0; at < lower.size();) {
    const CodePoint code = utf8_at(lower, at);
    if (is_word(code.value)) out += lower.substr(at, code.size);
    at += code.size;
  }
  return out;
}

/// Returns the text with the characters of escapes such as "%20".
std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    const char* const digits = text.data() + i + 1;
    const bool escape = text[i] == '%' && i + 2 < text.size() &&
                        std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2;
    out += escape ? static_cast<char>(code) : text[i];
    if (escape) i += 2;
  }
  return out;
}

/// Returns the name in the archive of an address that is relative to the file `from`.
std::string file_at(const std::string& from, std::string_view address) {
  std::string name = from.substr(0, from.rfind('/') + 1);
  address = address.substr(0, address.find('#'));
  while (!address.empty()) {
    if (address.starts_with("../")) {
      name.erase(name.empty() ? 0 : name.rfind('/', name.size() - 2) + 1);
      address.remove_prefix(3);
    } else if (address.starts_with("./")) {
      address.remove_prefix(2);
    } else {
      const size_t end = std::min(address.find('/'), address.size() - 1) + 1;
      name += unescaped(address.substr(0, end));
      address.remove_prefix(end);
    }
  }
  return name;
}

/// An entry of the table of contents.
struct TocEntry {
  std::string fragment, title;
  int depth = 1;
};
using Toc = std::map<std::string, std::vector<TocEntry>>;  // by file

/// Reads the package: names, files and the order of the pages.
class PackageReader : public XmlReader {
 public:
  explicit PackageReader(std::string file) : file_(std::move(file)) {}
  BookNames names;
  std::vector<std::string> pages;
  std::string toc;  ///< file of the table of contents; "" without one

 private:
  void open(const std::string& name) override {
    text_ = name == "title" && names.title.empty()      ? &names.title
            : name == "creator" && names.author.empty() ? &names.author
                                                        : nullptr;
    const std::string id(attribute(name == "itemref" ? "idref" : name == "spine" ? "toc" : "id"));
    if (name == "item" && items_.size() < kMostFiles) {
      items_[id] = file_at(file_, attribute("href"));
      if (attribute_has("properties", "nav")) nav_ = toc = items_[id];
    }
    const auto item = items_.find(id);
    if (item == items_.end()) return;
    if (name == "spine" && toc.empty()) toc = item->second;
    const bool page = name == "itemref" && item->second != nav_ && attribute("linear") != "no";
    if (page && pages.size() < kMostFiles) pages.push_back(item->second);
  }
  void close(const std::string& /*name*/) override { text_ = nullptr; }
  void words(std::string_view text) override {
    if (text_ != nullptr) *text_ += text;
  }

  const std::string file_;
  std::string nav_;
  std::map<std::string, std::string> items_;  // file names by id
  std::string* text_ = nullptr;               // the name that is read
};

/// Reads the table of contents: <nav> of EPUB 3 or <navMap> of EPUB 2.
class TocReader : public XmlReader {
 public:
  explicit TocReader(std::string file) : file_(std::move(file)) {}
  Toc toc;
  size_t count = 0;

 private:
  void open(const std::string& name) override {
    if (name == "navmap" || (name == "nav" && attribute_has("epub:type", "toc"))) inside_ = true;
    if (name == "navpoint" || name == "ol") ++depth_;
    if (name == "a") target_ = attribute("href");
    if (name == "a" || name == "navlabel") title_.clear();
    if (name != "content") return;
    target_ = attribute("src");
    add();
  }
  void close(const std::string& name) override {
    if (name == "navmap" || name == "nav") inside_ = false;
    if (name == "navpoint" || name == "ol") --depth_;
    if (name == "a") add();
  }
  void words(std::string_view text) override { title_ += text; }
  void add() {
    const std::string title = one_line(std::exchange(title_, ""));
    if (!inside_ || depth_ < 1 || depth_ > 2 || title.empty() || count >= kMostChapters) return;
    const size_t mark = std::min(target_.find('#'), target_.size() - 1);
    toc[file_at(file_, target_)].push_back({target_.substr(mark + 1), title, depth_});
    ++count;
  }

  const std::string file_;
  std::string title_, target_;
  int depth_ = 0;
  bool inside_ = false;
};

constexpr std::array kBlocks = std::to_array<std::string_view>(
    {"p",       "div",    "li",    "ul",     "ol", "dl", "dt", "dd",      "table",   "tr",
     "caption", "pre",    "hr",    "body",   "h1", "h2", "h3", "section", "article", "blockquote",
     "header",  "footer", "aside", "figure", "h4", "h5", "h6", "main",    "address", "figcaption"});
constexpr std::array kUnread = std::to_array<std::string_view>(
    {"head", "script", "style", "svg", "audio", "video", "object", "nav", "rt", "rp"});

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Turns a page into paragraphs and headings.
class PageReader : public XmlReader {
 public:
  /// `chapters`: those that begin in this page. `titled`: only these are chapters; headings are
  /// not.
  PageReader(std::vector<TocEntry> chapters, bool titled, std::string& out)
      : chapters_(std::move(chapters)), titled_(titled), out_(out) {}

  std::string read(std::string_view page) {
    // A chapter whose place the page lacks begins with the page.
    for (TocEntry& each : chapters_) {
      if (page.find(each.fragment) == page.npos) each.fragment.clear();
    }
    begin_chapters("");
    const std::string fault = parse(page);
    end_block();
    return fault;
  }

 private:
  void open(const std::string& name) override {
    if (!chapters_.empty() && !attribute("id").empty()) begin_chapters(attribute("id"));
    const bool note = attribute_has("epub:type", "noteref") || (name == "a" && raised_ > 0) ||
                      (name == "sup" && link_ > 0) || attribute_has("epub:type", "pagebreak");
    if (unread_ > 0 || note || contains(kUnread, name)) {
      ++unread_;
      return;
    }
    if (name == "a") ++link_;
    if (name == "sup") ++raised_;
    if (name == "pre") ++pre_;
    if (name == "br") add_line();
    if (!contains(kBlocks, name)) return;
    end_block();
    if (name.size() == 2 && name[0] == 'h' && name != "hr") level_ = name[1] - '0';
  }
  void close(const std::string& name) override {
    if (unread_ > 0) {
      --unread_;
      return;
    }
    if (name == "a") --link_;
    if (name == "sup") --raised_;
    if (name == "pre") --pre_;
    if (name == "td" || name == "th") words(", ");
    if (contains(kBlocks, name)) end_block();
  }
  void words(std::string_view text) override {
    if (unread_ > 0) return;
    for (const char c : text) {
      if (pre_ > 0 && c == '\n') {
        add_line();
      } else if (static_cast<unsigned char>(c) <= ' ') {
        space_ = true;
      } else {
        if (std::exchange(space_, false) && !block_.empty() && block_.back() != '\n') block_ += ' ';
        block_ += c;
      }
    }
  }
  void add_line() {
    if (!block_.empty()) block_ += '\n';
    space_ = false;
  }
  /// Ends a paragraph. Words that repeat the title in the table of contents are left out.
  void end_block() {
    std::string_view words = trimmed(block_);
    while (words.ends_with(',')) words = trimmed(words.substr(0, words.size() - 1));
    words.remove_prefix(std::min(words.find_first_not_of("# ,"), words.size()));  // not a heading
    const std::string letters = said_.empty() ? std::string() : letters_of(words);
    const bool repeats = !letters.empty() && said_.find(letters) != std::string::npos;
    if (!letters.empty() && !repeats) said_.clear();
    if (!words.empty() && !repeats) {
      const bool heading = level_ > 0 && !titled_;
      if (heading) out_ += std::string(static_cast<size_t>(level_), '#') + ' ';
      out_ += (level_ > 0 ? one_line(words) : std::string(words)) + "\n\n";
    }
    block_.clear();
    level_ = 0;
    space_ = false;
  }
  void begin_chapters(std::string_view id) {
    for (TocEntry& each : chapters_) {
      if (each.fragment != id || each.title.empty()) continue;
      end_block();
      said_ = letters_of(each.title);
      out_ += std::string(static_cast<size_t>(each.depth), '#') + ' ' + each.title + "\n\n";
      each.title.clear();
    }
  }

  std::vector<TocEntry> chapters_;
  const bool titled_;
  std::string& out_;
  std::string block_;                                 // the paragraph so far
  std::string said_;                                  // letters of the title that was just written
  int level_ = 0;                                     // level of the open heading
  int unread_ = 0, link_ = 0, raised_ = 0, pre_ = 0;  // open elements
  bool space_ = false;
};

}  // namespace

Epub read_epub(const std::string& path) {
  const ZipArchive zip(MappedFile::open(path), true);
  const auto fail = [&](const std::string& file, const std::string& what) {
    load_fault(path, "EPUB file " + file.substr(0, 100), what);
  };
  // Names the encrypted files: all pages of a protected book, or only fonts.
  struct Encryption : XmlReader {
    std::set<std::string> files;
    void open(const std::string& name) override {
      if (name == "cipherreference") files.insert(file_at("", attribute("URI")));
    }
    void close(const std::string& /*name*/) override {}
    void words(std::string_view /*text*/) override {}
  } encryption;
  uint64_t left = kMostRead;
  const auto parse = [&](const std::string& file, auto&& read) {
    const ZipEntry* entry = zip.find(file);
    if (entry == nullptr) fail(file, "the archive lacks it");
    if (encryption.files.contains(file)) fail(file, "it is encrypted, so the book is protected");
    if (entry->unpacked > kMostPage) {
      fail(file, concat("has ", entry->unpacked, " bytes, at most ", kMostPage));
    }
    if (entry->unpacked > left) fail(file, "the files before it have too many bytes");
    left -= entry->unpacked;
    const auto bytes = unpacked(zip, *entry);
    const std::string why = bytes ? read(*bytes) : "its compressed bytes are damaged";
    if (!why.empty()) fail(file, why);
  };
  const std::string encrypted = "META-INF/encryption.xml";
  if (zip.find(encrypted) != nullptr) {
    parse(encrypted, [&](const std::string& xml) { return encryption.parse(xml); });
  }
  struct Container : XmlReader {
    std::string package;
    void open(const std::string& name) override {
      if (name == "rootfile" && package.empty()) package = attribute("full-path");
    }
    void close(const std::string& /*name*/) override {}
    void words(std::string_view /*text*/) override {}
  } container;
  parse("META-INF/container.xml", [&](const std::string& xml) { return container.parse(xml); });
  PackageReader package(container.package);
  parse(container.package, [&](const std::string& xml) { return package.parse(xml); });
  if (package.pages.empty()) fail(container.package, "its 'spine' names no page");
  TocReader toc(package.toc);
  if (zip.find(package.toc) != nullptr) {
    parse(package.toc, [&](const std::string& xml) { return toc.parse(xml); });
  }
  Epub out{.names = {one_line(package.names.title), one_line(package.names.author)}};
  const bool titled = toc.count > 1;
  for (const std::string& page : package.pages) {
    auto chapters = titled ? std::exchange(toc.toc[page], {}) : std::vector<TocEntry>();
    PageReader reader(std::move(chapters), titled, out.text);
    parse(page, [&](const std::string& xml) { return reader.read(xml); });
    if (out.text.size() > kMaxTextFileBytes) fail(page, "the text has more than 64 MiB");
  }
  return out;
}

}  // namespace syrinx
