#include "engine/trace_log.h"

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace syrinx {

TraceLog::TraceLog(const std::string& path, double epoch_s, int64_t max_events)
    : file_(std::fopen(path.c_str(), "w")), epoch_s_(epoch_s), left_(max_events) {
  if (!file_) throw LoadError("cannot write the trace " + path + ": " + std::strerror(errno));
  std::fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", file_.get());
}

TraceLog::~TraceLog() {
  std::fprintf(file_.get(), "\n],\"otherData\":{\"events_left_out\":\"%lld\"}}\n",
               static_cast<long long>(dropped_));
}

bool TraceLog::room() {
  if (left_ == 0) {
    ++dropped_;
    return false;
  }
  --left_;
  if (!first_) std::fputs(",\n", file_.get());
  first_ = false;
  return true;
}

void TraceLog::name_row(int row, const char* name) {
  if (!room()) return;
  std::fprintf(file_.get(),
               R"({"ph":"M","name":"thread_name","pid":1,"tid":%d,"args":{"name":"%s"}})", row,
               name);
}

void TraceLog::work(int row, const char* what, const char* model, double began_s, double ended_s,
                    int batch, int units) {
  if (!room()) return;
  std::fprintf(file_.get(),
               R"({"ph":"X","name":"%s","pid":1,"tid":%d,"ts":%.3f,"dur":%.3f,)"
               R"("args":{"model":"%s","batch":%d,"units":%d}})",
               what, row, micros(began_s), (ended_s - began_s) * 1e6, model, batch, units);
}

void TraceLog::request_began(uint64_t id, double at_s) {
  if (!room()) return;
  std::fprintf(file_.get(),
               R"({"ph":"b","cat":"request","name":"request","id":%llu,"pid":1,"ts":%.3f})",
               static_cast<unsigned long long>(id), micros(at_s));
}

void TraceLog::request_moment(uint64_t id, const char* what, double at_s) {
  if (!room()) return;
  std::fprintf(file_.get(), R"({"ph":"n","cat":"request","name":"%s","id":%llu,"pid":1,"ts":%.3f})",
               what, static_cast<unsigned long long>(id), micros(at_s));
}

void TraceLog::request_ended(uint64_t id, const char* reason, double at_s) {
  if (!room()) return;
  std::fprintf(file_.get(),
               R"({"ph":"e","cat":"request","name":"request","id":%llu,"pid":1,"ts":%.3f,)"
               R"("args":{"reason":"%s"}})",
               static_cast<unsigned long long>(id), micros(at_s), reason);
}

}  // namespace syrinx
