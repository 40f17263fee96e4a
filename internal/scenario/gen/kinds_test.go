package gen

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/engine/ftrace"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/smpev"
)

// fuzzKinds are what drawn scenarios may hold beside these. That each setting has
// each of its values is counted, too.
var fuzzKinds = []string{
	"no edition", "stop_machine", "preempt none", "preempt voluntary", "preempt dynamic", "preempt full",
	"preempt lazy",
	"begins 1+3+1", "begins 3+3", "begins 1+1+1+1+7", "begins with a loop", "begins with endbr64",
	"shorter than a jump",
	"recursion", "tail call", "jumped into", "jump through a register", "an exception table", "gives way in its midst",
	"site of ftrace", "probe at a site of ftrace", "tracer", "live patch", "live patch of two", "direct call",
	"debugger's breakpoint", "fprobe", "BPF program", "BPF dispatcher", "BPF tail call",
	"alternatives", "uprobe", "trampolines shared", "trampolines own",
	"return probe of a uprobe", "filter of a uprobe's user", "uprobe's handler removes", "longjmp leaves a call",
	"uprobe's nop becomes a call",
	"a task exits", "a CPU comes", "a CPU goes",
	"a CPU fails to go", "a CPU fails to come", "a CPU begins offline", "user mode",
	"static call", "tail of a static call", "static call is set", "probe beside a static call",
	"lock prefix", "lock prefixes come and go", "probe beside a lock prefix",
	"text patched by hand", "data is away", "probe where a fault sleeps", "data of each CPU",
	"crc32", "sort", "memset", "memcpy", "memmove", "probe in work.o or string.o",
	"kretprobe saves", "kretprobe restores", "kretprobe refuses calls", "two kretprobes on a function",
	"handler stores", "handler sets a register", "handler sets ip", "fault handler", "no pre_handler",
	"probe of no symbol",
	"preempted again and again", "somebody to run instead",
	"timer in idle", "no timer in idle", "timer lets others in", "nmi in idle", "timer runs what gets the jump",
	"nmi runs what gets the jump",
	"jump at byte 0 of its chunk", "jump at byte 1 of its chunk", "jump at byte 2 of its chunk",
	"jump at byte 3 of its chunk",
	"jump at byte 4 of its chunk", "jump at byte 5 of its chunk", "jump at byte 6 of its chunk",
	"jump at byte 7 of its chunk",
}

// TestKinds: each kind of thing is in some of the scenarios that are drawn, and no
// scenario holds what isn't in the list. With -v it prints in how many.
func TestKinds(t *testing.T) {
	const programs = 1500
	counts := map[string]int{}
	for seed := range uint64(programs) {
		sc := Fuzz(seed + 1)
		if sc.Says != "" {
			continue // made from one of the library, which holds what it does
		}
		for kind := range fuzzKindsOf(sc) {
			counts[kind]++
		}
	}
	want := slices.Clone(fuzzKinds)
	for _, k := range editionKinds {
		want = append(want, k.kind)
	}
	for i := range era.Table {
		s := &era.Table[i]
		for v := range s.Drawable() {
			kind := s.Word + " = " + s.Value(uint8(v))
			// What the build says of text must be so.
			if unsound := kind == "sync_arm = False" || kind == "nmi_latch = False" || s.Word == "patch" &&
				v > int(era.PatchStopMachine) || s.Build && v > 0 && s.Word != "retpoline" && s.Word != "ibt"; unsound {
				require.Zero(t, counts[kind], kind)
				continue
			}
			want = append(want, kind)
		}
	}
	for _, kind := range want {
		t.Logf("%5.1f %% of %d: %s", 100*float64(counts[kind])/programs, programs, kind)
	}
	for _, kind := range want {
		require.NotZero(t, counts[kind], kind)
		delete(counts, kind)
	}
	require.Empty(t, slices.Collect(maps.Keys(counts)), "these have no row")
}

