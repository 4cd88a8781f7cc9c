// Loads the small checkpoints of tests/parity in every family. A checkpoint is accepted as a whole,
// or refused with the names of tensors that are missing, unexpected, of another type, or not
// finite. Wrong sizes in a config do not make loading allocate memory.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "families/checkpoint_copy.h"
#include "families/family.h"
#include "io/edit_safetensors.h"
#include "io/test_dir.h"
#include "io/torch_pickle.h"
#include "model/voice.h"

namespace syrinx {
namespace {

using Json = nlohmann::json;

/// A safetensors file. Tensors with a part of their name in `later` are loaded with the first
/// recording, or never; tables with a part in `in_place` are mapped, so loading cannot check them.
struct File {
  const char* name;
  std::vector<std::string> later = {}, in_place = {};
};

struct Golden {
  const char *family, *dir;
  std::vector<File> files;
};

const std::vector<Golden>& goldens() {
  static const std::vector<Golden> kAll{
      {"qwen3_tts",
       "qwen3_tts/golden/projected/checkpoint",
       {{"model.safetensors", {}, {"_embedding"}},
        {"speech_tokenizer/model.safetensors", {"encoder.", "input_proj"}}}},
      {"qwen3_tts",
       "qwen3_tts/golden/base/checkpoint",
       {{"model.safetensors", {"speaker_encoder."}, {"_embedding"}},
        {"speech_tokenizer/model.safetensors", {"encoder.", "input_proj"}}}},
      {"qwen3_omni",
       "qwen3_omni/golden/published/checkpoint",
       {{"model.safetensors", {"thinker.visual."}, {"embed"}}}},
      {"qwen3_asr",
       "qwen3_asr/golden/original/checkpoint",
       {{"model.safetensors", {"thinker.lm_head."}, {"embed"}}}},
      {"qwen3_asr", "qwen3_asr/golden/hf/checkpoint", {{"model.safetensors", {}, {"embed"}}}},
      {"csm",
       "csm/golden/taught/checkpoint",
       {{"model.safetensors",
         {"codec_model.encoder", "codec_model.downsample", "input_proj", "initialized",
          "depth_decoder.model.embed_tokens"},
         {"embed_audio_tokens", "embed_text_tokens"}}}},
      {"fish_speech", "fish_speech/golden/checkpoint", {{"model.safetensors", {}, {"embeddings"}}}},
      {"higgs_audio",
       "higgs/golden/checkpoint",
       {{"model.safetensors",
         {"acoustic_encoder.", "_semantic.", "semantic_model.", ".fc.", ".fc1.", "project_in",
          "embed_avg", "cluster_size", "inited"},
         {"_embedding.weight", "modality_embeddings.0.embedding"}}}},
      {"voxcpm2", "voxcpm2/golden/checkpoint", {{"model.safetensors", {}, {"embed_tokens"}}}},
      {"pocket_tts",
       "pocket_tts/golden/distilled/checkpoint",
       {{"model.safetensors",
         {"mimi.encoder", "mimi.downsample", "speaker_proj_weight"},
         {"embed.weight"}}}},
      {"pocket_tts",
       "pocket_tts/golden/small/checkpoint",
       {{"model.safetensors",
         {"mimi.encoder", "mimi.downsample", "speaker_proj_weight"},
         {"embed.weight"}}}},
      {"moss_tts",
       "moss_tts/golden/other_shapes/checkpoint",
       {{"model.safetensors", {"language_model.embed_tokens"}, {"embed_tokens"}},
        {"MOSS-Audio-Tokenizer/model.safetensors",
         {"encoder.", ".in_proj.", "quantizer.input_proj", "quantizers.6."}}}},
      {"omnivoice",
       "omnivoice/golden/plain/checkpoint",
       {{"model.safetensors", {"codebook_layer_offsets"}, {"embed_tokens", "audio_embeddings"}},
        {"audio_tokenizer/model.safetensors",
         {"acoustic_encoder.", "_semantic.", "semantic_model.", "fc.", "fc1.", "project_in",
          "embed_avg", "cluster_size", "inited"}}}},
      {"omnivoice",
       "omnivoice/golden/shapes/checkpoint",
       {{"model.safetensors", {"codebook_layer_offsets"}, {"embed_tokens", "audio_embeddings"}}}},
      {"vibevoice",
       "vibevoice/golden/plain/checkpoint",
       {{"model.safetensors",
         {"acoustic_tokenizer.encoder", "tts_language_model.embed_tokens"},
         {"language_model.embed_tokens"}}}},
      {"vibevoice",
       "vibevoice/golden/other/checkpoint",
       {{"model.safetensors", {}, {"language_model.embed_tokens"}}}},
      {"orpheus", "orpheus/golden/checkpoint", {{"model.safetensors", {}, {"embed_tokens"}}}},
      {"zonos", "zonos/golden/checkpoint", {{"model.safetensors", {}, {"embeddings."}}}},
      {"chatterbox",
       "chatterbox/golden/checkpoint",
       {{"t3_cfg.safetensors", {"text_head", "tfmr.embed_tokens"}, {"_emb."}},
        {"s3gen.safetensors", {"tokenizer.", "speaker_encoder."}}}},
      {"chatterbox_turbo",
       "chatterbox_turbo/golden/checkpoint",
       {{"t3_turbo_v1.safetensors", {"text_head", "tfmr.wte"}, {"_emb.", "wpe"}},
        {"s3gen_meanflow.safetensors", {"tokenizer.", "speaker_encoder."}}}},
      {"glm4_voice",
       "glm4_voice/golden/checkpoint",
       {{"model.safetensors", {"inv_freq"}, {"word_embeddings"}},
        {"glm-4-voice-tokenizer/model.safetensors", {"ema_", "embed_positions2"}}}},
      {"step_audio2",
       "step_audio2/golden/checkpoint",
       {{"model.safetensors", {}, {"embed_tokens"}}}},
      {"whisper", "whisper/small", {{"model.safetensors", {}, {"embed_tokens"}}}},
      {"nemotron_asr",
       "transducer/golden/small/checkpoint",
       {{"model.safetensors", {}, {"decoder.embedding"}}}},
      {"nemotron_asr",
       "transducer/golden/tdt/checkpoint",
       {{"model.safetensors", {"num_batches_tracked"}, {"decoder.embedding"}}}},
      {"kyutai_stt",
       "kyutai_stt/golden/small/checkpoint",
       {{"model.safetensors", {"extra_heads.0", "extra_heads.1", "extra_heads.3"}, {"emb."}},
        {"mimi-pytorch-e351c8d8@125.safetensors",
         {"decoder.", "decoder_transformer.", "upsample.", "output_proj", "_initialized"}}}},
      {"kyutai_stt",
       "kyutai_stt/golden/transformers/checkpoint",
       {{"model.safetensors",
         {"codec_model.decoder", "codec_model.upsample", "output_proj", "initialized"},
         {"embed_tokens"}}}},
      {"voxtral_realtime",
       "voxtral_realtime/golden/small/checkpoint",
       {{"model.safetensors", {}, {"embed_tokens"}}}},
      {"voxtral_realtime",
       "voxtral_realtime/golden/original/checkpoint",
       {{"consolidated.safetensors", {}, {"tok_embeddings"}}}},
      {"kyutai_tts",
       "kyutai_tts/golden/small/checkpoint",
       {{"dsm_tts_1e68beda@240.safetensors",
         {"depformer_text_emb.low_rank", "cfg.learnt_padding", "control.learnt_padding"},
         {"emb."}},
        {"tokenizer-e351c8d8-checkpoint125.safetensors",
         {"encoder.", "encoder_transformer.", "downsample.", "input_proj", "_initialized"}}}},
      {"kyutai_tts",
       "kyutai_tts/golden/other/checkpoint",
       {{"model.safetensors",
         {"depformer_text_emb.low_rank", "cfg.learnt_padding", "control.learnt_padding"},
         {"emb."}}}},
      {"voxtral_tts",
       "voxtral_tts/golden/small/checkpoint",
       {{"consolidated.safetensors", {}, {"mm_audio_embeddings"}}}},
      {"llm", "llm/llama", {{"model.safetensors", {}, {"embed_tokens"}}}},
      {"llm", "llm/qwen3", {{"model.safetensors", {}, {"embed_tokens"}}}},
  };
  return kAll;
}

bool any_in(const std::vector<std::string>& parts, const std::string& name) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const std::string& part) { return name.find(part) != name.npos; });
}

