#!/usr/bin/env bash
# Makes the built-in voice from nothing: sentences, the teachers' speech, codec, speech LM, decoder,
# the voice folder, and its figures with a report to look at and listen to. Each step is skipped when
# its result exists; a training that was stopped goes on from its last checkpoint.
#
#   training/run.sh [WORK_DIR]        minutes of the three trainings: CODEC_MIN, LM_MIN, DECODER_MIN
#
# START=voices/finch begins with the weights of a finished voice instead, which takes less time.
# PYTHON names the Python that has PyTorch; a recent PyTorch trains several times faster than
# Debian 12's. Debian packages: python3-torch python3-numpy python3-scipy flite1-dev g++ dict-jargon
# dict-devil bible-kjv-text wamerican pocketsphinx pocketsphinx-en-us
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
work=$(mkdir -p "${1:-$here/work}" && cd "${1:-$here/work}" && pwd)
python=${PYTHON:-/usr/bin/python3}
start=(${START:+--start "$(realpath "$START")"})
teachers=(slt rms awb kal16)
# One thread trains fastest on few cores; page faults of freed memory would cost half the time.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=4000000000
export PYTHONPATH=$here

step() {  # step RESULT COMMAND...: runs the command unless its result is there and complete
  local result=$1; shift
  [ -e "$result.done" ] && return
  echo "== $(date +%T) $result"
  "$@"
  touch "$result.done"
}
cd "$work"
mkdir -p audio text/part

build_synth() {
  g++ -std=c++20 -O2 -I"$root/src" "$here/synth.cc" "$root/src/families/finch/phone_stream.cc" \
    -o synth -lflite_cmu_us_slt -lflite_cmu_us_rms -lflite_cmu_us_awb -lflite_cmu_us_kal16 \
    -lflite_usenglish -lflite_cmulex -lflite -lm
}
write_text() {  # the sentences to train on go to text/part/TEACHER.NN, 450 each
  "$python" "$here/sentences.py" text
  for teacher in "${teachers[@]}"; do
    split -l 450 -d -a 2 "text/train.$teacher.txt" "text/part/$teacher."
    cp "$here/heldout.txt" "text/part/heldout.$teacher"
    cp "$here/stop.txt" "text/part/stop.$teacher"
  done
  head -n 1 "$here/golden.txt" > text/part/golden.slt
}
speak_part() {  # speak_part SET.TEACHER or TEACHER.NN
  local teacher=${1%.*}
  case $teacher in heldout | stop | golden) teacher=${1#*.} ;; esac
  step "audio/$1" ./synth "$teacher" "audio/$1.pcm" "audio/$1.jsonl" < "text/part/$1"
}
export -f step speak_part
speak_all() { ls text/part | xargs -P "$(nproc)" -I{} bash -ec 'speak_part {}'; }

step synth build_synth
step text write_text
step audio speak_all
step corpus "$python" "$here/corpus.py" corpus audio
step codec.pt "$python" "$here/train_codec.py" corpus codec.pt "${CODEC_MIN:-25}" \
  "${start[@]}" --resume
step lm.pt "$python" "$here/train_lm.py" corpus codec.pt lm.pt "${LM_MIN:-60}" "${start[@]}" --resume
step said.npy "$python" "$here/said_codes.py" corpus lm.pt said.npy
step decoder.pt "$python" "$here/train_decoder.py" corpus codec.pt decoder.pt \
  "${DECODER_MIN:-40}" --said said.npy --resume
step voice "$python" "$here/export.py" lm.pt decoder.pt audio "$root/voices/finch"
step golden "$python" "$here/golden.py" "$root/voices/finch" audio/golden.slt \
  "$root/src/families/finch/golden/finch.safetensors"
"$python" "$here/evaluate.py" "$root/voices/finch" audio --report report.html
