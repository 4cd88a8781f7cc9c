#include "nn/llama_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace syrinx {
namespace {

nlohmann::json csm_backbone() {
  return {{"hidden_size", 2048},
          {"intermediate_size", 8192},
          {"num_hidden_layers", 16},
          {"num_attention_heads", 32},
          {"num_key_value_heads", 8},
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 500000},
          {"rope_scaling",
           {{"rope_type", "llama3"},
            {"factor", 32.0},
            {"low_freq_factor", 0.125},
            {"high_freq_factor", 0.5},
            {"original_max_position_embeddings", 1024}}}};
}

DecoderConfig load(const nlohmann::json& json) {
  return load_llama_config(Config::parse(json.dump(), "config.json"));
}

TEST(LlamaConfig, ReadsWhatIsThere) {
  const DecoderConfig d = load(csm_backbone());
  EXPECT_EQ(d.layers, 16);
  EXPECT_EQ(d.head_dim, 64);
  EXPECT_EQ(d.rope.scaling.factor, 32);
  EXPECT_EQ(d.rope.scaling.high_freq_factor, 0.5f);
  EXPECT_EQ(d.rope.scaling.original_positions, 1024);
  EXPECT_FALSE(d.attention_bias || d.mlp_bias);
  nlohmann::json plain = csm_backbone();
  plain["rope_scaling"] = nullptr;
  EXPECT_EQ(load(plain).rope.scaling.factor, 0);
}

// Since version 5, transformers stores base and scaling together.
TEST(LlamaConfig, ReadsWhatTransformers5Writes) {
  nlohmann::json json = csm_backbone();
  json["rope_parameters"] = json["rope_scaling"];
  json["rope_parameters"]["rope_theta"] = 700000.0;
  json.erase("rope_scaling"), json.erase("rope_theta");
  DecoderConfig d = load(json);
  EXPECT_EQ(d.rope.theta, 700000);
  EXPECT_EQ(d.rope.scaling.factor, 32);
  EXPECT_EQ(d.rope.scaling.original_positions, 1024);
  json["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 10000.0}};
  d = load(json);
  EXPECT_EQ(d.rope.theta, 10000);
  EXPECT_EQ(d.rope.scaling.factor, 0);
  const auto theta = [](const nlohmann::json& config, double absent) {
    return load_rope_theta(Config::parse(config.dump(), "config.json"), absent);
  };
  EXPECT_EQ(theta(json, 5), 10000);
  EXPECT_EQ(theta(nlohmann::json::object(), 5), 5);
  EXPECT_THROW(theta(nlohmann::json::object(), 0), LoadError);
  EXPECT_THROW(theta(csm_backbone(), 0), LoadError) << "scaling that the network does not know";
  json["rope_parameters"] = {{"rope_type", "linear"}, {"rope_theta", 500.0}, {"factor", 1.0}};
  EXPECT_EQ(load(json).rope.theta, 500) << "it scales nothing";
  EXPECT_EQ(load(json).rope.scaling.factor, 0);
  json["rope_parameters"]["factor"] = 2.0;
  EXPECT_THROW(load(json), LoadError);
}

TEST(LlamaConfig, NamesWhatIsWrong) {
  const auto fault = [](const char* key, const nlohmann::json& value) -> std::string {
    nlohmann::json json = csm_backbone();
    json[key] = value;
    try {
      load(json);
    } catch (const LoadError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(fault("hidden_size", nullptr).find("hidden_size"), std::string::npos);
  EXPECT_NE(fault("num_key_value_heads", 5).find("num_key_value_heads"), std::string::npos);
  EXPECT_NE(fault("hidden_act", "gelu").find("silu"), std::string::npos);
  EXPECT_NE(fault("rope_scaling", {{"rope_type", "yarn"}}).find("yarn"), std::string::npos);
  EXPECT_NE(fault("rope_scaling", {{"rope_type", "llama3"}}).find("factor"), std::string::npos);
  EXPECT_NE(fault("rope_parameters", {{"rope_type", "yarn"}}).find("yarn"), std::string::npos);
  EXPECT_NE(fault("num_attention_heads", 2).find("2 heads of size 1024"), std::string::npos);
}

TEST(LlamaConfig, RefusesAtItsLimits) {
  const auto fault = [](const nlohmann::json& json) -> std::string {
    try {
      load(json);
    } catch (const LoadError& error) {
      return error.what();
    }
    return "";
  };
  nlohmann::json json = csm_backbone();
  json["rope_scaling"]["high_freq_factor"] = 0.125;
  EXPECT_NE(fault(json).find("must be larger"), std::string::npos);
  json = csm_backbone();
  json["head_dim"] = 60;
  EXPECT_NE(fault(json).find("multiple of 8"), std::string::npos);
  json = csm_backbone();
  json["use_sliding_window"] = true;
  EXPECT_NE(fault(json).find("use_sliding_window"), std::string::npos);
}

}  // namespace
}  // namespace syrinx
