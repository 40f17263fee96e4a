package shell

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/replay"
	"kpsim/internal/testkit/kerneltest"
	"kpsim/internal/ui/cli"
	"kpsim/smp/fetch"
	"kpsim/traces"
)

// What users looked for and didn't find.

// run, continue and until say once, at their end, that the run has ended, or why nothing moves any more.
func TestEnded(t *testing.T) {
	last := func(said string) string {
		lines := strings.Split(strings.TrimRight(said, "\n"), "\n")
		return lines[len(lines)-1]
	}
	h, out := begun(t, "safe-full", 0)
	const ended = "the run has ended after step %d: nothing is broken; exit judges its end, too"
	said := do(t, h, out, "run | head -1")
	require.Equal(t, fmt.Sprintf(ended, h.s.steps()), last(said), "the pipe doesn't take it")
	require.Equal(t, 1, strings.Count(said, "the run has ended"))
	require.NotContains(t, do(t, h, out, "where", "run", "back 3"), "the run has ended")
	require.Equal(t, fmt.Sprintf(ended, h.s.steps()+3), last(do(t, h, out, "continue")))
	require.NotContains(t, do(t, h, out, "call victim 3 5", "back 2"), "has ended", "the run is only repeated")
	require.NotContains(t, do(t, h, out, "goto 60", "break victim", "continue"), "has ended")

	h, out = begun(t, "safe-full", 0)
	require.Regexp(t, `^nothing can move after step \d+; start lets caller, other begin$`,
		last(do(t, h, out, "run prober")))

	h, out = begun(t, corpus+"T2-second-instruction.kps", 0)
	require.NotContains(t, do(t, h, out, "until T2"), "has ended", "it stops before")
	require.NotContains(t, do(t, h, out, "run"), "has ended", "a violation says so itself")

	path := filepath.Join(t.TempDir(), "good.kps")
	h, out = begun(t, "torn-jump", 0)
	do(t, h, out, "run", "save "+path)
	h, out = begun(t, path, 0)
	said = do(t, h, out, "continue")
	require.Equal(t, fmt.Sprintf("the run has ended after step %d: nothing is broken", h.s.steps()), last(said))
}

// save says which event of the trace the run stands at; of a trace's run it says how to compare the two.
func TestSavedEvent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.kps")
	h, out := begun(t, "torn-jump", 0)
	do(t, h, out, "break TextStore victim", "run")
	n := len(events(h)) - 1
	last := events(h)[n]
	said := do(t, h, out, "save "+path)
	require.NotContains(t, said, " view ")
	r, err := replay.Play(path, h.file(), true)
	require.NoError(t, err)
	defer r.Rig.Close()
	list := r.Rig.Log.Events
	at := slices.IndexFunc(list, func(e traces.Event) bool {
		return e.Kind == last.Kind && e.CPU == last.CPU && e.A == last.A && e.B == last.B
	})
	require.NotEqual(t, n, at)
	require.Contains(t, said, fmt.Sprintf("here is after event %d of this session, and after event %d of the trace", n,
		at))

	good := filepath.Join(filepath.Dir(path), "good.kps")
	h, out = begun(t, corpus+"T2-second-instruction.kps", 0)
	said = do(t, h, out, "step 40", "save "+good)
	require.Contains(t, said, " view "+corpus+"T2-second-instruction.kps "+good)
	require.NotContains(t, said, "of the trace", "a trace's session has the trace's numbers")
	require.Contains(t, said, "2 deviations, the run up to step 40; after it the default run goes on, and breaks T2")
}

