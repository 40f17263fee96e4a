package shell

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/engine"
	"kpsim/internal/ui/cli"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// begun is a session, and what it prints.
func begun(t *testing.T, what string, seed uint64) (*sh, *bytes.Buffer) {
	var out bytes.Buffer
	c := &Shell{What: what}
	if seed > 0 {
		c.Seed = &seed
	}
	h, err := c.begin(cli.New(&out, &out))
	require.NoError(t, err)
	t.Cleanup(func() { h.s.Close() })
	return h, &out
}

// do does lines that aren't mistakes, and returns what they print.
func do(t *testing.T, h *sh, out *bytes.Buffer, lines ...string) string {
	t.Helper()
	out.Reset()
	for _, l := range lines {
		require.NoError(t, h.line(l), l)
	}
	return out.String()
}

func events(h *sh) []traces.Event { return slices.Clone(h.s.Rig.Log.Events) }

// A run with breakpoints, gone on with each time, is the run without.
func TestBreaksChangeNothing(t *testing.T) {
	plain, out := begun(t, "safe-full", 3)
	do(t, plain, out, "run")
	h, out := begun(t, "safe-full", 3)
	do(t, h, out, "break victim", "break TextStore", "watch victim+1", "watch text_mutex", "run")
	for n := 0; len(events(h)) < len(events(plain)); n++ {
		require.Less(t, n, 1000)
		do(t, h, out, "continue")
	}
	require.Equal(t, events(plain), events(h))
	require.Equal(t, plain.s.steps(), h.s.steps())
}

// Going back n steps and n steps on leads to the same place; so does going to an event.
func TestBack(t *testing.T) {
	for _, what := range []string{"safe-full", "../../../traces/corpus/T2-second-instruction.kps"} {
		seed := uint64(3)
		if strings.HasSuffix(what, ".kps") {
			seed = 0
		}
		h, out := begun(t, what, seed)
		do(t, h, out, "kprobe p at "+h.s.functions()[0]+"+0 disabled", "start", "step 20", "run")
		all, steps := events(h), h.s.steps()
		for _, n := range []uint64{1, 7, steps - 25, steps - 20, steps - 3, steps} {
			do(t, h, out, fmt.Sprint("back ", n))
			require.Equal(t, steps-n, h.s.steps())
			require.Equal(t, all[:len(events(h))], events(h))
			if h.s.held() != nil {
				do(t, h, out, "start")
			}
			do(t, h, out, "continue")
			require.Equal(t, all, events(h), "%s: back %d", what, n)
		}
		for _, e := range []int{len(all) - 1, len(all) / 2, len(all)/2 + 9} { // back, back, and on
			require.Contains(t, do(t, h, out, fmt.Sprint("goto ", e)),
				fmt.Sprint("at step ", h.s.steps(), ", after event "))
			require.Greater(t, len(events(h)), e)
			at := h.s.steps()
			do(t, h, out, "back")
			require.LessOrEqual(t, len(events(h)), e, "it hasn't happened a step before")
			do(t, h, out, fmt.Sprint("goto ", e))
			require.Equal(t, at, h.s.steps())
		}
		require.ErrorContains(t, h.line("goto 1000000"), "there is no event 1000000: nothing moves after event")
	}
}

// A call that was gone back into is left under way, and ends when it goes on.
func TestBackIntoACall(t *testing.T) {
	h, out := begun(t, "safe-full", 0)
	require.ErrorContains(t, h.line("back"), "no step was made yet")
	require.Contains(t, do(t, h, out, "call victim 3 5"), "victim(3, 5) = 0xffffffffffffffbb\n")
	require.Contains(t, do(t, h, out, "back"), "cpu0  shell/0, in call")
	require.ErrorContains(t, h.line("call victim"), "the shell of cpu0 is still at the call of victim(3, 5)")
	require.Contains(t, do(t, h, out, "continue"), "victim(3, 5) = 0xffffffffffffffbb\n")
	require.Contains(t, do(t, h, out, "break victim+0x1", "call victim 3 5"),
		"1: break victim+0x1: cpu0 is at victim+0x1, step ")
	require.ErrorContains(t, h.line("back x"), "x is no number of steps")
}

