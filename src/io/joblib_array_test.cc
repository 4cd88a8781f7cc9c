#include "io/joblib_array.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "io/file.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

const std::string kKmeans = std::string(SYRINX_SOURCE_DIR) +
                            "/tests/parity/opuslm/golden/hearing/xeus/model/km_opus_lm.mdl";

std::string joblib_fault(const std::string& bytes, const std::string& name = "cluster_centers_") {
  const TestDir dir;
  const std::string path = dir.write("a.mdl", bytes);
  try {
    read_joblib_array(path, name);
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

TEST(JoblibArray, CentresOfScikitLearnAreRead) {
  const Tensor centres = read_joblib_array(kKmeans, "cluster_centers_");
  EXPECT_EQ(centres.shape(), (Shape{40, 64}));
  // The expected values are from numpy.load.
  EXPECT_EQ(centres.f32()[0], static_cast<float>(1.0094834566116333));
  EXPECT_EQ(centres.f32()[40 * 64 - 1], static_cast<float>(0.5899707078933716));
}

TEST(JoblibArray, WhatIsNotThereIsNamed) {
  const std::string bytes = read_file(kKmeans, 1 << 20);
  EXPECT_NE(joblib_fault(bytes, "centres").find("no array \"centres\""), std::string::npos);
  EXPECT_NE(joblib_fault(bytes, "labels_").find("not a matrix of floats"), std::string::npos);
  EXPECT_NE(joblib_fault(bytes, "n_clusters").find("no array"), std::string::npos);
}

TEST(JoblibArray, WhatIsNoNumberIsAFault) {
  std::string bytes = read_file(kKmeans, 1 << 20);
  const float first = read_joblib_array(kKmeans, "cluster_centers_").f32()[0];
  const size_t at = bytes.find(std::string(reinterpret_cast<const char*>(&first), 4));
  ASSERT_NE(at, bytes.npos);
  bytes.replace(at, 4, "\xff\xff\xff\x7f");
  EXPECT_NE(joblib_fault(bytes).find("has NaN or infinity"), std::string::npos);
}

TEST(JoblibArray, DamagedFilesAreFaults) {
  const std::string bytes = read_file(kKmeans, 1 << 20);
  for (size_t size = 0; size < bytes.size(); size += size < 1200 ? 7 : 997) {
    EXPECT_NE(joblib_fault(bytes.substr(0, size)), "") << size;
  }
  std::string huge = bytes;
  const size_t shape = huge.find("shape");
  ASSERT_NE(shape, huge.npos);
  for (size_t at = shape; at < shape + 24; ++at) {
    std::string broken = bytes;
    broken[at] = '\xff';
    joblib_fault(broken);  // with or without a fault, it reads nothing beyond the end
  }
  EXPECT_NE(joblib_fault("\x78\x9c compressed").find("pickle"), std::string::npos);
}

/// Without the limit, a file with a few bytes per global could fill the memory with names.
TEST(JoblibArray, GlobalsWithLongNamesAreFaults) {
  const auto global = [](size_t bytes) {
    std::string text = {'X', static_cast<char>(bytes & 255), static_cast<char>(bytes >> 8), 0, 0};
    text += std::string(bytes, 'a');
    return std::string("\x80\x04", 2) + text + text + "\x93.";
  };
  EXPECT_NE(joblib_fault(global(600)).find("the name of a global is too long"), std::string::npos);
  EXPECT_EQ(joblib_fault(global(500)).find("the name of a global is too long"), std::string::npos);
}

}  // namespace
}  // namespace syrinx
