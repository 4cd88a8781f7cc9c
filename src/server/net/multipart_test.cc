#include "server/net/multipart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/fuzzing.h"
#include "server/request/wire.h"

namespace syrinx {
namespace {

constexpr const char* kType = "multipart/form-data; boundary=xyz";

std::string form(const std::string& name, const std::string& value) {
  return "--xyz\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n";
}

std::string shown(std::string_view body, std::string_view type = kType) {
  const auto parsed = parse_multipart(body, type);
  if (const auto* fault = std::get_if<ApiError>(&parsed)) return "! " + fault->message;
  std::string out;
  for (const FormPart& part : std::get<std::vector<FormPart>>(parsed)) {
    out += part.name + (part.filename.empty() ? "" : "@" + part.filename) + "=" +
           std::string(part.data) + ";";
  }
  return out;
}

TEST(Multipart, ReadsForms) {
  EXPECT_EQ(shown(form("a", "1") + form("b", "") + "--xyz--\r\n"), "a=1;b=;");
  EXPECT_EQ(shown("preamble\r\n" + form("a", "two\r\nlines\r\n--xy") + "--xyz--"),
            "a=two\r\nlines\r\n--xy;");
  EXPECT_EQ(shown("--xyz--"), "");
  // An empty part, whose headers and body share a line end.
  EXPECT_EQ(shown("--xyz\r\nContent-Disposition: form-data; name=b\r\n\r\n--xyz--"), "b=;");
  EXPECT_EQ(
      shown("--xyz \t\r\ncontent-disposition:form-data;name=file; filename=\"a \\\"b\\\".wav\""
            "\r\nContent-Type: audio/wav\r\n\r\nRIFF\r\n--xyz--"),
      "file@a \"b\".wav=RIFF;");
  EXPECT_EQ(shown("--a b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n1\r\n--a b--",
                  "Multipart/Form-Data; charset=utf-8; boundary=\"a b\""),
            "x=1;");
  EXPECT_TRUE(is_multipart("multipart/form-data"));
  EXPECT_FALSE(is_multipart("multipart/mixed; boundary=xyz"));
}

TEST(Multipart, RefusesOthers) {
  EXPECT_NE(shown("", kType).find("does not occur"), std::string::npos);
  EXPECT_NE(shown("--xyz--", "multipart/form-data").find("boundary"), std::string::npos);
  EXPECT_NE(shown("--xyz--", "multipart/form-data; boundary=").find("boundary"), std::string::npos);
  EXPECT_NE(shown("--xyz--", "multipart/form-data; boundary=" + std::string(71, 'a'))
                .find("no valid boundary"),
            std::string::npos);
  EXPECT_NE(shown("--xyz--", "multipart/form-data; boundary=" + std::string(70, 'a')).find("occur"),
            std::string::npos);
  EXPECT_NE(
      shown("--xyz\r\nContent-Disposition: form-data; name=\"a\r\n\r\n1\r\n--xyz--").find("name="),
      std::string::npos);
  EXPECT_NE(shown(form("a", "1")).find("last boundary"), std::string::npos);
  EXPECT_NE(shown("--xyz\r\nContent-Type: text/plain\r\n\r\n1\r\n--xyz--").find("name"),
            std::string::npos);
  EXPECT_NE(shown("--xyzq\r\n").find("end its line"), std::string::npos);
  EXPECT_NE(shown("--xyz\r\n" + std::string(5000, 'a') + "\r\n\r\n").find("4096"),
            std::string::npos);
  std::string many;
  for (int i = 0; i < 33; ++i) many += form("a", "1");
  EXPECT_NE(shown(many + "--xyz--").find("32 parts"), std::string::npos);
}

/// A boundary in every line must not take long, and parts must lie within the body.
TEST(MultipartFuzz, AnyBytes) {
  const int runs = fuzz_inputs(20'000);
  const std::string valid = form("name", "anna") + form("ref_text", "Hello.") +
                            "--xyz\r\nContent-Disposition: form-data; name=\"audio_sample\"; "
                            "filename=\"a.wav\"\r\nContent-Type: audio/wav\r\n\r\nRIFF....\r\n"
                            "--xyz--\r\n";
  const std::vector<std::string> tokens = {"--xyz", "\r\n",  "\r\n\r\n",  "--",
                                           "\"",    "name=", ";",         "boundary=xyz",
                                           "\\",    "\xff",  "form-data", ":"};
  std::mt19937 random(5);
  int taken = 0;
  for (int run = 0; run < runs; ++run) {
    std::string body = valid, type = kType;
    for (uint32_t change = 0; change < random() % 5; ++change) {
      std::string& text = random() % 8 == 0 ? type : body;
      const size_t at = random() % (text.size() + 1);
      switch (random() % 4) {
        case 0:
          text.insert(at, tokens[random() % tokens.size()]);
          break;
        case 1:
          text.erase(at, random() % 20);
          break;
        case 2:
          if (at < text.size()) text[at] = static_cast<char>(random());
          break;
        default:
          text.insert(at, text.substr(random() % (text.size() + 1), random() % 40));
      }
    }
    const auto parsed = parse_multipart(body, type);
    if (const auto* fault = std::get_if<ApiError>(&parsed)) {
      EXPECT_EQ(fault->status, 400);
      continue;
    }
    ++taken;
    for (const FormPart& part : std::get<std::vector<FormPart>>(parsed)) {
      if (part.data.empty()) continue;
      EXPECT_GE(part.data.data(), body.data());
      EXPECT_LE(part.data.data() + part.data.size(), body.data() + body.size());
    }
  }
  EXPECT_GT(taken, runs / 20);
}

TEST(Base64, ComesBack) {
  std::string bytes;
  for (int i = 0; i < 70; ++i) {
    EXPECT_EQ(base64_decoded(base64(bytes)), bytes);
    bytes += static_cast<char>(i * 37);
  }
  EXPECT_EQ(base64_decoded("QQ"), "A");
  EXPECT_EQ(base64_decoded("QUI"), "AB");
  EXPECT_EQ(base64_decoded("Q U\r\nJD"), "ABC");
  EXPECT_EQ(base64_decoded("-_8="), base64_decoded("+/8="));
  for (const char* bad : {"Q", "Q===", "QQ=Q", "Q.Q", "QQ===", "QUJD=", "\xff"}) {
    EXPECT_FALSE(base64_decoded(bad)) << bad;
  }
}

}  // namespace
}  // namespace syrinx
