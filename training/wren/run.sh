#!/usr/bin/env bash
# Makes the built-in text model from its sources: tokenizer, training, the checkpoint voices/wren. A stopped run
# continues where it was; more minutes than before improve a finished model.
#
#   training/wren/run.sh [WORK_DIR]           WREN_MIN=120: minutes of training, all calls together
#   training/wren/evaluate.py build/release/syrinx          shares of right answers, for the model card
#
# Needs wordnet-base from Debian (or WORDNET=DIR with its files), and a PYTHON that has
# torch >= 2.4, tokenizers >= 0.20, safetensors and numpy (pip; Debian 12 has no tokenizers).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=${1:-$here/../work/wren}
python=${PYTHON:-python3}
export WORDNET=${WORDNET:-/usr/share/wordnet} OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
# Avoids page faults of freed memory, which would cost time.
export MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=4000000000
[ -e "$WORDNET/data.noun" ] || { echo "missing package: run apt-get install wordnet-base" >&2; exit 2; }
"$python" -c 'import torch, tokenizers, safetensors' ||
  { echo "missing packages: run pip install torch tokenizers safetensors numpy" >&2; exit 2; }
mkdir -p "$work"
[ -e "$work/tokenizer.json" ] || "$python" "$here/tokenizer.py" "$work/tokenizer.json"
nice -n 5 "$python" "$here/train.py" "$work/tokenizer.json" "$work/wren.pt" "${WREN_MIN:-120}"
"$python" "$here/export.py" "$work/tokenizer.json" "$work/wren.pt" "$here/../../voices/wren"
