package run

import (
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/internal/litmus/x86test"
	"kpsim/internal/testkit/thorough"
	"kpsim/sim"
	"kpsim/smp"
)

// search runs a test under a model.
func search(t require.TestingT, name, text string, m Memory) *Result {
	c, err := x86test.Parse(name, text)
	require.NoError(t, err)
	p, err := NewX86(c)
	require.NoError(t, err)
	r, err := Search(p, Options{Memory: m})
	require.NoError(t, err)
	require.True(t, r.Complete)
	return r
}

// texts are the outcomes of a result.
func texts(r *Result) []string {
	var s []string
	for _, o := range r.Outcomes {
		s = append(s, canonical(o.Text))
	}
	slices.Sort(s)
	return s
}

// drawPlan draws a program: a few threads of a few instructions.
func drawPlan(t *rapid.T) *plan {
	p := &plan{locs: rapid.IntRange(1, 3).Draw(t, "locations"), regs: 2}
	threads := rapid.IntRange(2, 3).Draw(t, "threads")
	for range threads {
		p.threads = append(p.threads, rapid.SliceOfN(rapid.Custom(func(t *rapid.T) action {
			return action{
				what: rapid.SampledFrom([]string{"store", "store", "load", "load", "keep", "fence", "xchg", "lockadd",
					"add"}).
					Draw(t, "what"),
				loc: rapid.IntRange(0, p.locs-1).Draw(t, "location"),
				reg: rapid.IntRange(0, p.regs-1).Draw(t, "register"),
				val: rapid.IntRange(1, 3).Draw(t, "value"),
			}
		}), 1, 6-threads).Draw(t, "thread"))
	}
	return p
}

// TestDrawn: of drawn programs the machine has the outcomes that the abstract machine
// has, no more and no fewer, in both dialects.
func TestDrawn(t *testing.T) {
	for _, m := range models {
		weaker := 0
		rapid.Check(t, func(t *rapid.T) {
			p := drawPlan(t)
			want := slices.Sorted(maps.Keys(p.outcomes(m)))
			d := rapid.SampledFrom([]x86test.Dialect{x86test.ATT, x86test.Intel}).Draw(t, "dialect")
			text := p.text(d)
			require.Equal(t, want, texts(search(t, "drawn", text, m)), "under %s: %s", m, text)
			if m != SC && len(p.outcomes(SC)) < len(want) {
				weaker++
			}
		})
		if m != SC {
			require.NotZero(t, weaker, "no program tells %s from sc", m)
		}
	}
}

// every is a chooser that runs all schedules one after another: no state is merged.
type every struct {
	picks, of []int
	at        int
}

// Choose implements sim.Chooser.
func (e *every) Choose(p *sim.Point) (pick, hold int) {
	if e.at == len(e.picks) {
		e.picks, e.of = append(e.picks, 0), append(e.of, p.N)
	}
	e.at++
	return e.picks[e.at-1], 0
}

// next goes on to the next schedule, if there is one.
func (e *every) next() bool {
	for len(e.picks) > 0 {
		n := len(e.picks) - 1
		if e.picks[n]++; e.picks[n] < e.of[n] {
			e.at = 0
			return true
		}
		e.picks, e.of = e.picks[:n], e.of[:n]
	}
	return false
}

// TestEvery: running each schedule for itself shows the same outcomes as the search.
func TestEvery(t *testing.T) {
	for i, text := range small {
		for _, m := range models {
			if i == 0 && m == TSO && !thorough.Set() {
				continue // 616,902 schedules, 15 s
			}
			c, err := x86test.Parse("small", text)
			require.NoError(t, err)
			p, err := NewX86(c)
			require.NoError(t, err)
			h, err := newHarness(p, m)
			require.NoError(t, err)
			all := make(map[string]bool)
			e := &every{}
			runs := 0
			for more := true; more; more = e.next() {
				end, err := h.run(e)
				require.NoError(t, err)
				require.Equal(t, smp.Passed, end)
				s, _, _ := p.Outcome(h.m)
				all[canonical(s)] = true
				if runs++; runs > 3_000_000 {
					t.Fatal("too many schedules")
				}
			}
			h.m.Close()
			require.Equal(t, slices.Sorted(maps.Keys(all)), texts(search(t, "small", text, m)))
			t.Logf("%s: %d schedules", m, runs)
		}
	}
}

