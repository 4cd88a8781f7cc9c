#include "bench/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/chart.h"

namespace syrinx {
namespace {

TEST(Html, IsEscaped) {
  EXPECT_EQ(html_escaped("<a href=\"x\">'&'</a>\n\x01"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;  ");
  EXPECT_EQ(html_escaped("grün 鳥"), "grün 鳥");
}

TEST(Text, HasUnits) {
  EXPECT_EQ(time_text(0), "0 ms");
  EXPECT_EQ(time_text(0.0082), "8.2 ms");
  EXPECT_EQ(time_text(0.0382), "38 ms");
  EXPECT_EQ(time_text(1.254), "1.25 s");
  EXPECT_EQ(time_text(83), "83.0 s");
  EXPECT_EQ(time_text(1e300), "-");
  EXPECT_EQ(share_text(1), "100 %");
  EXPECT_EQ(share_text(0.99999), "99.9 %");  // never rounded up to 100 %
  EXPECT_EQ(share_text(0.00001), "0.1 %");   // never rounded down to 0 %
  EXPECT_EQ(share_text(0), "0 %");
}

TEST(Chart, HasRoundTicks) {
  EXPECT_EQ(ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(ticks(0, 0.93, 5).back(), 1);
  EXPECT_EQ(ticks(3, 3, 5), std::vector<double>{3});
  EXPECT_LT(ticks(0, 1e300, 5).size(), 20u);
}

RequestRecord record(double due_s, double first_audio_s) {
  RequestRecord out;
  out.due_s = due_s;
  out.first_byte_s = out.first_audio_s = first_audio_s;
  out.total_s = 1;
  out.playback = {.chunks = 3, .viable_chunks = 2, .audio_s = 2};
  return out;
}

Report example() {
  const std::string evil = "<script>alert(1)</script>\xff";
  Report report;
  report.title = evil;
  report.facts = {{"model", evil}};
  for (const double rate : {1.0, 2.0}) {
    LoadResult run;
    run.point = {LoadKind::kRate, rate};
    for (int i = 0; i < 5; ++i) run.requests.push_back(record(i, 0.01 * (i + 1)));
    RequestRecord failed = record(6, 0.1);
    failed.failure = Failure::kStatus;
    failed.status = 500;
    failed.detail = evil;
    run.requests.push_back(failed);
    report.runs.push_back(run);
    report.summaries.push_back(summarize(run, report.targets));
  }
  return report;
}

TEST(Html, IsSelfContainedAndTakesNoMarkupFromServers) {
  const std::string html = report_html(example());
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_NE(html.find("&lt;script&gt;"), std::string::npos);
  for (const char* outside : {"http://", "https://", "src=", "url(", "@import", "href="}) {
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
  }
  EXPECT_NE(html.find("prefers-color-scheme: dark"), std::string::npos);
  const auto count = [&](const std::string& what) {
    size_t found = 0;
    for (size_t at = html.find(what); at != std::string::npos; at = html.find(what, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count("<svg"), 6u);
  EXPECT_EQ(count("<svg"), count("</svg>"));
  EXPECT_EQ(html.find("nan"), std::string::npos);
}

TEST(Html, SaysWhenNothingWasMeasured) {
  EXPECT_NE(report_html({}).find("Nothing was measured"), std::string::npos);
}

TEST(Json, HoldsEverything) {
  const nlohmann::json brief = nlohmann::json::parse(report_json(example(), false));
  EXPECT_EQ(brief["runs"].size(), 2u);
  EXPECT_EQ(brief["runs"][1]["load"]["level"], 2.0);
  EXPECT_EQ(brief["runs"][0]["failures"]["status 500"], 1);
  EXPECT_NEAR(brief["runs"][0]["first_audio_s"]["p50"].get<double>(), 0.03, 1e-9);
  EXPECT_FALSE(brief["runs"][0].contains("each_request"));
  const nlohmann::json full = nlohmann::json::parse(report_json(example(), true));
  EXPECT_EQ(full["runs"][0]["each_request"].size(), 6u);
  EXPECT_EQ(full["runs"][0]["each_request"][5]["failure"], "status");
}

TEST(Table, IsAligned) {
  const Report report = example();
  const std::string text = table_text(report.summaries, report.targets);
  const std::string head = text.substr(0, text.find('\n'));
  EXPECT_NE(head.find("first audio p50"), std::string::npos);
  EXPECT_NE(text.find("30 ms"), std::string::npos);
  EXPECT_NE(text.find("failed"), std::string::npos);
  EXPECT_NE(remarks_text(report).find("1 status 500"), std::string::npos);
}

}  // namespace
}  // namespace syrinx
