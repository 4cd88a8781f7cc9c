#include "io/quantized_weights.h"

#include <algorithm>
#include <array>
#include <deque>

#include "base/error.h"
#include "base/float16.h"
#include "base/memory.h"

namespace syrinx {
namespace {

constexpr int64_t kInWord = 8;
constexpr std::string_view kWeight = ".weight", kNumbers = ".qweight", kBias = ".bias";
constexpr std::array<std::string_view, 4> kParts = {kNumbers, ".qzeros", ".scales", ".g_idx"};
/// The position in a word of each of its 8 outputs.
constexpr std::array<int, 8> kInOrder = {0, 1, 2, 3, 4, 5, 6, 7};
constexpr std::array<int, 8> kAwqOrder = {0, 4, 1, 5, 2, 6, 3, 7};

/// Returns `name` without the suffix `end`; empty if it has another suffix.
std::string stem_of(const std::string& name, std::string_view end) {
  return name.ends_with(end) ? name.substr(0, name.size() - end.size()) : std::string();
}

int number(const View& words, int64_t word, int place) {
  return static_cast<int>(static_cast<uint32_t>(words.i32()[word]) >> (4 * place) & 15u);
}

/// The four parts of one linear, with consistent sizes.
struct Parts {
  View numbers, zeros;
  Tensor scales;               // [groups, out] in f32
  std::vector<int32_t> group;  // group of each input, [in]
  int64_t out = 0, in = 0;
};

class DequantizedWeights : public WeightSource {
 public:
  DequantizedWeights(std::unique_ptr<WeightSource> stored, const QuantizedLayout& layout)
      : stored_(std::move(stored)), layout_(layout) {}

  std::string where(const std::string& name) const override {
    return stored_->where(quantized(name) ? stem_of(name, kWeight).append(kNumbers) : name);
  }
  bool has(const std::string& name) const override { return quantized(name) || stored_->has(name); }

  std::string describe(const std::string& name) const override {
    if (!quantized(name)) return stored_->describe(name);
    std::string text = "4 bits in";
    for (const std::string_view part : kParts) {
      const std::string stored = stem_of(name, kWeight).append(part);
      if (stored_->has(stored)) text += concat(" ", part.substr(1), " ", stored_->describe(stored));
    }
    return text + (layout_.group ? concat(", groups of ", layout_.group) : std::string());
  }

  std::optional<Shape> shape(const std::string& name) const override {
    if (!quantized(name)) return stored_->shape(name);
    const auto words = stored_->shape(stem_of(name, kWeight).append(kNumbers));
    if (!words || words->dims() != 2) return {};
    return awq() ? Shape{(*words)[1] * kInWord, (*words)[0]}
                 : Shape{(*words)[1], (*words)[0] * kInWord};
  }

  View take(const std::string& name, const Shape& want) override {
    if (!quantized(name)) return stored_->take(name, want);
    if (shape(name) != want || want.count() == 0) return {};
    const std::optional<Parts> parts = take_parts(stem_of(name, kWeight), want);
    if (!parts) return {};
    expect_memory(want.count() * static_cast<int64_t>(sizeof(float)));
    constexpr size_t kKept = 4;
    if (latest_.size() == kKept) latest_.pop_front();
    latest_.push_back(unpack(*parts));
    return latest_.back();
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> all;
    for (const std::string& name : stored_->names()) {
      if (const std::string stem = stem_of(name, kNumbers); !stem.empty()) {
        all.push_back(stem + std::string(kWeight));
      } else if (!is_part(name) && !is_idle_bias(name)) {
        all.push_back(name);
      }
    }
    return all;
  }

 private:
  bool awq() const { return layout_.method == QuantizedLayout::Method::kAwq; }

  bool quantized(const std::string& name) const {
    const std::string stem = stem_of(name, kWeight);
    return !stem.empty() && stored_->has(stem + std::string(kNumbers));
  }

  bool is_part(const std::string& name) const {
    return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) {
      const std::string stem = stem_of(name, part);
      return !stem.empty() && stored_->has(stem + std::string(kNumbers));
    });
  }

  bool is_idle_bias(const std::string& name) const {
    const std::string stem = stem_of(name, kBias);
    if (stem.empty() || !stored_->has(stem + std::string(kNumbers))) return false;
    const auto size = stored_->shape(name);
    const View bias = size ? stored_->take(name, *size) : View{};
    const auto* bytes = static_cast<const uint8_t*>(bias.data);
    return !bias.empty() && std::all_of(bytes, bytes + bias.bytes(), [](uint8_t b) { return !b; });
  }

  View integers(const std::string& name, const Shape& want) const {
    const View view = stored_->take(name, want);
    return !view.empty() && view.dtype == DType::kI32 ? view : View{};
  }