std::string parity_dir(const std::string& name) { return SYRINX_BINARY_DIR "/parity/" + name; }

struct Copy : CheckpointCopy {
  explicit Copy(const std::string& family_name, const std::string& golden)
      : CheckpointCopy(parity_dir(golden)), family(family_name) {}
  explicit Copy(const Golden& golden) : Copy(golden.family, golden.dir) {}

  LoadSpec spec() const { return {dir.path(), "copy", WeightType::kQ8}; }
  std::shared_ptr<const Pipeline> load(const LoadSpec& spec) const {
    for (const Family& each : families())
      if (each.name == family) return each.load(spec);
    throw std::invalid_argument("no family " + family);
  }
  /// Returns the message of the load error. Empty string if the checkpoint loads.
  std::string fault() const {
    try {
      load(spec());
    } catch (const LoadError& error) {
      return error.what();
    } catch (const std::exception& error) {
      return std::string("not a LoadError: ") + typeid(error).name() + error.what();
    }
    return "";
  }
  void change(const std::string& file, const Json::json_pointer& key, const Json& value) const {
    Json json = Json::parse(slurp(dir.path(file)));
    json[key] = value;
    dir.write(file, json.dump());
  }
  std::string family;
};

/// Expects a LoadError whose message contains all of these parts.
void expect_named(const std::string& fault, const std::vector<std::string>& parts) {
  EXPECT_NE(fault, "");
  EXPECT_EQ(fault.find("not a LoadError"), fault.npos) << fault;
  for (const std::string& part : parts) {
    EXPECT_NE(fault.find(part), fault.npos) << part << " is not in: " << fault;
  }
}

