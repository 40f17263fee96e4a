package act

import (
	"bytes"
	"fmt"
	"slices"

	"kpsim/engine/bpf"
	"kpsim/internal/scenario"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
	"kpsim/smp/arch/x86"
)

// What BPF's dispatchers do.
var (
	Dispatch = add(dispatcher("bpf_dispatch", "have the BPF dispatcher `f` know the program `p`: `f` begins with a "+
		"5-byte nop, and calls the function that its third argument (rdx) points to. The nop becomes a jump to an "+
		"image, which jumps to the programs that it knows directly, and to any other through rdx; its comparisons "+
		"change the flags. Each change writes the half of the image that isn't in use, and returns after a grace "+
		"period of RCU. Calls of `f` are its readers, so it needs preempt `\"none\"` or `\"voluntary\"`. A program "+
		"that was added twice is removed twice",
		"bpf_undispatch", "bpf_dispatcher_change_prog", scenario.Patches, true))

	Undispatch = add(dispatcher("bpf_undispatch", "have it forget the program, which may be freed after a grace "+
		"period. When no program is left the jump becomes the nop", "bpf_dispatch", "bpf_dispatcher_remove_prog", 0, false))

	TailCall = add(row{family: sites, Operation: &scenario.Operation{
		Word: "bpf_tail_call",
		Params: []scenario.Param{{Name: "f", Kind: scenario.ParamFunc},
			{Name: "p", Kind: scenario.ParamCallee}},
		Says: "have the array of programs that `f` tail-calls into hold `p`; `None`: it holds none. `f` has a jump " +
			"over a 5-byte nop, which it ends behind. With a program the nop is a jump to it, and the jump a nop; it " +
			"returns from a program's going after a grace period of RCU. Calls of `f` are its readers, so it needs " +
			"preempt `\"none\"` or `\"voluntary\"`; give them `changed = True`",
		Kernel:  []string{"bpf_arch_poke_desc_update", "prog_array_map_poke_run"},
		Object:  scenario.ATailCall,
		Traits:  scenario.Patches | scenario.Around | scenario.Serial,
		Touches: scenario.TouchFlip | scenario.TouchPatched | scenario.TouchAwait,
		Check:   noTail,
	}, do: func(t Task, x *smp.Ctx, _ int, op *scenario.Op) {
		t.Clients().Tail[op.Target].Set(x, callee(t, op))
	}})
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

// noBpf says why a function of the kernel's own can't be patched as what BPF has since a release.
func noBpf(s *scenario.Scenario, op *scenario.Op, what, since string) string {
	f := s.Text(op.Target)
	switch m := &s.Machine; {
	case m.Engine != "" && !m.Arch.Serves(target.OwnClients):
		return fmt.Sprintf("engine %s knows no %ss on %s; leave %s out", m.Engine, what, m.Arch, op.Kind)
	case !m.Directs():
		return fmt.Sprintf("edition %v has no %ss, which came with %s; leave %s out, or take a later edition",
			m.Edition, what, since, op.Kind)
	case !m.Arch.Serves(target.BPF):
		return fmt.Sprintf("%ss are of x86-64; leave %s out, or take another machine", what, op.Kind)
	case m.Preempt.Built():
		return fmt.Sprintf("calls of a %s are read-side sections of RCU, and with preempt = %q a task's call isn't "+
			"one; say preempt = \"none\" or \"voluntary\"", what, scenario.PreemptWords[m.Preempt])
	case f.Own || slices.ContainsFunc(s.Modules, func(m scenario.Module) bool {
		return slices.Contains(m.Core, f.Name) || slices.Contains(m.Init, f.Name)
	}):
		return fmt.Sprintf("a %s is the kernel's own, and %s comes and goes; take a function of text()", what, f.Name)
	}
	return ""
}

// noDispatcher says why a function can't be a dispatcher, or has no such program.
func noDispatcher(s *scenario.Scenario, op *scenario.Op) string {
	f := s.Text(op.Target)
	if why := noBpf(s, op, "BPF dispatcher", "5.6"); why != "" {
		return why
	}
	if !bytes.HasPrefix(f.Code, x86.Nop5[:]) {
		return fmt.Sprintf("%s doesn't begin with a 5-byte nop; begin it with 0f1f440000", f.Name)
	}
	if what := writes(s, f.Name, 0, len(x86.Nop5)); what != "" {
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

// writes returns what else writes to the bytes of a function from from up to to, "" if nothing does.
func writes(s *scenario.Scenario, f string, from, to int) (what string) {
	s.Patched(func(t scenario.Patched) {
		if t.Func == f && t.Offset < to && t.Offset+t.Len > from {
			what = "another patcher"
		}
	})
	for i := range s.Probes {
		if p := &s.Probes[i]; p.Func == f && p.Offset < to && p.Offset+len(x86.Nop5) > from {
			what = "probe " + p.Name
		}
	}
	s.Any(func(o *scenario.Op) bool {
		if o.Target == f && (o.Kind.Traits&scenario.ByHand != 0 || o.Kind.Has(scenario.ParamInsn) ||
			o.Kind.Object == scenario.ADispatcher && from > 0) {
			what = o.Kind.Word + "()"
		}
		return false
	})
	return what
}

// TailPlaces returns where the two instructions of a function's tail call are: a jump within it, the first that it has,
// and the 5-byte nop that ends where this goes.
func TailPlaces(t *scenario.Text) (bypass, nop int, ok bool) {
	for off := 0; off < len(t.Code); {
		in, err := x86.AMD64.Decode(t.Code[off:], t.At+arch.Addr(off))
		if err != nil {
			return 0, 0, false
		}
		if to, direct := in.Target(); direct && t.Code[off] == x86.OpJump {
			nop = int(to-t.At) - len(x86.Nop5)
			return off, nop, nop >= off+in.Size() && nop < len(t.Code) && bytes.HasPrefix(t.Code[nop:], x86.Nop5[:])
		}
		off += in.Size()
	}
	return 0, 0, false
}

// noTail says why a function has no tail call.
func noTail(s *scenario.Scenario, op *scenario.Op) string {
	f := s.Text(op.Target)
	if why := noBpf(s, op, "BPF tail call", "5.5"); why != "" {
		return why
	}
	bypass, nop, ok := TailPlaces(f)
	if !ok {
		return fmt.Sprintf("%s has no tail call: a 5-byte jump over a 5-byte nop, which it ends behind; write both, "+
			"e900000000 and 0f1f440000 with what is to be between, and set the jump's distance", f.Name)
	}
	if what := writes(s, f.Name, bypass, nop+len(x86.Nop5)); what != "" {
		return fmt.Sprintf("%s is at the tail call of %s, too, which isn't modelled; give it another place", what,
			f.Name)
	}
	return ""
}
