package search_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/vet"
	"kpsim/internal/search/rig"
	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/kpev"
	"kpsim/kprobes/rules"
	"kpsim/kprobes/survey"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/image"
	"kpsim/traces"
)

// A judgement is what becomes of a probe.
type judgement struct {
	errno     int
	at        string // where it is, as kprobes/list has it
	optimized bool
	ftrace    bool
}

// An asker looks at kprobes/list when a probe has been registered, and before it is
// unregistered.
type asker struct {
	r    *rig.Rig
	seen map[uint64]judgement
}

func (a *asker) Event(e *traces.Event) *traces.Finding {
	j := a.seen[e.B]
	list := a.r.List()
	switch {
	case e.Kind == kpev.ApiReturn && e.A == kpev.Register:
		j.errno = -int(e.C)
	case e.Kind == kpev.ApiEnter && e.A == kpev.Unregister && list != "":
		j.at = strings.Fields(list)[2]
		j.optimized, j.ftrace = strings.Contains(list, "[OPTIMIZED]"), strings.Contains(list, "[FTRACE]")
	}
	a.seen[e.B] = j
	return nil
}

// registered is what becomes of a probe at each of these offsets of a function, one after
// the other, in the scenario of an object.
func registered(t *testing.T, head, function string, offsets []int) (map[int]judgement, *scenario.Scenario) {
	wait := "wait_optimized(), "
	if strings.Contains(head, "OPTPROBES=n") {
		wait = ""
	}
	src := head + fmt.Sprintf("\nops = []\nfor off in %s:\n    k = kprobe(\"k%%d\" %% off, at = o[%q] + off)\n    ops += [register(k), %sunregister(k)]\ntask(ops = ops)\n",
		strings.ReplaceAll(fmt.Sprint(offsets), " ", ", "), function, wait)
	sc, err := lang.Load("judged.star", []byte(src), os.ReadFile)
	require.NoError(t, err, src)
	rig, err := rig.New(sc, "")
	require.NoError(t, err)
	defer rig.Close()
	a := &asker{rig, make(map[uint64]judgement)}
	rig.Log.Subscribe(a, kpev.ApiEnter, kpev.ApiReturn)
	run := rig.Run(new(sched.Default))
	require.Equal(t, smp.Passed, run.Outcome, "%s: %v", function, run.Err)
	got := make(map[int]judgement)
	for i, off := range offsets {
		got[off] = a.seen[uint64(i)]
	}
	return got, sc
}

