#include "io/hyper_yaml.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

const std::string kText = R"(# a config
rate: 24000
chunk: 25 # tokens
path: ''
__seed: !apply:random.seed [1986]

flow: !new:package.Flow
    width: !ref <rate>
    eps: 1e-06
    causal: False
    encoder: !new:package.Encoder
        chunk: !ref <chunk> * <two>
        name: 'line#ar'
    rates: [8, 5, 3]
two: 2
pipeline: [
    !ref <opener>,
    a: b,
]
nested:
    sizes: [[1, 3], [5]]
)";

std::string fault(const std::function<void()>& call) {
  try {
    call();
  } catch (const LoadError& e) {
    return e.what();
  }
  return "(none)";
}

TEST(HyperYaml, ReadsWhatConfigsSay) {
  const HyperYaml c = HyperYaml::parse(kText, "c.yaml");
  EXPECT_EQ(c.i("rate", 1, 100000), 24000);
  EXPECT_EQ(c.s("path"), "");
  EXPECT_EQ(c.s("flow"), "!new:package.Flow");
  EXPECT_EQ(c.i("flow.width", 1, 100000), 24000);
  EXPECT_EQ(c.i("flow.encoder.chunk", 1, 100), 50);
  EXPECT_EQ(c.s("flow.encoder.name"), "line#ar");
  EXPECT_DOUBLE_EQ(c.f("flow.eps", 0, 1), 1e-6);
  EXPECT_FALSE(c.b("flow.causal"));
  EXPECT_EQ(c.ints("flow.rates", 1, 10), (std::vector<int64_t>{8, 5, 3}));
  EXPECT_EQ(c.ints("nested.sizes", 1, 10), (std::vector<int64_t>{1, 3, 5}));
  EXPECT_FALSE(c.has("pipeline"));
}

TEST(HyperYaml, ReadsListsOfLinesAndQuotedKeys) {
  const HyperYaml c = HyperYaml::parse(
      "net:\n  ratios:\n  - 6\n  - 5 # five\n  deep:\n    - one\nrewrites:\n  ':': ','\n"
      "  '\"': ''\n  '\u2019': \"'\"\n  '''': ''''\nlast: 1\n",
      "c");
  EXPECT_EQ(c.ints("net.ratios", 1, 10), (std::vector<int64_t>{6, 5}));
  EXPECT_EQ(c.texts("net.deep"), (std::vector<std::string>{"one"}));
  EXPECT_EQ(c.s("rewrites.:"), ",");
  EXPECT_EQ(c.s("rewrites.\""), "");
  EXPECT_EQ(c.s("rewrites.\u2019"), "'");
  EXPECT_EQ(c.s("rewrites.'"), "'");
  EXPECT_EQ(c.i("last", 0, 1), 1);
  EXPECT_EQ(fault([] { HyperYaml::parse("a: 1\n- 2\n", "c"); }),
            "c: line 2: a list item has no key before it");
}

TEST(HyperYaml, ReadsWordsAndKeys) {
  const HyperYaml c = HyperYaml::parse(
      "one: grpc://a:1  # alone\nmore: [ 'b c', grpc://d:2,e ]\nnone: []\nodd: [a,,b]\n", "c");
  EXPECT_EQ(c.keys(), (std::vector<std::string>{"more", "none", "odd", "one"}));
  EXPECT_EQ(c.texts("one"), (std::vector<std::string>{"grpc://a:1"}));
  EXPECT_EQ(c.texts("more"), (std::vector<std::string>{"b c", "grpc://d:2", "e"}));
  EXPECT_EQ(fault([&] { (void)c.texts("none"); }), "c: none: expected words, got []");
  EXPECT_EQ(fault([&] { (void)c.texts("odd"); }), "c: odd: expected words, got [a,,b]");
}

TEST(HyperYaml, FaultsNameFileAndKey) {
  const HyperYaml c = HyperYaml::parse(kText, "c.yaml");
  EXPECT_EQ(fault([&] { (void)c.i("flow.depth", 0, 9); }), "c.yaml: flow.depth: is missing");
  EXPECT_EQ(fault([&] { (void)c.i("rate", 0, 9); }),
            "c.yaml: rate: expected an integer in [0, 9], got 24000");
  EXPECT_NE(fault([] { HyperYaml::parse("a: 1\na: 2\n", "x"); }).find("twice"), std::string::npos);
  EXPECT_NE(fault([] { HyperYaml::parse("a: 1\nnonsense\n", "x"); }).find("line 2"),
            std::string::npos);
  EXPECT_NE(fault([] { HyperYaml::parse("a: [1\n", "x"); }).find("lacks"), std::string::npos);
  const HyperYaml odd = HyperYaml::parse("a: !ref <b>\nb: !ref <a>\n", "x");
  EXPECT_NE(fault([&] { (void)odd.i("a", 0, 9); }).find("no value"), std::string::npos);
}

TEST(HyperYaml, DamagedFilesAreFaultsOrValues) {
  for_each_damage(kText, 3000, [](const std::string& text) {
    try {
      const HyperYaml c = HyperYaml::parse(text, "x");
      (void)c.ints("flow.rates", 1, 10);
      (void)c.i("flow.encoder.chunk", 1, 100);
    } catch (const LoadError&) {
    }
  });
}

}  // namespace
}  // namespace syrinx