// fuzzKindsOf says what a drawn scenario holds.
func fuzzKindsOf(sc *scenario.Scenario) map[string]bool {
	in := kindsOf(sc)
	is := func(kind string, there bool) {
		if there {
			in[kind] = true
		}
	}
	m := &sc.Machine
	is("no edition", m.Edition == rules.EditionNone)
	is("stop_machine", m.Patch == era.PatchStopMachine)
	in["preempt "+m.Preempt.String()] = true
	for i := range era.Table {
		r := &era.Table[i]
		in[r.Word+" = "+r.Value(r.Get(&m.Settings))] = true
	}
	for i := range sc.Texts {
		fuzzTextKinds(sc, &sc.Texts[i], is)
	}
	is("site of ftrace", len(sc.Sites) > 0)
	is("trampolines shared", m.Trampolines == ftrace.Shared)
	is("trampolines own", m.Trampolines == ftrace.Own)
	is("static call", len(sc.Calls) > 0)
	is("tail of a static call", len(sc.Calls) > 0 &&
		slices.ContainsFunc(sc.Calls[0].Sites, func(s scenario.CallSite) bool { return s.Tail }))
	is("lock prefix", len(sc.Locked) > 0)
	is("data is away", slices.ContainsFunc(sc.Datas, func(d scenario.Data) bool { return d.Away }))
	is("data of each CPU", slices.ContainsFunc(sc.Datas, func(d scenario.Data) bool { return d.PerCPU }))
	for i := range sc.Probes {
		fuzzProbeKinds(sc, &sc.Probes[i], is)
	}
	for i := range sc.Tasks {
		is("somebody to run instead", strings.HasPrefix(sc.Tasks[i].Name, "other"))
		for _, op := range sc.Tasks[i].Ops {
			is("text patched by hand", op.Kind.Has(scenario.ParamWritten))
			is("tracer", op.Kind == act.Tracer)
			is("live patch", op.Kind == act.PatchFunc)
			is("live patch of two", op.Kind == act.PatchFunc && len(op.Targets) > 1)
			is("direct call", op.Kind == act.RegisterDirect)
			is("debugger's breakpoint", op.Kind == act.SetBreakpoint)
			is("fprobe", op.Kind == act.RegisterFprobe)
			is("BPF program", op.Kind == act.AttachBpf)
			is("BPF dispatcher", op.Kind == act.Dispatch)
			is("BPF tail call", op.Kind == act.TailCall)
			is("uprobe", op.Kind == act.HitUprobe)
			is("return probe of a uprobe", op.Ret != "")
			is("filter of a uprobe's user", op.Skips != 0)
			is("uprobe's handler removes", op.Removes)
			is("uprobe's nop becomes a call", op.At != "")
			is("longjmp leaves a call", op.Leaves != 0)
			is("alternatives", op.Kind == act.Alternatives)
			is("static call is set", op.Kind == act.SetCall)
			is("lock prefixes come and go", op.Kind == act.Locks)
			is("a task exits", op.Kind == act.Call && op.Target == "last")
			is("a CPU comes", op.Kind == act.Hotplug)
			is("a CPU goes", op.Kind == act.Offline)
			is("a CPU fails to go", op.Kind == act.Offline && op.Fails != smpev.CPUStepNone)
			is("a CPU fails to come", op.Kind == act.Online && op.Fails != smpev.CPUStepNone)
			is("user mode", op.Kind == act.User)
			is(op.Target, op.Kind == act.Call && slices.Contains(movers, op.Target))
		}
	}
	if len(sc.Probes) == 0 || sc.Probes[0].Func == "" {
		return in
	}
	focus := &sc.Probes[0]
	is(fmt.Sprintf("jump at byte %d of its chunk", (sc.Text(focus.Func).At+arch.Addr(focus.Offset))%8), m.Optimizes())
	for _, s := range sc.Sources {
		is("preempted again and again", s.Kind == scenario.SourcePreempt && s.AtMost > 6)
		is("a CPU begins offline", m.Offline != 0)
		is("no timer in idle", s.Kind == scenario.SourceTimer && s.Idle && m.NoHZ)
		is("timer in idle", s.Kind == scenario.SourceTimer && s.Idle)
		is("nmi in idle", s.Kind == scenario.SourceNMI && s.Idle)
		is("timer lets others in", s.Opens)
		is("timer runs what gets the jump", s.Kind == scenario.SourceTimer && s.Run == focus.Func)
		is("nmi runs what gets the jump", s.Kind == scenario.SourceNMI && s.Run == focus.Func)
	}
	return in
}

