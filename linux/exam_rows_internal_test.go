package linux

import (
	"compress/gzip"
	"encoding/csv"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp"
	"kpsim/smp/arch"
)

// The rows of kprobes/rules/testdata are what real kernels answered (its README has
// the columns).

const examDir = "../kprobes/rules/testdata"

// readExam reads a file of rows.
func readExam(t testing.TB, path string) [][]string {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	c := csv.NewReader(z)
	c.FieldsPerRecord = -1
	rows, err := c.ReadAll()
	require.NoError(t, err)
	return rows[1:]
}

// A code is a function of the recorded modules.
type code struct {
	name  string
	at    arch.Addr
	bytes []byte
}

// A module is functions that were there at the same time.
type module struct {
	away  arch.Addr // how far it is from where it was recorded
	codes []code
	named map[string]*code
}

// readModules reads the functions of a set: of one module after the other, where one
// begins again at addresses that the last one had. Those that jump to the kernel lie as
// far from where they were as the kernel does; the others lie near the slots, as modules
// do, so that the same displacements fit.
func readModules(t testing.TB, dir, set string) (list []module) {
	end := ^arch.Addr(0)
	for _, r := range readExam(t, filepath.Join(dir, set+"_bytes.csv.gz")) {
		b, err := hex.DecodeString(r[3])
		require.NoError(t, err)
		at := arch.Addr(hexadecimal(t, r[1]))
		if at < end {
			away := smp.ExecBase - 1<<20 - at&^(page-1)
			switch {
			case filepath.Base(dir) == dir386: // all is in reach there, and the kernel where it was
				away = 0
			case set == "hand":
				away = Moved
			}
			list = append(list, module{away: away, named: make(map[string]*code)})
		}
		end = at + arch.Addr(len(b))
		m := &list[len(list)-1]
		at += m.away
		m.codes = append(m.codes, code{r[0], at, b})
		m.named[r[0]] = &code{r[0], at, b}
	}
	return list
}

// A verdict is what is known of one probe.
type verdict struct {
	errno, delta, isize     int
	opt, emul, aggr, ftrace bool
	off                     bool
	first                   byte // what is at the probe: int3, a jump, or as it was
	slot                    arch.Addr
	copied                  []byte // what stands there
}

// A question is a row: one probe, or two that are d bytes apart.
type question struct {
	function string
	offset   int
	d        int
	want     []verdict
}

// throughFtrace reports whether a probe of the row goes through ftrace.
func (q *question) throughFtrace() bool {
	for i := range q.want {
		if q.want[i].ftrace {
			return true
		}
	}
	return false
}

// readQuestions reads the rows of a kind.
func readQuestions(t testing.TB, path string) []question {
	var list []question
	for _, r := range readExam(t, path) {
		q := question{function: r[0], offset: decimal(t, r[2]), want: []verdict{parseVerdict(t, r[3:])}}
		if len(r) > 15 && r[16] != "" {
			q.d, q.want = decimal(t, r[15]), append(q.want, parseVerdict(t, r[16:]))
		}
		list = append(list, q)
	}
	return list
}

// parseVerdict reads the columns of a probe, of which the first is errno.
func parseVerdict(t testing.TB, r []string) (v verdict) {
	v = verdict{
		errno: decimal(t, r[0]), opt: r[1] == "1", ftrace: r[2] == "1", emul: r[4] == "1", isize: decimal(t, r[5]),
		aggr: r[6] == "1", off: r[7] == "1", delta: decimal(t, r[8]),
	}
	mem, err := hex.DecodeString(r[9])
	require.NoError(t, err)
	if len(mem) > 0 {
		v.first = mem[0]
	}
	v.slot = arch.Addr(hexadecimal(t, r[10]))
	v.copied, err = hex.DecodeString(r[11])
	require.NoError(t, err)
	return v
}

func decimal(t testing.TB, s string) int {
	if s == "" {
		return 0
	}
	n, err := strconv.Atoi(s)
	require.NoError(t, err)
	return n
}

func hexadecimal(t testing.TB, s string) uint64 {
	if s == "" {
		return 0
	}
	n, err := strconv.ParseUint(s, 16, 64)
	require.NoError(t, err)
	return n
}

// setOf returns the set and the kind that a file of rows is of.
func setOf(path string) (set, kind string) {
	set, kind, _ = strings.Cut(strings.TrimSuffix(filepath.Base(path), ".csv.gz"), "_")
	return set, kind
}
