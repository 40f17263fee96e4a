package shell

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/search/replay"
	"kpsim/internal/ui/cli"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

const corpus = "../../../traces/corpus/"

// reverse-continue leads to the stops that continue has made, the latest first, and on from there to the same run.
func TestReverseContinue(t *testing.T) {
	h, out := begun(t, "safe-full", 3)
	do(t, h, out, "break victim", "watch victim", "start")
	var stops []uint64
	for len(stops) < 12 {
		do(t, h, out, "continue")
		stops = append(stops, h.s.steps())
	}
	whole := events(h)
	for i := len(stops) - 2; i >= 0; i-- {
		said := do(t, h, out, "rc")
		require.Equal(t, stops[i], h.s.steps(), said)
		require.Regexp(t, `^[12]: (break|watch) victim: `, said)
	}
	require.Contains(t, do(t, h, out, "rc"), "no breakpoint was met before: this is the beginning")
	require.Zero(t, h.s.steps())
	do(t, h, out, "start")
	for range stops {
		do(t, h, out, "continue")
	}
	require.Equal(t, whole, events(h))
	require.ErrorContains(t, do0(h, "delete all", "rc"), "there is no breakpoint to go back to")
}

// do0 does lines, and returns the last error.
func do0(h *sh, lines ...string) (err error) {
	for _, l := range lines {
		err = h.line(l)
	}
	return err
}

// next goes through a function instruction by instruction, beside the probe that is hit in it, and reverse-next the
// same way back; finish leaves it.
func TestNext(t *testing.T) {
	h, out := begun(t, "safe-full", 3)
	do(t, h, out, "break victim", "run", "delete all")
	at := regexp.MustCompile(`at (victim\+0x[0-9a-f]+),`)
	var there []string
	var steps []uint64
	for range 8 {
		m := at.FindStringSubmatch(do(t, h, out, "next"))
		require.NotNil(t, m, out.String())
		there, steps = append(there, m[1]), append(steps, h.s.steps())
	}
	require.Equal(t, "victim+0x5 victim+0x8 victim+0xc victim+0xf victim+0x12 victim+0x15 victim+0x19 victim+0x21",
		strings.Join(there, " "), "the jump covers victim+0x0 to +0x4")
	whole := events(h)
	for i := len(steps) - 2; i >= 0; i-- {
		require.Contains(t, do(t, h, out, "reverse-next"), "at "+there[i])
		require.LessOrEqual(t, h.s.steps(), steps[i+1])
		require.GreaterOrEqual(t, h.s.steps(), steps[i])
	}
	for range 7 {
		do(t, h, out, "next")
	}
	require.Equal(t, whole, events(h))
	require.Contains(t, do(t, h, out, "finish"), "caller has returned from victim+0x21, is in call; "+
		"rax = 0xffffffffffffffbb (-69)")
	require.Contains(t, do(t, h, out, "bt"), "cpu1  caller\n  #0  call\n")
	require.ErrorContains(t, do0(h, "goto 5", "next 0"), "cpu0 runs nothing; ")
}

// backtrace shows calls of text by text, and what a trap has interrupted; finish leaves one after the other.
func TestBacktrace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nest.star")
	require.NoError(t, os.WriteFile(file, []byte(`scenario(says = "f calls g.")
machine(cpus = 1)
g = text("g", "4889f8 4801f0 c3", at = 0xffffffff81000100)
f = text("f", "55 4889e5 e8f7000000 4883c001 5d c3", at = 0xffffffff81000000)
k = kprobe("k", at = f + 9)
task("t", ops = [register(k), call(f, 3, 5, returns = 9)])
never()
`), 0o600))
	h, out := begun(t, file, 0)
	do(t, h, out, "start", "until g+3")
	require.Equal(t, "cpu0  t\n  #0  g+0x3\n  #1  f+0x9\n  #2  call\n", do(t, h, out, "bt"))
	require.Equal(t, "*$sp = 0xffffffff81000009 <f+0x9>\n", do(t, h, out, "p *$sp"))
	require.Contains(t, do(t, h, out, "x/1xg $sp"), " 09 00 00 81 ff ff ff ff ")
	require.Equal(t, "*$sp = 0xffffffff81000009 <f+0x9>\n", do(t, h, out, "p/x *$sp"))
	require.ErrorContains(t, h.line("p/q *$sp"), "print/q: there is no such format")
	require.Contains(t, do(t, h, out, "fin"), "t has returned from g+0x3, is at f+0x9; rax = 0x8 (8), ")
	require.Contains(t, do(t, h, out, "rn"), "cpu0  t, at f+0x4\n")
	require.Contains(t, do(t, h, out, "n"), "cpu0  t, at f+0x9, ")
	do(t, h, out, "until Handler")
	require.Equal(t, "cpu0  t\n  #0  handler   (a trap)\n  #1  f+0xa\n  #2  call\n", do(t, h, out, "bt"))
	require.Contains(t, do(t, h, out, "fin"), "t has returned from handler, ")
}

