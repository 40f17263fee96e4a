package explore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario/library"
	"kpsim/internal/search/explore"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/searchtest"
	"kpsim/sched"
	"kpsim/smp/arch"
)

// seen is where functions note what they read from the preemption count.
const seen arch.Addr = 0xffffffff83000000

// reads returns the bytes of a function that notes the count in a place of its own:
// mov %gs:__preempt_count,%ecx; mov %ecx,seen+4n; ret.
func reads(n int) string {
	return fmt.Sprintf("65 8b 0c 25 00 00 80 82 89 0c 25 %02x 00 00 83 c3", 4*n)
}

// noted returns what a function has noted in the run that has just ended.
func noted(r *rig.Rig, n int) uint32 {
	v, _ := r.Machine.Memory().Load(seen+arch.Addr(4*n), 4)
	return uint32(v)
}

// counting has a reader of the count in each kind of context. The parameters of machine() go first.
func counting(machine, entry string) string {
	s := "machine(cpus = 2, optprobes = False, " + machine + ")\ndata(\"seen\", size = 64, at = 0xffffffff83000000)\n"
	for i, name := range []string{"task", "pre", "post", "timer", "nmi", "entry", "ret"} {
		s += fmt.Sprintf("%s_ = text(%q, %q)\n", name, name, reads(i))
	}
	return s + `
f = text("f", "90 90 90 90 90 90 c3")
g = text("g", "90 90 90 90 90 90 c3")
k = kprobe("k", at = f + 1, pre = [call(pre_)], post = [call(post_)])
r = kretprobe("r", at = g, entry = ` + entry + `, handler = [call(ret_)])
timer(cpu = 1, run = timer_)
nmi(cpu = 1, run = nmi_)
task("caller", cpu = 1, ops = [register(k, errno = 0), register(r, errno = 0), call(task_), call(f), call(g), call(task_), unregister(k), unregister(r)])
`
}

// The parts of the count.
const (
	off     = 1 << 31
	hardirq = 1 << 16
	inNMI   = 1<<20 + hardirq
)

// TestCount: the handler of a breakpoint finds in the preemption count what its edition's
// kernels count there, and so do the handlers of steps, returns and interrupts.
func TestCount(t *testing.T) {
	for _, c := range []struct {
		machine   string
		pre, ret  uint32
		noEntries bool
	}{
		{machine: `edition = "2.6"`, pre: 1, ret: 2, noEntries: true},
		{machine: `edition = "4.15"`, pre: 2, ret: 2}, // the lock of the bucket too
		{machine: `edition = "5.14"`, pre: inNMI, ret: 1},
		{machine: `edition = "6.5"`, pre: inNMI, ret: 1},
		{machine: `edition = "6.5", preempt = "voluntary"`, pre: inNMI, ret: 1},
		{machine: `edition = "6.5", preempt = "full"`, pre: inNMI, ret: 1},
		{machine: `edition = "6.9", preempt = "lazy"`, pre: inNMI, ret: 1},
		{machine: `edition = "6.9", memory = "tso"`, pre: inNMI, ret: 1},
		{machine: `edition = "documented"`, pre: inNMI, ret: 1},
		{machine: `quiesce = "sched"`, pre: inNMI, ret: 1},
		{machine: `quiesce = "sched", step = "debug"`, pre: inNMI, ret: 1},
		{machine: `quiesce = "sched", int3_count = "once"`, pre: 1, ret: 1},
	} {
		t.Run(c.machine, func(t *testing.T) {
			entry := "[call(entry_)]"
			if c.noEntries {
				entry = "None"
			}
			r, err := rig.New(searchtest.Load(t, counting(c.machine, entry)), "")
			require.NoError(t, err)
			defer r.Close()
			var fired [2]bool
			for i := range uint64(200) {
				s := sched.NewSticky(sched.Params{Seed: 1, Length: 300})
				s.Begin(i)
				run := r.Run(s)
				s.End(run.Counts.Points)
				require.Nil(t, run.Property, run.Finding.Message)
				require.EqualValues(t, off, noted(r, 0), "a task")
				require.EqualValues(t, off+c.pre, noted(r, 1), "a pre_handler")
				require.EqualValues(t, off+c.pre, noted(r, 2), "a post_handler")
				for n, alone := range map[int]uint32{3: hardirq, 4: inNMI} {
					if v := noted(r, n); v != 0 { // it may come within another
						fired[n-3] = fired[n-3] || v == off+alone
						require.GreaterOrEqual(t, v, off+alone)
					}
				}
				if !c.noEntries {
					require.EqualValues(t, off+c.pre, noted(r, 5), "an entry_handler")
				}
				require.EqualValues(t, off+c.ret, noted(r, 6), "a return handler")
			}
			require.Equal(t, [2]bool{true, true}, fired, "a timer and an NMI above nothing else")
		})
	}
}