  std::optional<Parts> take_parts(const std::string& stem, const Shape& want) const {
    Parts p;
    p.out = want[0];
    p.in = want[1];
    if (p.out % kInWord != 0) return {};
    const int64_t group = layout_.group ? layout_.group : p.in;
    const int64_t groups = (p.in + group - 1) / group;
    p.numbers = integers(stem + std::string(kNumbers),
                         awq() ? Shape{p.in, p.out / kInWord} : Shape{p.in / kInWord, p.out});
    p.zeros = integers(stem + ".qzeros", {groups, p.out / kInWord});
    const View scales = stored_->take(stem + ".scales", {groups, p.out});
    const bool floats =
        scales.dtype == DType::kF32 || scales.dtype == DType::kBF16 || scales.dtype == DType::kF16;
    if (p.numbers.empty() || p.zeros.empty() || scales.empty() || !floats) return {};
    p.scales = to_f32(scales);
    for (int64_t i = 0; i < p.in; ++i) p.group.push_back(static_cast<int32_t>(i / group));
    if (!awq() && stored_->has(stem + ".g_idx")) {
      const View order = integers(stem + ".g_idx", {p.in});
      if (order.empty()) return {};
      p.group.assign(order.i32(), order.i32() + p.in);
      const auto inside = [&](int32_t g) { return g >= 0 && g < groups; };
      if (!std::all_of(p.group.begin(), p.group.end(), inside)) return {};
    }
    return p;
  }

  Tensor unpack(const Parts& p) const {
    const int64_t groups = p.scales.shape()[0], words = p.out / kInWord;
    const std::array<int, 8>& order = awq() ? kAwqOrder : kInOrder;
    Tensor zeros({groups, p.out}, DType::kF32), weight({p.out, p.in}, DType::kF32);
    for (int64_t g = 0; g < groups; ++g) {
      for (int64_t o = 0; o < p.out; ++o) {
        const int zero = number(p.zeros, g * words + o / kInWord, order[o % kInWord]);
        zeros.f32()[g * p.out + o] = static_cast<float>(zero + layout_.zero_offset);
      }
    }
    for (int64_t i = 0; i < p.in; ++i) {
      const float* scale = p.scales.f32() + p.group[i] * p.out;
      const float* zero = zeros.f32() + p.group[i] * p.out;
      for (int64_t o = 0; o < p.out; ++o) {
        const int q = awq() ? number(p.numbers, i * words + o / kInWord, order[o % kInWord])
                            : number(p.numbers, i / kInWord * p.out + o, i % kInWord);
        weight.f32()[o * p.in + i] = scale[o] * (static_cast<float>(q) - zero[o]);
      }
    }
    return weight;
  }

  std::unique_ptr<WeightSource> stored_;
  QuantizedLayout layout_;
  std::deque<Tensor> latest_;
};

}  // namespace

QuantizedLayout load_quantized_layout(const Config& config) {
  QuantizedLayout layout;
  const std::string method = config.s("quant_method");
  if (method != "gptq" && method != "awq") {
    config.fail("quant_method", "\"" + method + "\" is not supported; expected gptq or awq");
  }
  const int64_t bits = config.i("bits", 1, 64);
  if (bits != 4) config.fail("bits", std::to_string(bits) + " is not supported; expected 4");
  const int64_t group = config.i("group_size", -1, 1 << 24);
  if (group != -1 && (group == 0 || group % 32 != 0)) {
    config.fail("group_size",
                std::to_string(group) + " is not supported; expected -1 or a multiple of 32");
  }
  layout.group = std::max<int64_t>(group, 0);
  if (method == "gptq") {
    const std::string format = config.opt_s("checkpoint_format", "gptq");
    if (format != "gptq" && format != "gptq_v2") {
      config.fail("checkpoint_format",
                  "\"" + format + "\" is not supported; expected gptq or gptq_v2");
    }
    layout.zero_offset = format == "gptq" ? 1 : 0;
    return layout;
  }
  layout.method = QuantizedLayout::Method::kAwq;
  const std::string version = config.opt_s("version", "gemm");
  if (version != "gemm" && version != "GEMM") {
    config.fail("version", "\"" + version + "\" is not supported; expected gemm");
  }
  if (!config.opt_b("zero_point", true))
    config.fail("zero_point", "false is not supported; expected true");
  return layout;
}

std::unique_ptr<WeightSource> dequantized(std::unique_ptr<WeightSource> stored,
                                          const QuantizedLayout& layout) {
  return std::make_unique<DequantizedWeights>(std::move(stored), layout);
}

}  // namespace syrinx
