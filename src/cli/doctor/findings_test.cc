#include "cli/doctor/findings.h"

#include <gtest/gtest.h>

#include "cli/doctor/gather.h"

namespace syrinx {
namespace {

MachineFacts good_machine() {
  MachineFacts out;
  out.distribution = "debian";
  out.cores = 2;
  out.kernels = "avx2";
  out.memory_bytes = int64_t{8} << 30;
  out.free_bytes = int64_t{4} << 30;
  out.audio_s = 3;
  out.total_s = 0.5;
  out.gpus = {"NVIDIA H200", "NVIDIA L4"};
  out.espeak = "eSpeak NG text-to-speech: 1.51";
  out.mecab = "/var/lib/mecab/dic/debian/sys.dic, UTF-8";
  out.jieba = "/usr/lib/python3/dist-packages/jieba";
  out.player = "aplay -q -";
  out.port = 8080;
  out.ipv6 = true;
  out.certificates = "/etc/ssl/certs/ca-certificates.crt";
  out.open_files = 1024;
  out.confinement = "seccomp and resource limits";
  out.confined = true;
  out.cache = "/home/me/.cache/syrinx/weights";
  out.cache_free_bytes = int64_t{50} << 30;
  return out;
}

Finding finding(const MachineFacts& facts, const std::string& topic) {
  for (Finding& each : examine(facts)) {
    if (each.topic == topic) return each;
  }
  ADD_FAILURE() << "no finding about " << topic;
  return {};
}

TEST(Doctor, FindsNothingWrongWithAGoodMachine) {
  for (const Finding& each : examine(good_machine())) {
    EXPECT_EQ(each.health, Health::kGood) << each.topic;
    EXPECT_EQ(each.advice, "") << each.topic;
    EXPECT_EQ(each.detail.find('\n'), std::string::npos) << each.topic;
  }
  EXPECT_EQ(finding(good_machine(), "voice").detail,
            "the built-in voice works, 6.0 times as fast as real time");
  EXPECT_EQ(finding(good_machine(), "GPU").detail, "cuda:0 is NVIDIA H200, cuda:1 is NVIDIA L4");
}

TEST(Doctor, SaysWhatToInstall) {
  MachineFacts facts = good_machine();
  facts.espeak = facts.player = facts.certificates = facts.mecab = facts.jieba = "";
  facts.detector_fault = "the voice detector is not installed";
  EXPECT_EQ(finding(facts, "espeak-ng").advice, "apt install espeak-ng");
  EXPECT_EQ(finding(facts, "mecab").advice, "apt install mecab mecab-ipadic-utf8");
  EXPECT_TRUE(finding(facts, "jieba").advice.starts_with("apt install python3-jieba"));
  EXPECT_EQ(finding(facts, "player").advice, "apt install alsa-utils");
  EXPECT_EQ(finding(facts, "certificates").advice, "apt install ca-certificates");
  EXPECT_NE(finding(facts, "ears").advice.find("libwebrtc-audio-processing1"), std::string::npos);
  facts.distribution = "fedora";
  EXPECT_EQ(finding(facts, "espeak-ng").advice, "dnf install espeak-ng");
  EXPECT_EQ(finding(facts, "jieba").advice.find("dnf"), std::string::npos);
  EXPECT_EQ(finding(facts, "ears").advice,
            "use a Whisper model instead (docs/guide/recognition.md)");
  facts.distribution = "";
  EXPECT_EQ(finding(facts, "espeak-ng").advice, "install the Debian packages espeak-ng");
}

TEST(Doctor, DistinguishesBrokenFromMissing) {
  MachineFacts facts = good_machine();
  facts.voice_fault = "no folder of voices";
  EXPECT_EQ(finding(facts, "voice").health, Health::kBroken);
  facts.espeak = "";
  EXPECT_EQ(finding(facts, "espeak-ng").health, Health::kMissing);
  facts.port_fault = "Address already in use";
  EXPECT_EQ(finding(facts, "port").health, Health::kLimited);
  EXPECT_NE(finding(facts, "port").advice.find("--port"), std::string::npos);
}

TEST(Doctor, SeesLimits) {
  MachineFacts facts = good_machine();
  facts.free_bytes = int64_t{256} << 20;  // as in a small container
  EXPECT_EQ(finding(facts, "memory").health, Health::kLimited);
  EXPECT_EQ(finding(facts, "memory").detail, "256.0 MiB free of 8.00 GiB");
  facts.free_bytes.reset();  // as on systems without /proc
  EXPECT_EQ(finding(facts, "memory").health, Health::kLimited);
  EXPECT_EQ(finding(facts, "memory").detail, "8.00 GiB, free memory is not known");
  facts.open_files = 64;
  EXPECT_EQ(finding(facts, "open files").health, Health::kLimited);
  facts.cache_fault = "Read-only file system";
  EXPECT_EQ(finding(facts, "packed weights").health, Health::kLimited);
  facts.confinement_fault = "recordings cannot be decoded apart";
  EXPECT_EQ(finding(facts, "recordings").health, Health::kLimited);
  EXPECT_EQ(finding(facts, "recordings").detail, facts.confinement_fault);
  facts.kernels = "portable";
  EXPECT_EQ(finding(facts, "processor").health, Health::kLimited);
  facts.total_s = 2 * facts.audio_s;
  EXPECT_EQ(finding(facts, "voice").health, Health::kLimited);
}

TEST(Doctor, ReadsWhatMecabPrintsOfItsDictionary) {
  EXPECT_EQ(mecab_dictionary("filename:\t/var/lib/mecab/dic/debian/sys.dic\nversion:\t102\n"
                             "charset:\tUTF-8\ntype:\t0\n"),
            "/var/lib/mecab/dic/debian/sys.dic, UTF-8");
  EXPECT_EQ(mecab_dictionary(""), "");
  MachineFacts facts = good_machine();
  facts.mecab = mecab_dictionary("filename:\t/dic/sys.dic\ncharset:\tEUC-JP\n");
  EXPECT_EQ(finding(facts, "mecab").health, Health::kLimited);
  EXPECT_NE(finding(facts, "mecab").advice.find("mecab-ipadic-utf8"), std::string::npos);
}

TEST(Doctor, ReadsTheFilesOfTheSystem) {
  const std::string release = "NAME=\"Debian\"\nVERSION_ID=\"12\"\nID=debian\n";
  EXPECT_EQ(os_release_value(release, "ID"), "debian");
  EXPECT_EQ(os_release_value(release, "VERSION_ID"), "12");
  EXPECT_EQ(os_release_value(release, "X"), "");
}

}  // namespace
}  // namespace syrinx
