// The libraries of PocketSphinx in Debian 12 (libpocketsphinx3 and libsphinxbase3, 5prealpha). They
// are opened at first use, so that the program can be built and started without them. This class
// declares only the C functions that it uses. The libraries' major versions fix their types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace syrinx {

class PocketSphinxLibrary {
 public:
  /// Opens the libraries. Throws LoadError if packages are not installed; the text names them.
  static std::shared_ptr<const PocketSphinxLibrary> open();
  ~PocketSphinxLibrary();
  PocketSphinxLibrary(const PocketSphinxLibrary&) = delete;
  PocketSphinxLibrary& operator=(const PocketSphinxLibrary&) = delete;

  // Opaque types of the library.
  struct Decoder;
  struct Config;
  struct Arguments;
  struct LogMath;
  struct Words;  // iterates over the words of a hypothesis

  /// The library's type cmn_t: the running mean of the cepstra.
  struct CepstralMean {
    float* mean;
    float* variance;
    float* sum;
    int32_t frames;
    int32_t width;
  };
  /// The first fields of the library's type feat_t, up to cmn_struct.
  struct Features {
    int refcount;
    char* name;
    int32_t cepstra;
    int32_t streams;
    uint32_t* stream_widths;
    int32_t window;
    int32_t subvectors;
    uint32_t* subvector_widths;
    int32_t** subvector_rows;
    float* subvector_buffer;
    int32_t subvector_width;
    int mean_kind;
    int32_t variance_normalised;
    int gain_kind;
    void (*compute)();
    CepstralMean* mean;
  };

  const Arguments* (*ps_args)() = nullptr;
  Decoder* (*ps_init)(Config*) = nullptr;
  int (*ps_free)(Decoder*) = nullptr;
  LogMath* (*ps_get_logmath)(Decoder*) = nullptr;
  Features* (*ps_get_feat)(Decoder*) = nullptr;
  int (*ps_start_stream)(Decoder*) = nullptr;
  int (*ps_start_utt)(Decoder*) = nullptr;
  int (*ps_process_raw)(Decoder*, const int16_t*, size_t, int, int) = nullptr;
  int (*ps_end_utt)(Decoder*) = nullptr;
  uint8_t (*ps_get_in_speech)(Decoder*) = nullptr;
  const char* (*ps_get_hyp)(Decoder*, int32_t*) = nullptr;
  Words* (*ps_seg_iter)(Decoder*) = nullptr;
  Words* (*ps_seg_next)(Words*) = nullptr;
  const char* (*ps_seg_word)(Words*) = nullptr;
  void (*ps_seg_frames)(Words*, int*, int*) = nullptr;
  int32_t (*ps_seg_prob)(Words*, int32_t*, int32_t*, int32_t*) = nullptr;
  Config* (*cmd_ln_init)(Config*, const Arguments*, int32_t, ...) = nullptr;
  int (*cmd_ln_free_r)(Config*) = nullptr;
  double (*logmath_exp)(LogMath*, int) = nullptr;

 private:
  PocketSphinxLibrary() = default;
  void* base_ = nullptr;
  void* sphinx_ = nullptr;
};

}  // namespace syrinx
