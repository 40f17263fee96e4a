package native

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch/x86"
)

var record = flag.Bool("native.record", false,
	"write testdata/recorded*.txt anew: on linux/amd64, for 32-bit mode with gcc -m32")

const perRecord = 88 // trials of a form

// recorded are the features of the processor that was recorded: forms that need
// others are compared only where TestNative finds them.
var recorded = map[string]bool{
	"3dnowprefetch": true, "adx": true, "bmi1": true, "bmi2": true, "clflushopt": true, "clwb": true, "cx16": true,
	"fsgsbase": true, "lahf_lm": true,
	"lzcnt": true, "movbe": true, "popcnt": true, "sse4_2": true,
}

// A row is what was recorded of the forms of one opcode, or of one /reg of it.
type row struct {
	name          string
	forms, trials int
	digest        digest
}

func (r row) String() string {
	return fmt.Sprintf("%s: %d forms, %d trials, %016x", r.name, r.forms, r.trials, uint64(r.digest))
}

// opcode names the row that a form belongs to.
func (f *form) opcode() string {
	g := form{mode: f.mode, vex: f.vex, space: f.space, op: f.op, pp: f.pp, group: f.group}
	name := g.String()
	if f.group >= 0 {
		name += fmt.Sprintf(" /%d", f.group)
	}
	return name
}

// rows tries every form of a mode, and sums up how the trials ended. With a
// rival every one must end as on the rival.
func rows(t *testing.T, h *pair, mode x86.Mode) (list []row) {
	at := map[string]int{}
	for _, f := range forms(mode, recorded, map[string]int{}) {
		name := f.opcode()
		i, ok := at[name]
		if !ok {
			i = len(list)
			at[name] = i
			list = append(list, row{name: name})
		}
		got := h.each(f, perRecord, &list[i].digest)
		require.Empty(t, got.diffs, "differs from what is to be recorded")
		list[i].forms++
		list[i].trials += got.ran
	}
	return list
}

// TestRecorded compares every form with what a processor answered: that of a
// host in 64-bit mode, and that of a program built by gcc -m32 in 32-bit mode.
// This works anywhere; on linux/amd64 TestNative says more about a difference.
func TestRecorded(t *testing.T) {
	if raceEnabled() {
		t.Skip("nothing here is concurrent, and it takes minutes under the race detector")
	}
	for mode, name := range []string{x86.Mode64: "testdata/recorded64.txt", x86.Mode32: "testdata/recorded32.txt"} {
		t.Run(fmt.Sprint(32*(2-mode)), func(t *testing.T) {
			if *record {
				rerecord(t, x86.Mode(mode), name)
				return
			}
			h := newPair(new([textSize]byte), nil)
			got := rows(t, h, x86.Mode(mode))
			want := readRows(t, name)
			require.NotEmpty(t, want)
			trials, missing := 0, 0
			for _, r := range got {
				trials += r.trials
				switch w, ok := want[r.name]; {
				case !ok:
					missing++
					t.Errorf("%s isn't recorded: go test ./smp/arch/x86/native -run TestRecorded -native.record",
						r.name)
				case w != r.String():
					t.Errorf("got      %s\nrecorded %s", r, w)
				}
				delete(want, r.name)
			}
			require.Empty(t, want, "recorded, and no longer executed")
			t.Logf("%d opcodes, %d trials", len(got), trials)
		})
	}
}

func readRows(t *testing.T, name string) map[string]string {
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	m := map[string]string{}
	s := bufio.NewScanner(f)
	for s.Scan() {
		line := s.Text()
		for i := len(line) - 1; i >= 0; i-- { // names hold colons
			if line[i] == ':' {
				m[line[:i]] = line
				break
			}
		}
	}
	require.NoError(t, s.Err())
	return m
}