class Loading : public testing::TestWithParam<Golden> {
 protected:
  /// Calls `use` for up to `most` tensors of every file, evenly spread. Afterwards restores the
  /// file.
  void for_some(size_t most, const std::function<void(const Copy&, const File&, const std::string&,
                                                      EditableSafetensors)>& use) const {
    const Copy copy(GetParam());
    for (const File& file : GetParam().files) {
      const std::string path = copy.dir.path(file.name);
      const EditableSafetensors whole(path);
      std::vector<std::string> names = whole.names();
      std::erase_if(names, [&](const std::string& name) { return any_in(file.later, name); });
      ASSERT_FALSE(names.empty());
      const size_t step = std::max<size_t>(1, names.size() / most);
      for (size_t i = 0; i < names.size(); i += step) use(copy, file, names[i], whole);
      whole.write(copy.dir.path(file.name));
    }
  }
};

TEST_P(Loading, TheGoldenLoads) { EXPECT_EQ(Copy(GetParam()).fault(), ""); }

/// If a family can omit the weights of one node (LoadSpec::part), it can omit those of each node.
TEST_P(Loading, PartsAreNodes) {
  const Copy copy(GetParam());
  std::set<std::string> asked, nodes;
  LoadSpec spec = copy.spec();
  spec.elsewhere = [&](std::string_view node) {
    asked.emplace(node);
    return false;
  };
  const auto pipeline = copy.load(spec);
  for (const Node& node : pipeline->graph().nodes()) nodes.insert(node.name);
  if (asked.empty()) return;  // the family always loads the weights of all nodes
  EXPECT_EQ(asked, nodes);
  spec.elsewhere = [](std::string_view) { return true; };
  EXPECT_NO_THROW(copy.load(spec));
}

TEST_P(Loading, WithoutATensorIsRefused) {
  for_some(25, [](const Copy& copy, const File& file, const std::string& name,
                  EditableSafetensors edited) {
    edited.header().erase(name);
    edited.write(copy.dir.path(file.name));
    expect_named(copy.fault(), {name});
  });
}

TEST_P(Loading, WithATensorOfItsOwnIsRefused) {
  for_some(1, [](const Copy& copy, const File& file, const std::string& name,
                 EditableSafetensors edited) {
    Json entry = edited.header()[name];
    const Json at = entry["data_offsets"][0];
    entry["shape"] = {0}, entry["data_offsets"] = {at, at};
    edited.header()["stranger.weight"] = entry;
    edited.write(copy.dir.path(file.name));
    expect_named(copy.fault(), {"do not belong to this model", "stranger.weight", file.name});
  });
}

