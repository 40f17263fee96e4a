package scenariotest

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/rig"
	"kpsim/kprobes/kpev"
	"kpsim/sched"
	"kpsim/smp"
)

// The kernel's selftests of ftrace that are about probes (tools/testing/selftests/
// ftrace/test.d/kprobe), written anew from what they do, each on four CPUs under
// so many random schedules, with all monitors. There they are shell scripts that
// write to files of tracefs, and wait some seconds for the optimizer.

var everySchedule = flag.Bool("every-schedule", false, "run the expensive tests in as many schedules as the others")

// selftest plays a scenario whose task does the test, while callers on CPUs 1 to 3
// run f for as long as it goes on.
func selftest(t *testing.T, sc *scenario.Scenario, f string, schedules int, look func(w *witness)) {
	t.Helper()
	sc.Machine.CPUs = 4
	for cpu := 1; cpu < 4; cpu++ {
		tk := onCPU(cpu, call(f, uint64(cpu), 2), scenario.Op{Kind: act.Schedule})
		tk.Repeat, tk.Background = 20, true
		sc.Tasks = append(sc.Tasks, tk)
	}
	require.NoError(t, lang.Check(sc))
	rig, err := rig.New(sc, "")
	require.NoError(t, err)
	defer rig.Close()
	w := new(witness)
	rig.Log.Subscribe(w, kpev.ApiReturn, kpev.Handler, kpev.Optimized, kpev.Unoptimized)
	random := sched.NewRandom(sched.Params{Seed: 1, Length: rig.Run(new(sched.Default)).Counts.Points})
	for i := range schedules {
		random.Begin(uint64(i))
		w.events = w.events[:0]
		run := rig.Run(random)
		require.Equal(t, smp.Passed, run.Outcome, "schedule %d: %s %s %v", i, name(run), run.Finding.Message, run.Err)
		look(w)
	}
}

// long is a function of 264 bytes: instructions of 1 to 10 bytes, over and over. It
// returns what its arguments and the rounds come to.
func long() scenario.Text {
	round := []byte{
		0x90,       // nop
		0x31, 0xd2, // xor %edx,%edx
		0x48, 0x89, 0xf8, // mov %rdi,%rax
		0x48, 0x83, 0xc0, 0x11, // add $0x11,%rax
		0xb9, 1, 2, 3, 4, // mov $0x4030201,%ecx
		0x48, 0x81, 0xc1, 9, 8, 7, 0, // add $0x70809,%rcx
		0x48, 0xba, 1, 2, 3, 4, 5, 6, 7, 8, // movabs $…,%rdx
	}
	var code []byte
	for len(code) < 256 {
		code = append(code, round...)
	}
	code = append(code, 0x48, 0x01, 0xc8, 0xc3) // add %rcx,%rax; ret
	return scenario.Text{Name: "fork", At: scenario.TextBase + 0x8000, Code: code}
}

// withLong is a scenario with that function too.
func withLong(t *testing.T, probes []scenario.Probe, ops ...scenario.Op) *scenario.Scenario {
	sc := with(t, probes, task(ops...))
	sc.Texts = append(sc.Texts, long())
	return sc
}

// everyOffset are probes at fork+0 to fork+255, and which of them can be.
func everyOffset(t *testing.T) (probes []scenario.Probe, can []bool) {
	f := long()
	at := offsets(t, &f)
	for off := range 256 {
		probes = append(probes, on(fmt.Sprintf("k%d", off), "fork", off))
		can = append(can, len(at) > 0 && at[0] == off)
		if can[off] {
			at = at[1:]
		}
	}
	return probes, can
}

// TestSelftestInsnBoundary is kprobe_insn_boundary.tc: probes at fork+0 to fork+255,
// of which those within an instruction are refused; the others are enabled, fork is
// called, and they are disabled and removed, which must leave the text as it was.
func TestSelftestInsnBoundary(t *testing.T) {
	probes, can := everyOffset(t)
	var ops, end []scenario.Op
	for off, p := range probes {
		op := register(p.Name)
		if op.Checked = true; !can[off] {
			op.Returns = uint64(eilseq)
			ops = append(ops, op)
			continue
		}
		ops = append(ops, op)
		end = append(end, disable(p.Name))
	}
	ops = append(ops, call("fork", 1, 2))
	ops = append(ops, end...)
	for off, p := range probes {
		if can[off] {
			ops = append(ops, unregister(p.Name))
		}
	}
	ops = append(ops, wait, call("fork", 1, 2))
	schedules := selftestSchedules
	if !*everySchedule {
		schedules /= 20
	}
	selftest(t, withLong(t, probes, ops...), "fork", schedules, func(w *witness) {
		hit := 0
		for _, e := range w.of(kpev.Handler) {
			if e.CPU == 0 {
				hit++
			}
		}
		require.Equal(t, len(end), hit, "one hit of each probe by the task")
	})
}

// TestSelftestOptTypes is kprobe_opt_types.tc: probes are tried at one offset after
// another until one becomes a jump; with the sysctl at 0 it is a breakpoint again,
// with 1 a jump. In gcd no region before +0x15 can be copied.
func TestSelftestOptTypes(t *testing.T) {
	var probes []scenario.Probe
	var ops []scenario.Op
	off := func(on bool) scenario.Op { return scenario.Op{Kind: act.Optimization, On: on} }
	lib := objects(t)
	for i := range lib.Texts {
		if f := &lib.Texts[i]; f.Name == "gcd" {
			for _, at := range offsets(t, f) {
				if at > 0x15 {
					break
				}
				k := on(fmt.Sprintf("k%d", at), "gcd", at)
				probes = append(probes, k)
				if ops = append(ops, register(k.Name), wait, call("gcd", 12, 8)); at == 0x15 {
					ops = append(ops, off(false), call("gcd", 12, 8), off(true), wait, call("gcd", 12, 8))
				}
				ops = append(ops, unregister(k.Name), wait)
			}
		}
	}
	require.Len(t, probes, 10)
	at := uint64(0)
	for i := range lib.Texts {
		if f := &lib.Texts[i]; f.Name == "gcd" {
			at = uint64(f.At) + 0x15
		}
	}
	selftest(t, with(t, probes, task(ops...)), "gcd", selftestSchedules, func(w *witness) {
		require.Len(t, w.of(kpev.Optimized), 2)
		require.Len(t, w.of(kpev.Unoptimized), 2)
		for _, e := range w.of(kpev.Optimized) {
			require.Equal(t, at, e.A)
		}
	})
}