// On a kernel's own engine backtrace has the kernel's frames, and break takes its functions.
func TestKernelFrames(t *testing.T) {
	for _, of := range []struct{ scenario, path, first, frames string }{
		{"torn-jump", kerneltest.Path(t, "6.12"), "mutex_lock",
			`(?s)^cpu0  prober\n  #0  arch_arm_kprobe\+0x0\b.*\n  #1  arm_kprobe\+0x.*\n  #\d  register_kprobe\+0x[^\n]*\n` +
				`  #\d  prober\n$`},
		{"arm64-probe", kerneltest.PathOn(t, "arm64", "6.12"), "mutex_lock",
			`(?s)^cpu0  prober\n  #0  arch_arm_kprobe\+0x0\b.*\n  #\d  register_kprobe\+0x[^\n]*\n  #\d  prober\n$`},
	} {
		var out bytes.Buffer
		c := &Shell{What: of.scenario}
		c.Kernel.Kernel = cli.FileName(of.path)
		h, err := c.begin(cli.New(&out, &out))
		require.NoError(t, err)
		defer h.s.Close()
		require.Contains(t, do(t, h, &out, "break arch_arm_kprobe", "run"), "is at arch_arm_kprobe+0x0, step ")
		require.Regexp(t, of.frames, do(t, h, &out, "bt"))
		require.ErrorContains(t, h.line("break "+of.first), "is a function of the kernel's that no CPU executes here")
		require.ErrorContains(t, h.line("break arch_arm_kprobe+0x99999"), "is beyond arch_arm_kprobe, which has ")
		require.ErrorContains(t, h.line("break arch_arm_kprobf"), `did you mean "arch_arm_kprobe"?`)

		// a routine that the kernel has called
		do(t, h, &out, "goto 0", "delete all", "break Call")
		for !strings.Contains(do(t, h, &out, "run", "bt"), "#0  mutex_lock") {
			require.Nil(t, h.s.Run)
		}
		require.Regexp(t, `(?s)#0  mutex_lock\n  #1  register_kprobe\+0x[^\n]*\n  #2  prober\n$`, out.String())
	}
}

// break takes gdb's *ADDRESS; of an event, a place; and before a place, a store to it.
func TestBreakPlaces(t *testing.T) {
	h, out := begun(t, "safe-full", 3)
	require.Contains(t, do(t, h, out, "b *0xffffffff81000000", "run"), "cpu1 is at victim+0x0")
	h, out = begun(t, "safe-full", 3)
	require.Contains(t, do(t, h, out, "watch *0xffffffff81000000", "run"), "victim+0x0 was 55 48 89 e5 53, is cc 48 ")
	stored := h.s.steps()
	for _, line := range []string{"break before TextStore victim", "break before 0xffffffff81000000",
		"break before victim", "break before *0xffffffff81000000", "break before TextStore victim+0x0"} {
		h, out = begun(t, "safe-full", 3)
		said := do(t, h, out, line, "run")
		require.Regexp(t, `cpu0's next step makes event \d+: prober TextStore at victim\+0x0: cc`, said, line)
		require.Equal(t, stored-1, h.s.steps(), line)
		require.Contains(t, do(t, h, out, "x victim 1"), "55 ")
	}
	h, out = begun(t, "safe-full", 3)
	require.Regexp(t, `TextStore at victim\+0x1: 1b 00 00 1f`, do(t, h, out, "break TextStore victim+4", "run"),
		"the jump covers it")
	for line, says := range map[string]string{
		"break TextStore f":   "nor is it a place: write 0xADDRESS, or a symbol; there are victim",
		"break Switch victim": "Switch is about no address; write break Switch, or break TextStore victim",
		"step -1":             "step goes on; to go back, write back 1",
		"step -3":             "step goes on; to go back, write back 3",
		"help me":             "me: no such command; help lists them, help step explains one",
		"load a.kps":          "a.kps is a file: insmod loads a module; write open a.kps",
	} {
		require.ErrorContains(t, h.line(line), says, line)
	}
}

// text says what its columns are, and which versions between the newest and the oldest, and which mixtures, a CPU may
// fetch.
func TestTextMixtures(t *testing.T) {
	h, out := begun(t, corpus+"T1-no-sync-1.kps", 0)
	require.Equal(t, fetch.Mixing, h.s.Rig.Scenario.Machine.Fetch)
	require.Contains(t, do(t, h, out, "run", "back 1", "text labelled"),
		"  place              in memory                instruction (was: as linked)   <- CPUs there\n"+
			"  labelled+0x0       48 89 f8                 mov %rdi,%rax\n"+
			"  labelled+0x3       cc 05 00 00 00           int3   (was 0f 1f 44 00 00: nopl (%rax,%rax))   <- cpu1\n"+
			"    cpu0 may fetch   0f 1f 44 00 00\n"+
			"      and 6 more     cc 05 44 00 00, cc 1f 00 00 00, cc 1f 44 00 00, 0f 05 00 00 00, …\n")

	h, out = begun(t, corpus+"T2-second-instruction.kps", 0)
	require.Equal(t, fetch.Coherent, h.s.Rig.Scenario.Machine.Fetch)
	said := do(t, h, out, "until T2", "text victim")
	require.NotContains(t, said, "may fetch")
}
