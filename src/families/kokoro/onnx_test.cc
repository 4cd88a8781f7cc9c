#include "families/kokoro/onnx.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "families/kokoro/voices.h"
#include "io/expect_fault.h"
#include "io/onnx_fixture.h"
#include "io/test_dir.h"

namespace syrinx::kokoro {
namespace {

using namespace onnx_fixture;

/// Nodes and tensors without which a graph is not Kokoro's.
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
  // [in, out] in the file, a scale and a zero of each output.
  EXPECT_EQ(weight_numbers(weights, "bert_encoder.weight", {2, 3}),
            (std::vector<float>{0.5f, 1.5f, 2.5f, -6, 6, 10}));
  EXPECT_EQ(weight_numbers(weights, "predictor.F0.0.conv1.weight", {1, 1, 2}),
            (std::vector<float>{2, -1.75f}));
  EXPECT_EQ(weight_numbers(weights, "text_encoder.embedding.weight", {2, 1}),
            (std::vector<float>{40, 50}));
}

/// Gates are in the order input, output, forget, cell there and input, forget, cell, output here.
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
  config.bert.positions = 4;  // two phonemes between two ends
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