// The breakpoint of a property stops before the step that breaks it, and lets it be made then.
func TestBreakProperty(t *testing.T) {
	h, out := begun(t, "../../../traces/corpus/T2-call-five.kps", 0)
	require.Contains(t, do(t, h, out, "break no-start-inside", "run"),
		"1: break no-start-inside: the next step breaks it, step ")
	require.Nil(t, h.s.Run)
	at := h.s.steps()
	do(t, h, out, "back 5", "continue")
	require.Equal(t, at, h.s.steps())
	require.Contains(t, do(t, h, out, "step"), "VIOLATION: T2 no-start-inside is broken")
	require.NotNil(t, h.s.Run)
	do(t, h, out, "back 5")
	require.Nil(t, h.s.Run, "it goes back from the end, too")
}

// What is typed isn't compared with the run without probes, also along a trace. The trace's own
// violation is still one, of this property too as long as nothing was typed.
func TestTraceGoesByHand(t *testing.T) {
	h, out := begun(t, "../../../traces/corpus/T1-torn-jump.kps", 0)
	require.Contains(t, do(t, h, out, "call victim 3 5"), "victim(3, 5) = ")
	require.NotContains(t, out.String(), "VIOLATION")
	require.Nil(t, h.s.Run)
	require.Contains(t, do(t, h, out, "back", "continue"), "victim(3, 5) = ")
	require.NotContains(t, out.String(), "X1")
	for _, broken := range []string{"T1-torn-jump", "X1-if-leak"} {
		h, out = begun(t, "../../../traces/corpus/"+broken+".kps", 0)
		require.Contains(t, do(t, h, out, "run"), "VIOLATION: "+broken[:2])
	}
}

// Where no instruction can be there is no breakpoint; where only patched code has one it is said.
func TestBreakWhereNothingIs(t *testing.T) {
	h, out := begun(t, "safe-full", 0)
	for line, want := range map[string]string{
		"break 5":             "5: no code is at this address; write break victim, or an address that text victim prints",
		"break victim+0x200":  "victim+0x200 is beyond victim, which has ",
		"break T99":           "T99 is no function, kind of event or property; there are T1, T2, T3, T4, T5, T6; write break",
		"break 0xffff0000000": "no code is at this address",
		"break 77777":         "no code is at this address",
		"break Z1":            "Z1 is no function, kind of event or property; ",
	} {
		require.ErrorContains(t, h.line(line), want)
	}
	require.Empty(t, h.stops.list)
	require.Equal(t, "1: break victim+0x2\n  victim+0x2 is inside the instruction at victim+0x1: a CPU comes there only through code that is patched\n", do(t, h, out, "break victim+0x2"))
	require.Equal(t, "2: break victim+0x1\n3: break 0xffffffff81000001\n",
		do(t, h, out, "break victim+0x1", "break 0xffffffff81000001"))
}

// A breakpoint within a step of many, or a call, is no mistake and no standstill.
func TestBreakWithin(t *testing.T) {
	h, out := begun(t, "safe-full", 3)
	got := do(t, h, out, "break victim", "start", "step 100")
	require.Contains(t, got, "1: break victim: cpu1 is at victim+0x0, step 19,")
	require.NotContains(t, got, "can move\n")
	require.Equal(t, uint64(19), h.s.steps())

	h, out = begun(t, "globally-off", 0)
	out.Reset()
	h.c.Edition, h.c.AsShipped = "6.9", true
	require.NoError(t, h.line("open globally-off"))
	require.Contains(t, do(t, h, out, "break T3", "run"), "1: break T3: the next step breaks it")
}

