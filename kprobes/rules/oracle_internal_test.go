package rules

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An answer is a row's answer for one probe.
type answer struct {
	errno, opt, ftrace, emul, size, aggr, delta int
	slot                                        []byte
}

// parseAnswer reads the columns of a probe, of which the first is errno.
func parseAnswer(t testing.TB, r []string) answer {
	return answer{
		errno: number(t, r[0]), opt: number(t, r[1]), ftrace: number(t, r[2]), emul: number(t, r[4]),
		size: number(t, r[5]),
		aggr: number(t, r[6]), delta: number(t, r[8]), slot: bytesOf(t, r[11]),
	}
}

// says returns what the rules answer for the probe of a row: alone, so with the
// slot address that the kernel had.
func says(t testing.TB, j *Judge, v Verdict, r []string) answer {
	if v.Errno != 0 {
		return answer{errno: v.Errno, slot: []byte{}}
	}
	a := answer{delta: v.Delta, size: v.Len, slot: []byte{}}
	if v.Ftrace {
		a.ftrace = 1
		return a
	}
	if v.Emulated {
		a.emul = 1
	}
	if v.Optimizable() {
		a.opt, a.aggr = 1, 1
	}
	slot, ok := j.Slot(nil, &v, address(t, r[10]))
	require.True(t, ok)
	a.slot = slot
	return a
}

// A kind is a kind of question: it adapts the answers for a lone probe. Two probes are
// given by the offset between them, d.
type kind struct {
	name   string
	two    bool
	change func(j *Judge, v Verdict, first, second *answer, d int)
}

// kinds are the recorded kinds. The engine has tests of the effects of two probes; here
// they are these few lines.
var kinds = []kind{
	{"pre", false, func(*Judge, Verdict, *answer, *answer, int) {}},
	{"post", false, func(_ *Judge, _ Verdict, first, _ *answer, _ int) { first.opt = 0 }},
	{"disabled", false, func(_ *Judge, _ Verdict, first, _ *answer, _ int) { first.opt = 0 }},
	{"twosame", true, func(_ *Judge, _ Verdict, first, second *answer, _ int) {
		together(first, second)
	}},
	{"twoprepost", true, func(_ *Judge, _ Verdict, first, second *answer, _ int) {
		together(first, second)
		first.opt, second.opt = 0, 0
	}},
	{"near", true, func(j *Judge, v Verdict, first, second *answer, d int) {
		if first.errno != 0 || second.errno != 0 {
			return
		}
		if v.Delta > 0 && d == v.Delta { // both behind the endbr64
			together(first, second)
			return
		}
		first.opt = 0 // the second lies in its region
	}},
}

// together: two probes share an address, which makes an aggregator.
func together(first, second *answer) {
	if first.errno == 0 && second.errno == 0 {
		first.aggr, second.aggr = 1, 1
	}
}

// TestOracle compares the verdict on every recorded byte with what the kernel
// answered: errno, optimized, through ftrace, emulated, the instruction's
// length, whether an aggregator was made, where the probe went, and every byte
// of the out-of-line copy, its RIP-relative operand included.
func TestOracle(t *testing.T) {
	for _, rec := range recorded {
		for _, dir := range recordings(rec.name) {
			for _, k := range kinds {
				files, err := filepath.Glob(filepath.Join(dir, "*_"+k.name+".csv.gz"))
				require.NoError(t, err)
				for _, file := range files {
					set := strings.TrimSuffix(filepath.Base(file), "_"+k.name+".csv.gz")
					if set == "real" { // their facts are in the object files
						continue
					}
					compare(t, dir, rec.name, rec.kernel, set, k)
				}
			}
		}
	}
}

func compare(t *testing.T, dir, kernel string, k *Kernel, set string, kd kind) {
	rows := readRows(t, dir, set+"_"+kd.name)
	t.Run(kernel+"/"+set+"_"+kd.name, func(t *testing.T) {
		functions := readFunctions(t, dir, set, kernel)
		var j Judge
		agree, differ, functionsSeen := 0, 0, map[string]bool{}
		last := ""
		for _, r := range rows {
			f := functions[r[0]]
			require.NotNil(t, f, r[0])
			if r[0] != last {
				j.Load(k, f)
				last = r[0]
			}
			functionsSeen[r[0]] = true
			offset := number(t, r[2])
			v := j.At(offset)
			want, got := parseAnswer(t, r[3:]), says(t, &j, v, r[3:])
			var want2, got2 answer
			d := 0
			if len(r) > 15 {
				d = number(t, r[15])
				if r[16] != "" {
					want2 = parseAnswer(t, r[16:])
					if offset+d < f.Size {
						got2 = says(t, &j, j.At(offset+d), r[16:])
					}
				}
			}
			if len(r) > 15 || !kd.two {
				kd.change(&j, v, &got, &got2, d)
			}
			if same(got, want) && same(got2, want2) {
				agree++
				continue
			}
			if differ++; differ <= 40 {
				t.Errorf("%s+%d d=%d: % x: %s\n got %s %s\nwant %s %s", f.Name, offset, d,
					f.Code[offset:min(len(f.Code), offset+maxLen)],
					v.Why.In(f.Name), got, got2, want, want2)
			}
		}
		t.Logf("%d rows of %d functions, %d agree", len(rows), len(functionsSeen), agree)
		require.Zero(t, differ, "of %d", len(rows))
	})
}

func same(a, b answer) bool {
	slots := bytes.Equal(a.slot, b.slot)
	a.slot, b.slot = nil, nil
	return slots && fmt.Sprint(a) == fmt.Sprint(b)
}

func (a answer) String() string {
	return fmt.Sprintf("{errno %d opt %d ftrace %d emul %d size %d aggr %d delta %d slot %x}", a.errno, a.opt, a.ftrace,
		a.emul, a.size, a.aggr, a.delta, a.slot)
}
