#include "families/csm/pipeline.h"

#include "families/csm/script.h"
#include "families/recorded_voice.h"
#include "io/file.h"
#include "nn/stream_pass.h"
#include "text/tokens/byte_tokenizer.h"

namespace syrinx::csm {
namespace {

/// A frame costs the codec a small part of what it costs the backbone, whatever the chunk.
constexpr ChunkPolicy kPolicy{1, 4, 0, 0};
constexpr int kListedSpeakers = 10;  // any other number is a speaker too
constexpr const char* kIndex = "transformers.safetensors.index.json";
constexpr const char* kOriginalName = "backbone.layers.0.attn.q_proj.weight";

/// The published repository holds the authors' own layout as model.safetensors, and transformers'
/// beside it.
std::unique_ptr<WeightSource> source(const LoadSpec& spec, const ModelConfig& config) {
  if (spec.dummy) return dummy_weights([](const std::string&) { return true; });
  std::string file = config.weights_file;
  if (file.empty() && is_file(join_path(spec.dir, kIndex))) file = kIndex;
  auto weights = open_weights(file.empty() ? spec.dir : join_path(spec.dir, file));
  if (weights->has(kOriginalName)) {
    throw LoadError(weights->where(kOriginalName) +
                    ": these are the weights in the authors' own layout, without the codec; "
                    "download the transformers-*.safetensors files and " +
                    std::string(kIndex) + " too");
  }
  return weights;
}

Tokenizer tokenizer(const LoadSpec& spec, const ModelConfig& config) {
  const std::string words[] = {Frontend::kBegin, Frontend::kEnd};
  const bool none = !is_file(join_path(spec.dir, "tokenizer.json"));
  if (spec.dummy && none && config.text_vocab >= byte_ids(words)) return byte_tokenizer(words);
  return Tokenizer::load(spec.dir);
}

std::string shape_of(const DecoderConfig& d) {
  return std::to_string(d.layers) + " layers, width " + std::to_string(d.hidden) + ", heads " +
         std::to_string(d.heads) + "/" + std::to_string(d.kv_heads) + " x " +
         std::to_string(d.head_dim) + ", ffn " + std::to_string(d.ffn);
}

}  // namespace

Csm::Csm(const LoadSpec& spec) {
  config_ = load_model_config(Config::load(join_path(spec.dir, "config.json")));
  frontend_ = std::make_unique<Frontend>(config_, tokenizer(spec, config_));
  weights_ = std::make_unique<Weights>(source(spec, config_));
  const Weights codec = weights_->scope("codec_model");
  weights_->build(
      [&] {
        {
          const AbsentTensors part = spec.part("ar");
          backbone_ = load_backbone(config_, *weights_, spec.weights);
        }
        const AbsentTensors part = spec.part("codec");
        codec_ = std::make_unique<MimiDecoder>(config_.codec, codec, at_least_8_bits(spec.weights));
      },
      {"codec_model.encoder.*", "codec_model.encoder_transformer.*",
       "codec_model.downsample.conv.weight", "codec_model.quantizer.*.input_proj.weight"});
  if (codec.has("downsample.conv.weight") || codec.count("encoder.layers") > 0) {
    VoiceEncoderInfo info{.family = "csm",
                          .version = "2",
                          .modes = {{"continuation", true}},
                          .min_s = 1,
                          .max_s = 30};
    voices_ = std::make_unique<CodeVoices<MimiEncoder>>(
        std::move(info), static_cast<int>(config_.codec.sample_rate),
        [this]() -> const MimiEncoder& { return codec_encoder(); });
  }
  if (spec.device != Device::kCpu) {
    backbone_->move_to(spec.device);
    codec_->move_to(spec.device);
  }
  spoken_ = spoken_model(config_, load_defaults(join_path(spec.dir, "generation_config.json")));
  stage_ = std::make_unique<MimiStage>(*codec_);
  const Link links[] = {{"codec", stage_.get(), kPolicy}};
  graph_ = chain(*backbone_, links);
  describe(spec);
}

const MimiEncoder& Csm::codec_encoder() const {
  std::call_once(encoder_once_, [&] {
    const Weights codec = weights_->scope("codec_model");
    codec.build([&] { encoder_ = std::make_unique<MimiEncoder>(config_.codec, codec); });
  });
  return *encoder_;
}

std::vector<int32_t> Csm::encode(std::span<const float> samples) const {
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  return codec_encoder().encode(ctx, samples);
}

void Csm::describe(const LoadSpec& spec) {
  const MimiConfig& codec = config_.codec;
  info_.family = "csm";
  info_.model = spec.model;
  info_.licence = "Apache-2.0";
  info_.sample_rate = static_cast<int>(codec.sample_rate);
  info_.frame_rate = static_cast<double>(codec.sample_rate) / static_cast<double>(codec.hop());
  for (int i = 0; i < kListedSpeakers; ++i) {
    info_.voices.push_back({std::to_string(i), "a speaker of the conversation"});
  }
  info_.default_voice = "0";
  info_.languages = {"auto"};
  info_.late_text = LateText::kSentence;
  info_.context = true;
  info_.inner = true;
  info_.speaker_numbers = Frontend::kMaxSpeaker + 1;
  info_.no_cloning = "the checkpoint has no encoder of the codec (codec_model.encoder.*)";
  const std::string tables =
      std::to_string(config_.text_vocab) + " texts, " + std::to_string(config_.codebooks) + " x " +
      std::to_string(config_.code_vocab) + " codes x " + std::to_string(config_.backbone.hidden);
  info_.parts = {{"backbone", shape_of(config_.backbone), backbone_->bytes()},
                 {"depth decoder", shape_of(config_.depth), backbone_->inner_bytes()},
                 {"tables", tables, backbone_->table_bytes()},
                 {"codec",
                  std::to_string(codec.codebooks) + " x " + std::to_string(codec.codebook_size) +
                      " codes, " + std::to_string(codec.layers) + " layers, " +
                      std::to_string(codec.hop()) + " samples a frame",
                  codec_->bytes()}};
}

Result<Opened> Csm::open(const SpeechRequest& request) const {
  return SpokenSequence::open(spoken_, script_of(config_, *frontend_, request), request);
}

std::shared_ptr<const Pipeline> load(const LoadSpec& spec) { return std::make_shared<Csm>(spec); }

}  // namespace syrinx::csm
