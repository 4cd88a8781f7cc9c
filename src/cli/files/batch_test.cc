#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/files/batch_list.h"
#include "cli/files/batch_servers.h"
#include "cli/files/http_client.h"
#include "cli/line/exit.h"
#include "io/file.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

using nlohmann::json;

class BatchListTest : public testing::Test {
 protected:
  std::vector<BatchItem> read(const std::string& text, const std::string& fields = "",
                              BatchShard shard = {}) {
    dir_.write("list.jsonl", text);
    return read_batch(dir_.path("list.jsonl"), fields, shard);
  }
  std::string fault(const std::string& text) {
    try {
      read(text);
    } catch (const LoadError& error) {
      return error.what();
    }
    return "";
  }
  TestDir dir_;
};

TEST_F(BatchListTest, LinesAreRequests) {
  const auto items = read(
      "{\"id\": \"a\", \"text\": \"One.\", \"seed\": 3}\n\n{\"input\": \"Two.\", \"voice\": "
      "\"b\"}\r\n",
      R"({"voice": "raven"})");
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].id, "a");
  EXPECT_EQ(json::parse(items[0].body),
            json::parse(R"({"input": "One.", "seed": 3, "voice": "raven", "response_format": "wav",
                            "stream": false})"));
  EXPECT_EQ(items[1].id, "00000003");
  EXPECT_EQ(json::parse(items[1].body)["voice"], "b");
  EXPECT_NE(items[0].key, items[1].key);
  EXPECT_EQ(read("{\"id\": \"a\", \"text\": \"One.\"}")[0].key,
            read("{\"id\": \"b\", \"text\": \"One.\"}")[0].key);
}

TEST_F(BatchListTest, ShardsShareTheList) {
  std::string text;
  for (int i = 0; i < 10; ++i) text += "{\"text\": \"" + std::to_string(i) + "\"}\n";
  std::vector<std::string> ids;
  for (const char* shard : {"1/3", "2/3", "3/3"}) {
    for (const BatchItem& item : read(text, "", read_shard(shard))) ids.push_back(item.id);
  }
  EXPECT_EQ(ids.size(), 10u);
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end());
  for (const char* bad : {"", "0/3", "4/3", "1/3x", "1", "-1/2"}) {
    EXPECT_THROW(read_shard(bad), UsageError) << bad;
  }
}

TEST_F(BatchListTest, FaultsNameTheLine) {
  EXPECT_NE(fault("{\"text\": \"a\"}\nnonsense\n").find("line 2"), std::string::npos);
  for (const char* bad :
       {"[]", "{}", R"({"text": 5})", R"({"text": "a", "input": "b"})",
        R"({"id": "../a", "text": "a"})", R"({"id": ".a", "text": "a"})",
        R"({"id": "", "text": "a"})", R"({"id": 5, "text": "a"})",
        R"({"text": "a", "stream": true})", R"({"text": "a", "response_format": "mp3"})",
        R"({"text": "a", "encoding": "pcm_mulaw"})"}) {
    EXPECT_NE(fault(bad).find("line 1"), std::string::npos) << bad;
  }
  EXPECT_THROW(read("{}", R"({"response_format": "mp3"})"), UsageError);
  EXPECT_NE(fault("{\"id\": \"a\", \"text\": \"1\"}\n{\"id\": \"a\", \"text\": \"2\"}\n")
                .find("occurs twice"),
            std::string::npos);
  EXPECT_NE(fault(std::string(2 << 20, ' ') + "x").find("bytes"), std::string::npos);
}

TEST_F(BatchListTest, AllInvalidLinesAreNamed) {
  const std::string good = "{\"text\": \"a\"}\n";
  EXPECT_TRUE(fault("x\n" + good + "[]\n" + good + "{}\n").ends_with("also invalid: line 3, 5"));
  std::string many;
  for (int i = 0; i < 13; ++i) many += "x\n";
  EXPECT_TRUE(fault(many).ends_with("also invalid: line 2, 3, 4, 5, 6, 7, 8, 9, 10 and 3 more"))
      << fault(many);
}

