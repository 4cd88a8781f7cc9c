// What `syrinx doctor` reports about a machine: the gathered facts and the findings that follow
// from them. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// A machine as `syrinx doctor` found it. An empty `_fault` means that the feature works.
struct MachineFacts {
  std::string distribution;           ///< ID of /etc/os-release, "" if unknown
  std::string processor;              ///< name of the processor, "" if unknown
  int cores = 1;                      ///< number of cores that the process may use
  std::string kernels;                ///< the instruction set of the kernels, a name of GemmSet
  int64_t memory_bytes = 0;           ///< memory of the machine, 0 if unknown
  std::optional<int64_t> free_bytes;  ///< memory that this process may still take, if known
  std::string voice_fault;            ///< why the built-in voice cannot speak
  double audio_s = 0;                 ///< seconds of audio that the built-in voice made
  double total_s = 0;                 ///< seconds that this speech took
  std::string gpu_fault;              ///< why no GPU is used
  std::string gpu_driver;             ///< version of the driver, "" if there is no driver
  std::string espeak;                 ///< version of espeak-ng, "" if it is missing
  std::string mecab;  ///< mecab's dictionary and its encoding, "" if either is missing
  std::string jieba;  ///< folder of jieba's files, "" if they are missing
  std::string pocketsphinx_fault;
  std::string detector_fault;  ///< why WebRTC's voice detector does not work
  std::string player;          ///< command that plays audio, "" if there is no player
  int port = 0;                ///< port for `syrinx serve`
  std::string port_fault;
  bool ipv6 = false;
  std::string certificates;       ///< file or folder of certificate authorities, "" if missing
  int64_t open_files = 0;         ///< limit of open descriptors
  std::string confinement;        ///< how the processes that decode recordings are confined
  std::string confinement_fault;  ///< why recordings are refused
  bool confined = false;          ///< system calls of these processes are filtered
  std::string cache;              ///< folder of packed weights, "" if there is no cache
  std::string cache_fault;        ///< why the cache cannot be written
  int64_t cache_free_bytes = 0;
};

/// State of a feature: it works, works with less, is missing but optional, or prevents the program
/// from speaking.
enum class Health { kGood, kLimited, kMissing, kBroken };

/// One line of the report: a topic, its state, and what to do.
struct Finding {
  std::string topic;  ///< "processor"
  Health health = Health::kGood;
  std::string detail;  ///< one line
  std::string advice;  ///< what to do, "" if nothing
};

/// Returns the word for a state in the report.
const char* health_name(Health health);

/// Returns the command that installs packages, given by their Debian names, on the distribution
/// with this ID.
std::string install_command(std::string_view distribution, std::string_view packages);

/// Returns all findings in the order of the report.
std::vector<Finding> examine(const MachineFacts& facts);

}  // namespace syrinx
