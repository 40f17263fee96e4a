package act

import (
	"bytes"
	"fmt"
	"slices"

	"kpsim/engine/bpf"
	"kpsim/internal/scenario"
	"kpsim/kprobes/rules"
	"kpsim/smp"
	"kpsim/smp/arch/target"
	"kpsim/smp/arch/x86"
)

// What BPF's dispatchers do.
var (
	Dispatch = add(dispatcher("bpf_dispatch", "have the BPF dispatcher `f` know the program `p`: `f` begins with a "+
		"5-byte nop, and calls the function that its third argument (rdx) points to. The nop becomes a jump to an "+
		"image, which jumps to the programs that it knows directly, and to any other through rdx; its comparisons change the flags. Each change writes "+
		"the half of the image that isn't in use, and returns after a grace period of RCU. Calls of `f` are its "+
		"readers, so it needs preempt `\"none\"` or `\"voluntary\"`. A program that was added twice is removed twice",
		"bpf_undispatch", "bpf_dispatcher_change_prog", scenario.Patches, true))

	Undispatch = add(dispatcher("bpf_undispatch", "have it forget the program, which may be freed after a grace "+
		"period. When no program is left the jump becomes the nop", "bpf_dispatch", "bpf_dispatcher_remove_prog", 0, false))
)

// dispatcher returns the row of an operation on a BPF dispatcher.
func dispatcher(word, says, inverse, kernel string, traits scenario.Traits, on bool) row {
	return row{family: sites, Operation: &scenario.Operation{
		Word: word,
		Params: []scenario.Param{{Name: "f", Kind: scenario.ParamFunc},
			{Name: "p", Kind: scenario.ParamInto}},
		Says:    says,
		Kernel:  []string{kernel},
		Object:  scenario.ADispatcher,
		Inverse: inverse,
		Traits:  traits | scenario.Around | scenario.Serial,
		Touches: scenario.TouchFlip | scenario.TouchPatched | scenario.TouchDispatch,
		Check:   noDispatcher,
	}, do: func(t Task, x *smp.Ctx, i int, op *scenario.Op) {
		t.Clients().Dispatcher[op.Target].Change(x, t.Func(op.Targets[0]), on)
	}}
}

// noDispatcher says why a function can't be a dispatcher, or has no such program.
func noDispatcher(s *scenario.Scenario, op *scenario.Op) string {
	f := s.Text(op.Target)
	switch m := &s.Machine; {
	case m.Engine != "":
		return fmt.Sprintf("BPF dispatchers are of kpsim's own kernel, and engine %s knows none; leave %s out",
			m.Engine, op.Kind)
	case m.Edition == rules.Edition26 || m.Edition == rules.Edition415:
		return fmt.Sprintf("edition %v has no BPF dispatchers, which came with 5.6; leave %s out, or take a later "+
			"edition", m.Edition, op.Kind)
	case m.Arch != target.X8664:
		return fmt.Sprintf("BPF dispatchers are of x86-64; leave %s out, or take another machine", op.Kind)
	case m.Preempt.Built():
		return fmt.Sprintf("calls of a BPF dispatcher are read-side sections of RCU, and with preempt = %q a task's "+
			"call isn't one; say preempt = \"none\" or \"voluntary\"", scenario.PreemptWords[m.Preempt])
	case !bytes.HasPrefix(f.Code, x86.Nop5[:]):
		return fmt.Sprintf("%s doesn't begin with a 5-byte nop; begin it with 0f1f440000", f.Name)
	case f.Own || slices.ContainsFunc(s.Modules, func(m scenario.Module) bool {
		return slices.Contains(m.Core, f.Name) || slices.Contains(m.Init, f.Name)
	}):
		return fmt.Sprintf("a BPF dispatcher is the kernel's own, and %s comes and goes; take a function of text()",
			f.Name)
	}
	if what := writes(s, f.Name); what != "" {
		return fmt.Sprintf("%s is at the first 5 bytes of %s, too, which isn't modelled beside a BPF dispatcher; "+
			"give it another place", what, f.Name)
	}
	var progs []string
	s.Any(func(o *scenario.Op) bool {
		if o.Kind.Object == scenario.ADispatcher && o.Target == f.Name && !slices.Contains(progs, o.Targets[0]) {
			progs = append(progs, o.Targets[0])
		}
		return false
	})
	if len(progs) > bpf.MostDispatched {
		return fmt.Sprintf("%s has %d programs; at most %d", f.Name, len(progs), bpf.MostDispatched)
	}
	return ""
}

// writes returns what else writes to the first five bytes of a function, "" if nothing does.
func writes(s *scenario.Scenario, f string) (what string) {
	s.Patched(func(t scenario.Patched) {
		if t.Func == f && t.Offset < len(x86.Nop5) {
			what = "another patcher"
		}
	})
	for i := range s.Probes {
		if p := &s.Probes[i]; p.Func == f && p.Offset < len(x86.Nop5) {
			what = "probe " + p.Name
		}
	}
	s.Any(func(o *scenario.Op) bool {
		if o.Target == f && (o.Kind.Traits&scenario.ByHand != 0 || o.Kind.Has(scenario.ParamInsn)) {
			what = o.Kind.Word + "()"
		}
		return false
	})
	return what
}
