#!/bin/sh
# Gives mutated files to kpsim's commands: scripts/hostile/README.md.
#
#	scripts/hostile/run.sh [FILES [SEED [KIND]]]
#
# Exit status: 0 all files were handled, 1 some weren't, 2 the build failed.
set -u
cd "$(dirname "$0")/../.." || exit 2
files=${1:-10000} seed=${2:-$(date +%s)} kind=${3:-}
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT INT TERM
go build -o "$dir/kpsim" ./cmd/kpsim && go test -c -o "$dir/hostile" ./cmd/kpsim || exit 2
echo "$files files of each kind, seed $seed"
cd cmd/kpsim && "$dir/hostile" -test.run '^TestHostile$' -test.v -test.timeout 24h \
	-hostile "$files" -hostile-seed "$seed" -hostile-only "$kind" -hostile-binary "$dir/kpsim"