// TestCountElsewhere: so does what runs behind a jump, behind ftrace, in a slot, in a fault
// handler, beside what text counts itself, and on i386.
func TestCountElsewhere(t *testing.T) {
	const data = "data(\"seen\", size = 64, at = 0xffffffff83000000)\n"
	first := data + fmt.Sprintf("h = text(\"h\", %q)\n", reads(0))
	nops := "f = text(\"f\", \"90 90 90 90 90 90 c3\")\n"
	site := "f = text(\"f\", \"0f1f440000 90 c3\")\nfentry(f)\nk = kprobe(\"k\", at = f, pre = [call(h)])\n"
	plain := "task(\"caller\", cpu = 1, ops = [register(k, errno = 0), call(f, changed = True), unregister(k)])\n"
	jump := strings.Replace(plain, "call(f", "wait_optimized(), call(f", 1)
	itself := data + fmt.Sprintf("f = text(\"f\", %q)\nk = kprobe(\"k\", at = f, post = [count()])\n", reads(0))
	away := `away = data("away", size = 4096, at = 0xffffffff83010000, away = True)
f = text("f", "8b 04 25 00 00 01 83 c3")
k = kprobe("k", at = f, pre = None, post = [count()], fault = [call(h)])
`
	// incl %gs:__preempt_count; incw of it; mov; decl; decl; ret
	raises := data + `h = text("h", "65 ff 04 25 00 00 80 82 65 66 ff 04 25 00 00 80 82 65 8b 0c 25 00 00 80 82 89 0c 25 00 00 00 83 65 ff 0c 25 00 00 80 82 65 ff 0c 25 00 00 80 82 c3")
after = text("after", "` + reads(1) + `")
`
	for _, c := range []struct {
		name, machine, text string
		want                []uint32
	}{
		{"detour", `edition = "6.5"`, first + nops + "k = kprobe(\"k\", at = f, pre = [call(h)])\n" + jump,
			[]uint32{off + 1}},
		{"detour 4.15", `edition = "4.15"`, first + nops + "k = kprobe(\"k\", at = f, pre = [call(h)])\n" + jump,
			[]uint32{off + 1}},
		{"ftrace", `edition = "6.9"`, first + site + plain, []uint32{off + 1}},
		{"ftrace 4.15", `edition = "4.15"`, first + site + plain, []uint32{off + 1}},
		{"slot", `edition = "6.5"`, itself + plain, []uint32{off}},
		{"slot 5.8", `edition = "6.5", step = "debug"`, itself + plain, []uint32{off}},
		{"slot 4.15", `edition = "4.15"`, itself + plain, []uint32{off + 1}},
		{"slot 2.6", `edition = "2.6"`, itself + plain, []uint32{off + 1}},
		{"fault 4.15", `edition = "4.15", optprobes = False`, first + away + plain, []uint32{off + 2}},
		{"fault 2.6", `edition = "2.6"`, first + away + plain, []uint32{off + 2}},
		{"fault 5.8", `edition = "5.14", fault_handlers = True, optprobes = False`, first + away + plain,
			[]uint32{off}},
		{"raised", `edition = "6.5", optprobes = False`, raises + nops +
			"k = kprobe(\"k\", at = f, pre = [call(h), call(after)])\n" + plain,
			[]uint32{off + inNMI + 2, off + inNMI}},
		{"raised by the caller", `edition = "6.5", optprobes = False, memory = "tso"`, first +
			`f = text("f", "65 ff 04 25 00 00 80 82 90 65 ff 0c 25 00 00 80 82 c3")
k = kprobe("k", at = f + 8, pre = [call(h)])
` + plain, []uint32{off + inNMI + 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := rig.New(searchtest.Load(t, "machine(cpus = 2, "+c.machine+")\n"+c.text), "")
			require.NoError(t, err)
			defer r.Close()
			run := r.Run(new(sched.Default))
			require.Nil(t, run.Property, run.Finding.Message)
			for n, want := range c.want {
				require.Equal(t, fmt.Sprintf("%#x", want), fmt.Sprintf("%#x", noted(r, n)))
			}
		})
	}
}

// TestNMIsNest: an NMI that a breakpoint's return lets in runs on top of the first in 2.6, and
// waits in the later editions.
func TestNMIsNest(t *testing.T) {
	sc, err := library.Load("nmi-in-nmi")
	require.NoError(t, err)
	for edition, nests := range map[string]bool{"2.6": true, "4.15": false, "5.14": false, "6.9": false} {
		require.NoError(t, sc.SetEdition(edition))
		res, err := explore.Run(explore.Spec{Scenario: sc, Runs: 300, Seed: 1, Blind: true})
		require.NoError(t, err)
		require.Equal(t, nests, len(res.Broken) > 0, edition)
	}
}