TEST_P(Loading, WeightsThatAreNotNumbersAreNamed) {
  for_some(10, [](const Copy& copy, const File& file, const std::string& name,
                  EditableSafetensors edited) {
    const bool wide = edited.header()[name]["dtype"] == "F32";
    if (any_in(file.in_place, name)) return;
    const uint32_t nan = 0x7fc00000, infinity = 0xff80;
    std::memcpy(edited.data(name), wide ? &nan : &infinity, wide ? 4 : 2);
    edited.write(copy.dir.path(file.name));
    expect_named(copy.fault(), {"tensor " + name + ": has NaN or infinity"});
  });
}

TEST_P(Loading, IntegersAreNoWeights) {
  for_some(3, [](const Copy& copy, const File& file, const std::string& name,
                 EditableSafetensors edited) {
    Json& type = edited.header()[name]["dtype"];
    type = type == "F32" ? "I32" : "I16";
    edited.write(copy.dir.path(file.name));
    expect_named(copy.fault(), {name, "expected f32, bf16 or f16"});
  });
}

INSTANTIATE_TEST_SUITE_P(Families, Loading, testing::ValuesIn(goldens()), [](const auto& test) {
  return std::string(test.param.family) + std::to_string(test.index);
});

// The number of layers must not depend on a single tensor of each layer. Otherwise a checkpoint
// without that tensor would load as a shorter network.
TEST(LoadingChatterbox, PartsAreNotCountedByOneTensor) {
  const Copy copy("chatterbox", "chatterbox/golden/checkpoint");
  const std::pair<const char*, const char*> removed[] = {
      {"t3_cfg.safetensors", "tfmr.layers.1.self_attn.q_proj.weight"},
      {"s3gen.safetensors", "flow.encoder.encoders.0.norm_ff.weight"},
      {"s3gen.safetensors", "flow.encoder.up_encoders.0.norm_ff.weight"},
      {"s3gen.safetensors", "flow.decoder.estimator.mid_blocks.0.0.res_conv.weight"},
      {"s3gen.safetensors", "flow.decoder.estimator.down_blocks.0.1.0.norm1.weight"}};
  for (const auto& [file, name] : removed) {
    const EditableSafetensors whole(copy.dir.path(file));
    EditableSafetensors edited = whole;
    ASSERT_EQ(edited.header().erase(name), 1u) << name;
    edited.write(copy.dir.path(file));
    expect_named(copy.fault(), {"missing tensors (1)", name});
    whole.write(copy.dir.path(file));
  }
}

TEST(LoadingTorch, FilesAreTakenWholeToo) {
  const std::tuple<const char*, const char*, const char*> names[] = {
      {"cosyvoice2", "llm.pt", "llm_decoder.bias"},
      {"cosyvoice2", "flow.pt", "encoder.encoders.1.norm_ff.weight"},
      {"cosyvoice2", "hift.pt", "m_source.l_linear.bias"},
      {"cosyvoice3", "llm.pt", "llm_decoder.weight"},
      {"cosyvoice3", "flow.pt", "decoder.estimator.transformer_blocks.1.attn.to_out.0.bias"},
      {"cosyvoice3", "flow.pt", "pre_lookahead_layer.conv2.bias"},
      {"cosyvoice3", "hift.pt", "f0_predictor.condnet.0.bias"},
      {"cosyvoice2", "hift.pt", "generator.conv_pre.bias"},
      {"orpheus", "snac_24khz/pytorch_model.bin", "decoder.model.1.bias"},
      {"opuslm", "model.pth", "corelm.decoders.model.layers.1.self_attn.q_norm.weight"},
      {"opuslm", "model.pth", "corelm.decoders.model.layers.0.self_attn.q_norm.weight"},
      {"opuslm", "model.pth", "corelm.emb.weight"},
      {"opuslm", "espnet_codec_dac_large_v1.4_360epoch/360epoch.pth",
       "codec.generator.decoder.model.1.lstm.weight_ih_l1"},
      {"opuslm", "espnet_codec_dac_large_v1.4_360epoch/360epoch.pth",
       "codec.generator.decoder.model.1.lstm.bias_hh_l1"},
      {"opuslm", "model.pth", "corelm.head_emb.weight"},
      {"bagpiper", "model.pt", "model.layers.1.self_attn.k_norm.weight"},
      {"bagpiper", "model.pt", "audio_tower.layers.0.self_attn.k_proj.weight"},
      {"bagpiper", "model.pt", "adaptor.continuous_audio.weight"},
      {"bagpiper", "model.pt", "stream_emb.weight"},
      {"bagpiper", "model.pt", "codec_model.acoustic_decoder.block.0.conv_t1.bias"},
      {"fish_speech", "codec.pth", "decoder.model.1.block.0.alpha"},
      {"fish_speech", "codec.pth", "quantizer.post_module.norm.weight"},
      {"voxcpm2", "audiovae.pth", "decoder.model.0.bias"},
      {"glm4_voice", "glm-4-voice-decoder/flow.pt", "encoder.encoders.1.norm_ff.weight"},
      {"glm4_voice", "glm-4-voice-decoder/hift.pt", "m_source.l_linear.bias"},
      {"step_audio2", "token2wav/flow.pt", "decoder.estimator.blocks.1.attn.q_norm.bias"},
      {"step_audio2", "token2wav/hift.pt", "m_source.l_linear.bias"}};
  for (const auto& [family, file, name] : names) {
    const Copy copy(family, std::string(family) + "/golden/checkpoint");
    EXPECT_EQ(copy.fault(), "");
    std::string other = name;
    other.back() = '_';
    copy.replace(file, name, other);
    expect_named(copy.fault(), {"missing tensors (1)", name, "do not belong to this model", other});
  }
}

