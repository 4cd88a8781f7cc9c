// Configurations of published checkpoints, for measurements with random weights.
#pragma once

namespace syrinx {

struct PublishedModel {
  const char* name;
  const char* config;  ///< the parts of config.json that families read
};

inline constexpr PublishedModel kPublished[] = {
    {"Qwen3-TTS-0.6B", R"({"model_type": "qwen3_tts", "tts_model_type": "custom_voice",
"tts_model_size": "0b6", "im_start_token_id": 151644, "im_end_token_id": 151645,
"tts_pad_token_id": 151671, "tts_bos_token_id": 151672, "tts_eos_token_id": 151673,
"talker_config": {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28,
 "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "rms_norm_eps": 1e-6,
 "rope_theta": 1000000, "vocab_size": 3072, "num_code_groups": 16, "text_hidden_size": 2048,
 "text_vocab_size": 151936, "codec_pad_id": 2148, "codec_bos_id": 2149, "codec_eos_token_id": 2150,
 "codec_think_id": 2154, "codec_nothink_id": 2155, "codec_think_bos_id": 2156,
 "codec_think_eos_id": 2157, "codec_language_id": {"english": 2050}, "spk_id": {"ryan": 3061},
 "code_predictor_config": {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 5,
  "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "rms_norm_eps": 1e-6,
  "rope_theta": 1000000, "vocab_size": 2048, "num_code_groups": 16}}})"},
    {"Qwen3-TTS-1.7B", R"({"model_type": "qwen3_tts", "tts_model_type": "custom_voice",
"tts_model_size": "1b7", "im_start_token_id": 151644, "im_end_token_id": 151645,
"tts_pad_token_id": 151671, "tts_bos_token_id": 151672, "tts_eos_token_id": 151673,
"talker_config": {"hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 28,
 "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "rms_norm_eps": 1e-6,
 "rope_theta": 1000000, "vocab_size": 3072, "num_code_groups": 16, "text_hidden_size": 2048,
 "text_vocab_size": 151936, "codec_pad_id": 2148, "codec_bos_id": 2149, "codec_eos_token_id": 2150,
 "codec_think_id": 2154, "codec_nothink_id": 2155, "codec_think_bos_id": 2156,
 "codec_think_eos_id": 2157, "codec_language_id": {"english": 2050}, "spk_id": {"ryan": 3061},
 "code_predictor_config": {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 5,
  "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "rms_norm_eps": 1e-6,
  "rope_theta": 1000000, "vocab_size": 2048, "num_code_groups": 16}}})"},
    {"Orpheus-3B", R"({"model_type": "llama", "hidden_size": 3072, "intermediate_size": 8192,
"num_hidden_layers": 28, "num_attention_heads": 24, "num_key_value_heads": 8, "head_dim": 128,
"rms_norm_eps": 1e-5, "rope_theta": 500000.0, "max_position_embeddings": 131072,
"rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
 "original_max_position_embeddings": 8192, "rope_type": "llama3"},
"tie_word_embeddings": true, "vocab_size": 156940})"},
    {"CSM-1B", R"({"model_type": "csm", "hidden_size": 2048, "intermediate_size": 8192,
"num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64,
"rms_norm_eps": 1e-5, "rope_theta": 500000, "max_position_embeddings": 2048,
"rope_scaling": {"factor": 32.0, "high_freq_factor": 0.5, "low_freq_factor": 0.125,
 "original_max_position_embeddings": 1024, "rope_type": "llama3"},
"num_codebooks": 32, "vocab_size": 2051, "text_vocab_size": 128256, "codebook_eos_token_id": 0,
"audio_token_id": 128002, "audio_eos_token_id": 128003, "tie_codebooks_embeddings": true,
"depth_decoder_config": {"hidden_size": 1024, "intermediate_size": 8192, "num_hidden_layers": 4,
 "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 128, "rms_norm_eps": 1e-5,
 "rope_theta": 500000, "rope_scaling": {"factor": 32.0, "high_freq_factor": 0.001953125,
 "low_freq_factor": 0.00048828125, "original_max_position_embeddings": 16, "rope_type": "llama3"},
 "num_codebooks": 32, "vocab_size": 2051, "backbone_hidden_size": 2048},
"codec_config": {"model_type": "mimi", "num_quantizers": 32}})"},
    {"Higgs-Audio-v3", R"({"model_type": "higgs_multimodal_qwen3", "audio_encoder_config": {
 "encoder_type": "discrete", "num_codebooks": 8, "vocab_size": 1026, "out_dim": 2560,
 "tie_word_embeddings": true, "use_delay_pattern": true},
"text_config": {"model_type": "qwen3", "hidden_size": 2560, "intermediate_size": 9728,
 "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
 "rms_norm_eps": 1e-6, "rope_theta": 1000000, "max_position_embeddings": 32768,
 "vocab_size": 151936, "tie_word_embeddings": true}})"},
};

}  // namespace syrinx
