# The functions that run.sh and own_voice.sh share. Source this file with $work set; it changes to $work.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
python=${PYTHON:-/usr/bin/python3}
cores=$(env -u OMP_NUM_THREADS nproc)
# One thread trains fastest on few cores. Page faults of freed memory would cost half the time.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=4000000000
export PYTHONPATH=$here${PYTHONPATH:+:$PYTHONPATH} FINCH_TRAINING=$here
export SYRINX=${SYRINX:-$root/build/release/syrinx}  # speaks with Kokoro

missing=()
need() {  # usage: need PACKAGE FILE_OR_PROGRAM
  [ -e "$2" ] || command -v "$2" >/dev/null || missing+=("$1")
}
need_all() {  # reports what is missing for both recipes, and for earlier calls of need()
  need g++ g++
  need flite1-dev /usr/include/flite/flite.h
  need festvox-us-slt-hts /usr/share/festival/voices/us/cmu_us_slt_arctic_hts
  need libhtsengine-dev /usr/include/HTS_engine.h
  need libswresample-dev "$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null | sed 's|^|/usr/include/|')/libswresample"
  # Without this variable, Debian's PyTorch multiplies ten times more slowly.
  [ -n "${PYTHON:-}" ] || need libopenblas0 "/usr/lib/$(uname -m)-linux-gnu/libopenblas.so.0"
  "$python" -c 'import torch, numpy, scipy' 2>/dev/null ||
    missing+=(python3-torch python3-numpy python3-scipy)
  [ ${#missing[@]} = 0 ] && return
  echo "missing packages: run apt-get install ${missing[*]}" >&2
  exit 2
}

step() {  # usage: step RESULT COMMAND...; runs the command unless its result is complete
  local result=$1; shift
  [ -e "$result.done" ] && return
  echo "== $(date +%T) $result"
  "$@"
  touch "$result.done"
}

build_synth() {
  g++ -std=c++20 -O3 -march=native -I"$root/src" -I"$here" "$here"/{synth,teacher,flite_teacher,hts_teacher,process_teacher,hts_label,vocoder}.cc \
    "$root"/src/{families/finch/phone_stream,families/finch/questions,audio/resampler,audio/hann_resampler,base/check,base/error}.cc -o synth -lflite_cmu_us_slt -lflite_cmu_us_rms -lflite_cmu_us_awb -lflite_cmu_us_kal16 \
    -lflite_usenglish -lflite_cmulex -lflite -lHTSEngine -lswresample -lavutil -lm
}

cd "$work"
mkdir -p audio
