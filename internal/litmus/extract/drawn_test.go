package extract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/internal/litmus/ctest"
	"kpsim/internal/litmus/run"
	"kpsim/internal/litmus/x86test"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/replay"
	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/smp"
)

// instructions are those of drawn programs, of the word that a register points to: 7, 6 and
// 2 are rdi, rsi and rdx.
var instructions = []func(base, n int) string{
	func(b, n int) string { return fmt.Sprintf("c7 %02x %02x 00 00 00", b, n) }, // movl $n,(b)
	func(b, n int) string { return fmt.Sprintf("c7 %02x 00 00 00 f%x", b, n) },  // a large value
	func(b, _ int) string { return fmt.Sprintf("8b %02x", b) },                  // mov (b),%eax
	func(b, _ int) string { return fmt.Sprintf("8b %02x", 8|b) },                // mov (b),%ecx
	func(b, _ int) string { return fmt.Sprintf("89 %02x", b) },                  // mov %eax,(b)
	func(b, n int) string { return fmt.Sprintf("f0 83 %02x %02x", b, n) },       // lock addl $n,(b)
	func(b, _ int) string { return fmt.Sprintf("f0 0f c1 %02x", b) },            // lock xadd %eax,(b)
	func(b, _ int) string { return fmt.Sprintf("87 %02x", b) },                  // xchg %eax,(b)
	func(b, _ int) string { return fmt.Sprintf("f0 0f b1 %02x", 8|b) },          // lock cmpxchg %ecx,(b)
	func(b, _ int) string { return fmt.Sprintf("ff %02x", b) },                  // incl (b)
	func(_, _ int) string { return "0f ae f0" },                                 // mfence
	func(_, _ int) string { return "f0 83 0c 24 00" },                           // lock orl $0,(%rsp)
	func(_, _ int) string { return "89 44 24 f8 8b 44 24 f8" },                  // to the own stack and back
	// cmp %eax,(b); jne over addl $1,(b)
	func(b, n int) string { return fmt.Sprintf("39 %02x 75 03 83 %02x 01", b, b) },
}

// drawScenario draws a few tasks that load and store three words.
func drawScenario(t *rapid.T) string {
	var b strings.Builder
	cpus := rapid.SampledFrom([]int{2, 2, 2, 3}).Draw(t, "cpus")
	memory := rapid.SampledFrom([]string{"tso", "tso", "tso", "sc"}).Draw(t, "memory")
	fmt.Fprintf(&b, "machine(cpus = %d, memory = %q)\n", cpus, memory)
	for _, w := range words {
		fmt.Fprintf(&b, "%s = data(%q, size = 8)\n", w, w)
	}
	if rapid.Bool().Draw(t, "timer") {
		b.WriteString("timer(cpu = 0)\n")
	}
	among := instructions
	if rapid.Bool().Draw(t, "plain") {
		among = instructions[:3] // stores and loads: more of their runs are weak
	}
	for i := range cpus {
		n := rapid.IntRange(1, 6-cpus).Draw(t, "instructions")
		fmt.Fprintf(&b, "f%d = text(\"f%d\", \"", i, i)
		for range n {
			base := rapid.SampledFrom([]int{7, 6, 2}).Draw(t, "word")
			fmt.Fprintf(&b, "%s ", rapid.SampledFrom(among).Draw(t, "instruction")(base,
				rapid.IntRange(1, 3).Draw(t, "value")))
		}
		b.WriteString("c3\")\n")
		calls := rapid.IntRange(1, 4-cpus).Draw(t, "calls")
		fmt.Fprintf(&b, "task(\"t%d\", cpu = %d, ops = [%s])\n",
			i, i, strings.Join(repeat(fmt.Sprintf("call(f%d, x, y, z, changed = True)", i), calls), ", "))
	}
	return b.String()
}

var words = []string{"x", "y", "z"}

func repeat(s string, n int) (list []string) {
	for range n {
		list = append(list, s)
	}
	return list
}

// replayOf makes one run of a scenario's.
func replayOf(t require.TestingT, text string, s sched.Strategy) *replay.Replay {
	sc, err := lang.Parse("drawn.star", []byte(text))
	require.NoError(t, err, text)
	r, err := rig.New(sc, "")
	require.NoError(t, err, text)
	r.Log.Store = true
	l := sched.NewLabeller(s, r.Machine.Names())
	return &replay.Replay{Rig: r, Run: r.Play(l), Taken: append(replay.Replay{}.Taken, l.Anchors()...)}
}

// holdsUnder reports whether a test's condition holds in a final state.
func holdsUnder(t require.TestingT, text string, m run.Memory) bool {
	found := search(t, text, m)
	require.True(t, found.Complete, text)
	return holds(found)
}

// search runs a test, in either language.
func search(t require.TestingT, text string, m run.Memory) *run.Result {
	var p run.Program
	if x86test.Language(text) == "C" {
		parsed, err := ctest.Parse("exported.litmus", []byte(text))
		require.NoError(t, err, text)
		p, err = run.NewC(parsed, m)
		require.NoError(t, err, text)
	} else {
		parsed, err := x86test.Parse("exported.litmus", text)
		require.NoError(t, err, text)
		p, err = run.NewX86(parsed)
		require.NoError(t, err, text)
	}
	found, err := run.Search(p, run.Options{Memory: m, Most: 100_000})
	require.NoError(t, err, text)
	return found
}

// holds reports whether the condition holds in a final state that was found.
func holds(found *run.Result) bool {
	for i := range found.Outcomes {
		if found.Outcomes[i].Holds {
			return true
		}
	}
	return false
}

// TestDrawn: what a drawn run of a drawn program did can be done, under the model that it was
// run under, and if the run is sequentially consistent without buffers too.
func TestDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawScenario(t)
		s, err := sched.New(rapid.SampledFrom([]string{"random", "sticky", "pct"}).Draw(t, "strategy"),
			sched.Params{Seed: rapid.Uint64Range(0, 1000).Draw(t, "seed"), Length: 100})
		require.NoError(t, err)
		r := replayOf(t, text, s)
		defer r.Rig.Close()
		got, err := Make(r, "drawn.kps", "drawn", nil)
		if err != nil {
			require.ErrorContains(t, err, "share no word")
			return
		}
		memory := run.SC
		if r.Rig.Scenario.Machine.Memory == smp.TSO {
			memory = run.TSO
		}
		require.True(t, holdsUnder(t, got.text, memory), "%s\n%s", text, got.text)
		if !got.weak && memory == run.TSO {
			require.True(t, holdsUnder(t, got.text, run.SC), "%s\n%s", text, got.text)
		}
	})
}