// until is break, continue and delete; a property is left before the step that breaks it.
func TestUntil(t *testing.T) {
	h, out := begun(t, "safe-full", 3)
	require.Regexp(t, `^until victim: cpu1 is at victim\+0x0, step 19, `, do(t, h, out, "start", "until victim"))
	require.Empty(t, h.stops.list)
	require.ErrorContains(t, h.line("until nosuch"), "write until victim, until TextStore or until T1")
	h, out = begun(t, corpus+"T2-second-instruction.kps", 0)
	require.Regexp(t, `until T2: the next step breaks it, step \d+`, do(t, h, out, "until T2"))
	require.Nil(t, h.s.Run)
	require.Empty(t, h.stops.list)
	require.Contains(t, do(t, h, out, "step"), "VIOLATION: T2")
}

// Going back repeats next and finish to where they ended, whichever CPU is selected then, and leaves it selected.
func TestBackWithAnotherCPU(t *testing.T) {
	file := filepath.Join(t.TempDir(), "two.star")
	require.NoError(t, os.WriteFile(file, []byte(`scenario(says = "Two tasks.")
machine(cpus = 2)
f = text("f", "90 90 90 90 90 90 c3")
task("t", cpu = 1, ops = [call(f)])
task("u", cpu = 0, ops = [call(f)])
never()
`), 0o600))
	h, out := begun(t, file, 0)
	do(t, h, out, "start t", "until f", "next", "next", "finish")
	at := h.s.steps()
	require.ErrorContains(t, do0(h, "cpu 0", "next"), "cpu0 runs nothing")
	do(t, h, out, "back 1")
	require.Equal(t, at-1, h.s.steps())
	require.Contains(t, do(t, h, out, "cpu"), "cpu0  idle/0")
	do(t, h, out, "start", "step cpu0 3", "cpu 1", "back")
	require.Contains(t, do(t, h, out, "cpu"), "cpu1  t")
	do(t, h, out, "goto 0", "start", "break f+2", "step cpu1 4", "step cpu0 3", "step cpu1 4")
	require.Contains(t, do(t, h, out, "cpu 0", "reverse-next", "cpu"), "cpu0  u, at f+0x0")
	require.Contains(t, do(t, h, out, "rc", "cpu"), "cpu0  idle", "no breakpoint was met before")
}

// Interrupted, a command that goes back says so, and not that it has come to the beginning.
func TestReverseInterrupted(t *testing.T) {
	h, out := begun(t, "safe-full", 3)
	do(t, h, out, "break victim", "run", "continue")
	now := h.s.steps()
	out.Reset()
	h.interrupt.Store(true)
	require.NoError(t, gdb{h}.reverseContinue(nil))
	require.Less(t, h.s.steps(), now)
	require.Contains(t, out.String(), "interrupted")
	require.NotContains(t, out.String(), "beginning")
}

