#include "families/qwen3_omni/config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "families/qwen3_omni/talker.h"
#include "io/file.h"

namespace syrinx::qwen3_omni {
namespace {

nlohmann::json small_config() {
  return nlohmann::json::parse(read_file(SYRINX_BINARY_DIR "/parity/qwen3_omni/golden/published/"
                                                           "checkpoint/config.json",
                                         1 << 20));
}

ModelConfig load(const nlohmann::json& json) {
  return load_model_config(Config::parse(json.dump(), "config.json"));
}

std::string fault(const nlohmann::json& json) {
  try {
    load(json);
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

TEST(Qwen3OmniConfig, ReadsBothFormsOfTheFile) {
  nlohmann::json json = small_config();
  EXPECT_TRUE(claims(Config::parse(json.dump(), "config.json")));
  const ModelConfig c = load(json);
  EXPECT_EQ(c.thinker.lm.rope.theta, 1e6);
  EXPECT_EQ(c.talker.decoder.moe.experts, 6);
  EXPECT_TRUE(c.talker.decoder.moe.normalised);
  EXPECT_EQ(c.talker.decoder.moe.shared_ffn, 24);
  EXPECT_EQ(c.thinker.lm.moe.shared_ffn, 0);
  EXPECT_EQ(c.codec.hop(), 1920);
  EXPECT_EQ(c.codec.lead(), 555);
  EXPECT_EQ(c.talker.speakers.size(), 3u);

  // Uses the keys of versions before transformers 5.
  for (nlohmann::json* part :
       {&json["thinker_config"]["text_config"], &json["talker_config"]["text_config"],
        &json["talker_config"]["code_predictor_config"], &json["code2wav_config"]}) {
    (*part)["rope_theta"] = 500000;
    (*part)["rope_scaling"] = {{"interleaved", true}, {"rope_type", "default"}};
    part->erase("rope_parameters");
  }
  nlohmann::json& talker = json["talker_config"]["text_config"];
  talker["num_experts"] = talker["num_local_experts"];
  talker.erase("num_local_experts");
  talker.erase("norm_topk_prob");
  const ModelConfig older = load(json);
  EXPECT_EQ(older.thinker.lm.rope.theta, 5e5);
  EXPECT_EQ(older.codec.rope_theta, 5e5);
  EXPECT_EQ(older.talker.decoder.moe.experts, 6);
  EXPECT_FALSE(older.talker.decoder.moe.normalised);

  json["enable_audio_output"] = false;
  json.erase("talker_config");
  json.erase("code2wav_config");
  EXPECT_FALSE(load(json).speaks);
}

TEST(Qwen3OmniConfig, SaysWhatIsWrong) {
  const auto with = [](const char* pointer, const nlohmann::json& value) {
    nlohmann::json json = small_config();
    json[nlohmann::json::json_pointer(pointer)] = value;
    return fault(json);
  };
  const auto says = [](const std::string& message, const char* what) {
    EXPECT_NE(message.find(what), std::string::npos) << message;
  };
  says(with("/thinker_config/text_config/num_experts_per_tok", 9), "num_experts_per_tok");
  says(with("/thinker_config/text_config/mlp_only_layers", {0}), "mlp_only_layers");
  says(with("/thinker_config/text_config/decoder_sparse_step", 2), "decoder_sparse_step");
  says(with("/thinker_config/text_config/rope_parameters/rope_type", "yarn"), "yarn");
  says(with("/thinker_config/text_config/head_dim", 12), "head_dim");
  says(with("/thinker_config/text_config/num_key_value_heads", 3), "must divide the heads");
  says(with("/talker_config/text_config/head_dim", 4), "head_dim");
  says(with("/code2wav_config/num_attention_heads", 64), "num_attention_heads");
  says(with("/code2wav_config/upsample_rates", {8, 5, 4, 3, 2, 2}), "decoder_dim");
  says(with("/thinker_config/audio_config/output_dim", 32), "must be the thinker's width, 64");
  says(with("/thinker_config/audio_token_id", 96), "audio_token_id");
  says(with("/thinker_config/tie_word_embeddings", true), "tie_word_embeddings");
  says(with("/talker_config/accept_hidden_layer", 3), "accept_hidden_layer");
  says(with("/talker_config/accept_hidden_layer", 4), "accept_hidden_layer");
  says(with("/talker_config/thinker_hidden_size", 32), "must be the thinker's width, 64");
  says(with("/talker_config/codec_eos_token_id", 10), "codec_eos_token_id");
  says(with("/talker_config/speaker_id/ethan", 2000), "ethan");
  says(with("/talker_config/code_predictor_config/hidden_size", 16), "must be the talker's");
  says(with("/code2wav_config/num_quantizers", 5), "num_quantizers");
  says(with("/code2wav_config/codebook_size", 32), "codebook_size");
  says(with("/tts_pad_token_id", -1), "tts_pad_token_id");
}

TEST(Qwen3OmniTalkerPrompt, KeepsWhatUsersSaid) {
  const ModelConfig c = load(small_config());
  const TextIds& t = c.text;
  const CodecIds& k = c.talker.codec;
  const int32_t nl = 8, a = 20, b = 21, d = 22, e = 23;
  const std::vector<int32_t> ids{t.im_start, t.system,    nl, a,       t.im_end, nl,  // left out
                                 t.im_start, t.user,      nl, t.audio, b,        t.im_end,
                                 nl,                                                  // kept
                                 t.im_start, t.assistant, nl, d,       t.im_end, nl,  // left out
                                 t.im_start, t.user,      nl, e,       t.im_end, nl,  // kept
                                 t.im_start, t.assistant, nl};
  std::vector<TalkerRow> want;
  for (const int32_t id : {t.im_start, t.user, nl}) want.push_back({.text = id});
  want.push_back({.heard = 9});
  for (const int32_t id :
       {b, t.im_end, nl, t.im_start, t.user, nl, e, t.im_end, nl, t.im_start, t.assistant, nl}) {
    want.push_back({.text = id});
  }
  for (const int32_t id : {k.nothink, k.think_bos, k.think_eos, int32_t{300}})
    want.push_back({.text = t.tts_pad, .codec = id});
  want.push_back({.text = t.tts_bos, .codec = k.pad});
  want.push_back({.text = 50, .codec = k.bos});
  EXPECT_EQ(talker_prompt(c, ids, 300, 50), want);
  EXPECT_THROW(talker_prompt(c, std::span(ids).first(6), 300, 50), InternalError);
}

TEST(Qwen3OmniTalkerText, FollowsTheThinker) {
  const TextIds text{.tts_pad = 5, .tts_eos = 7};
  const std::vector<int32_t> written{30, 31, 32};
  EXPECT_EQ(talker_text(text, written, false, 0), 31);
  EXPECT_EQ(talker_text(text, written, false, 1), 32);
  EXPECT_EQ(talker_text(text, written, false, 2), std::nullopt);
  EXPECT_EQ(talker_text(text, std::span(written).first(1), false, 0), std::nullopt);
  EXPECT_EQ(talker_text(text, written, true, 1), 32);
  EXPECT_EQ(talker_text(text, written, true, 2), 7);
  EXPECT_EQ(talker_text(text, written, true, 3), 5);
}

}  // namespace
}  // namespace syrinx::qwen3_omni
