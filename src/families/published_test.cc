// Checkpoints of exactly the published layout: files of the names, types and sizes of
// tests/parity/published, with holes for data, beside the tokenizers of the small checkpoints. They
// load, and with a tensor less, one more and one of another shape they do not.
// Not looked at: .pt and .onnx files, and what is loaded for cloning only.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/memory.h"
#include "codec/fish_codec.h"
#include "codec/fish_encoder.h"
#include "families/family.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

namespace fs = std::filesystem;

struct Published {
  const char *family, *golden;
  size_t tensors;                                        ///< of all files
  bool large = false;                                    ///< takes half a minute to load
  const char *file = "", *missing = "", *reshaped = "";  ///< for PublishedChanges
};

std::string parity(const std::string& name) { return SYRINX_BINARY_DIR "/parity/" + name; }

/// A file of tests/parity/published; see the README there.
struct Manifest {
  nlohmann::json header;
  uint64_t data_bytes = 0;                          // of the tensors
  uint64_t published_file = 0, published_data = 0;  // bytes; 0: not told
};

/// "a.{0..2}.b" -> "a.0.b", "a.1.b", "a.2.b".
std::vector<std::string> expanded(const std::string& pattern) {
  const size_t open = pattern.find('{');
  if (open == pattern.npos) return {pattern};
  const size_t dots = pattern.find("..", open), close = pattern.find('}');
  const int first = std::stoi(pattern.substr(open + 1)), last = std::stoi(pattern.substr(dots + 2));
  std::vector<std::string> names;
  for (int i = first; i <= last; ++i) {
    const std::string one = pattern.substr(0, open) + std::to_string(i) + pattern.substr(close + 1);
    for (std::string& name : expanded(one)) names.push_back(std::move(name));
  }
  return names;
}

Manifest read_manifest(const std::string& path) {
  struct Entry {
    std::string type;
    std::vector<int64_t> shape;
    uint64_t bytes;
  };
  Manifest out;
  // In the order of the safetensors library: wide types first, then by name.
  std::map<std::pair<int64_t, std::string>, Entry> entries;
  std::istringstream lines(slurp(path));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string type, sizes, pattern;
    words >> type >> sizes >> pattern;
    if (type == "#") continue;
    if (type == "file") out.published_file = std::stoull(sizes);
    if (type == "data") out.published_data = std::stoull(sizes);
    if (type == "metadata") out.header["__metadata__"][sizes] = pattern;
    if (type != "I64" && type != "F32" && type != "BF16") continue;
    const int64_t width = type == "I64" ? 8 : type == "F32" ? 4 : 2;
    Entry entry{type, {}, static_cast<uint64_t>(width)};
    std::istringstream numbers(sizes == "-" ? "" : sizes);
    for (std::string number; std::getline(numbers, number, 'x');) {
      entry.shape.push_back(std::stoll(number));
      entry.bytes *= static_cast<uint64_t>(entry.shape.back());
    }
    for (const std::string& name : expanded(pattern)) entries[{-width, name}] = entry;
  }
  for (const auto& [key, entry] : entries) {
    const uint64_t begin = out.data_bytes;
    out.data_bytes += entry.bytes;
    out.header[key.second] = {
        {"dtype", entry.type}, {"shape", entry.shape}, {"data_offsets", {begin, out.data_bytes}}};
  }
  return out;
}

/// A file with this header and a hole for data.
void write_sparse(const std::string& path, const nlohmann::json& header, uint64_t data_bytes) {
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t size = text.size();
  fs::remove(path);
  std::ofstream(path, std::ios::binary)
      << std::string(reinterpret_cast<const char*>(&size), 8) << text;
  fs::resize_file(path, 8 + size + data_bytes);
}

class PublishedLayout : public testing::TestWithParam<Published> {
 protected:
  void SetUp() override {
    // In 8 bits 0.9 GB or, of the large ones, up to 3.4.
    const int64_t gib = GetParam().large ? 6 : 2;
    if (available_memory() < gib << 30) GTEST_SKIP() << "needs " << gib << " GiB of free memory";
    const auto how = fs::copy_options::recursive | fs::copy_options::overwrite_existing;
    fs::copy(parity(GetParam().golden), dir_.path(), how);
    const std::string root = parity(std::string("published/") + GetParam().family);
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      const std::string name = fs::relative(entry.path(), root).string();
      if (name.ends_with(".txt")) {
        manifests_[name.substr(0, name.size() - 4)] = read_manifest(entry.path());
      }
      if (name.ends_with(".json")) fs::copy_file(entry.path(), dir_.path(name), how);
    }
    for (const auto& [file, manifest] : manifests_)
      write_sparse(dir_.path(file), manifest.header, manifest.data_bytes);
  }
  std::string fault() const {
    for (const Family& each : families()) {
      if (std::string(each.name) != GetParam().family) continue;
      try {
        each.load({dir_.path(), "published", WeightType::kQ8});
      } catch (const LoadError& error) {
        return error.what();
      }
      return "";
    }
    return "no such family";
  }
  TestDir dir_;
  std::map<std::string, Manifest> manifests_;
};

