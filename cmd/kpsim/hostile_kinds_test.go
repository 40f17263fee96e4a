package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
)

// traceCommands read a trace; those that are said more often are more often given one.
var traceCommands = strings.Split(strings.TrimSpace(strings.Repeat(`replay $F
export --to json $F
check $F
`, 8)+strings.Repeat(`replay --json $F
replay --all $F
export --to ftrace $F
export --to chrome -o out.txt $F
export --to litmus -o out.txt $F
export --to litmus --words x,saw $F
export --to columns -o out.txt $F
check --json $F
rerecord $F
explore --runs 1 second-instruction
`, 3)+`view --html out.html $F
explain --runs 3 $F
explain --runs 3 --json $F
fmt --check $F
fmt $F
disasm $F victim
check --html out.html $F
run $F
explore --runs 1 $F
merge $F
shrink --force --out out.kps $F`), "\n")

// hostileKinds are the kinds of file that kpsim reads.
func hostileKinds(t *testing.T) []*hostileKind {
	read := func(patterns ...string) (list [][]byte) {
		for _, p := range patterns {
			paths, err := filepath.Glob(p)
			require.NoError(t, err)
			for _, path := range paths {
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				list = append(list, data)
			}
		}
		require.NotEmpty(t, list, patterns)
		return list
	}
	kps := read("../../traces/corpus/*.kps", "../../traces/corpus/matrix/*.kps")
	objects := read("../../internal/scenario/library/*.o", "../../internal/scenario/testdata/*.ko", "testdata/mine/*.o")
	var programs [][]byte
	for _, name := range library.Names() {
		src, err := library.Source(name)
		require.NoError(t, err)
		programs = append(programs, src)
	}
	section := func(name string) func(*rand.Rand, [][]byte) []byte {
		return func(r *rand.Rand, seeds [][]byte) []byte { return mutateSection(r, seeds, name) }
	}
	return []*hostileKind{
		{"trace", ".kps", kps, mutateText, traceCommands},
		{"schedule", ".kps", kps, section("schedule"), traceCommands},
		{"verdict", ".kps", kps, section("verdict"), traceCommands},
		{"origin", ".kps", kps, section("origin"), traceCommands},
		{"scenario", ".kps", kps, section("scenario.star"), traceCommands},
		{"share", ".json", shares(t), mutateShare, []string{"merge $F", "merge --json $F"}},
		{"object", ".o", objects, mutateBytes, []string{"check $F", "check --json $F", "check --every-byte --json $F",
			"check --html out.html $F", "disasm $F victim"}},
		{"module", ".ko", objects, mutateBytes, []string{"check $F", "check --json $F", "disasm $F init_module"}},
		{"hex", ".kps", kps, mutateHex, traceCommands},
		{"starlark", ".star", programs, mutateText, []string{"check $F", "run $F", "replay $F"}},
		{"litmus", ".litmus", read("testdata/litmus/*.litmus"), mutateText,
			[]string{"litmus --states 2000 $F", "litmus --states 2000 --explain $F", "litmus --states 2000 --json $F"}},
		{"noise", ".json", [][]byte{[]byte(noiseSeed)}, mutateText,
			[]string{"overhead --noise --noise-file $F --probe k --machine pentium-m/i386 --runs 2 --hits 30"}},
		{"figures", ".csv", read("../../internal/eval/overhead/figures.csv"), mutateText,
			[]string{"overhead calibrate $F", "overhead --profile $F"}},
	}
}

const noiseSeed = `{"run_cv":0.002,"jitter_cv":0.004,"misses_per_access":0.002,"miss_nsec":100,
"miss_log_sd":0.4,"ticks_per_sec":1000,"tick_nsec":3000,"tick_log_sd":0.5,
"smis_per_sec":10,"smi_nsec":100000,"smi_log_sd":0.3}
`

// shares are result files, of explorations by this program.
func shares(t *testing.T) (list [][]byte) {
	dir := t.TempDir()
	for _, words := range [][]string{
		{"explore", "torn-jump", "--runs", "60", "--out", "a"},
		{"explore", "jump-label-flip", "second-instruction", "--runs", "20", "--out", "b"},
	} {
		words[len(words)-1] = filepath.Join(dir, words[len(words)-1])
		var out bytes.Buffer
		run(append(words, "--traces", dir), &out, &out)
		data, err := os.ReadFile(words[len(words)-1])
		require.NoError(t, err, out.String())
		list = append(list, data)
	}
	return list
}

// mutateShare changes a share, and mostly makes its checksum fit again.
func mutateShare(r *rand.Rand, seeds [][]byte) []byte {
	data := mutateText(r, seeds)
	body := bytes.LastIndexByte(bytes.TrimSuffix(data, []byte("\n")), '\n') + 1
	if r.IntN(10) == 0 || body == 0 {
		return data
	}
	sum := sha256.Sum256(data[:body])
	return fmt.Appendf(bytes.Clone(data[:body]), "{\"sha256\":\"%s\"}\n", hex.EncodeToString(sum[:]))
}

// mutateSection changes one section of a trace only.
func mutateSection(r *rand.Rand, seeds [][]byte, name string) []byte {
	data := seeds[r.IntN(len(seeds))]
	mark := []byte("-- " + name + " --\n")
	from := bytes.Index(data, mark) + len(mark)
	to := len(data)
	if n := bytes.Index(data[from:], []byte("\n-- ")); n >= 0 {
		to = from + n + 1
	}
	other := seeds[r.IntN(len(seeds))]
	mutated := mutateText(r, [][]byte{data[from:to], other})
	return bytes.Join([][]byte{data[:from], mutated, []byte("\n"), data[to:]}, nil)
}

