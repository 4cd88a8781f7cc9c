#include "runtime/devices.h"

#include <gtest/gtest.h>

namespace syrinx {
namespace {

std::string device_fault(const std::string& text) try {
  static_cast<void>(read_device_option(text));
  return "";
} catch (const LoadError& fault) {
  return fault.what();
}

TEST(Devices, HaveNames) {
  EXPECT_EQ(device_name(Device::kCpu), "cpu");
  EXPECT_EQ(device_name(Device::kCuda), "cuda:0");
  EXPECT_EQ(device_name(Device::gpu(12)), "cuda:12");
  EXPECT_EQ(device_of_name("cuda"), Device::gpu(0));
  EXPECT_EQ(device_of_name("cuda:63"), Device::gpu(63));
  for (const char* invalid : {"", "cuda:", "cuda:64", "cuda:01", "cuda:-1", "gpu", "CPU"})
    EXPECT_FALSE(device_of_name(invalid)) << invalid;
}

TEST(Devices, AKindHoldsForEachGpu) {
  EXPECT_TRUE(Device::gpu(1) == Device::kCuda);
  EXPECT_TRUE(Device::gpu(1) != Device::kCpu);
  EXPECT_TRUE(Device::gpu(1) != Device::gpu(0));
  EXPECT_TRUE(Device(Device::kCuda) == Device::gpu(0));
  EXPECT_THROW(Device::gpu(64), InternalError);
}

TEST(Devices, TextForAModelAndItsStages) {
  const DeviceOption option = read_device_option("cuda:2,codec=cuda:1,flow=cpu");
  EXPECT_EQ(option.all, "cuda:2");
  ASSERT_EQ(option.named.size(), 2u);
  EXPECT_EQ(option.named[0].first, "codec");
  EXPECT_EQ(option.named[0].second, Device::gpu(1));
  EXPECT_EQ(option.named[1].second, Device::kCpu);
  EXPECT_EQ(read_device_option("codec=cuda").all, "auto");
  EXPECT_EQ(device_fault("auto"), "");
}

TEST(Devices, InvalidTextIsNamed) {
  const std::string expected = ": expected auto, cpu, cuda or cuda:N, or NODE=cuda:N";
  EXPECT_EQ(device_fault("tpu"), "--device tpu" + expected);
  EXPECT_EQ(device_fault("cuda:0,codec=tpu"), "--device codec=tpu" + expected);
  EXPECT_EQ(device_fault("codec=auto"), "--device codec=auto" + expected);
  EXPECT_EQ(device_fault("cuda,"), "--device " + expected);
  EXPECT_NE(device_fault("cuda,cpu"), "");
  EXPECT_NE(device_fault("a=cpu,a=cuda"), "");
  EXPECT_NE(device_fault("=cpu"), "");
}

TEST(Devices, OfOneOfSeveralModels) {
  const std::vector<std::string> models{"csm", "whisper"}, alone{"csm"};
  const std::string text = "cuda:0,whisper=cuda:1,csm/codec=cuda:1";
  EXPECT_EQ(devices_of_model(text, "csm", models), "cuda:0,codec=cuda:1");
  EXPECT_EQ(devices_of_model(text, "whisper", models), "cuda:1");
  EXPECT_EQ(devices_of_model("csm=cuda:1", "whisper", models), "auto");
  EXPECT_EQ(devices_of_model("cuda,codec=cuda:1", "csm", alone), "cuda,codec=cuda:1");
  EXPECT_EQ(devices_of_model("csm/codec=cuda:1", "csm", alone), "auto,codec=cuda:1");
  EXPECT_THROW(static_cast<void>(devices_of_model("codec=cuda:1", "csm", models)), LoadError);
}

}  // namespace
}  // namespace syrinx