// fuzzTextKinds says what a drawn function is.
func fuzzTextKinds(sc *scenario.Scenario, f *scenario.Text, is func(string, bool)) {
	a := sc.Machine.Processor()
	if f.At < a.Addr(textsAt) || f.At >= a.Addr(entryAt) {
		return
	}
	starts := Boundaries(sc, f.Name)
	is("begins 1+3+1", bytes.HasPrefix(f.Code, []byte{0x55, 0x48, 0x89, 0xe5, 0x53}))
	is("begins 3+3", len(starts) > 2 && starts[1] == 3 && starts[2] == 6)
	is("begins 1+1+1+1+7", len(starts) > 5 && starts[4] == 4 && starts[5] == 11)
	is("begins with a loop", bytes.HasPrefix(f.Code, []byte{0x41, 0xb8}))
	is("begins with endbr64", bytes.HasPrefix(f.Code, []byte{0xf3, 0x0f, 0x1e, 0xfa}))
	is("shorter than a jump", len(f.Code) < x86.JumpLen)
	is("an exception table", len(f.Extable) > 0)
	resched, _ := scenario.KernelExport("cond_resched")
	for _, off := range starts {
		at := f.At + arch.Addr(off)
		d, _ := a.Decode(f.Code[off:], at)
		op := f.Code[off]
		to := arch.Addr(0)
		if op == 0xe8 || op == 0xe9 {
			to = at + 5 + arch.Addr(int32(uint32(f.Code[off+1])|uint32(f.Code[off+2])<<8|uint32(f.Code[off+3])<<16|uint32(f.Code[off+4])<<24))
		}
		is("recursion", op == 0xe8 && a.Addr(to) == f.At)
		is("tail call", op == 0xe9 && f.Name != "last")
		is("gives way in its midst", op == 0xe8 && a.Addr(to) == a.Addr(resched))
		is("jumped into", op&0xf0 == 0x70 && d.Size() == 2)
		is("jump through a register", op == 0xff && f.Code[off+1] == 0xe2)
	}
}

// fuzzProbeKinds says what a probe of a drawn scenario is.
func fuzzProbeKinds(sc *scenario.Scenario, p *scenario.Probe, is func(string, bool)) {
	is("probe of no symbol", p.Symbol != "")
	is("no pre_handler", p.Kind == scenario.ProbeKprobe && p.Pre == nil && p.Symbol == "")
	is("fault handler", p.Fault != nil)
	is("probe at a site of ftrace", slices.Contains(sc.Sites, scenario.Site{Func: p.Func, Offset: p.Offset}))
	is("probe in work.o or string.o", slices.Contains(movers, p.Func))
	is("probe beside a static call", strings.HasPrefix(p.Func, switchedName))
	is("probe beside a lock prefix", p.Func == "locked")
	is("probe where a fault sleeps", strings.HasPrefix(p.Func, "far"))
	for _, s := range p.Pre {
		is("kretprobe saves", p.Kind == scenario.ProbeKretprobe && s.Kind == scenario.StepSave)
		is("kretprobe refuses calls", p.Kind == scenario.ProbeKretprobe && s.Kind == scenario.StepNonzero)
	}
	for _, s := range p.Post {
		is("kretprobe restores", s.Kind == scenario.StepRestore)
	}
	for _, s := range slices.Concat(p.Pre, p.Post) {
		is("handler stores", s.Kind == scenario.StepStore)
		is("handler sets a register", p.Kind != scenario.ProbeJprobe && s.Kind == scenario.StepSetReg)
		is("handler sets ip", s.Kind == scenario.StepSetIP)
	}
	for i := range sc.Probes {
		q := &sc.Probes[i]
		is("two kretprobes on a function", p != q && p.Kind == scenario.ProbeKretprobe &&
			q.Kind == scenario.ProbeKretprobe && p.Func == q.Func)
	}
}