// An event's breakpoint stops after each event of the kind, on the CPU that was said.
func TestBreakEvent(t *testing.T) {
	h, out := begun(t, "safe-full", 3)
	do(t, h, out, "break textstore", "run")
	last := events(h)
	require.True(t, slices.ContainsFunc(last, func(e traces.Event) bool { return e.Kind == smpev.TextStore }))
	require.Contains(t, do(t, h, out, "delete 1", "break Handler 1", "continue"), "2: break Handler 1: cpu1, event ")
	require.True(t, slices.ContainsFunc(h.stops.heard.events,
		func(e traces.Event) bool { return e.Kind == kpev.Handler }))
	require.Equal(t, "2: break Handler 1\n", do(t, h, out, "break"))
	require.Contains(t, do(t, h, out, "delete all", "break"), "there is no breakpoint; break victim makes one")
	for line, want := range map[string]string{
		"break TextStor":   `TextStor is no function, kind of event or property; did you mean "TextStore"`,
		"break T1 0":       "T1 is no function",
		"break Exec 7":     "7 is no CPU of this machine; they are 0 to 1",
		"break a b c":      "write it break [FUNC",
		"break victim+z":   "no offset",
		"delete 9":         "9 is no number of a breakpoint; break lists them",
		"delete":           "write it delete N…|all",
		"watch nosuch":     "no symbol is called nosuch",
		"watch victim 999": "999 is no number of bytes; write 1 to 64",
		"watch 0x10":       "there aren't 5 bytes in memory",
		"goto x":           "x is no number of an event",
	} {
		require.ErrorContains(t, h.line(line), want, line)
	}
	for range mostStops {
		require.NoError(t, h.line("break victim"))
	}
	require.ErrorContains(t, h.line("break victim"), "there are 64 breakpoints already; delete one")
}

// A breakpoint before an event stops before its step, from either side, and the machine is in the same state there.
func TestBreakBefore(t *testing.T) {
	h, out := begun(t, "second-instruction", 0)
	const first, second = `1: break before TextStore: cpu0's next step makes event 27: `, `cpu0's next step makes event 32: `
	require.Contains(t, do(t, h, out, "break before TextStore", "run"), first)
	require.Contains(t, do(t, h, out, "continue"), second)
	require.False(t, slices.ContainsFunc(events(h), func(e traces.Event) bool { return e.Seq == 32 }))
	at := h.s.steps()
	state := h.s.digest()
	require.Contains(t, do(t, h, out, "step", "reverse-continue"), second)
	require.Equal(t, at, h.s.steps())
	require.Equal(t, state, h.s.digest())
	require.Contains(t, do(t, h, out, "reverse-continue"), first)
	require.NotEqual(t, state, h.s.digest())
	require.Contains(t, do(t, h, out, "continue"), second)
	require.Equal(t, state, h.s.digest())
	do(t, h, out, "continue")
	require.Greater(t, h.s.steps(), at)
	require.ErrorContains(t, h.line("break before"), "before is no function")
}

// A watchpoint tells old and new bytes, who wrote them, and at which event.
func TestWatch(t *testing.T) {
	h, out := begun(t, "safe-full", 3)
	require.Regexp(t, `1: watch victim 1: victim\+0x0 was 55, is cc; written by cpu0, event \d+, step \d+\n`,
		do(t, h, out, "watch victim 1", "run"))
	require.Equal(t, uint64(smpev.TextStore), uint64(events(h)[h.stops.heard.events[0].Seq].Kind))
	require.Contains(t, do(t, h, out, "back", "step"), "1: watch victim 1: victim+0x0 was 55, is cc;")
}

// ^C ends what runs, and the session goes on.
func TestInterrupt(t *testing.T) {
	h, out := begun(t, "safe-full", 0)
	do(t, h, out, "break Oops") // ^C is looked for after each step
	h.s.See(func(engine.Hit) { h.interrupt.Store(true) })
	require.Regexp(t, `^interrupted at step \d+, after event \d+; continue goes on\n$`, do(t, h, out, "run"))
	require.NotContains(t, do(t, h, out, "continue"), "nobody can move")
}