// A variable of a kernel routine is watched by its name: the machine stops after each store to it, wherever that is.
func TestWatchVariable(t *testing.T) {
	h, out := begun(t, "safe-full", 3)
	require.Equal(t, "1: watch the owner of text_mutex\n", do(t, h, out, "watch text_mutex"))
	stops := strings.Count(do(t, h, out, "run"), "stored to by")
	for n := -1; n < stops; {
		n = stops
		stops += strings.Count(do(t, h, out, "continue"), "1: watch the owner of text_mutex: stored to by cpu")
	}
	changes := 0 // the mutex is taken or released
	lock := replay.Scene(h.s.Rig, nil).Names.Lock
	for _, e := range events(h) {
		if (e.Kind == traces.Kind(smpev.Lock) || e.Kind == traces.Kind(smpev.Unlock)) && lock(e.A) == "text_mutex" {
			changes++
		}
	}
	require.Greater(t, changes, 10)
	require.Equal(t, changes, stops)
	require.ErrorContains(t, h.line("watch mutex"), "mutex: it may be the owner of stop_cpus_mutex; ")
	require.ErrorContains(t, h.line("watch nothing like it"), "and no variable of the kernel has that in its name")
	require.ErrorContains(t, h.line("watch victim 3 4"), "write it watch")
}

// A beginning that only one command has stands for it, in each row; one of several is refused with their names.
func TestBeginnings(t *testing.T) {
	for typed, word := range map[string]string{"b": "break", "bt": "backtrace", "p": "print", "p/x": "print",
		"x/4i": "x", "i": "info", "l": "list", "disas": "text", "dis": "text", "fin": "finish", "u": "until",
		"rc": "reverse-continue", "rs": "back", "rn": "reverse-next", "reverse-c": "reverse-continue", "w": "",
		"wa": "", "wat": "watch", "n": "next", "s": "step", "c": "continue", "r": "run", "d": "delete", "h": "help",
		"log": "dmesg", "rd": "x", "conti": "continue", "re": "", "reg": "", "q": "exit", "": ""} {
		w, _, err := wordOf(typed)
		if word == "" {
			require.Error(t, err, typed)
			continue
		}
		require.NoError(t, err, typed)
		require.Equal(t, word, w.word, typed)
	}
	_, _, err := wordOf("re")
	require.ErrorContains(t, err, "re: it may be register, regs, reverse-step, ")
	for _, w := range infoWords {
		_, _, err := wordOf(w.as)
		require.NoError(t, err, w.word)
	}
}

// What is saved plays again, to the last event; what isn't a schedule is refused.
func TestSave(t *testing.T) {
	trace, err := filepath.Abs(corpus + "T2-second-instruction.kps")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	for name, lines := range map[string][]string{
		"second-instruction": {"start", "step 30", "step cpu1 10", "continue"},
		trace:                {"until T2", "step"},
	} {
		seed := uint64(14)
		if name == trace {
			seed = 0
		}
		h, out := begun(t, name, seed)
		do(t, h, out, lines...)
		require.NotNil(t, h.s.Run, out.String())
		file := filepath.Base(strings.TrimSuffix(name, ".kps")) + "-saved.kps"
		require.Contains(t, do(t, h, out, "save "+file), file+": ")
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		f, err := traces.Parse(file, data)
		require.NoError(t, err)
		r, err := replay.Play(file, f, true)
		require.NoError(t, err)
		defer r.Rig.Close()
		require.True(t, r.Same, r.Why)
		_, why := h.differs(r)
		require.Empty(t, why)
		list := h.s.Rig.Log.Events
		list[len(list)-3].A++
		_, why = h.differs(r)
		require.Contains(t, why, "is another one")
		list[len(list)-3].A--
		h.s.Rig.Log.Events = list[:len(list)-1]
		_, why = h.differs(r)
		require.Contains(t, why, "it has 1 event more")
		h.s.Rig.Log.Events = append(slices.Clone(list), list[len(list)-3])
		_, why = h.differs(r)
		require.Contains(t, why, "it ends before event")
		h.s.Rig.Log.Events = list
		require.Zero(t, r.Drifts)
		require.ErrorContains(t, h.line("save "+file), "is there already")
	}
	h, _ := begun(t, "second-instruction", 14)
	require.ErrorContains(t, do0(h, "register k", "save a.kps"), "this run has register_kprobe(k), typed by hand")
	h, _ = begun(t, "second-instruction", 14)
	require.ErrorContains(t, do0(h, "save a.kps"), "not begun: prober, caller; in a trace all tasks begin at once")
	h, _ = begun(t, "second-instruction", 14)
	require.ErrorContains(t, do0(h, "start caller", "step 9", "start", "continue", "fetch oldest", "save a"),
		"a: a trace is a file NAME.kps")
	require.NoFileExists(t, "a.kps")
}

