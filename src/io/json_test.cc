#include "io/json.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

constexpr const char* kConfigText = R"({
  "hidden_size": 2048, "eps": 1e-6, "theta": 1000000, "type": "qwen3_tts", "tied": true,
  "none": null, "rates": [8, 5, 4, 3], "scales": [0.5, 1], "tags": ["a", "b"],
  "talker_config": {"layers": 28, "spk_id": {"ryan": 3061, "vivian": 3065},
                    "dialect": {"eric": "sichuan"}},
  "stages": [{"n": 1}, {"n": 2}]
})";

template <typename F>
std::string config_fault(F&& use) {
  try {
    use();
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

TEST(Config, Reads) {
  const Config cfg = Config::parse(kConfigText, "config.json");
  EXPECT_EQ(cfg.i("hidden_size", 1, 65536), 2048);
  EXPECT_EQ(cfg.f("eps"), 1e-6);
  EXPECT_EQ(cfg.f("theta", 1, 1e9), 1e6);
  EXPECT_EQ(cfg.i("theta"), 1000000);
  EXPECT_EQ(cfg.s("type"), "qwen3_tts");
  EXPECT_TRUE(cfg.b("tied"));
  EXPECT_EQ(cfg.ints("rates"), (std::vector<int64_t>{8, 5, 4, 3}));
  EXPECT_EQ(cfg.floats("scales"), (std::vector<double>{0.5, 1}));
  EXPECT_EQ(cfg.strings("tags"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(cfg.sub("talker_config").map_i("spk_id").at("vivian"), 3065);
  EXPECT_EQ(cfg.sub("talker_config").map_s("dialect").at("eric"), "sichuan");
  EXPECT_EQ(cfg.subs("stages").at(1).i("n"), 2);
  EXPECT_FALSE(cfg.has("none"));
  EXPECT_EQ(cfg.opt_i("none", 7), 7);
  EXPECT_EQ(cfg.opt_f("no", 0.5), 0.5);
  EXPECT_EQ(cfg.opt_s("no", "x"), "x");
  EXPECT_FALSE(cfg.opt_b("no", false));
  EXPECT_FALSE(cfg.opt_sub("no").has_value());
  EXPECT_EQ(cfg.keys().size(), 11u);
}

TEST(Config, FaultsNameFileKeyExpectedGot) {
  const Config cfg = Config::parse(kConfigText, "config.json");
  EXPECT_EQ(config_fault([&] { cfg.i("hidden_size", 1, 1024); }),
            "config.json: hidden_size: expected an integer in [1, 1024], got 2048");
  EXPECT_EQ(config_fault([&] { cfg.sub("talker_config").i("heads"); }),
            "config.json: talker_config.heads: is missing; expected an integer");
  EXPECT_EQ(config_fault([&] { cfg.i("eps", 0, 4); }),
            "config.json: eps: expected an integer in [0, 4], got 1e-06");
  EXPECT_EQ(config_fault([&] { cfg.ints("scales", 0, 9); }),
            "config.json: scales[0]: expected an integer in [0, 9], got 0.5");
  EXPECT_EQ(config_fault([&] { cfg.subs("stages").at(0).s("n"); }),
            "config.json: stages[0].n: expected a string, got 1");
  EXPECT_EQ(config_fault([&] { cfg.opt_b("type", true); }),
            "config.json: type: expected true or false, got \"qwen3_tts\"");
  EXPECT_EQ(config_fault([&] { cfg.f("theta", 0, 1); }),
            "config.json: theta: expected a number in [0, 1], got 1000000");
  EXPECT_EQ(config_fault([&] { cfg.sub("rates"); }),
            "config.json: rates: expected an object, got array");
  EXPECT_NE(config_fault([&] { cfg.ints("type"); }).find("a list"), std::string::npos);
}

TEST(Config, ChecksNameKeyExpectedGot) {
  const Config cfg = Config::parse(R"({"act": "gelu", "bias": true, "step": 2})", "c.json");
  cfg.only("act", "gelu"), cfg.only("bias", true), cfg.only("step", 2), cfg.only("none", "x");
  cfg.same("step", 2, "that of the model"), cfg.check("act", true, "is odd");
  EXPECT_EQ(config_fault([&] { cfg.only("act", "silu"); }),
            "c.json: act: only silu is supported, got gelu");
  EXPECT_EQ(config_fault([&] { cfg.only("bias", false); }),
            "c.json: bias: only false is supported");
  EXPECT_EQ(config_fault([&] { cfg.only("step", 1); }), "c.json: step: only 1 is supported, got 2");
  EXPECT_EQ(config_fault([&] { cfg.only("step", false, "an odd step"); }),
            "c.json: step: only an odd step is supported");
  EXPECT_EQ(config_fault([&] { cfg.same("step", 3, "that of the model"); }),
            "c.json: step: expected that of the model, 3, got 2");
  EXPECT_EQ(config_fault([&] { cfg.check("act", false, "is odd"); }), "c.json: act: is odd");
  EXPECT_THROW(cfg.i<int8_t>("step", 0, 1), LoadError);
  const Config large = Config::parse(R"({"n": 3000000000})", "c.json");
  EXPECT_THROW(large.i<int>("n"), LoadError);
  EXPECT_EQ(large.i("n"), 3000000000);
}

TEST(Config, RefusesWhatIsNoConfig) {
  const auto fault = [](const std::string& text) {
    return config_fault([&] { Config::parse(text, "c.json"); });
  };
  EXPECT_NE(fault("[1]").find("expected an object, got array"), std::string::npos);
  EXPECT_NE(fault("").find("invalid JSON"), std::string::npos);
  EXPECT_TRUE(
      fault("{\"a\":\n x}").starts_with("c.json: invalid JSON: parse error at line 2, column 2"))
      << fault("{\"a\":\n x}");
  for (const char* bad : {"{", "{\"a\": 1e999}", "{\"a\":\"\xff\"}", "[1"}) {
    EXPECT_EQ(fault(bad).find("json.exception"), std::string::npos) << fault(bad);
  }
  EXPECT_NE(fault("{\"a\":1,\"a\":2}").find("a: is given twice"), std::string::npos);
  EXPECT_NE(fault("{\"a\":" + std::string(100000, '[')).find("nested"), std::string::npos);
  EXPECT_NE(fault("{\"a\":\"\xff\"}").find("invalid JSON"), std::string::npos);
  EXPECT_EQ(fault("{\"a\":{\"b\":1},\"c\":{\"b\":1}}"), "");
  const Config big = Config::parse(R"({"n": 18446744073709551615, "x": 1e300})", "c.json");
  EXPECT_THROW(big.i("n"), LoadError);
  EXPECT_THROW(big.i("x"), LoadError);
}

TEST(Config, LoadsFiles) {
  const TestDir dir;
  EXPECT_EQ(Config::load(dir.write("c.json", "{\"a\": 3}")).i("a"), 3);
  EXPECT_THROW(Config::load(dir.path("none.json")), LoadError);
  EXPECT_THROW(Config::load(dir.path()), LoadError);
}

TEST(ConfigDamage, IsRefusedOrRead) {
  for_each_damage(kConfigText, 3000, [](const std::string& text) {
    try {
      const Config cfg = Config::parse(text, "c.json");
      if (cfg.has("rates")) cfg.ints("rates");
      cfg.i("hidden_size", 1, 65536);
      cfg.sub("talker_config").map_i("spk_id");
    } catch (const LoadError&) {
    }
  });
}

TEST(Config, LimitsMetExactly) {
  const auto of = [](const std::string& value) {
    return Config::parse("{\"n\": " + value + "}", "x.json");
  };
  EXPECT_EQ(of("9007199254740992.0").i("n"), int64_t{1} << 53);
  EXPECT_NE(config_fault([&] { of("1e16").i("n"); }), "") << "a float has no such integers";
  EXPECT_NE(config_fault([&] { of("2.5").i("n"); }), "");
  EXPECT_EQ(of("7").i("n", 7, 7), 7);
  EXPECT_NE(config_fault([&] { of("8").i("n", 7, 7); }), "");
  EXPECT_NE(config_fault([&] { of("6").i("n", 7, 7); }), "");
  EXPECT_NE(config_fault([&] { of("18446744073709551615").i("n"); }), "") << "beyond 63 bits";
  EXPECT_NE(config_fault([&] { of("18446744073709551615").i("n", -1, 1); }), "") << "not -1";
  const auto nested = [](int depth) {
    return "{\"n\": " + std::string(static_cast<size_t>(depth), '[') +
           std::string(static_cast<size_t>(depth), ']') + "}";
  };
  // The first element of an array is one level deeper than the array.
  EXPECT_EQ(config_fault([&] { Config::parse(nested(Config::kMaxDepth), "x.json"); }), "");
  EXPECT_NE(config_fault([&] { Config::parse(nested(Config::kMaxDepth + 1), "x.json"); }), "");
  const auto list = [&](size_t count) {
    std::string text = "[0";
    for (size_t i = 1; i < count; ++i) text += ",0";
    return of(text + "]");
  };
  EXPECT_EQ(list(Config::kMaxList).ints("n").size(), Config::kMaxList);
  EXPECT_NE(config_fault([&] { list(Config::kMaxList + 1).ints("n"); }), "");
}

}  // namespace
}  // namespace syrinx
