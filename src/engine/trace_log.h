// A record of the engine's work, in the Chrome trace event format, for Perfetto or
// chrome://tracing. Omits events after max_events, and then notes in the file that events are
// missing. Engine thread only.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace syrinx {

class TraceLog {
 public:
  /// Opens the file. Throws LoadError if that fails. Times are seconds on the engine's clock.
  TraceLog(const std::string& path, double epoch_s, int64_t max_events = 2'000'000);
  ~TraceLog();
  TraceLog(const TraceLog&) = delete;
  TraceLog& operator=(const TraceLog&) = delete;

  /// Names a row of the displayed trace.
  void name_row(int row, const char* name);
  /// Records work in a row: its name, its model, its number `batch` of sequences or chunks, and its
  /// number `units` of rows or frames.
  void work(int row, const char* what, const char* model, double began_s, double ended_s, int batch,
            int units);
  /// These functions record a request from submission to its end, and moments in between.
  void request_began(uint64_t id, double at_s);
  void request_moment(uint64_t id, const char* what, double at_s);
  void request_ended(uint64_t id, const char* reason, double at_s);

 private:
  bool room();
  double micros(double at_s) const { return (at_s - epoch_s_) * 1e6; }

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
  double epoch_s_;
  int64_t left_;
  int64_t dropped_ = 0;
  bool first_ = true;
};

}  // namespace syrinx