// Runs with old fetches are saved, stepped by hand or drawn: a session watches functions that a replay doesn't.
func TestSaveStale(t *testing.T) {
	t.Chdir(t.TempDir())
	for i, run := range []struct {
		name  string
		seed  uint64 // 0: by hand
		first int    // steps of the writer by hand
	}{
		{"arm64-ftrace-stale", 0, 8}, {"arm64-ftrace-stale", 3, 0}, {"arm64-isb-missing", 0, 12},
		{"arm64-isb-missing", 6, 0}, {"riscv64-fence-i-missing", 0, 8}, {"riscv64-fence-i-missing", 7, 0},
		{"alias-flushed", 0, 6}, {"alias-flushed", 4, 0}, {"alias-bytes", 0, 8}, {"alias-bytes", 6, 0},
	} {
		h, out := begun(t, run.name, run.seed)
		if run.seed > 0 {
			do(t, h, out, "run")
		} else {
			do(t, h, out, "start", fmt.Sprintf("step cpu0 %d", run.first), "fetch oldest", "step cpu1 40")
		}
		file := fmt.Sprintf("run%d.kps", i)
		require.Contains(t, do(t, h, out, "save "+file), file+": ", run.name)
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		f, err := traces.Parse(file, data)
		require.NoError(t, err)
		r, err := replay.Play(file, f, false)
		require.NoError(t, err)
		require.True(t, r.Same, r.Why)
		require.Zero(t, r.Drifts)
		r.Rig.Close()
	}
}

// Several answers of fetch are for the next questions in turn: a CPU that fetches a jump in two parts gets one of them
// new and one old.
func TestFetchInTurn(t *testing.T) {
	h, out := begun(t, "hook-unsynced", 0)
	do(t, h, out, "start", "step cpu0 30", "step ipi@cpu1", "step cpu1 2", "step cpu0 30")
	require.Contains(t, do(t, h, out, "fetch fresh 1", "step cpu1 4"), "VIOLATION: T1 whole-instructions is broken")
	require.Contains(t, do(t, h, out, "save "+filepath.Join(t.TempDir(), "turns.kps")), "6 deviations")
	require.ErrorContains(t, h.line("fetch fresh x"), "write it fetch oldest|fresh|N|decided")
}

// until says that what it was to reach wasn't met.
func TestUntilUnmet(t *testing.T) {
	h, out := begun(t, "safe-full", 3)
	require.Contains(t, do(t, h, out, "start", "until T1"), "until T1 wasn't met\nthe run has ended after step ")
}

// Along a trace fetch takes another choice than the trace's, and it is said where; decided takes the trace's again. A
// session of a seed does likewise.
func TestFetchAlong(t *testing.T) {
	trace := corpus + "T1-no-sync-1.kps"
	const left = "the trace is left here: cpu1 in labelled+0x3, fetch: fresh; the trace has older 1"
	h, out := begun(t, trace, 0)
	require.NotContains(t, do(t, h, out, "continue"), "left")
	require.Equal(t, "T1", h.s.Run.Property.ID)
	h, out = begun(t, trace, 0)
	require.Contains(t, do(t, h, out, "fetch fresh", "continue"), left)
	require.Nil(t, h.s.Run.Property)
	do(t, h, out, "goto 5")
	require.Contains(t, do(t, h, out, "continue"), left)
	h, out = begun(t, trace, 0)
	require.NotContains(t, do(t, h, out, "fetch fresh", "fetch decided", "continue"), "left")
	require.Equal(t, "T1", h.s.Run.Property.ID)
	h, out = begun(t, trace, 0)
	require.Contains(t, do(t, h, out, "fetch 1", "continue"), "fetch: older 1; the trace has fresh")
	require.ErrorContains(t, h.line("fetch 0"), "write it fetch oldest|fresh|N|decided")
	h, out = begun(t, trace, 0)
	require.Regexp(t, "the trace is left here: cpu[01] makes the step; the trace has cpu[01];",
		do(t, h, out, "step cpu1 20", "step cpu0 20"))
	h, out = begun(t, "arm64-isb-missing", 6)
	do(t, h, out, "fetch fresh", "run")
	require.Nil(t, h.s.Run, "without old fetches it passes")
}