/// Loads a checkpoint, then its encoder of recordings. Returns the message of the first error.
std::string encoder_fault(const Copy& copy) {
  return load_fault_of([&] {
    const auto pipeline = copy.load(copy.spec());
    if (!pipeline->voice_encoder()) throw LoadError(pipeline->info().speech.no_cloning);
    pipeline->voice_encoder()->open({std::vector<float>(24000), 24000, "words"});
  });
}

/// No single tensor may decide whether the checkpoint has an encoder.
TEST(LoadingEncoders, AreTakenWhole) {
  const std::tuple<const char*, const char*, const char*, const char*> names[] = {
      {"voxcpm2", "voxcpm2/golden", "audiovae.pth", "encoder.fc_mu.bias"},
      {"voxcpm2", "voxcpm2/golden", "audiovae.pth", "encoder.block.0.bias"},
      {"fish_speech", "fish_speech/golden", "codec.pth", "encoder.block.0.conv.bias"},
      {"higgs_audio", "higgs/golden", "model.safetensors",
       "semantic_model.encoder.layers.1.layer_norm.bias"},
      {"pocket_tts", "pocket_tts/golden/distilled", "model.safetensors",
       "mimi.encoder.model.3.conv.bias"},
      {"qwen3_tts", "qwen3_tts/golden/base", "model.safetensors",
       "speaker_encoder.mfa.conv.weight"},
      {"zonos", "zonos/golden", "Zonos-v0.1-speaker-embedding/ResNet293_SimAM_ASP_base.pt",
       "front.layer3.1.conv1.weight"}};
  for (const auto& [family, golden, file, name] : names) {
    const Copy copy(family, std::string(golden) + "/checkpoint");
    EXPECT_EQ(encoder_fault(copy), "");
    copy.replace(file, name, std::string(name, std::strlen(name) - 1) + '_');
    expect_named(encoder_fault(copy), {"missing tensors (1)", name});
  }
}

TEST(LoadingTorch, WeightsThatAreNotNumbersAreNamed) {
  const std::tuple<const char*, const char*, const char*> names[] = {
      {"cosyvoice2", "flow.pt", "encoder.encoders.1.norm_ff.weight"},
      {"cosyvoice2", "hift.pt", "generator.conv_pre.bias"},
      {"orpheus", "snac_24khz/pytorch_model.bin", "decoder.model.1.bias"},
      {"opuslm", "model.pth", "corelm.decoders.model.layers.1.self_attn.q_norm.weight"},
      {"bagpiper", "model.pt", "module.model.layers.1.self_attn.k_norm.weight"},
      {"fish_speech", "codec.pth", "decoder.model.1.block.0.alpha"},
      {"voxcpm2", "audiovae.pth", "decoder.model.0.bias"},
      {"glm4_voice", "glm-4-voice-decoder/flow.pt", "encoder.encoders.1.norm_ff.weight"},
      {"step_audio2", "token2wav/hift.pt", "m_source.l_linear.bias"}};
  for (const auto& [family, file, name] : names) {
    const Copy copy(family, std::string(family) + "/golden/checkpoint");
    const std::string path = copy.dir.path(file);
    std::string bytes = slurp(path);
    {
      const TorchPickle pickle(path);
      const TorchTensor* tensor = pickle.find(name);
      ASSERT_TRUE(tensor && tensor->dtype) << name;
      const uint32_t nan = 0x7fc00000, infinity = 0xff80;
      const bool wide = tensor->dtype == DType::kF32;
      std::memcpy(bytes.data() + tensor->begin, wide ? &nan : &infinity, wide ? 4 : 2);
    }
    copy.dir.write(file, bytes);
    expect_named(copy.fault(), {file, name, "has NaN or infinity"});
  }
}

