package proof

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/internal/testkit/thorough"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
)

// Functions of a few instructions, which get the address of shared data in rdi, and leave
// what they have read in al, ah and cl: CallEnd has a digest of that.
var heldOps = []struct{ says, hex string }{
	{"movl $1,(%rdi)", "c70701000000"},
	{"movl $2,(%rdi)", "c70702000000"},
	{"movl $1,8(%rdi)", "c7470801000000"},
	{"movb $3,1(%rdi)", "c6470103"},
	{"movb (%rdi),%al", "8a07"},
	{"movb 8(%rdi),%ah", "8a6708"},
	{"movb (%rdi),%cl", "8a0f"},
	{"movb 1(%rdi),%cl", "8a4f01"},
	{"movw (%rdi),%cx", "668b0f"},
	{"addb $5,8(%rdi)", "80470805"},
	{"mfence", "0faef0"},
	{"lock addb $1,(%rdi)", "f0800701"},
	{"xchgb %al,8(%rdi)", "864708"},
	{"push %rax; pop %rcx", "50 59"},
}

// heldFew are those of heldOps of which two functions are likely to read past their stores:
// a store, and loads of what the other one stores.
var heldFew = [2][]int{{0, 1, 3, 5, 5}, {2, 2, 9, 4, 8}}

// drawHeld draws a function, in two thirds of the cases mostly of the few.
func drawHeld(r *sim.Rand, few []int) (code, says string) {
	var b, s strings.Builder
	all := r.N(3) == 0
	for i := range 2 + r.N(3) {
		op := heldOps[r.N(len(heldOps))]
		switch {
		case all || i > 1 && r.N(3) == 0:
		case i == 0:
			op = heldOps[few[r.N(3)]]
		default:
			op = heldOps[few[r.N(len(few))]]
		}
		b.WriteString(op.hex + " ")
		s.WriteString(op.says + "; ")
	}
	return b.String() + "c3", s.String()
}

const heldData = "d = data(\"d\", at = 0xffffffff83000000, hex = \"00000000000000000000000000000000\")\n"

// heldScenario is two tasks, or a timer's handler, that run functions under tso.
func heldScenario(t *testing.T, r *sim.Rand) (sc *scenario.Scenario, says string) {
	f, a := drawHeld(r, heldFew[0])
	g, b := drawHeld(r, heldFew[1])
	rest := heldData + fmt.Sprintf("f = text(\"f\", hex = %q)\ng = text(\"g\", hex = %q)\n", f, g) +
		`task("a", cpu = 0, ops = [call(f, d, changed = True)])` + "\n"
	says = a + " | " + b
	switch r.N(4) {
	case 0:
		says += " | timer: movb $7,8(%rdi)"
		rest += "h = text(\"h\", hex = \"c604250800008307 c3\")\n"
		rest += `task("b", cpu = 1, ops = [call(g, d, changed = True)])` + "\ntimer(cpu = 0, run = h)\n"
	case 1: // on one CPU, with preemption
		rest += `task("b", cpu = 0, ops = [call(g, d, changed = True)])` + "\n"
	default:
		rest += `task("b", cpu = 1, ops = [call(g, d, changed = True)])` + "\n"
	}
	return searchtest.LoadTinier(t, `memory = "tso", patch = "naive"`, rest), says
}

// TestHeldIsPlain: of functions that store, load, fence and lock, drawn, on CPUs that hold
// stores, the runs that Full makes behind a beginning end where those of plain search do, and
// those of States where those of Full do. Where sequential consistency ends, they do, too,
// and not only there.
func TestHeldIsPlain(t *testing.T) {
	t.Parallel()
	var total behindCount
	several, weaker, full, states, n := 0, 0, uint64(0), uint64(0), thorough.Of(20, 150)/searchtest.Slow
	var r sim.Rand
	r.Seed(25, 0)
	for i := range n {
		sc, says := heldScenario(t, &r)
		t.Run(says, func(t *testing.T) {
			if strings.Contains(says, "timer") && strings.Count(says, ";") > 6 {
				thorough.Only(t, "States and Full make tens of thousands of runs of it")
			}
			fullIsPlainBehind(t, sc, "", uint64(i), thorough.Of(5_000, 20_000)/searchtest.Slow, 2, &total)
			ends, last, stats := heldByFull(t, sc)
			reached, by := endsOfStates(t, sc, "")
			sameKeys(t, last, reached, says)
			full, states = full+stats.Runs, states+by.Runs
			sc.Machine.Memory = smp.SC
			few, _, _ := heldByFull(t, sc)
			for e := range few {
				require.NotZero(t, ends[e], "an end that sequential consistency has")
			}
			if len(ends) > 1 {
				several++
			}
			if len(ends) > len(few) {
				weaker++
			}
		})
	}
	t.Logf("%d functions: %d with several ends, %d with more than sequential consistency has; Full made %d runs, States %d; behind beginnings %+v", n, several, weaker, full, states, total)
	require.Greater(t, several, n/4)
	require.NotZero(t, weaker)
	require.Greater(t, total.several, thorough.Of(0, n/10))
}

func heldByFull(t *testing.T, sc *scenario.Scenario) (ends, last map[end]int, stats sched.FullStats) {
	r, err := rig.New(sc, "")
	require.NoError(t, err)
	defer r.Close()
	r.Log.Store = true
	ends, last, _, stats = endsOfFull(t, r, beginning{}, 1_000_000)
	return ends, last, stats
}

// TestHeldStepsCommute is TestStepsCommute of such functions. A function that uses its stack
// is none: what it stores there is held only if something else is, which nothing can tell
// from its taking effect at once.
func TestHeldStepsCommute(t *testing.T) {
	t.Parallel()
	total := new(swapCount)
	var r sim.Rand
	r.Seed(26, 0)
	for i := range thorough.Of(10, 800) / searchtest.Slow {
		if sc, says := heldScenario(t, &r); !strings.Contains(says, "push") {
			t.Run(says, func(t *testing.T) { commute(t, sc, "", uint64(i), 60, false, total) })
		}
	}
	// those of the kernel's and the engine's cells
	eachTinier(t, "tso", func(t *testing.T, i int, sc *scenario.Scenario) {
		commute(t, sc, "", uint64(i), thorough.Of(60, 600)/searchtest.Slow, false, total)
	})
	t.Log(total)
	require.NotZero(t, total.swapped)
}