// A refused save ends a script as a mistake, though the run is over; another error after the end is an answer.
func TestSaveRefusedInScript(t *testing.T) {
	t.Chdir(t.TempDir())
	for line, want := range map[string]string{"save a": "stdin:2: a: a trace is a file NAME.kps", "step": "",
		"foo": ""} {
		h, _ := begun(t, "arm64-isb-missing", 6)
		err := h.script(strings.NewReader("run\n" + line + "\nback 1\n"))
		if want == "" {
			require.NoError(t, err)
			require.Nil(t, h.s.Run, "it goes on")
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}

// The line of a breakpoint on a kind of event has bytes as text and watch have them.
func TestBreakBytes(t *testing.T) {
	h, out := begun(t, "arm64-ftrace-stale", 3)
	require.Contains(t, do(t, h, out, "break TextStore", "run"), "tracer TextStore at f+0x4: 03 00 40 94\n")
	h, out = begun(t, "arm64-ftrace-stale", 3)
	require.Contains(t, do(t, h, out, "break Exec", "run"), "tracer Exec at f+0x0: e9 03 1e aa\n")
}

// A run that doesn't end stops at its limit, says so, and goes on; in a script, too.
func TestLimit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "loop.star")
	require.NoError(t, os.WriteFile(file, []byte("scenario(\"loop\")\nmachine(cpus = 1)\nf = text(\"f\", \"ebfe\")\n"+
		"task(\"t\", ops = [call(f)])\nnever()\n"), 0o600))
	var out bytes.Buffer
	c := &Shell{What: file}
	h, err := c.begin(cli.New(&out, &out))
	if err != nil {
		t.Skip(err) // a scenario that never ends is refused before
	}
	defer h.s.Close()
	require.NoError(t, h.line("run"))
	require.Equal(t, "1000000 steps are made, as many as one command makes, and it can go on: continue makes as many "+
		"again; where and events say what it does\n", out.String())
}

var updatePage = flag.Bool("update-page", false, "write the tables of docs/shell.md anew; read the diff")

// The tables of docs/shell.md are the rows.
func TestPage(t *testing.T) {
	const path = "../../../docs/shell.md"
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	page := string(raw)
	for mark, table := range map[string]string{"<!-- made from the commands -->\n": commandTable(),
		"<!-- made from info -->\n": infoTable()} {
		before, rest, ok := strings.Cut(page, mark)
		require.True(t, ok, "%s has no %s", path, mark)
		_, after, ok := strings.Cut(rest, "<!-- end -->")
		require.True(t, ok, path)
		page = before + mark + "\n" + table + "\n<!-- end -->" + after
	}
	if *updatePage {
		require.NoError(t, os.WriteFile(path, []byte(page), 0o644))
		return
	}
	require.Equal(t, page, string(raw), "go test ./internal/verbs/shell -run TestPage -update-page")
}

func commandTable() string {
	var b strings.Builder
	b.WriteString("| command | also | |\n|---|---|---|\n")
	cell := strings.NewReplacer("|", "\\|").Replace
	for _, w := range shellWords {
		also := ""
		for i, a := range w.also {
			if i > 0 {
				also += " "
			}
			also += "`" + a + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", cell(strings.TrimSpace(w.word+" "+w.args)), also, cell(w.says))
	}
	return b.String()
}

func infoTable() string {
	var b strings.Builder
	b.WriteString("| | is |\n|---|---|\n")
	for _, w := range infoWords {
		fmt.Fprintf(&b, "| `info %s` | `%s` |\n", w.word, w.as)
	}
	return b.String()
}