TEST(LoadingOrpheus, BiasesThatTheConfigLeavesOutAreLeftOver) {
  const Copy copy("orpheus", "orpheus/golden/checkpoint");
  EditableSafetensors edited(copy.dir.path("model.safetensors"));
  Json& header = edited.header();
  Json entry = header["model.layers.0.input_layernorm.weight"];
  entry["shape"] = {0}, entry["data_offsets"] = {0, 0};
  header["model.layers.0.self_attn.q_proj.bias"] = entry;
  edited.write(copy.dir.path("model.safetensors"));
  expect_named(copy.fault(), {"model.layers.0.self_attn.q_proj.bias"});
  // Old exports of transformers contain this tensor.
  header.erase("model.layers.0.self_attn.q_proj.bias");
  header["model.layers.0.self_attn.rotary_emb.inv_freq"] = entry;
  edited.write(copy.dir.path("model.safetensors"));
  EXPECT_EQ(copy.fault(), "");
}

/// Returns the peak memory of the process so far, in bytes.
size_t peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<size_t>(usage.ru_maxrss) << 10;
}

TEST(LoadingSizes, ThatNoTensorHasCostNoMemory) {
  struct Case {
    const char *family, *dir, *file, *key;
    int64_t value;
  };
  const char *qwen = "qwen3_tts/golden/projected/checkpoint", *csm = "csm/golden/taught/checkpoint",
             *orpheus = "orpheus/golden/checkpoint", *fish = "fish_speech/golden/checkpoint",
             *higgs = "higgs/golden/checkpoint", *vox = "voxcpm2/golden/checkpoint",
             *glm = "glm4_voice/golden/checkpoint", *step = "step_audio2/golden/checkpoint",
             *omni = "qwen3_omni/golden/published/checkpoint", *opus = "opuslm/golden/checkpoint",
             *asr = "qwen3_asr/golden/original/checkpoint", *bag = "bagpiper/golden/checkpoint";
  const Case cases[] = {
      {"zonos", "zonos/golden/checkpoint", "config.json", "/backbone/attn_mlp_d_intermediate",
       1 << 18},
      {"qwen3_tts", qwen, "config.json", "/talker_config/text_hidden_size", 65536},
      {"qwen3_tts", qwen, "config.json", "/talker_config/intermediate_size", 1 << 18},
      {"qwen3_tts", qwen, "speech_tokenizer/config.json", "/decoder_config/codebook_dim", 16384},
      {"qwen3_tts", qwen, "speech_tokenizer/config.json", "/decoder_config/latent_dim", 16384},
      {"csm", csm, "config.json", "/codec_config/num_filters", 4096},
      {"csm", csm, "config.json", "/text_vocab_size", 1 << 24},
      {"csm", csm, "config.json", "/depth_decoder_config/hidden_size", 1024},
      {"csm", csm, "config.json", "/depth_decoder_config/intermediate_size", 1 << 18},
      {"fish_speech", fish, "config.json", "/text_config/vocab_size", 1 << 24},
      {"fish_speech", fish, "config.json", "/text_config/intermediate_size", 65536},
      {"fish_speech", fish, "config.json", "/text_config/n_layer", 512},
      {"fish_speech", fish, "config.json", "/audio_decoder_config/n_head", 65536},
      {"higgs_audio", higgs, "config.json", "/text_config/vocab_size", 1 << 24},
      {"higgs_audio", higgs, "config.json", "/text_config/intermediate_size", 1 << 18},
      {"higgs_audio", higgs, "config.json", "/text_config/num_hidden_layers", 512},
      {"voxcpm2", vox, "config.json", "/lm_config/vocab_size", 1 << 24},
      {"voxcpm2", vox, "config.json", "/lm_config/intermediate_size", 65536},
      {"voxcpm2", vox, "config.json", "/dit_config/ffn_dim", 65536},
      {"voxcpm2", vox, "config.json", "/scalar_quantization_latent_dim", 65536},
      {"voxcpm2", vox, "config.json", "/audio_vae_config/decoder_dim", 16384},
      {"glm4_voice", glm, "config.json", "/ffn_hidden_size", 1 << 18},
      {"glm4_voice", glm, "config.json", "/padded_vocab_size", 1 << 24},
      {"glm4_voice", glm, "glm-4-voice-tokenizer/config.json", "/encoder_ffn_dim", 65536},
      {"step_audio2", step, "config.json", "/text_config/intermediate_size", 1 << 18},
      {"step_audio2", step, "config.json", "/text_config/vocab_size", 1 << 24},
      {"qwen3_omni", omni, "config.json", "/thinker_config/text_config/moe_intermediate_size",
       65536},
      {"qwen3_omni", omni, "config.json", "/thinker_config/text_config/vocab_size", 1 << 24},
      {"qwen3_omni", omni, "config.json", "/thinker_config/audio_config/encoder_ffn_dim", 65536},
      {"qwen3_omni", omni, "config.json", "/code2wav_config/decoder_dim", 16384},
      {"qwen3_asr", asr, "config.json", "/thinker_config/text_config/vocab_size", 1 << 24},
      {"qwen3_asr", asr, "config.json", "/thinker_config/audio_config/encoder_ffn_dim", 65536},
      {"opuslm", opus, "config.json", "/intermediate_size", 1 << 18},
      {"opuslm", opus, "config.json", "/num_hidden_layers", 512},
      {"bagpiper", bag, "config.json", "/intermediate_size", 1 << 18},
      {"bagpiper", bag, "config.json", "/vocab_size", 1 << 24},
      {"whisper", "whisper/small", "config.json", "/decoder_ffn_dim", 65536},
      {"whisper", "whisper/small", "config.json", "/encoder_layers", 256},
      {"llm", "llm/llama", "config.json", "/intermediate_size", 1 << 18},
      {"llm", "llm/llama", "config.json", "/vocab_size", 1 << 24},
      {"orpheus", orpheus, "config.json", "/hidden_size", 65536},
      {"orpheus", orpheus, "config.json", "/num_hidden_layers", 512},
      {"orpheus", orpheus, "snac_24khz/config.json", "/decoder_dim", 16384},
      {"orpheus", orpheus, "snac_24khz/config.json", "/codebook_dim", 4096},
      {"orpheus", orpheus, "snac_24khz/config.json", "/codebook_size", 1 << 20},
      {"cosyvoice2", "cosyvoice2/golden/checkpoint", "CosyVoice-BlankEN/config.json",
       "/intermediate_size", 1 << 18},
      {"cosyvoice2", "cosyvoice2/golden/checkpoint", "CosyVoice-BlankEN/config.json", "/vocab_size",
       1 << 24},
  };
  for (const Case& c : cases) {
    const Copy copy(c.family, c.dir);
    copy.change(c.file, Json::json_pointer(c.key), c.value);
    const size_t before = peak_bytes();
    expect_named(copy.fault(), {});
    EXPECT_LT(peak_bytes() - before, size_t{400} << 20) << c.family << " " << c.key;
  }
  const std::pair<const char*, const char*> yaml[] = {{"base_channels: 16", "base_channels: 65536"},
                                                      {"linear_units: 48", "linear_units: 65536"},
                                                      {"channels: [16]", "channels: [65536]"}};
  for (const auto& [from, to] : yaml) {
    const Copy copy("cosyvoice2", "cosyvoice2/golden/checkpoint");
    copy.replace("cosyvoice2.yaml", from, to);
    const size_t before = peak_bytes();
    expect_named(copy.fault(), {"expected ["});
    EXPECT_LT(peak_bytes() - before, size_t{400} << 20) << to;
  }
}