TEST_F(BatchListTest, ManifestRemembers) {
  const BatchItem a{.id = "a", .body = "1", .key = "k1"}, b{.id = "b", .body = "2", .key = "k2"};
  const std::string path = dir_.path("manifest.jsonl");
  {
    BatchManifest manifest(path);
    EXPECT_EQ(manifest.find(a), nullptr);
    manifest.add("b", {.key = "k2", .fault = "400 no"});
    manifest.add("a", {.key = "k1",
                       .file = "a.wav",
                       .seconds = 1.5,
                       .sample_rate_hz = 16000,
                       .finish_reason = "length"});
  }
  std::ofstream(path, std::ios::app)
      << R"({"id": "b", "key": "k2", "fi)";  // an incomplete line, as after a power failure
  {
    BatchManifest manifest(path);
    ASSERT_TRUE(manifest.find(a));
    EXPECT_TRUE(manifest.find(a)->done());
    EXPECT_TRUE(manifest.find(a)->cut_short());
    EXPECT_EQ(manifest.find(a)->seconds, 1.5);
    ASSERT_TRUE(manifest.find(b));
    EXPECT_FALSE(manifest.find(b)->done());
    EXPECT_EQ(manifest.find({.id = "a", .body = "", .key = "other"}), nullptr);
    manifest.add("b", {.key = "k2",
                       .file = "b.wav",
                       .seconds = 1,
                       .sample_rate_hz = 16000,
                       .finish_reason = "stop"});
    manifest.write_all({a, b});
  }
  const std::string text = read_file(path, 1 << 20);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_LT(text.find("a.wav"), text.find("b.wav"));
  EXPECT_TRUE(BatchManifest(path).find(b)->done());
  dir_.write("other", "something else\n");
  EXPECT_THROW(BatchManifest(dir_.path("other")), LoadError);
}

TEST(BatchServers, TheLeastBusyOneThatDoesNotRest) {
  BatchServers servers({"a", "b"}, 2);
  const auto first = servers.take(0), second = servers.take(0), third = servers.take(0);
  EXPECT_EQ(first->url, "a");
  EXPECT_EQ(second->url, "b");
  EXPECT_TRUE(servers.take(0));
  EXPECT_FALSE(servers.take(0)) << "both are full";
  servers.failed(*first, 0, 10);
  servers.failed(*third, 0, 10);  // counts as the same failure
  EXPECT_FALSE(servers.take(10.1));
  EXPECT_EQ(servers.take(10.6)->url, "a");
  EXPECT_FALSE(servers.take(10.6)) << "one tries it out";
  servers.failed(*first, 0, 10.7);
  EXPECT_FALSE(servers.take(11.6));
  EXPECT_TRUE(servers.take(11.8)) << "twice as long after the second";
  servers.give_back(*second, 12);
  EXPECT_EQ(servers.last_good_s(), 12);
  EXPECT_EQ(servers.take(12)->url, "b");
}

TEST(BatchServers, BusyIsNoFailure) {
  BatchServers servers({"a"}, 4);
  const auto first = servers.take(0);
  servers.failed(*first, 1, 5);
  EXPECT_FALSE(servers.take(5.9));
  EXPECT_TRUE(servers.take(6.1));
  EXPECT_TRUE(servers.take(6.1)) << "as many as before";
}

TEST(HttpClient, Urls) {
  EXPECT_EQ(base_url("a:8080"), "http://a:8080");
  EXPECT_EQ(base_url("https://a/v1/"), "https://a");
  for (const char* bad : {"", "http://", "ftp://a", "http://a:"}) {
    EXPECT_THROW(base_url(bad), UsageError) << bad;
  }
  const HttpAnswer nobody = HttpClient({.timeout_s = 2}).get("http://127.0.0.1:1/");
  EXPECT_EQ(nobody.status, 0);
  EXPECT_FALSE(nobody.failure.empty());
}

}  // namespace
}  // namespace syrinx
