#include "families/kokoro/onnx.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/float16.h"
#include "families/kokoro/pipeline.h"
#include "families/kokoro/voices.h"
#include "families/kokoro/weights.h"
#include "io/expect_fault.h"
#include "io/onnx_fixture.h"
#include "io/test_dir.h"

namespace syrinx::kokoro {
namespace {

using namespace onnx_fixture;

/// Adds the tensors that identify a graph of Kokoro for the loader.
std::vector<std::string> with_marks(std::vector<std::string> tensors) {
  tensors.push_back(tensor("decoder.decoder.generator.conv_post.weight", {1, 1, 1}, {1}));
  tensors.push_back(tensor("encoder.bert.embeddings.word_embeddings.weight", {1, 1}, {1}));
  return tensors;
}

std::vector<float> weight_numbers(const Weights& weights, const std::string& name,
                                  const Shape& shape) {
  const Tensor found = weights.f32(name, shape);
  return {found.f32(), found.f32() + shape.count()};
}

std::string onnx_fault_of(const std::string& path) {
  try {
    open_kokoro_onnx(path);
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

TEST(KokoroOnnx, EightBitsAreTimesTheirScales) {
  const TestDir dir;
  const std::string path = dir.write(
      "a.onnx",
      model(
          {node("MatMulInteger", "/encoder/bert_encoder/MatMul_quant",
                {"x", "m_quantized", "xz", "m_zero_point"}),
           node("ConvInteger", "/encoder/F0.0/conv1/Conv_quant",
                {"x", "c_quantized", "xz", "c_zero_point"}),
           node("Gather", "/encoder/text_encoder/embedding/Gather_quant", {"e_quantized", "tokens"},
                "rows"),
           node("DequantizeLinear", "/rows", {"rows", "e_scale", "c_zero_point"})},
          with_marks({narrow_tensor("m_quantized", {3, 2}, {1, -2, 3, 4, 5, 6}),
                      tensor("m_scale", {2}, {0.5f, 2}, true),
                      narrow_tensor("m_zero_point", {2}, {0, 1}, true),
                      narrow_tensor("c_quantized", {1, 1, 2}, {7, -8}),
                      tensor("c_scale", {}, {0.25f}), narrow_tensor("c_zero_point", {}, {-1}, true),
                      narrow_tensor("e_quantized", {2, 1}, {3, 4}), tensor("e_scale", {}, {10})})));
  const Weights weights(open_kokoro_onnx(path));
  // The file stores the weight as [in, out], with a scale and a zero for each output.
  EXPECT_EQ(weight_numbers(weights, "bert_encoder.weight", {2, 3}),
            (std::vector<float>{0.5f, 1.5f, 2.5f, -6, 6, 10}));
  EXPECT_EQ(weight_numbers(weights, "predictor.F0.0.conv1.weight", {1, 1, 2}),
            (std::vector<float>{2, -1.75f}));
  EXPECT_EQ(weight_numbers(weights, "text_encoder.embedding.weight", {2, 1}),
            (std::vector<float>{40, 50}));
}

/// ONNX orders gates as input, output, forget, cell; torch as input, forget, cell, output.
TEST(KokoroOnnx, LstmsHaveTheirGatesInOrder) {
  const TestDir dir;
  const std::vector<float> gates{1, 2, 3, 4, 11, 12, 13, 14};
  std::vector<float> biases;
  for (int i = 0; i < 16; ++i) biases.push_back(static_cast<float>(i));
  const std::string path = dir.write(
      "a.onnx",
      model(
          {node("LSTM", "/encoder/predictor/lstm/LSTM", {"x", "w", "r", "b"}),
           node("DynamicQuantizeLSTM", "/encoder/shared/LSTM_quant",
                {"x", "q", "q", "b", "", "h", "c", "", "q_scale", "q_zero", "q_scale", "q_zero"})},
          with_marks({tensor("w", {2, 4, 1}, gates), tensor("r", {2, 4, 1}, gates),
                      tensor("b", {2, 8}, biases),
                      narrow_tensor("q", {2, 1, 4}, {1, 2, 3, 4, 5, 6, 7, 8}),
                      tensor("q_scale", {2}, {1, 10}), narrow_tensor("q_zero", {2}, {0, 1})})));
  const Weights weights(open_kokoro_onnx(path));
  EXPECT_EQ(weight_numbers(weights, "predictor.lstm.weight_ih_l0", {4, 1}),
            (std::vector<float>{1, 3, 4, 2}));
  EXPECT_EQ(weight_numbers(weights, "predictor.lstm.weight_hh_l0_reverse", {4, 1}),
            (std::vector<float>{11, 13, 14, 12}));
  EXPECT_EQ(weight_numbers(weights, "predictor.lstm.bias_hh_l0", {4}),
            (std::vector<float>{4, 6, 7, 5}));
  EXPECT_EQ(weight_numbers(weights, "predictor.lstm.bias_ih_l0_reverse", {4}),
            (std::vector<float>{8, 10, 11, 9}));
  EXPECT_EQ(weight_numbers(weights, "predictor.shared.weight_ih_l0", {4, 1}),
            (std::vector<float>{1, 3, 4, 2}));
  EXPECT_EQ(weight_numbers(weights, "predictor.shared.weight_hh_l0_reverse", {4, 1}),
            (std::vector<float>{40, 60, 70, 50}));
}

/// The authors' script (kokoro 0.9.4, KModelForONNX) names tensors "kmodel.bert..." and nodes
/// without a prefix. The text encoders of the predictor and of the model have the same name.
TEST(KokoroOnnx, NamesOfTheAuthorsExportAreKnown) {
  const TestDir dir;
  const std::vector<std::string> lstm{"x", "w", "w", "b"};
  const std::string path = dir.write(
      "a.onnx",
      model({node("MatMul", "/bert_encoder/MatMul", {"x", "onnx::MatMul_1"}),
             node("LSTM", "/text_encoder/lstms.0/LSTM", lstm),
             node("LSTM", "/text_encoder/lstm/LSTM", lstm), node("LSTM", "/shared/LSTM", lstm),
             node("Conv", "/decoder/encode/conv1/Conv", {"x", "onnx::Conv_1"}),
             node("Conv", "/F0.0/conv1/Conv", {"x", "onnx::Conv_1"}),
             node("ConvTranspose", "/decoder/generator/ConvTranspose",
                  {"x", "kmodel.decoder.generator.stft.weight_backward_real"})},
            {tensor("kmodel.decoder.generator.conv_post.weight", {1, 1, 1}, {1}),
             tensor("kmodel.bert.embeddings.word_embeddings.weight", {1, 1}, {1}),
             tensor("kmodel.decoder.generator.stft.weight_backward_real", {1, 1, 1}, {1}),
             tensor("onnx::MatMul_1", {3, 2}, {1, 2, 3, 4, 5, 6}),
             tensor("onnx::Conv_1", {1, 1, 2}, {7, 8}),
             tensor("w", {2, 4, 1}, std::vector<float>(8, 1)),
             tensor("b", {2, 8}, std::vector<float>(16, 1))}));
  const auto source = open_kokoro_onnx(path);
  std::vector<std::string> names = source->names();
  std::erase_if(names, [](const std::string& name) {
    return name.find("_l0") != name.npos && !name.ends_with("bias_hh_l0");
  });
  EXPECT_EQ(names,
            (std::vector<std::string>{
                "bert.embeddings.word_embeddings.weight", "bert_encoder.weight",
                "decoder.encode.conv1.weight", "decoder.generator.conv_post.weight",
                "predictor.F0.0.conv1.weight", "predictor.shared.bias_hh_l0",
                "predictor.text_encoder.lstms.0.bias_hh_l0", "text_encoder.lstm.bias_hh_l0"}));
  EXPECT_EQ(weight_numbers(Weights(open_kokoro_onnx(path)), "bert_encoder.weight", {2, 3}),
            (std::vector<float>{1, 3, 5, 2, 4, 6}));
}

/// An f16 export of a whole checkpoint. LSTM nodes read their tensors through casts. Other weights
/// keep their names.
class HalfExport {
 public:
  explicit HalfExport(const std::string& checkpoint)
      : source_(open_kokoro_weights(checkpoint)), weights_(open_kokoro_weights(checkpoint)) {
    for (const std::string& stored : source_->names()) {
      if (stored.ends_with(kLength)) continue;
      // An export stores a normalised weight as the product of its two parts.
      const bool normed = stored.ends_with(kDirection);
      const std::string module = stored.substr(0, stored.rfind('.'));
      const std::string name = normed ? module + ".weight" : stored;
      const Shape shape = *source_->shape(stored);
      std::vector<float> values = normed ? folded(module, shape) : numbers(stored);
      const size_t lstm = name.find(".weight_ih_l0");
      if (lstm != name.npos) {
        if (name.ends_with("_l0")) add_lstm(name.substr(0, lstm));
      } else if (name.find("_l0") == name.npos) {
        const bool decoder = name.starts_with("decoder.");
        tensors_.push_back(
            half_tensor((decoder ? "decoder." : "encoder.") + name, sizes_of(shape), values));
      }
      for (float& value : values) value = f16_to_f32(f32_to_f16(value));
      want.emplace(name, std::pair(shape, std::move(values)));
    }
  }
  std::string bytes() const { return model(nodes_, tensors_); }
  std::map<std::string, std::pair<Shape, std::vector<float>>> want;  ///< values of each weight

 private:
  static std::vector<int64_t> sizes_of(const Shape& shape) {
    std::vector<int64_t> out;
    for (int i = 0; i < shape.dims(); ++i) out.push_back(shape[i]);
    return out;
  }
  static constexpr std::string_view kDirection = ".weight_v", kLength = ".weight_g";

  /// Computes g v / |v| for each index of the first dimension.
  std::vector<float> folded(const std::string& module, const Shape& shape) {
    std::vector<float> out = numbers(module + ".weight_v");
    const std::vector<float> lengths = numbers(module + ".weight_g");
    const int64_t rows = shape[0], width = shape.count() / rows;
    for (int64_t r = 0; r < rows; ++r) {
      const std::span<float> row(out.data() + r * width, static_cast<size_t>(width));
      double sum = 0;
      for (const float value : row) sum += double{value} * value;
      const double factor = lengths[static_cast<size_t>(r)] / std::sqrt(sum);
      for (float& value : row) value = static_cast<float>(value * factor);
    }
    return out;
  }
  std::vector<float> numbers(const std::string& name) {
    return weight_numbers(weights_, name, *source_->shape(name));
  }
  /// Changes the order of the gates of [4 H, columns] from torch's input, forget, cell, output to
  /// ONNX's input, output, forget, cell.
  static std::vector<float> in_order(const std::vector<float>& all) {
    const auto part = std::ssize(all) / 4;
    std::vector<float> out;
    for (const int gate : {0, 3, 1, 2}) {
      out.insert(out.end(), all.begin() + gate * part, all.begin() + (gate + 1) * part);
    }
    return out;
  }
  void add_lstm(const std::string& module) {
    std::vector<float> w, r, b;
    const auto append = [](std::vector<float>& to, const std::vector<float>& more) {
      to.insert(to.end(), more.begin(), more.end());
    };
    for (const char* way : {"_l0", "_l0_reverse"}) {
      append(w, in_order(numbers(module + ".weight_ih" + way)));
      append(r, in_order(numbers(module + ".weight_hh" + way)));
      append(b, in_order(numbers(module + ".bias_ih" + way)));
      append(b, in_order(numbers(module + ".bias_hh" + way)));
    }
    const Shape in = *source_->shape(module + ".weight_ih_l0");
    const int64_t rows = in[0];
    tensors_.push_back(half_tensor(module + "W", {2, rows, in[1]}, w));
    tensors_.push_back(half_tensor(module + "R", {2, rows, rows / 4}, r));
    tensors_.push_back(half_tensor(module + "B", {2, 2 * rows}, b));
    std::string path = module;
    for (size_t at = 0; (at = path.find('.', at)) != path.npos; ++at) {
      if (path[at + 1] < '0' || path[at + 1] > '9') path[at] = '/';
    }
    nodes_.push_back(node("Cast", "cast" + module, {module + "W"}, module + "Wf"));
    nodes_.push_back(node("Identity", "same" + module, {module + "Wf"}, module + "Wi"));
    nodes_.push_back(node("LSTM", "/encoder/" + path + "/LSTM",
                          {"x", module + "Wi", module + "R", module + "B"}));
  }

  std::unique_ptr<WeightSource> source_;
  Weights weights_;
  std::vector<std::string> nodes_, tensors_;
};

TEST(KokoroOnnx, AWholeExportInF16IsTheCheckpointRounded) {
  const std::string checkpoint = SYRINX_BINARY_DIR "/parity/kokoro/golden/published/checkpoint";
  const HalfExport half(checkpoint);
  const TestDir dir;
  std::filesystem::copy(checkpoint, dir.path(), std::filesystem::copy_options::recursive);
  std::filesystem::remove(dir.path("kokoro-v1_0.pth"));
  const std::string path = dir.write("kokoro-v1.0.fp16.onnx", half.bytes());
  const Weights weights(open_kokoro_onnx(path));
  int lstms = 0;
  for (const auto& [name, want] : half.want) {
    EXPECT_EQ(weight_numbers(weights, name, want.first), want.second) << name;
    lstms += name.ends_with(".weight_ih_l0") ? 1 : 0;
  }
  EXPECT_GT(lstms, 2);
  EXPECT_GT(half.want.size(), 100U);
  EXPECT_EQ(load({dir.path(), "half", WeightType::kQ8})->info().family, "kokoro");
}

TEST(KokoroOnnx, OtherGraphsAreRefusedByName) {
  const TestDir dir;
  expect_fault(onnx_fault_of(dir.write("a.onnx", model({}, {tensor("w", {1}, {1})}))),
               "expected an ONNX export of Kokoro");
  expect_fault(onnx_fault_of(dir.write("b.onnx", "")), "found no graph");
  const std::string path = dir.write(
      "c.onnx", model({node("MatMulInteger", "/encoder/bert_encoder/MatMul_quant",
                            {"x", "m_quantized", "xz", "z"})},
                      with_marks({narrow_tensor("m_quantized", {3, 2}, {1, 2, 3, 4, 5, 6}),
                                  tensor("m_scale", {3}, {1, 2, 3})})));
  const auto source = open_kokoro_onnx(path);
  try {
    source->take("bert_encoder.weight", {2, 3});
    ADD_FAILURE() << "three scales for two outputs";
  } catch (const LoadError& error) {
    expect_fault(error.what(), "m_scale");
  }
}

KokoroConfig two_phonemes() {
  KokoroConfig config;
  config.bert.positions = 4;  // two phonemes, and the id 0 at both ends
  config.style = 1;
  return config;
}

TEST(KokoroVoices, AreReadOfNumbersAlone) {
  const TestDir dir;
  const float voice[] = {1, 2, 3, 4};
  const std::string bytes(reinterpret_cast<const char*>(voice), sizeof voice);
  const KokoroConfig config = two_phonemes();
  ASSERT_EQ(config.most_phonemes(), 2);
  std::filesystem::create_directory(dir.path("voices"));
  dir.write("voices/af_wren.bin", bytes);
  const Voices voices = load_voices(dir.path(), config);
  ASSERT_TRUE(voices.contains("af_wren"));
  EXPECT_EQ(*voices.at("af_wren"), (VoicePack{1, 2, 3, 4}));
  dir.write("voices/af_wren.bin", bytes + "x");
  try {
    load_voices(dir.path(), config);
    ADD_FAILURE() << "a byte too many";
  } catch (const LoadError& error) {
    expect_fault(error.what(), "af_wren.bin: expected a voice f32 [2, 1, 2], got 17 bytes");
  }
}

}  // namespace
}  // namespace syrinx::kokoro
