#include "ears/pocketsphinx_library.h"

#include <dlfcn.h>

#include <cstdio>

#include "base/check.h"
#include "base/error.h"

namespace syrinx {
namespace {

template <typename Function>
void bind(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function == nullptr) {
    throw LoadError(concat("this PocketSphinx has no ", name, "(): ", dlerror()));
  }
}

void* open_library(const char* name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }

}  // namespace

std::shared_ptr<const PocketSphinxLibrary> PocketSphinxLibrary::open() {
  const std::shared_ptr<PocketSphinxLibrary> out(new PocketSphinxLibrary);
  out->base_ = open_library("libsphinxbase.so.3");
  out->sphinx_ =
      open_library(out->base_ != nullptr ? "libpocketsphinx.so.3" : "libpocketsphinx.so.5");
  if (out->sphinx_ == nullptr) {
    throw LoadError(concat("PocketSphinx is not installed (", dlerror(),
                           "); on Debian: apt install libpocketsphinx3 pocketsphinx-en-us "
                           "(newer systems have libpocketsphinx5)"));
  }
  void* const sphinx = out->sphinx_;
  void* const base = out->base_ != nullptr ? out->base_ : sphinx;
  bind(sphinx, "ps_init", out->ps_init);
  bind(sphinx, "ps_free", out->ps_free);
  bind(sphinx, "ps_get_logmath", out->ps_get_logmath);
  bind(sphinx, "ps_start_stream", out->ps_start_stream);
  bind(sphinx, "ps_start_utt", out->ps_start_utt);
  bind(sphinx, "ps_process_raw", out->ps_process_raw);
  bind(sphinx, "ps_end_utt", out->ps_end_utt);
  bind(sphinx, "ps_get_hyp", out->ps_get_hyp);
  bind(sphinx, "ps_seg_iter", out->ps_seg_iter);
  bind(sphinx, "ps_seg_next", out->ps_seg_next);
  bind(sphinx, "ps_seg_word", out->ps_seg_word);
  bind(sphinx, "ps_seg_frames", out->ps_seg_frames);
  bind(sphinx, "ps_seg_prob", out->ps_seg_prob);
  bind(base, "logmath_exp", out->logmath_exp);
  out->version() == 3 ? out->bind_3() : out->bind_5();
  // Without this call, the library writes its log to the standard error.
  void (*set_log)(std::FILE*) = nullptr;
  bind(base, "err_set_logfp", set_log);
  set_log(nullptr);
  return out;
}

void PocketSphinxLibrary::bind_3() {
  bind(sphinx_, "ps_args", ps_args);
  bind(sphinx_, "ps_get_feat", ps_get_feat);
  bind(sphinx_, "ps_get_in_speech", ps_get_in_speech);
  bind(base_, "cmd_ln_init", cmd_ln_init);
  bind(base_, "cmd_ln_free_r", cmd_ln_free_r);
}

void PocketSphinxLibrary::bind_5() {
  bind(sphinx_, "ps_config_init", ps_config_init);
  bind(sphinx_, "ps_config_set_str", ps_config_set_str);
  bind(sphinx_, "ps_config_free", ps_config_free);
  bind(sphinx_, "ps_get_cmn", ps_get_cmn);
  bind(sphinx_, "ps_set_cmn", ps_set_cmn);
  bind(sphinx_, "ps_endpointer_init", ps_endpointer_init);
  bind(sphinx_, "ps_endpointer_free", ps_endpointer_free);
  bind(sphinx_, "ps_endpointer_in_speech", ps_endpointer_in_speech);
  bind(sphinx_, "ps_endpointer_process", ps_endpointer_process);
  bind(sphinx_, "ps_endpointer_end_stream", ps_endpointer_end_stream);
  bind(sphinx_, "ps_endpointer_speech_start", ps_endpointer_speech_start);
}

PocketSphinxLibrary::~PocketSphinxLibrary() {
  if (sphinx_ != nullptr) dlclose(sphinx_);
  if (base_ != nullptr) dlclose(base_);
}

}  // namespace syrinx