// small are tests of which each schedule can be run.
var small = []string{
	"X86_64 SB\n{}\nP0|P1;\nmovl $1,(x)|movl $1,(y);\nmovl (y),%eax|movl (x),%eax;\nexists (0:rax=0 /\\ 1:rax=0)",
	"X86_64 RMW\n{}\nP0|P1;\nincl (x)|lock incl (x);\n|movl (x),%eax;\nexists ([x]=1 /\\ 1:rax=0)",
	"X86 jump\n{}\nP0|P1;\nMOV [x],$1|MOV EAX,[x];\n|CMP EAX,$0;\n|JE L;\n|MOV [y],$1;\n|L:;\nexists (y=1)",
}

// models are those that the tests compare under.
var models = []Memory{SC, TSO}

// shared is the folder of judged tests beside the sources.
func shared(t *testing.T) string {
	dir, err := filepath.Abs("../../../../shared/litmus")
	require.NoError(t, err)
	if _, err := os.Stat(dir); err != nil {
		t.Skip("there is no folder ../shared/litmus beside the sources")
	}
	return dir
}

// verdict says what was seen, as such tests' readers do.
func verdict(r *Result) string {
	if slices.ContainsFunc(r.Outcomes, func(o Outcome) bool { return o.Holds }) {
		return "Sometimes"
	}
	return "Never"
}

// TestShared: the hundred tests that herd7 has judged, under tso as it did, and under sc as
// the abstract machine does. What they may cost is counted in states of the machine, which are the same
// on every computer.
func TestShared(t *testing.T) {
	dir := shared(t)
	f, err := os.Open(filepath.Join(dir, "x86.csv"))
	require.NoError(t, err)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	states := 0
	for _, row := range rows[1:] {
		text, err := os.ReadFile(filepath.Join(dir, "x86", row[0]+".litmus"))
		require.NoError(t, err)
		states += checkFile(t, row[0], string(text), row[1])
	}
	t.Logf("%d tests have %d states", len(rows)-1, states)
	require.Less(t, states, 160_000) // 148,020 are needed
}

// checkFile runs a test under each model. want is the verdict under tso, "" if there is none. It returns how
// many states of the machine the searches had.
func checkFile(t *testing.T, name, text, want string) (states int) {
	t.Helper()
	p, ok := planOf(text)
	for _, m := range models {
		r := search(t, name, text, m)
		states += r.States
		if m == TSO && want != "" {
			require.Equal(t, want, verdict(r), "%s under tso", name)
		}
		if ok {
			seen := p.seen(t, text, m)
			require.Equal(t, seen, texts(r), "%s under %s", name, m)
		}
	}
	return states
}

// seen are the plan's outcomes, of what the test shows.
func (p *plan) seen(t *testing.T, text string, m Memory) []string {
	c, err := x86test.Parse("", text)
	require.NoError(t, err)
	shown := make(map[string]bool)
	for i := range c.Seen {
		shown[strings.TrimSuffix(canonical(c.Seen[i].Name+"="), "=")] = true
	}
	all := make(map[string]bool)
	for s := range p.outcomes(m) {
		var parts []string
		for _, part := range strings.Fields(s) {
			if name, _, _ := strings.Cut(part, "="); shown[name] {
				parts = append(parts, part)
			}
		}
		all[strings.Join(parts, " ")] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// TestCatalogue: the tests of herd7's own catalogue, whose folder KPSIM_LITMUS_X86 names
// (github.com/herd/herdtools7, catalogue), by its kinds.txt where there is one, and by the
// abstract machine.
func TestCatalogue(t *testing.T) {
	dir := os.Getenv("KPSIM_LITMUS_X86")
	if dir == "" {
		t.Skip("KPSIM_LITMUS_X86 names no folder of tests")
	}
	n := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".litmus" {
			return err
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if l := x86test.Language(string(text)); l != "X86" && l != "X86_64" {
			return nil
		}
		if _, err := x86test.Parse(path, string(text)); err != nil {
			t.Logf("refused: %v", err)
			return nil
		}
		n++
		checkFile(t, path, string(text), kindOf(t, path))
		return nil
	}))
	require.NotZero(t, n)
	t.Logf("%d tests", n)
}

// kindOf is what the file kinds.txt beside a test says of it.
func kindOf(t *testing.T, path string) string {
	kinds, err := os.ReadFile(filepath.Join(filepath.Dir(path), "kinds.txt"))
	if err != nil {
		return ""
	}
	name := strings.TrimSuffix(filepath.Base(path), ".litmus")
	for _, line := range strings.Split(string(kinds), "\n") {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			want, ok := map[string]string{"Allow": "Sometimes", "Forbid": "Never"}[f[1]]
			require.True(t, ok, line)
			return want
		}
	}
	require.Fail(t, fmt.Sprintf("kinds.txt has no %s", name))
	return ""
}
