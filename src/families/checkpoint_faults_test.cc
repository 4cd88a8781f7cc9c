// Checkpoints whose files contradict each other or need something that a family lacks: loading
// throws a LoadError that names the fault. A family registers its checkpoint and changes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "families/checkpoint_copy.h"
#include "families/family.h"

namespace syrinx {
namespace {

/// A change of a file, and a part of the message that loading then gives; "": it still loads.
struct Change {
  /// The text that is replaced, and its replacement; or a JSON pointer ("/key") and the JSON
  /// written there; "": the file is removed.
  const char *file, *from, *to;
  const char* named;
};

struct Changes {
  const char *name, *family, *dir;
  std::vector<Change> all;
};

const Changes kChanges[] = {
    {"chatterbox_multilingual",
     "chatterbox_multilingual",
     "chatterbox_multilingual/golden/checkpoint",
     {{"s3gen.pt", "", "", "s3gen.safetensors"},
      {"grapheme_mtl_merged_expanded_v1.json", "", "", "grapheme_mtl"},
      {"grapheme_mtl_merged_expanded_v1.json", "/pre_tokenizer/type", "\"ByteLevel\"",
       "expected Whitespace"},
      {"Cangjie5_TC.json", "/0", "\"no tab\"", "no tab"},
      {"Cangjie5_TC.json", "", "", ""},
      {"conds.pt", "", "", ""}}},
    {"chatterbox_turbo",
     "chatterbox_turbo",
     "chatterbox_turbo/golden/checkpoint",
     {{"s3gen_meanflow.safetensors", "", "", "s3gen_meanflow.safetensors"},
      {"merges.txt", "", "", "merges.txt"},
      {"conds.pt", "", "", ""},
      {"tokenizer_config.json", "\"[sigh]\"", "\"[gasp]\"", ""}}},
    {"qwen3_asr",
     "qwen3_asr",
     "qwen3_asr/golden/original/checkpoint",
     {{"config.json", "/thinker_config/classify_num", "5000", "forced aligner"},
      {"config.json", "/thinker_config/audio_config/output_dim", "32", "text model is 64 wide"},
      {"config.json", "/thinker_config/text_config/rope_scaling/rope_type", "\"yarn\"",
       "rope_type"},
      {"config.json", "/thinker_config/text_config/tie_word_embeddings", "false", ""},
      {"tokenizer_config.json", "<asr_text>", "<asr_test>", "<asr_text>"},
      {"merges.txt", "", "", "merges.txt"}}},
    {"qwen3_asr_hf",
     "qwen3_asr",
     "qwen3_asr/golden/hf/checkpoint",
     {{"config.json", "/architectures", "[\"Qwen3ASRForTokenClassification\"]", "forced aligner"},
      {"config.json", "/audio_token_id", "4000", "audio_token_id"},
      {"config.json", "/quantization_config", "{\"quant_method\": \"gptq\"}",
       "quantization_config"},
      {"config.json", "/tie_word_embeddings", "true", ""},
      {"generation_config.json", "", "", ""}}},
    {"orpheus",
     "orpheus",
     "orpheus/golden/checkpoint",
     {{"config.json", "/intermediate_size", "168", "expected [64, 168], got bf16 [64, 160]"},
      {"tokenizer.json", "<custom_token_10>", "<kustom_token_10>", "<custom_token_10>"},
      {"config.json", "\"llama3\"", "\"yarn\"", "yarn"},
      {"config.json", "\"vocab_size\": 8", "\"vocab_size\": 7", "7 blocks of 64"},
      {"snac_24khz/config.json", "/vq_strides", "[2, 2, 1]", "vq_strides"}}},
    {"higgs",
     "higgs_audio",
     "higgs/golden/checkpoint",
     {{"config.json", "/audio_encoder_config/encoder_type", "\"whisper\"", "encoder_type"},
      {"config.json", "/audio_encoder_config/out_dim", "48", "out_dim"},
      {"config.json", "/audio_encoder_config/tie_word_embeddings", "false", "tie_word_embeddings"},
      {"config.json", "/audio_encoder_config/num_codebooks", "7", "quantizers.7.codebook.embed"},
      {"config.json", "/audio_encoder_config/vocab_size", "35", "quantizers.0.codebook.embed"},
      {"config.json", "/text_config/model_type", "\"llama\"", "model_type"},
      {"config.json", "/text_config/num_hidden_layers", "3", "body.layers.2"},
      {"config.json", "/text_config/vocab_size", "100", "tokenizer"},
      {"config.json", "/text_config/rope_theta", "1e6", ""}}},
    {"csm",
     "csm",
     "csm/golden/taught/checkpoint",
     {{"config.json", "/codec_config/num_quantizers", "7", "num_quantizers"},
      {"config.json", "/codec_config/codebook_size", "64", "codebook_size"},
      {"config.json", "/depth_decoder_config/backbone_hidden_size", "32", "backbone_hidden_size"},
      {"config.json", "/audio_token_id", "34400", "audio_token_id"},
      {"config.json", "/codebook_eos_token_id", "33", "codebook_eos_token_id"},
      {"config.json", "/backbone_flavor", "\"llama-1B\"", ""},
      {"config.json", "\"model_type\": \"csm\"",
       "\"model_type\": \"csm-1b\", \"backbone_flavor\": \"llama-1B\"",
       "the format of transformers"},
      {"config.json", "/unsloth_version", "\"2025.6.1\"", ""},
      {"config.json", "/codec_config/sliding_window", "0", "sliding_window"},
      {"config.json", "/codec_config/hidden_act", "\"relu\"", "hidden_act"},
      {"config.json", "/transformers_weights", "\"../x.safetensors\"", "transformers_weights"},
      {"config.json", "/text_vocab_size", "360", "embed_text_tokens.weight"},
      {"tokenizer.json", "<|begin_of_text|>", "<|begin_of_toxt|>", "<|begin_of_text|>"}}},
    {"fish_speech",
     "fish_speech",
     "fish_speech/golden/checkpoint",
     {{"config.json", "/semantic_end_token_id", "320", "semantic_end_token_id"},
      {"config.json", "/eos_token_id", "1", "<|im_end|>"},
      {"config.json", "/audio_decoder_config/dim", "48", "audio_decoder_config.dim"},
      {"config.json", "/audio_decoder_config/num_codebooks", "9", "codebook"},
      {"config.json", "/text_config/tie_word_embeddings", "false", "tied"},
      {"config.json", "/text_config/n_local_heads", "3", "n_local_heads"},
      {"config.json", "/text_config/attention_qk_norm", "false", "q_norm"},
      {"config.json", "/text_config/n_layer", "3", "layers.2"},
      {"config.json", "/model_type", "\"dual_ar\"", "OpenAudio S1) is not supported"},
      {"codec.pth", "", "", "codec.pth"}}},
    {"cosyvoice2",
     "cosyvoice2",
     "cosyvoice2/golden/checkpoint",
     {{"cosyvoice2.yaml", "CausalMaskedDiffWithXvec", "Other", "flow: expected"},
      {"cosyvoice2.yaml", "linear_units: 48", "linear_units: 49", "feed_forward"},
      {"cosyvoice2.yaml", "    top_p: 0.8", "    top_q: 0.8", "llm.sampling.top_p: is missing"},
      {"cosyvoice2.yaml", "speech_token_size: 40", "speech_token_size: 41", "vocab_size"},
      {"cosyvoice2.yaml", "left_chunks: -1", "left_chunks: 2",
       "num_decoding_left_chunks: must be -1"},
      {"cosyvoice2.yaml",
       "            n_blocks:", "            num_decoding_left_chunks: 0\n            n_blocks:",
       "estimator.num_decoding_left_chunks: must be -1"},
      {"CosyVoice-BlankEN/config.json", "\"qwen2\"", "\"qwen7\"", "model_type"}}},
    {"cosyvoice3",
     "cosyvoice3",
     "cosyvoice3/golden/checkpoint",
     {{"cosyvoice3.yaml", "CosyVoice3LM", "Qwen2LM", "llm: expected CosyVoice3LM"},
      {"cosyvoice3.yaml", "CausalMaskedDiffWithDiT", "CausalMaskedDiffWithXvec", "flow: expected"},
      {"cosyvoice3.yaml", "CausalHiFTGenerator", "HiFTGenerator", "hift: expected"},
      {"cosyvoice3.yaml", "    input_size: 80", "    input_size: 81", "flow.input_size: must be"},
      {"cosyvoice3.yaml", "in_channels: 80\n        channels", "in_channels: 8\n        channels",
       "pre_lookahead_layer.in_channels: must be"},
      {"cosyvoice3.yaml", "spk_dim: 80", "spk_dim: 8", "spk_dim: must be flow.output_size"},
      {"cosyvoice3.yaml", "            dim: 32", "            dim: 36", "estimator.dim: must be"},
      {"cosyvoice3.yaml", "dim_head: 16", "dim_head: 12", "dim_head: must be a multiple of 8"},
      {"cosyvoice3.yaml", "depth: 2", "depth: 3", "transformer_blocks.2."},
      {"cosyvoice3.yaml", "ff_mult: 2", "ff_mult: 3", "ff.ff.0.0.weight"},
      {"cosyvoice3.yaml", "<chunk_size> * <token_mel_ratio>", "<chunk_size>", "static_chunk_size"},
      {"cosyvoice3.yaml", "left_chunks: -1", "left_chunks: 2",
       "num_decoding_left_chunks: must be -1"},
      {"cosyvoice3.yaml", "look_right: 4", "look_right: 3", "conv_pre"},
      {"cosyvoice3.yaml", "fmax: null", "fmax: 99999", "feat_extractor.fmax"}}},
    {"pocket_tts",
     "pocket_tts",
     "pocket_tts/golden/small/checkpoint",
     {{"pocket_tts.yaml", "type: pointwise", "type: shortcut", "flow_lm.flow.type"},
      {"pocket_tts.yaml", "type: pointwise", "type: lsd", "flow_net.time_embed.0.freqs"},
      {"pocket_tts.yaml", "type: pointwise", "type: drifting", ""},
      {"pocket_tts.yaml", "num_kv_heads: 2", "num_kv_heads: 3", "num_kv_heads"},
      {"pocket_tts.yaml", "attn_dim: 64", "attn_dim: 60", "num_heads"},
      {"pocket_tts.yaml", "d_model: 24", "d_model: 16384", "flow_lm"},
      {"pocket_tts.yaml", "dim_feedforward: 40", "dim_feedforward: 48", "linear1"},
      {"pocket_tts.yaml", "n_bins: 88", "n_bins: 1000000", "embed.weight"},
      {"pocket_tts.yaml", "z_dim: 20", "z_dim: null", "out_eos"},
      {"pocket_tts.yaml", "rank: 10", "rank: null", "embed.weight"},
      {"pocket_tts.yaml", "dtype: float32", "dtype: bfloat16", "dtype"},
      {"pocket_tts.yaml", "frame_rate: 12.5", "frame_rate: 12", "frame_rate"},
      {"pocket_tts.yaml", "pad_mode: constant", "pad_mode: replicate", "pad_mode"},
      {"pocket_tts.yaml", "outer_dim: 16", "outer_dim: 32", "outer_dim"},
      {"tokenizer.json", "/model/type", "\"BPE\"", "expected Unigram"},
      {"tokenizer.json", "", "", "tokenizer.json"},
      {"model.safetensors", "", "", "model.safetensors"},
      {"embeddings/speech.safetensors", "", "", ""}}},
    {"vibevoice",
     "vibevoice",
     "vibevoice/golden/other/checkpoint",
     {{"config.json", "\"vibevoice_streaming\"", "\"vibevoice\"", "model_type"},
      {"config.json", "/decoder_config/model_type", "\"qwen3\"", "model_type"},
      {"config.json", "/decoder_config/hidden_size", "48", "head_dim"},
      {"config.json", "/decoder_config/num_hidden_layers", "2", "tts_backbone_num_hidden_layers"},
      {"config.json", "/decoder_config/num_hidden_layers", "3", "language_model.layers.1"},
      {"config.json", "/decoder_config/vocab_size", "1000000", "embed_tokens"},
      {"config.json", "/decoder_config/vocab_size", "100", "tokenizer"},
      {"config.json", "/diffusion_head_config/hidden_size", "48", "hidden_size"},
      {"config.json", "/diffusion_head_config/latent_size", "12", "latent_size"},
      {"config.json", "/diffusion_head_config/head_layers", "2", "prediction_head.layers.2"},
      {"config.json", "/diffusion_head_config/head_ffn_ratio", "2.0", "gate_proj"},
      {"config.json", "/diffusion_head_config/prediction_type", "\"epsilon\"", "prediction_type"},
      {"config.json", "/diffusion_head_config/ddpm_beta_schedule", "\"cauchy\"",
       "ddpm_beta_schedule"},
      {"config.json", "/acoustic_tokenizer_config/vae_dim", "12", "latent_size"},
      {"config.json", "/acoustic_tokenizer_config/decoder_ratios", "[5, 4, 3]", "decoder_depths"},
      {"config.json", "/acoustic_tokenizer_config/decoder_ratios", "[5, 4, 3, 1]",
       "decoder_ratios"},
      {"config.json", "/acoustic_tokenizer_config/decoder_ratios", "[5, 4, 3, 4]",
       "upsample_layers.4"},
      {"config.json", "/acoustic_tokenizer_config/decoder_depths", "\"2-1-3-x-1\"",
       "decoder_depths"},
      {"config.json", "/acoustic_tokenizer_config/decoder_depths", "\"2-1-3-1-2\"", "stages.4.1"},
      {"config.json", "/acoustic_tokenizer_config/layer_scale_init_value", "0.5", "gamma"},
      {"config.json", "/acoustic_tokenizer_config/causal", "false", "causal"},
      {"config.json", "/acoustic_tokenizer_config/mixer_layer", "\"conv\"", "mixer_layer"},
      {"tokenizer.json", "", "", "tokenizer.json"},
      {"model.safetensors", "", "", "model.safetensors"},
      {"voices/anna.pt", "", "", ""}}},
    {"zonos",
     "zonos",
     "zonos/golden/checkpoint",
     {{"config.json", "\"attn_mlp_d_intermediate\": 80", "\"attn_mlp_d_intermediate\": 88",
       "expected [176, 32], got bf16 [160, 32]"},
      {"config.json", "\"ssm_cfg\": {}", "\"ssm_cfg\": {\"layer\": \"Mamba2\"}", "hybrid"},
      {"config.json", "\"PassthroughConditioner\"", "\"OtherConditioner\"", "OtherConditioner"},
      {"config.json", "\"eos_token_id\": 1024", "\"eos_token_id\": 1000", "masked_token_id"}}},
    {"qwen3_tts",
     "qwen3_tts",
     "qwen3_tts/golden/projected/checkpoint",
     {{"config.json", "qwen3_tts_tokenizer_12hz", "qwen3_tts_tokenizer_25hz", "25hz"},
      {"speech_tokenizer/config.json", "/decoder_config/num_quantizers", "7", "codebooks"},
      {"speech_tokenizer/model.safetensors", "", "", "speech_tokenizer"},
      {"config.json", "\"codec_pad_id\": 140", "\"codec_pad_id\": 14000", "codec_pad_id"},
      {"config.json", "\"text_hidden_size\": 24", "\"text_hidden_size\": 25", "text_embedding"}}},
    {"qwen3_tts_base",
     "qwen3_tts",
     "qwen3_tts/golden/base/checkpoint",
     {{"config.json", "\"enc_dim\": 48", "\"enc_dim\": 32", "enc_"},
      {"config.json", "\"enc_res2net_scale\": 4", "\"enc_res2net_scale\": 5", "enc_"},
      {"config.json", "\"enc_se_channels\": 8", "\"enc_se_channels\": 0", "enc_"},
      {"speech_tokenizer/config.json", "/encoder_valid_num_quantizers", "7", "encoder_valid"}}},
    {"glm4_voice",
     "glm4_voice",
     "glm4_voice/golden/checkpoint",
     {{"config.json", "\"rmsnorm\": true", "\"rmsnorm\": false", "rmsnorm"},
      {"config.json", "\"num_layers\": 2", "\"num_layers\": 3", "layers.2"},
      {"tokenizer_config.json", "<|audio_0|>", "<|radio_0|>", "<|audio_0|>"},
      {"tokenizer_config.json", "<|audio_63|>", "<|audio_99|>", "<|audio_63|>"},
      {"tokenizer.model", "AA== 0", "AA= 0", "line 1"},
      {"glm-4-voice-decoder/config.yaml", "sample_rate: 22050", "sample_rate: 24000", "22050"},
      {"glm-4-voice-decoder/config.yaml", "block_size: 10", "block_size: 0", "block_size"},
      {"glm-4-voice-tokenizer/config.json", "\"avg\"", "\"max\"", "pooling_type"}}},
    {"step_audio2",
     "step_audio2",
     "step_audio2/golden/checkpoint",
     {{"config.json", "\"n_audio_layer\": 2", "\"n_audio_layer\": 3", "encoder.blocks.2"},
      {"config.json", "\"adapter_stride\": 2", "\"adapter_stride\": 3", "adapter_stride"},
      {"config.json", "\"n_audio_ctx\": 1500", "\"n_audio_ctx\": 1000", "n_audio_ctx"},
      {"config.json", "\"llm_dim\": 32", "\"llm_dim\": 40", "llm_dim"},
      {"config.json", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3", "layers.2"},
      {"tokenizer_config.json", "<audio_0>", "<radio_0>", "<audio_0>"},
      {"tokenizer_config.json", "<audio_39>", "<audio_99>", "<audio_39>"},
      {"tokenizer_config.json", "<tts_pad>", "<tts_pat>", "<tts_pad>"},
      {"token2wav/flow.yaml", "flow_matching.Causal", "flow_matching.Acausal", "flow.decoder"},
      {"token2wav/flow.yaml", "depth: 2", "depth: 3", "blocks.2"},
      {"token2wav/flow.yaml", "up_scale_factor: 2", "up_scale_factor: 3", "up_scale_factor"},
      {"token2wav/flow.yaml", "up_stride: 2", "up_stride: 1", "up_s"}}},
    {"bagpiper",
     "bagpiper",
     "bagpiper/golden/checkpoint",
     {{"config.json", "/max_window_layers", "3", ""},
      {"config.json", "/model_type", "\"llama\"", "Qwen3-8B-Base"},
      {"config.json", "/vocab_size", "301", "embed_tokens"},
      {"config.json", "/intermediate_size", "48", "module.model.layers.0.mlp.gate_proj.weight"},
      {"config.json", "/num_hidden_layers", "1", "layer_types: has 2 items for 1 layers"},
      {"tokenizer.json", "", "", ": tokenizer.json (or"}}},
    {"llm",
     "llm",
     "llm/qwen2",
     {{"config.json", "/rope_scaling", R"({"rope_type": "yarn", "factor": 4})", "yarn"},
      {"config.json", "/rope_parameters", R"({"rope_type": "yarn", "rope_theta": 1e6})", "yarn"},
      {"config.json", "/quantization_config", R"({"bits": 4})", "quant_method"},
      {"config.json", "/quantization_config", R"({"quant_method": "fp8"})",
       "\"fp8\" is not supported"},
      {"config.json", "/quantization_config",
       R"({"quant_method": "gptq", "bits": 8, "group_size": 32})", "bits"},
      {"config.json", "/quantization_config",
       R"({"quant_method": "awq", "bits": 4, "group_size": 16})", "group_size"},
      {"config.json", "/quantization_config",
       R"({"quant_method": "gptq", "bits": 4, "group_size": -1, "checkpoint_format": "marlin"})",
       "\"marlin\" is not supported"},
      {"config.json", "/quantization_config",
       R"({"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemv"})",
       "\"gemv\" is not supported"},
      {"config.json", "/layer_types", R"(["full_attention", "linear_attention"])",
       "linear_attention"},
      {"config.json", "/hidden_act", "\"gelu\"", "silu"},
      {"config.json", "/vocab_size", "12345", "embed_tokens"},
      {"generation_config.json", "/num_beams", "1", ""},
      {"generation_config.json", "/typical_p", "1.0", ""},
      {"generation_config.json", "/min_length", "0", ""},
      {"generation_config.json", "/bad_words_ids", "null", ""},
      {"generation_config.json", "/suppress_tokens", "[]", ""},
      {"generation_config.json", "/num_beams", "4",
       "generation_config.json: num_beams: is not supported"},
      {"generation_config.json", "/no_repeat_ngram_size", "3", "no_repeat_ngram_size"},
      {"generation_config.json", "/suppress_tokens", "[7]", "suppress_tokens"},
      {"generation_config.json", "/forced_eos_token_id", "2", "forced_eos_token_id"}}},
    {"whisper",
     "whisper",
     "whisper/small",
     {{"config.json", "/max_source_positions", "750", "must be 1500"},
      {"config.json", "/encoder_attention_heads", "3", "multiples of 8"},
      {"config.json", "/decoder_attention_heads", "0", "decoder_attention_heads"},
      {"config.json", "/vocab_size", "1000000000", "vocab_size"},
      {"config.json", "/vocab_size", "1900", "embed_tokens"},
      {"config.json", "/decoder_layers", "3", "layers.2"},
      {"config.json", "/activation_function", "\"relu\"", "must be gelu"},
      {"config.json", "/d_model", "32", "embed_positions"},
      {"generation_config.json", "/lang_to_id", R"({"en": 302})", "written like"},
      {"generation_config.json", "/lang_to_id", R"({"<|en|>": 99999})", "lang_to_id"},
      {"generation_config.json", "/lang_to_id", R"({"<|en|>": 311})", "lang_to_id"},
      {"generation_config.json", "/lang_to_id", R"({"<|en|>": 302, "<|de|>": 302})", "twice"},
      {"generation_config.json", "/lang_to_id", R"({"<|en|>": 303})", "has it at 302"},
      {"generation_config.json", "/lang_to_id", R"({"<|fr|>": 303})", "lacks it"},
      {"generation_config.json", "/is_multilingual", "false", "names languages"},
      {"config.json", "/vocab_size", "51864", "is English only"},
      {"generation_config.json", "/no_timestamps_token_id", "1000", "1501 ids"},
      {"generation_config.json", "/suppress_tokens", "[1, 5000]", "suppress_tokens"},
      {"generation_config.json", "/alignment_heads", "7", "list of pairs"},
      {"generation_config.json", "/alignment_heads", "[[0, 2]]", "not [0,2]"},
      {"generation_config.json", "/alignment_heads", "[[0, 1], [-1, 0]]", "not [-1,0]"},
      {"generation_config.json", "/alignment_heads", "[[0, 1, 1]]", "2 layers and 2 heads"},
      {"generation_config.json", "/task_to_id", R"({"transcribe": 305})", "lacks translate"}}},
    {"nemotron_asr",
     "nemotron_asr",
     "transducer/golden/small/checkpoint",
     {{"config.json", "/blank_token_id", "121", "blank_token_id"},
      {"config.json", "/blank_token_id", "50", "is the vocabulary's text"},
      {"config.json", "/vocab_size", "122", "joint.head.weight"},
      {"config.json", "/vocab_size", "1000000000", "vocab_size"},
      {"config.json", "/hidden_act", "\"gelu\"", "silu and relu are supported, not gelu"},
      {"config.json", "/num_decoder_layers", "1", "weight_ih_l1"},
      {"config.json", "/encoder_config/model_type", "\"parakeet_encoder\"", "expected nemotron"},
      {"config.json", "/encoder_config/subsampling_factor", "6", "power of two"},
      {"config.json", "/encoder_config/subsampling_conv_stride", "3", "only 2 is supported"},
      {"config.json", "/encoder_config/num_attention_heads", "5", "do not divide"},
      {"config.json", "/encoder_config/hidden_act", "\"relu\"", "only silu is supported"},
      {"config.json", "/encoder_config/conv_kernel_size", "8", "must be odd"},
      {"config.json", "/encoder_config/attention_bias", "false", "q_proj.bias"},
      {"config.json", "/encoder_config/num_mel_bins", "64", "feature_size"},
      {"processor_config.json", "/default_num_lookahead_tokens", "2",
       "supported_num_lookahead_tokens"},
      {"processor_config.json", "/feature_extractor/mel_filters_dtype", "\"bfloat16\"",
       "only float32 is supported"},
      {"processor_config.json", "/feature_extractor/sampling_rate", "8000", "only 16000"}}},
    {"parakeet",
     "nemotron_asr",
     "transducer/golden/tdt/checkpoint",
     {{"config.json", "/durations", "[0]", "one of them above 0"},
      {"config.json", "/durations", "[0, 1]", "joint.head.weight"},
      {"config.json", "/model_type", "\"parakeet_rnnt\"", "joint.head.weight"},
      {"config.json", "/encoder_config/conv_kernel_size", "7", "depthwise_conv.weight"}}},
};

class CheckpointFaults : public testing::TestWithParam<Changes> {};

TEST_P(CheckpointFaults, AreNamed) {
  const Changes& row = GetParam();
  const auto found = std::ranges::find(families(), std::string_view(row.family), &Family::name);
  ASSERT_NE(found, families().end());
  const CheckpointCopy copy(std::string(SYRINX_BINARY_DIR "/parity/") + row.dir);
  for (const Change& change : row.all) {
    const std::string path = copy.dir.path(change.file);
    const std::string before = std::filesystem::exists(path) ? slurp(path) : "{}";
    if (*change.from == 0) {
      std::filesystem::remove(path);
    } else if (*change.from == '/') {
      nlohmann::json json = nlohmann::json::parse(before);
      json[nlohmann::json::json_pointer(change.from)] = nlohmann::json::parse(change.to);
      copy.dir.write(change.file, json.dump());
    } else {
      copy.replace(change.file, change.from, change.to);
    }
    const std::string fault = load_fault_of([&] {
      found->load({copy.dir.path(), "copy", WeightType::kF32});
    });
    const std::string what = concat(change.file, ": ", change.from, " ", change.to, ": ", fault);
    if (*change.named == 0) {
      EXPECT_EQ(fault, "") << what;
    } else {
      EXPECT_NE(fault.find(change.named), std::string::npos) << what;
    }
    copy.dir.write(change.file, before);
  }
}

/// An unsupported format of a family is refused by the family, not as an unknown format.
TEST(Claims, OtherFormatsAreOfTheirFamily) {
  const auto family_of = [](const char* config) {
    const Config root = Config::parse(config, "config.json");
    const auto found = std::ranges::find_if(
        families(), [&](const Family& each) { return each.claims && each.claims(root); });
    return found == families().end() ? std::string() : std::string(found->name);
  };
  EXPECT_EQ(family_of(R"({"backbone_flavor": "llama-1B", "decoder_flavor": "llama-100M",
                          "text_vocab_size": 128256, "audio_vocab_size": 2051})"),
            "csm");
  EXPECT_EQ(family_of(R"({"model_type": "dual_ar", "dim": 1024, "n_layer": 24})"), "fish_speech");
  EXPECT_EQ(family_of(R"({"model_type": "llama", "vocab_size": 156951})"), "orpheus");
  EXPECT_EQ(family_of(R"({"model_type": "parrot"})"), "");
}

INSTANTIATE_TEST_SUITE_P(Families, CheckpointFaults, testing::ValuesIn(kChanges),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace syrinx