// A pipe gets what a command prints; what the machine stands for isn't in it.
func TestThrough(t *testing.T) {
	h, out := begun(t, "safe-full", 3)
	require.Equal(t, "2\n", do(t, h, out, "where | grep -c idle | head"))
	require.Regexp(t, `^0\n1: break victim: cpu1 is at victim\+0x0`,
		do(t, h, out, "delete all", "break victim | head -0", "run | wc -l"))
	require.ErrorContains(t, h.line("nosuch | head"), "nosuch: no such command")
	p := new(piped)
	n, err := p.Write(make([]byte, mostPiped+1))
	require.NoError(t, err)
	require.Equal(t, mostPiped+1, n)
	require.True(t, p.over)
}

// Another scenario or trace is opened in the same session; a name that there isn't changes nothing.
func TestOpen(t *testing.T) {
	h, out := begun(t, "safe-full", 0)
	require.Error(t, h.line("open nosuch"))
	require.Equal(t, "victim\n", strings.Join(h.s.functions(), "")+"\n")
	require.Contains(t, do(t, h, out, "break victim", "open module-unload", "lsmod"), "deleted: 1 breakpoint\n")
	require.Contains(t, out.String(), "m: not loaded")
	do(t, h, out, "insmod m", "back")
	require.Equal(t, "module-unload", h.c.What)
}

// What open begins has its own CPUs: the selected one isn't kept.
func TestOpenFewerCPUs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "one.star")
	require.NoError(t, os.WriteFile(file, []byte("scenario(\"one\")\nmachine(cpus = 1)\nf = text(\"f\", \"90c3\")\n"+
		"task(\"t\", ops = [call(f)])\nnever()\n"), 0o600))
	h, out := begun(t, "safe-full", 3)
	require.Contains(t, do(t, h, out, "cpu 1", "open "+file, "bt"), "cpu0  ")
	require.ErrorContains(t, h.line("x/2xg 0xffffffff81000ffe"), "there aren't 8 bytes in memory")
}

// A scenario without functions has commands that name one in a hint.
func TestNoFunctions(t *testing.T) {
	h, out := begun(t, corpus+"P1-left-inactive.kps", 0)
	require.Contains(t, do(t, h, out, "break"), "break FUNC makes one")
	require.Contains(t, do(t, h, out, "hits"), "kprobe p at FUNC")
	for line, says := range map[string]string{"text": "write text FUNC", "text f": "is called f; there are none",
		"break nosuch": "write break FUNC", "break 5": "write break FUNC", "rc": "break FUNC makes one"} {
		require.ErrorContains(t, do0(h, "start", "step", line), says, line)
	}
}

// Each command's example can be typed.
func TestExamples(t *testing.T) {
	trace, err := filepath.Abs("../../../traces/corpus/T2-second-instruction.kps")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	scenarios := map[string]string{"insmod": "module-unload", "rmmod": "module-unload", "save": trace}
	before := map[string][]string{"rmmod": {"insmod m"}, "unregister": {"register k"}, "enable": {"register k"},
		"disable": {"register k"}, "back": {"run"}, "goto": {"start", "continue"}, "events": {"run"}, "start": {},
		"next": {"break victim", "run"}, "finish": {"break victim", "run"}, "save": {"run"},
		"reverse-next": {"break victim", "run", "next"}, "reverse-continue": {"break victim", "run", "continue"}}
	for _, w := range shellWords {
		what := "safe-full"
		if s := scenarios[w.word]; s != "" {
			what = s
		}
		h, out := begun(t, what, 0)
		if w.word == "jprobe" { // of an edition and a second function
			continue
		}
		do(t, h, out, append(slices.Clone(before[w.word]), w.example)...)
	}
}