TEST_P(PublishedLayout, Loads) {
  size_t tensors = 0;
  for (const auto& [file, manifest] : manifests_) {
    tensors += manifest.header.size() - manifest.header.count("__metadata__");
    if (manifest.published_file > 0) {
      EXPECT_EQ(fs::file_size(dir_.path(file)), manifest.published_file) << file;
    }
    if (manifest.published_data > 0) {
      EXPECT_EQ(manifest.data_bytes, manifest.published_data) << file;
    }
  }
  EXPECT_EQ(tensors, GetParam().tensors);
  if (GetParam().large && !std::getenv("SYRINX_LARGE_TESTS")) {
    GTEST_SKIP() << "loaded with SYRINX_LARGE_TESTS=1 only";
  }
  EXPECT_EQ(fault(), "");
}

// Every family refuses in the same way: loading_test.cc. Here those that take least.
class PublishedChanges : public PublishedLayout {};

TEST_P(PublishedChanges, AreRefused) {
  const Published& p = GetParam();
  nlohmann::json header = manifests_[p.file].header;
  const uint64_t bytes = manifests_[p.file].data_bytes;
  ASSERT_EQ(header.erase(p.missing), 1u);
  ASSERT_TRUE(header.contains(p.reshaped));
  std::vector<int64_t> shape = header[p.reshaped]["shape"];
  shape.push_back(1);
  header[p.reshaped]["shape"] = shape;
  header["stranger.weight"] = {{"dtype", "F32"}, {"shape", {0}}, {"data_offsets", {bytes, bytes}}};
  write_sparse(dir_.path(p.file), header, bytes);
  const std::string said = fault();
  for (const char* part : {p.missing, p.reshaped, "stranger.weight"}) {
    EXPECT_NE(said.find(part), std::string::npos) << part << " is not in: " << said;
  }
}

const Published kQwen{"qwen3_tts",
                      "qwen3_tts/golden/equal_width/checkpoint",
                      402 + 496,
                      false,
                      "model.safetensors",
                      "talker.model.layers.27.self_attn.k_norm.weight",
                      "talker.code_predictor.model.norm.weight"};
const Published kChatterbox{
    "chatterbox",         "chatterbox/golden/checkpoint",          292 + 2489,        false,
    "t3_cfg.safetensors", "tfmr.layers.29.input_layernorm.weight", "tfmr.norm.weight"};

const Published kWhisper{"whisper",
                         "whisper/small",
                         167,
                         false,
                         "model.safetensors",
                         "model.decoder.layers.3.encoder_attn.k_proj.weight",
                         "model.encoder.embed_positions.weight"};

std::string family_of(const testing::TestParamInfo<Published>& test) { return test.param.family; }

INSTANTIATE_TEST_SUITE_P(
    Families, PublishedLayout,
    testing::Values(kQwen, Published{"csm", "csm/golden/taught/checkpoint", 538, true},
                    Published{"fish_speech", "fish_speech/golden/checkpoint", 358, true},
                    Published{"higgs_audio", "higgs/golden/checkpoint", 399 + 527, true},
                    Published{"voxcpm2", "voxcpm2/golden/checkpoint", 577 + 311, true},
                    Published{"orpheus", "orpheus/golden/checkpoint", 254, true},
                    Published{"zonos", "zonos/golden/checkpoint", 246 + 116, true}, kChatterbox,
                    kWhisper),
    family_of);
// Fish Audio's codec.pth is no safetensors file, and has no config: sizes are read off its tensors.
TEST(PublishedFishCodec, SizesAreThoseOfItsTensors) {
  const Manifest manifest = read_manifest(parity("published/fish_codec/codec.safetensors.txt"));
  EXPECT_EQ(manifest.header.size(), 535u);
  const TestDir dir;
  write_sparse(dir.path("codec.safetensors"), manifest.header, manifest.data_bytes);
  const Weights weights(open_weights(dir.path("codec.safetensors")));
  const FishCodecConfig got = FishCodecConfig::of(weights), want;
  EXPECT_EQ(got.codebooks, want.codebooks);
  EXPECT_EQ(got.semantic_codes, want.semantic_codes);
  EXPECT_EQ(got.residual_codes, want.residual_codes);
  EXPECT_EQ(got.latent, want.latent);
  EXPECT_EQ(got.post_layers, want.post_layers);
  EXPECT_EQ(got.post_ffn, want.post_ffn);
  EXPECT_EQ(got.upsample, want.upsample);
  EXPECT_EQ(got.channels, want.channels);
  EXPECT_EQ(got.rates, want.rates);
  EXPECT_EQ(got.encodes, want.encodes);
  EXPECT_EQ(got.pre_layers, want.pre_layers);
  EXPECT_EQ(got.downsample, want.downsample);
  EXPECT_EQ(got.encoder_channels, want.encoder_channels);
  EXPECT_EQ(got.encoder_rates, want.encoder_rates);
  EXPECT_EQ(got.encoder_layers, want.encoder_layers);
  EXPECT_EQ(got.encoder_ffn, want.encoder_ffn);
  if (!std::getenv("SYRINX_LARGE_TESTS")) return;  // gigabytes of zeros
  const FishCodec codec(got, weights, WeightType::kBF16);
  const FishEncoder encoder(got, weights);
  EXPECT_EQ(weights.report().faults(), "");
}

INSTANTIATE_TEST_SUITE_P(Families, PublishedChanges, testing::Values(kQwen, kChatterbox, kWhisper),
                         family_of);

}  // namespace
}  // namespace syrinx