TEST(LoadingConfigs, HeadsThatTheKernelsDoNotKnow) {
  const Copy copy("orpheus", "orpheus/golden/checkpoint");
  copy.change("config.json", Json::json_pointer("/hidden_size"), 8192);
  copy.change("config.json", Json::json_pointer("/num_attention_heads"), 2);
  copy.replace("config.json", "\"head_dim\":16,", "");
  expect_named(copy.fault(), {"num_attention_heads", "2 heads of size 4096"});
}

TEST(LoadingConfigs, RatesThatMakeNoFrame) {
  const Copy codec("qwen3_tts", "qwen3_tts/golden/projected/checkpoint");
  codec.change("speech_tokenizer/config.json", Json::json_pointer("/decoder_config/upsample_rates"),
               {64, 64, 64});
  expect_named(codec.fault(), {"upsample_rates"});
  const std::tuple<const char*, const char*, const char*> changes[] = {
      {"upsample_rates: [8, 5, 3]", "upsample_rates: [64, 64, 64]", "upsample_rates"},
      {"upsample_kernel_sizes: [16, 11, 7]", "upsample_kernel_sizes: [16, 10, 7]",
       "upsample_kernel_sizes"},
      {"sample_rate: 24000", "sample_rate: 8000", "hift.sampling_rate"},
      {"base_channels: 16", "base_channels: 12", "base_channels"}};
  for (const auto& [from, to, key] : changes) {
    const Copy copy("cosyvoice2", "cosyvoice2/golden/checkpoint");
    copy.replace("cosyvoice2.yaml", from, to);
    expect_named(copy.fault(), {key});
  }
}

