package lang_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/fetch"
)

// What Print prints, Load reads back, and nothing is lost.
func roundTrip(t *rapid.T) {
	s := genScenario(t)
	if err := lang.Check(s); err != nil {
		t.Fatalf("the generator made what Check refuses: %v", err)
	}
	again, err := lang.Load("other.star", []byte(lang.Print(s)), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, lang.Print(s))
	}
	require.Equal(t, s, again, lang.Print(s))
}

func TestRoundTrip(t *testing.T)     { rapid.Check(t, roundTrip) }
func FuzzRoundTrip(f *testing.F)     { f.Fuzz(rapid.MakeFuzz(roundTrip)) }
func BenchmarkLoad(b *testing.B)     { benchmarkLoad(b, "safe-full") }
func BenchmarkLoadWide(b *testing.B) { benchmarkLoad(b, "register-storm-none") }

func benchmarkLoad(b *testing.B, name string) {
	s, err := library.Load(name)
	require.NoError(b, err)
	src := []byte(lang.Print(s))
	for b.Loop() {
		if _, err := lang.Load(name, src, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// Whatever a program is, Load returns an error of one line, or a scenario that
// Check accepts and that prints as itself.
func FuzzLoad(f *testing.F) {
	ar, err := txtar.ParseFile("testdata/load.txtar")
	require.NoError(f, err)
	for _, file := range ar.Files {
		f.Add(file.Data)
	}
	for _, s := range library.All() {
		f.Add([]byte(lang.Print(s)))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := lang.Load("fuzz.star", src, openTest)
		if err != nil {
			require.Regexp(t, `^fuzz\.star:\d+(:\d+)?: [^\n]+$`, err.Error())
			return
		}
		require.NoError(t, lang.Check(s))
		again, err := lang.Load("again.star", []byte(lang.Print(s)), nil)
		require.NoError(t, err, lang.Print(s))
		require.Equal(t, s, again)
	})
}

// names draws distinct names: plain ones, ones that the language uses itself,
// and ones that are no identifiers.
type names struct{ used map[string]bool }

func (n *names) draw(t *rapid.T, what string) string {
	name := rapid.OneOf(
		rapid.StringMatching(`[a-c]{1,2}`),
		rapid.SampledFrom([]string{"call", "task", "None", "range", "for", "while", "text", "a.b", "a_b", "a_2",
			"task0",
			"task1", "1a", "_", "é", "x y", `"`, `\`, "'", "{}", "%d"}),
		rapid.StringOfN(rapid.RuneFrom([]rune(" \"'\\#%.-/é☃a0")), 1, 5, -1),
	).Filter(func(s string) bool { return !n.used[s] }).Draw(t, what)
	n.used[name] = true
	return name
}

func newNames() *names { return &names{make(map[string]bool)} }

func genScenario(t *rapid.T) *scenario.Scenario {
	s := &scenario.Scenario{
		Name:  newNames().draw(t, "name"),
		Says:  rapid.SampledFrom([]string{"", "It shows.", `"It" \ shows.`}).Draw(t, "says"),
		Needs: rapid.SampledFrom([]scenario.Needs{scenario.NeedsNothing, scenario.NeedsInterrupt}).Draw(t, "needs"),
		Machine: scenario.Machine{
			CPUs:    rapid.IntRange(1, 63).Draw(t, "cpus"),
			Preempt: scenario.Preempt(rapid.IntRange(0, 4).Draw(t, "preempt")),
			Fetch:   fetch.Model(rapid.IntRange(0, 2).Draw(t, "fetch")),
			Memory:  smp.Ordering(rapid.IntRange(0, 1).Draw(t, "memory")),
			Edition: rules.Edition(rapid.IntRange(0, 6).Draw(t, "edition")),
			Steps:   rapid.IntRange(0, scenario.MaxBudget).Draw(t, "steps"),
		},
	}
	genSettings(t, &s.Machine)
	genText(t, s)
	genMissing(t, s)
	genAliases(t, s)
	genClients(t, s)
	genPrograms(t, s)
	switch rapid.IntRange(0, 2).Draw(t, "expect") {
	case 0:
		s.Expect.Canary = newNames().draw(t, "canary")
	case 1:
		s.Expect.Sometimes, s.Expect.Property = true, newNames().draw(t, "property")
	}
	return s
}

// genSettings says some of an edition's settings otherwise.
func genSettings(t *rapid.T, m *scenario.Machine) {
	m.Settle()
	for i := range era.Table {
		r := &era.Table[i]
		if rapid.IntRange(0, 3).Draw(t, "say") == 3 {
			r.Set(&m.Settings, uint8(rapid.IntRange(0, r.Drawable()-1).Draw(t, "value")))
		}
	}
	m.Batches, m.Kernel.Optprobes = true, true // so that any operation may come
}

func genText(t *rapid.T, s *scenario.Scenario) {
	symbols := newNames()
	at := arch.Addr(0x1000)
	if rapid.Bool().Draw(t, "high") {
		at = scenario.TextBase
	}
	for range rapid.IntRange(1, 4).Draw(t, "texts") {
		code := rapid.SliceOfN(rapid.Byte(), 1, 120).Draw(t, "code")
		if rapid.Bool().Draw(t, "nop") {
			code = append([]byte{0x0f, 0x1f, 0x44, 0x00, 0x00}, code...)
		}
		tx := scenario.Text{Name: symbols.draw(t, "text"), At: at, Code: code}
		for off := range code {
			if rapid.IntRange(0, 20).Draw(t, "extable") == 20 {
				tx.Extable = append(tx.Extable, off)
			}
		}
		s.Texts = append(s.Texts, tx)
		at += arch.Addr(len(code) + rapid.IntRange(0, 5000).Draw(t, "gap"))
	}
	at = scenario.DataBase
	for range rapid.IntRange(0, 2).Draw(t, "datas") {
		b := rapid.SliceOfN(rapid.Byte(), 1, 60).Draw(t, "bytes")
		b = append(b, make([]byte, rapid.SampledFrom([]int{0, 0, 255, 256, 5000}).Draw(t, "zeros"))...)
		s.Datas = append(s.Datas, scenario.Data{Name: symbols.draw(t, "data"), At: at, Bytes: b,
			PerCPU: rapid.Bool().Draw(t, "percpu")})
		at += arch.Addr(len(b))
	}
}

func genMissing(t *rapid.T, s *scenario.Scenario) {
	names := newNames()
	for i := range s.Texts {
		names.used[s.Texts[i].Name] = true
	}
	for i := range s.Datas {
		names.used[s.Datas[i].Name] = true
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "missing") {
		s.Missing = append(s.Missing,
			scenario.Missing{Name: names.draw(t, "missing"), At: 0xffffffff90000000 + arch.Addr(i)<<20,
				Size: 4096 * rapid.IntRange(1, 3).Draw(t, "pages")})
	}
}

func genAliases(t *rapid.T, s *scenario.Scenario) {
	if s.Machine.Memory == smp.TSO {
		return
	}
	names := newNames()
	for _, l := range []*scenario.List{scenario.TheTexts, scenario.TheDatas, scenario.TheMissing} {
		for _, name := range l.Names(s) {
			names.used[name] = true
		}
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "aliases") {
		f := &s.Texts[rapid.IntRange(0, len(s.Texts)-1).Draw(t, "function")]
		s.Aliases = append(s.Aliases, scenario.Alias{Name: names.draw(t, "alias"), Of: f.Name,
			At: 0xffffffff98000000 + arch.Addr(i)<<20 + f.At%scenario.Page})
	}
}

func genPlace(t *rapid.T, s *scenario.Scenario) (name string, off int) {
	f := &s.Texts[rapid.IntRange(0, len(s.Texts)-1).Draw(t, "function")]
	return f.Name, rapid.IntRange(0, len(f.Code)-1).Draw(t, "offset")
}

func genHandler(t *rapid.T, s *scenario.Scenario, names []string, private bool) []scenario.Step {
	if rapid.Bool().Draw(t, "no handler") {
		return nil
	}
	steps := []scenario.Step{}
	for range rapid.IntRange(0, 3).Draw(t, "steps") {
		st := scenario.Step{Kind: rapid.SampledFrom(scenario.Steps).Draw(t, "step")}
		switch st.Kind {
		case scenario.StepSetReg:
			st.Reg, st.Value = arch.Reg(rapid.IntRange(0, 15).Draw(t, "reg")), rapid.Uint64().Draw(t, "value")
		case scenario.StepSetIP:
			st.Value = rapid.Uint64().Draw(t, "ip")
			if rapid.Bool().Draw(t, "in function") {
				name, off := genPlace(t, s)
				st.Target, st.Value = name, uint64(off)
			}
		case scenario.StepCall:
			st.Target, _ = genPlace(t, s)
		case scenario.StepSave, scenario.StepRestore:
			if !private {
				continue
			}
			st.Reg = arch.Reg(rapid.IntRange(0, 15).Draw(t, "reg"))
		case scenario.StepStore:
			if len(s.Datas) == 0 || len(s.Datas[0].Bytes) < 8 {
				continue
			}
			d := &s.Datas[0]
			st.Target, st.Off, st.Value = d.Name, rapid.IntRange(0, len(d.Bytes)-8).Draw(t, "off"),
				rapid.Uint64().Draw(t, "value")
		case scenario.StepRegister, scenario.StepUnregister, scenario.StepEnable, scenario.StepDisable,
			scenario.StepReadMissed:
			st.Target = names[rapid.IntRange(0, len(names)-1).Draw(t, "of probe")]
		}
		steps = append(steps, st)
	}
	return steps
}

func genClients(t *rapid.T, s *scenario.Scenario) {
	probes, labels := newNames(), newNames()
	var all []string
	for range rapid.IntRange(0, 3).Draw(t, "probes") {
		all = append(all, probes.draw(t, "probe"))
	}
	for _, name := range all {
		s.Probes = append(s.Probes, genProbe(t, s, name, all))
	}
	for i := range s.Texts {
		if f := &s.Texts[i]; len(f.Code) > 4 && f.Code[0] == 0x0f && f.Code[1] == 0x1f && f.Code[2] == 0x44 &&
			f.Code[3] == 0 && f.Code[4] == 0 {
			at := scenario.LabelSite{Func: f.Name, Likely: rapid.Bool().Draw(t, "likely")}
			at.Target, at.TOff = genPlace(t, s)
			if n := len(s.Labels); n > 0 && rapid.Bool().Draw(t, "another site") {
				l := &s.Labels[n-1]
				if on := s.LabelOn(l); on != at.Likely {
					jump, _ := s.Machine.Processor().Jump(f.At, s.Text(at.Target).At+arch.Addr(at.TOff))
					f.Code = append(slices.Clone(jump.Bytes()), f.Code[5:]...)
				}
				l.Sites = append(l.Sites, at)
				continue
			}
			s.Labels = append(s.Labels, scenario.Label{Name: labels.draw(t, "label"), Sites: []scenario.LabelSite{at}})
		}
	}
}

func genProbe(t *rapid.T, s *scenario.Scenario, name string, all []string) scenario.Probe {
	k := scenario.Probe{Name: name, Kind: scenario.ProbeKind(rapid.IntRange(0, 2).Draw(t, "kind")),
		Disabled: rapid.Bool().Draw(t, "disabled")}
	if k.Kind == scenario.ProbeJprobe && !s.Machine.Jprobes {
		k.Kind = scenario.ProbeKprobe
	}
	k.Func, k.Offset = genPlace(t, s)
	switch rapid.IntRange(0, 3).Draw(t, "said") {
	case 1:
		k.Symbol = newNames().draw(t, "symbol")
	case 2:
		k.Symbol, k.Func = k.Func, ""
	}
	switch k.Kind {
	case scenario.ProbeJprobe:
		if k.Pre = genHandler(t, s, all, false); k.Pre == nil {
			k.Entry, _ = genPlace(t, s)
		}
		return k
	case scenario.ProbeKretprobe:
		k.Maxactive = rapid.IntRange(-1, 20).Draw(t, "maxactive")
		k.DataSize = rapid.SampledFrom([]int{0, 4, 8, 100}).Draw(t, "data_size")
	case scenario.ProbeKprobe:
		if s.Machine.FaultHandlers {
			k.Fault = genHandler(t, s, all, false)
		}
	}
	k.Pre, k.Post = genHandler(t, s, all, k.DataSize >= 8), genHandler(t, s, all, k.DataSize >= 8)
	return k
}

func genPrograms(t *rapid.T, s *scenario.Scenario) {
	tasks := newNames()
	cpu := rapid.IntRange(0, s.Machine.CPUs-1)
	for range rapid.IntRange(1, 3).Draw(t, "tasks") {
		task := scenario.Task{Name: tasks.draw(t, "task"), CPU: cpu.Draw(t, "cpu"),
			Repeat: rapid.IntRange(1, 3).Draw(t, "repeat")}
		for range rapid.IntRange(1, 6).Draw(t, "ops") {
			task.Ops = append(task.Ops, genOp(t, s))
		}
		s.Tasks = append(s.Tasks, task)
	}
	for range rapid.IntRange(0, 3).Draw(t, "sources") {
		src := scenario.Source{
			Kind:   rapid.SampledFrom(scenario.SourceKinds).Draw(t, "source"),
			CPU:    cpu.Draw(t, "cpu"),
			AtMost: rapid.IntRange(1, 5).Draw(t, "at most"),
		}
		src.Opens = src.Kind.Takes("opens") && rapid.Bool().Draw(t, "opens")
		if src.Kind.Takes("run") && rapid.Bool().Draw(t, "runs") {
			src.Run, _ = genPlace(t, s)
			for range rapid.IntRange(0, 6).Draw(t, "args") {
				src.Args = append(src.Args, rapid.Uint64().Draw(t, "arg"))
			}
		}
		src.Idle = src.Kind.Takes("idle") && rapid.Bool().Draw(t, "idle")
		s.Sources = append(s.Sources, src)
	}
}

// genOp draws an operation by its parameters; one of a part that there isn't becomes a call.
func genOp(t *rapid.T, s *scenario.Scenario) scenario.Op {
	op := scenario.Op{Kind: rapid.SampledFrom(drawable()).Draw(t, "op")}
	for _, a := range op.Kind.Params {
		if !genParam(t, s, &op, a) {
			op = scenario.Op{Kind: act.Call}
			for _, a := range op.Kind.Params {
				genParam(t, s, &op, a)
			}
			return op
		}
	}
	return op
}

func genParam(t *rapid.T, s *scenario.Scenario, op *scenario.Op, a scenario.Param) bool {
	one := func(names []string) bool {
		if len(names) > 0 {
			op.Target = rapid.SampledFrom(names).Draw(t, "target")
		}
		return len(names) > 0
	}
	switch a.Kind {
	case scenario.ParamPart:
		return one(a.Of.Names(s))
	case scenario.ParamParts:
		for i := range s.Probes {
			if k := &s.Probes[i]; k.Kind == s.Probes[0].Kind && k.Kind != scenario.ProbeJprobe {
				op.Targets = append(op.Targets, k.Name)
			}
		}
	case scenario.ParamFunc:
		op.Target, _ = genPlace(t, s)
	case scenario.ParamOn:
		op.On = rapid.Bool().Draw(t, "on")
	case scenario.ParamStopped:
		op.On = op.Old == nil && rapid.Bool().Draw(t, "stopped")
	case scenario.ParamChanged:
		op.Changed = rapid.Bool().Draw(t, "changed")
	case scenario.ParamData:
		if len(s.Datas) == 0 {
			return false
		}
		d := &s.Datas[rapid.IntRange(0, len(s.Datas)-1).Draw(t, "data")]
		op.Target, op.Offset = d.Name, rapid.IntRange(0, len(d.Bytes)-1).Draw(t, "offset")
		op.Bytes = rapid.SliceOfN(rapid.Byte(), 1, len(d.Bytes)-op.Offset).Draw(t, "expected")
	case scenario.ParamBytes: // with its data
	case scenario.ParamArgs:
		for i := range rapid.IntRange(0, 6).Draw(t, "args") {
			op.Args = append(op.Args, rapid.Uint64().Draw(t, fmt.Sprint("arg ", i)))
		}
	case scenario.ParamReturns:
		if op.Checked = rapid.Bool().Draw(t, "checked"); op.Checked {
			op.Bits = rapid.IntRange(1, 64).Draw(t, "bits")
			op.Returns = rapid.Uint64().Draw(t, "returns") >> (64 - op.Bits)
		}
	case scenario.ParamBits: // with its result
	case scenario.ParamErrno:
		if op.Checked = rapid.Bool().Draw(t, "checked"); op.Checked {
			op.Returns = rapid.SampledFrom([]uint64{0, 2, 12, 16, 17, 19, 22, 28, 84, 95}).Draw(t, "errno")
		}
	case scenario.ParamNop: // all hits have the same
	case scenario.ParamProcess:
		op.Process = rapid.IntRange(0, 3).Draw(t, "process")
	case scenario.ParamRecurses:
		op.Recurses = rapid.IntRange(0, 3).Draw(t, "recurses")
	case scenario.ParamLeaves:
		op.Leaves = rapid.IntRange(0, op.Recurses+1).Draw(t, "leaves")
	case scenario.ParamRet:
		if rapid.Bool().Draw(t, "has ret") {
			op.Ret, _ = genPlace(t, s)
		}
	case scenario.ParamSkips:
		op.Skips = rapid.Uint64Range(0, 15).Draw(t, "skips")
	case scenario.ParamRemoves:
		op.Removes = rapid.Bool().Draw(t, "removes")
	default: // of parts that aren't drawn here
		return false
	}
	return true
}

// drawable are the operations that need nothing beyond their parameters.
func drawable() []*scenario.Operation {
	return slices.DeleteFunc(slices.Clone(act.All()), func(k *scenario.Operation) bool {
		return k.Check != nil || k.Setting != ""
	})
}
