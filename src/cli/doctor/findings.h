// What `syrinx doctor` reports about a machine: facts as they were gathered, and what follows from
// them. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// A machine as `syrinx doctor` found it. An empty `_fault` means that the thing works.
struct MachineFacts {
  std::string distribution;  ///< ID of /etc/os-release, "" where there is none
  std::string processor;     ///< name of the processor, "" if unknown
  int cores = 1;             ///< that the process may use
  std::string kernels;       ///< the instruction set that is used, a name of GemmSet
  int64_t memory_bytes = 0;  ///< of the machine, 0 if unknown
  int64_t free_bytes = 0;    ///< of memory that this process may take, as available_memory()
  std::string voice_fault;   ///< why the built-in voice does not speak
  double audio_s = 0;        ///< seconds of audio that the built-in voice made
  double total_s = 0;        ///< seconds that this took
  std::string gpu_fault;     ///< why no GPU is used
  std::string gpu_driver;    ///< version of the driver, "" where there is none
  std::string espeak;        ///< version of espeak-ng, "" where it is missing
  std::string pocketsphinx_fault;
  std::string detector_fault;  ///< of WebRTC's detector of voices
  std::string player;          ///< command that plays audio, "" if none
  int port = 0;                ///< that `syrinx serve` listens on
  std::string port_fault;
  bool ipv6 = false;
  std::string certificates;  ///< file or folder of authorities, "" if none
  int64_t open_files = 0;    ///< the limit of descriptors
  std::string confinement;   ///< of children that decode recordings
  bool confined = false;     ///< they are filtered
  std::string cache;         ///< folder of packed weights, "" if none
  std::string cache_fault;   ///< why nothing can be written there
  int64_t cache_free_bytes = 0;
};

/// How a thing is: it works, works with less, is missing and optional, or keeps the program from
/// speaking.
enum class Health { kGood, kLimited, kMissing, kBroken };

/// One line of the report: a topic, its state, and what to do.
struct Finding {
  std::string topic;  ///< "processor"
  Health health = Health::kGood;
  std::string detail;  ///< one line
  std::string advice;  ///< what to do, "" if nothing
};

/// The word for a state in the report.
const char* health_name(Health health);

/// The command that installs packages of these Debian names on a distribution, by its ID.
std::string install_command(std::string_view distribution, std::string_view packages);

/// All findings, in the order in which they are printed.
std::vector<Finding> examine(const MachineFacts& facts);

}  // namespace syrinx