/// Moves rope_theta and rope_scaling to the place where transformers 5 writes them.
void put_rope_together(const Copy& copy, const std::string& file, const std::string& at) {
  Json json = Json::parse(slurp(copy.dir.path(file)));
  Json& part = at.empty() ? json : json[Json::json_pointer(at)];
  Json rope = part.contains("rope_scaling") && part["rope_scaling"].is_object()
                  ? part["rope_scaling"]
                  : Json{{"rope_type", "default"}};
  if (part.contains("rope_theta")) rope["rope_theta"] = part["rope_theta"];
  part.erase("rope_scaling"), part.erase("rope_theta");
  part["rope_parameters"] = rope;
  copy.dir.write(file, json.dump());
}

TEST(LoadingConfigs, SavedByTransformers5) {
  const Copy orpheus("orpheus", "orpheus/golden/checkpoint");
  put_rope_together(orpheus, "config.json", "");
  EXPECT_EQ(orpheus.fault(), "");
  const Copy csm("csm", "csm/golden/taught/checkpoint");
  for (const char* at : {"", "/depth_decoder_config", "/codec_config"}) {
    put_rope_together(csm, "config.json", at);
  }
  EXPECT_EQ(csm.fault(), "");
  const Copy qwen("qwen3_tts", "qwen3_tts/golden/base/checkpoint");
  put_rope_together(qwen, "config.json", "/talker_config");
  put_rope_together(qwen, "config.json", "/talker_config/code_predictor_config");
  put_rope_together(qwen, "speech_tokenizer/config.json", "/decoder_config");
  EXPECT_EQ(qwen.fault(), "");
  const std::tuple<const char*, const char*, const char*, const char*> others[] = {
      {"cosyvoice2", "cosyvoice2/golden/checkpoint", "CosyVoice-BlankEN/config.json", ""},
      {"higgs_audio", "higgs/golden/checkpoint", "config.json", "/text_config"},
      {"step_audio2", "step_audio2/golden/checkpoint", "config.json", "/text_config"},
      {"opuslm", "opuslm/golden/checkpoint", "config.json", ""},
      {"bagpiper", "bagpiper/golden/checkpoint", "config.json", ""},
      {"llm", "llm/llama", "config.json", ""},
      {"llm", "llm/qwen2", "config.json", ""}};
  for (const auto& [family, dir, file, at] : others) {
    const Copy copy(family, dir);
    put_rope_together(copy, file, at);
    EXPECT_EQ(copy.fault(), "");
    copy.change(file, Json::json_pointer(std::string(at) + "/rope_parameters/rope_type"), "wavy");
    expect_named(copy.fault(), {file, "rope_type", "wavy is not supported"});
  }
}

TEST(LoadingConfigs, OfOlderCosyVoice2) {
  const Copy copy("cosyvoice2", "cosyvoice2/golden/checkpoint");
  copy.replace("cosyvoice2.yaml", "static_chunk_size: !ref <chunk_size>\n",
               "use_dynamic_chunk: True\n");
  EXPECT_EQ(copy.fault(), "");
  copy.replace("cosyvoice2.yaml", "use_dynamic_chunk: True", "use_dynamic_chunk: False");
  expect_named(copy.fault(), {"flow.encoder.static_chunk_size", "is missing"});
}

}  // namespace
}  // namespace syrinx