// mutateHex changes the bytes of a function.
func mutateHex(r *rand.Rand, seeds [][]byte) []byte {
	data := bytes.Clone(seeds[r.IntN(len(seeds))])
	from := bytes.Index(data, []byte(`hex = "`)) + len(`hex = "`)
	for range 1 + r.IntN(8) {
		at := from + r.IntN(120)
		if at < len(data) && strings.IndexByte("0123456789abcdef", data[at]) >= 0 {
			data[at] = "0123456789abcdef"[r.IntN(16)]
		}
	}
	return data
}

// mutateBytes flips bits, cuts and splices.
func mutateBytes(r *rand.Rand, seeds [][]byte) []byte {
	data := bytes.Clone(seeds[r.IntN(len(seeds))])
	for range 1 + r.IntN(2)*r.IntN(6) {
		if len(data) == 0 {
			break
		}
		at := r.IntN(len(data))
		if r.IntN(2) == 0 { // headers are where most is decided
			at = r.IntN(min(len(data), 64+64*r.IntN(8)))
		}
		switch r.IntN(7) {
		case 0, 1, 2:
			data[at] ^= 1 << r.IntN(8)
		case 3:
			n := min(1<<r.IntN(4), len(data)-at)
			fill := []byte{0, 0xff, 0x7f, 0x80}[r.IntN(4)]
			for i := range n {
				data[at+i] = fill
			}
		case 4:
			data = data[:at]
		case 5:
			other := seeds[r.IntN(len(seeds))]
			data = append(data[:at], other[r.IntN(len(other)):]...)
		case 6:
			n := min(r.IntN(200), len(data)-at)
			data = append(data[:at+n:at+n], data[at:]...)
		}
	}
	return data
}

// inserted are what strangers write.
var inserted = []string{
	"18446744073709551615", "9223372036854775808", "-9223372036854775809", "4294967296", "1073741824", "2147483647",
	"0x7fffffffffffffff", "1e308", "-1", "0",
	"99999999999999999999999999", "\x1b[2J\x1b[31m", "\x1b]0;title\a", "\r", "\x00", "\x7f", "\u009b31m", "\u202eevil",
	"\u2066", "\u200f", "\u061c", "\xff\xfe", "\xc3",
	`"\x1b[31m\u202e"`, `"\u009b2J"`, "/dev/zero", "trip.fifo", "../trip.fifo", "./trip.txt", "/dev/tty",
	"../../../../etc/passwd", "--out=trip", "-o", "$(touch trip)", "`id`", "'; rm x #",
	`elf("/dev/zero")`, "\no = elf(\"trip.fifo\")\n", "\nx = elf(\"/proc/kmsg\")\n",
	"\nfor i in range(1000000000): pass\n", `"a" * 999999999`,
	strings.Repeat("[", 20000), strings.Repeat("(", 100000), strings.Repeat("[[],", 3000), strings.Repeat("-", 50000),
	strings.Repeat("a", 300000),
	"\n-- schedule --\n", "\n-- scenario.star --\n", "-- x --", "\nscenario file: ../trip.fifo\n",
	"\nscenario file: --out=x.star\n", "\nmutant: no-stop\n", "\nfetch: stale\n", "\nscenario checksum: 00\n",
	"\nmachine(steps = 1073741824, cpus = 64)\n", "steps = 1073741824, ", "repeat = 1000000, ", "cpus = 64, ",
	"at_most = 1000, ", "{", "}", "null", `{"a":`, "NaN", "<script>alert(1)</script>", "</script>", "%s%n%d", "é漢☃",
}

// mutateText changes lines, words and numbers of a text, and sometimes bytes.
func mutateText(r *rand.Rand, seeds [][]byte) []byte {
	if r.IntN(12) == 0 {
		return mutateBytes(r, seeds)
	}
	data := bytes.Clone(seeds[r.IntN(len(seeds))])
	for range 1 + r.IntN(2)*r.IntN(4) { // most of more are refused for the first
		lines := bytes.SplitAfter(data, []byte("\n"))
		i := r.IntN(len(lines))
		other := bytes.SplitAfter(seeds[r.IntN(len(seeds))], []byte("\n"))
		switch r.IntN(9) {
		case 0: // twice
			lines = append(lines[:i:i], append([][]byte{lines[i]}, lines[i:]...)...)
		case 1: // many times
			many := bytes.Repeat(lines[i], 1+r.IntN(3000))
			lines[i] = many
		case 2:
			lines = append(lines[:i:i], lines[i+1:]...)
		case 3:
			j := r.IntN(len(lines))
			lines[i], lines[j] = lines[j], lines[i]
		case 4:
			lines[i] = other[r.IntN(len(other))]
		case 5, 6: // within a line
			at := r.IntN(len(lines[i]) + 1)
			what := inserted[r.IntN(len(inserted))]
			lines[i] = bytes.Join([][]byte{lines[i][:at], []byte(what), lines[i][at:]}, nil)
		case 7, 8: // instead of a number or a word
			lines[i] = replaceWord(r, lines[i])
		}
		data = bytes.Join(lines, nil)
	}
	return data
}

// replaceWord puts something else in the place of a number, or else of a word.
func replaceWord(r *rand.Rand, line []byte) []byte {
	words := bytes.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune(" ,:()=[]\"\n+{}", c) })
	if len(words) == 0 {
		return line
	}
	w := words[r.IntN(len(words))]
	return bytes.Replace(line, w, []byte(inserted[r.IntN(len(inserted))]), 1)
}