// TestJudgedAlike: kpsim check of an object, kpsim check of a scenario with that object, and
// registering a probe in that scenario give one answer for each byte at which a probe may be
// asked for, under each configuration.
func TestJudgedAlike(t *testing.T) {
	const thunks = `
for reg, code in (("rax", "ffe0"), ("rcx", "ffe1"), ("rdx", "ffe2"), ("r8", "41ffe0")):
    text("__x86_indirect_thunk_" + reg, code)
text("__x86_return_thunk", "c3")
`
	count := 0
	for i, c := range []struct{ object, head string }{
		{"testdata/judged.o", ""},
		{"testdata/judged_thunks.o", thunks},
		{"../../cmd/kpsim/testdata/mine/mine.o", ""},
		{"../../cmd/kpsim/testdata/mine/reasons.o", "stub(\"away\")\nstub(\"__SCT__hook\")\nstub(\"__SCK__hook\")" +
			thunks},
		{"../../smp/image/testdata/module61.ko", ""},
		{"../../smp/image/testdata/module612.ko", ""},
		{"../scenario/testdata/module.ko", ""},
	} {
		data, err := os.ReadFile(c.object)
		if os.IsNotExist(err) { // it is called .o there, and a scenario goes by the name
			data, err = os.ReadFile(strings.TrimSuffix(c.object, ".ko") + ".o")
			require.NoError(t, err)
			c.object = filepath.Join(t.TempDir(), filepath.Base(c.object))
			require.NoError(t, os.WriteFile(c.object, data, 0o644))
		}
		require.NoError(t, err)
		o, err := image.ParseELF(c.object, data)
		require.NoError(t, err)
		m, err := o.Load(0xffffffffc0000000, image.StockBoot, nil)
		require.NoError(t, err)
		for j, k := range []struct {
			machine string
			kernel  rules.Kernel
		}{
			{`profile = "k61"`, rules.K61},
			{`profile = "k612"`, rules.K612},
			{`config = "PREEMPTION,RETPOLINE,IBT,FTRACE"`, rules.K612},
			{`config = "none"`, rules.Kernel{Edition: rules.Edition69, Optprobes: true}},
			{`config = "IBT"`, rules.Kernel{Edition: rules.Edition69, Optprobes: true, IBT: true}},
			{`config = "RETPOLINE,FTRACE", edition = "6.5"`, rules.Kernel{Edition: rules.Edition65, Optprobes: true,
				Retpoline: true, Ftrace: true}},
			{`config = "CONFIG_RETPOLINE=y,IBT", edition = "5.14"`,
				rules.Kernel{Edition: rules.Edition514, Optprobes: true, Retpoline: true, IBT: true}},
			{`config = ["FTRACE", "OPTPROBES=n"], edition = "5.14"`,
				rules.Kernel{Edition: rules.Edition514, Ftrace: true}},
			{`config = "PREEMPTION", edition = "4.15"`, rules.Kernel{Edition: rules.Edition415, Optprobes: true,
				Preemption: true}},
			{`edition = "4.15", ftrace = True`, rules.Kernel{Edition: rules.Edition415, Optprobes: true, Ftrace: true}},
		} {
			if (i+j)%thorough.Of(2, 1) != 0 {
				continue // half of the pairs
			}
			s := survey.New(m, k.kernel)
			head := fmt.Sprintf("machine(cpus = 1, quiesce = \"tasks\", %s)\n%so = elf(%q)", k.machine, c.head,
				c.object)
			for i := range m.Symbols {
				sym := &m.Symbols[i]
				if sym.Init || sym.Name == "undecodable" || sym.Name == "secret.cold" {
					// it is gone when check looks; a scenario has to be code as a whole; code of another
					// section, without a symbol, is counted to it
					continue
				}
				count += judgedAlike(t, s, sym, head, k.machine)
			}
		}
	}
	t.Logf("%d answers are the same", count)
	require.Greater(t, count, thorough.Of(1500, 3000))
}

// judgedAlike compares the answers for a function.
func judgedAlike(t *testing.T, s *survey.Survey, sym *image.Symbol, head, machine string) (n int) {
	var offsets []int
	want := make(map[int]survey.Row)
	for _, r := range s.Rows(sym, true) {
		if !r.Padding {
			offsets = append(offsets, r.Offset)
			want[r.Offset] = r
		}
	}
	if len(offsets) == 0 {
		return 0
	}
	got, sc := registered(t, head, sym.Label(), offsets)
	again := vet.Survey(sc)
	f, ok := again.Module.Symbol(sym.Label())
	require.True(t, ok, sym.Label())
	for _, off := range offsets {
		w, g := want[off], got[off]
		who := fmt.Sprintf("%s: %s+%#x of %s: %s", machine, sym.Name, off, head, w.Why.In(sym.Name))
		require.Equal(t, w.Errno, g.errno, "errno, %s", who)
		n++
		v := again.Row(f, off)
		require.Equal(t, w.Verdict, v.Verdict, "check of the scenario, %s", who)
		if w.Errno != 0 {
			continue
		}
		require.Equal(t, w.Ftrace, g.ftrace, "ftrace, %s", who)
		require.Equal(t, w.Optimizable(), g.optimized, "optimized, %s", who)
		require.Contains(t, g.at, fmt.Sprintf("+%#x", off+w.Delta), who)
	}
	return n
}
