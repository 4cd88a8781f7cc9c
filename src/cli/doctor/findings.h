// What `syrinx doctor` reports about a machine: the facts and the findings that follow from the
// facts. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// Facts about a machine. An empty `_fault` means that the feature works.
struct MachineFacts {
  std::string distribution;           ///< ID of /etc/os-release; empty if unknown
  std::string processor;              ///< name of the processor; empty if unknown
  int cores = 1;                      ///< number of cores that the process may use
  std::string kernels;                ///< the instruction set of the kernels, a name of GemmSet
  int64_t memory_bytes = 0;           ///< memory of the machine, 0 if unknown
  std::optional<int64_t> free_bytes;  ///< memory that this process may still allocate, if known
  std::string voice_fault;            ///< why the built-in voice cannot speak
  double audio_s = 0;                 ///< seconds of audio in a test of the built-in voice
  double total_s = 0;                 ///< seconds that this test took
  std::string gpu_fault;              ///< why no GPU is used
  std::vector<std::string> gpus;      ///< names of the GPUs, by number
  std::string gpu_driver;             ///< version of the driver; empty without a driver
  std::string espeak;                 ///< version of espeak-ng; empty if not installed
  std::string mecab;  ///< mecab's dictionary and its encoding; empty if either is missing
  std::string jieba;  ///< folder of jieba's files; empty if they are missing
  std::string pocketsphinx_fault;
  std::string detector_fault;  ///< why WebRTC's voice detector does not work
  std::string player;          ///< command that plays audio; empty without a player
  int port = 0;                ///< port for `syrinx serve`
  std::string port_fault;
  bool ipv6 = false;
  std::string certificates;       ///< file or folder of certificate authorities; empty if missing
  int64_t open_files = 0;         ///< limit of open descriptors
  std::string confinement;        ///< how the processes that decode recordings are confined
  std::string confinement_fault;  ///< why this machine refuses recordings
  bool confined = false;          ///< the system calls of these processes are filtered
  std::string cache;              ///< folder of packed weights; empty without a cache
  std::string cache_fault;        ///< why the cache cannot be written
  int64_t cache_free_bytes = 0;
};

/// State of a feature: it works, works with limits, is optional and missing, or prevents the
/// program from speaking.
enum class Health { kGood, kLimited, kMissing, kBroken };

/// One line of the report: a topic, its state, and what to do.
struct Finding {
  std::string topic;  ///< e.g. "processor"
  Health health = Health::kGood;
  std::string detail;  ///< one line
  std::string advice;  ///< what to do; empty if nothing
};

/// Returns the word for a state in the report.
const char* health_name(Health health);

/// Returns the command that installs packages on the distribution with this ID. `packages` are
/// Debian's names.
std::string install_command(std::string_view distribution, std::string_view packages);

/// Returns all findings in the order of the report.
std::vector<Finding> examine(const MachineFacts& facts);

}  // namespace syrinx
