#include "families/opuslm/pipeline.h"

#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "families/opuslm/state.h"
#include "families/opuslm/voice.h"
#include "families/weight_files.h"
#include "io/file.h"
#include "io/hub.h"
#include "text/tokens/byte_tokenizer.h"

namespace syrinx::opuslm {
namespace {

/// Fresh frames of the chunks, 20 ms each.
constexpr int kInitialFrames = 4, kSteadyFrames = 16;

/// ESPnet's name for a model; a directory without it holds what its converter made.
std::string weights_file(const std::string& dir) {
  for (const char* name : {"model.pth", "2epoch.pth"}) {
    if (std::string path = join_path(dir, name); is_file(path)) return path;
  }
  return dir;
}

/// The one PyTorch file of the codec's repository, wherever in it.
std::string codec_file(const std::string& dir) {
  std::vector<std::string> found;
  std::error_code ignored;
  constexpr auto kOptions = std::filesystem::directory_options::skip_permission_denied;
  constexpr int kMostDepth = 3, kMostEntries = 1000;
  int seen = 0;
  for (auto at = std::filesystem::recursive_directory_iterator(dir, kOptions, ignored);
       !ignored && at != std::filesystem::recursive_directory_iterator() && ++seen < kMostEntries;
       at.increment(ignored)) {
    if (at.depth() >= kMostDepth) at.disable_recursion_pending();
    if (at->path().extension() == ".pth") found.push_back(at->path().string());
  }
  if (found.size() == 1) return found.front();
  throw LoadError(concat(dir, ": expected one .pth file, the codec's, found ", found.size()));
}

std::string codec_dir(const LoadSpec& spec, const std::string& name) {
  const std::string folder = name.substr(name.rfind('/') + 1);
  if (std::string path = join_path(spec.dir, folder); is_directory(path)) return path;
  try {
    return resolve_part(spec.dir, name, hub_cache(), "meta.yaml");
  } catch (const LoadError&) {
    throw LoadError(concat(spec.dir, ": the codec is missing: put the files of ", name,
                           " into its folder ", folder, ", or into the hub's cache"));
  }
}

Tokenizer load_tokenizer(const LoadSpec& spec, const ModelConfig& config) {
  if (!spec.dummy || is_file(join_path(spec.dir, "tokenizer.json"))) {
    return Tokenizer::load(spec.dir);
  }
  if (config.words < byte_ids({})) {
    throw LoadError(concat("there are ", config.words,
                           " ids of text; dummy weights without a tokenizer need ", byte_ids({})));
  }
  return byte_tokenizer({});
}

}  // namespace

OpusLm::OpusLm(const LoadSpec& spec) {
  config_ = load_model_config(Config::load(join_path(spec.dir, "config.json")));
  prompter_ = std::make_unique<Prompter>(config_, load_tokenizer(spec, config_));
  weights_ = std::make_unique<Weights>(spec.dummy ? dummy_weights([&](const std::string& name) {
    // The names of ESPnet, and of the plain model also the norms of OLMo 2.
    return name.starts_with("corelm.") && !(config_.dialogue && name.ends_with("q_norm.weight"));
  })
                                                  : open_weights(weights_file(spec.dir)));
  // As DeepSpeed saves it, one level deeper.
  const bool wrapped = !spec.dummy && weights_->has("module.corelm.emb.weight");
  const Weights root = wrapped ? weights_->scope("module") : *weights_;
  root.build([&] { lm_ = load_lm(config_, root, spec.weights); });
  load_codec(spec);
  stage_ = std::make_unique<CodecStage>(*codec_);
  const int lookahead = static_cast<int>(codec_->config().lookahead());
  const FrameType text{Flow::kText};
  graph_ = {{{.name = "ar", .ar = lm_.get(), .in = {text}, .out = {stage_->in(), text}},
             {.name = "codec", .chunk = stage_.get(), .in = {}, .out = {}}},
            {{.from = {kClient}, .to = {0}},
             {.from = {0, 0}, .to = {1}, .policy = {kInitialFrames, kSteadyFrames, 0, lookahead}},
             {.from = {0, 1}, .to = {kClient}},
             {.from = {1}, .to = {kClient}}}};
  describe(spec);
}

void OpusLm::load_codec(const LoadSpec& spec) {
  const Weights weights(spec.dummy ? plain_weights_at(spec, "")
                                   : open_weights(codec_file(codec_dir(spec, config_.codec))));
  const Weights generator = weights.scope("codec.generator");
  EspnetCodecConfig sizes;
  if (!spec.dummy) sizes = EspnetCodecConfig::of(generator);
  // So that a codec of others has tensors that do not fit.
  sizes.codebooks = config_.streams - 1;
  sizes.codebook_size = config_.codes;
  // Convolutions have no 8-bit form.
  const WeightType type = spec.weights == WeightType::kF32 ? WeightType::kF32 : WeightType::kBF16;
  generator.build([&] { codec_ = std::make_unique<EspnetCodec>(sizes, generator, type); });
}

void OpusLm::describe(const LoadSpec& spec) {
  const EspnetCodecConfig& codec = codec_->config();
  info_.family = kFamily;
  info_.model = spec.model;
  info_.licence = "see the checkpoint";
  info_.writes = true;
  info_.sample_rate = static_cast<int>(config_.sample_rate);
  info_.frame_rate = config_.sample_rate / static_cast<double>(codec.hop());
  info_.voices = {{"default", "a voice that the model makes up, another for each seed"}};
  info_.default_voice = "default";
  info_.languages = {"auto"};
  info_.late_text = LateText::kSentence;
  info_.no_cloning = "recordings are not encoded for this family yet; a voice file may bring codes";
  const DecoderConfig& d = lm_->decoder();
  info_.parts = {{"language model",
                  concat(d.norm_after ? "olmo2, " : "llama, ", d.layers, " layers, width ",
                         d.hidden, ", heads ", d.heads, "/", d.kv_heads, " x ", d.head_dim,
                         ", ffn ", d.ffn, ", ", config_.streams, " streams"),
                  lm_->bytes()},
                 {"table", concat(config_.vocab, " ids x ", d.hidden), lm_->table_bytes()},
                 {"codec",
                  concat(codec.codebooks, " x ", codec.codebook_size, " codes, ", codec.hop(),
                         " samples a frame, looks ", codec.lookahead(), " ahead"),
                  codec_->bytes()}};
}

Result<Opened> OpusLm::open(const SpeechRequest& request) const {
  return State::open(config_, *prompter_, request);
}

std::shared_ptr<const Pipeline> load(const LoadSpec& spec) {
  return std::make_shared<OpusLm>(spec);
}

}  // namespace syrinx::opuslm
