package gen

import (
	"fmt"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/smp/arch"
)

const (
	debuggedName           = "debugged"
	debuggedAt   arch.Addr = 0xffffffff81053000
	uprobedName            = "uprobed"
	uprobedAt    arch.Addr = 0xffffffff81055000
)

// drawDebugger adds a function with a debugger's breakpoint that comes and goes while tasks call the
// function. It has no probe: conflicts between a breakpoint and a probe are no fault of kprobes.
func drawDebugger(g *maker) {
	if !rarely(g, 12) || (g.on.Contract || g.on.Few) && !g.on.Debugger {
		return
	}
	// push; mov; add; pop; ret
	code, starts := []byte{0x55, 0x48, 0x89, 0xf8, 0x48, 0x83, 0xc0, 0x03, 0x5d, 0xc3}, []int{0, 1, 4, 8, 9}
	if g.i386 {
		code, starts = []byte{0x55, 0x83, 0xc0, 0x03, 0x5d, 0xc3}, []int{0, 1, 4, 5} // push; add; pop; ret
	}
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: debuggedName, At: debuggedAt, Code: code})
	at := starts[g.rand.N(len(starts))]
	call := scenario.Op{Kind: act.Call, Target: debuggedName, Args: []uint64{uint64(g.rand.N(7))}}
	ops := []scenario.Op{{Kind: act.SetBreakpoint, Target: debuggedName, Offset: at}}
	if g.one(2) {
		ops = append(ops, call)
	}
	ops = append(ops, scenario.Op{Kind: act.ClearBreakpoint, Target: debuggedName, Offset: at})
	if g.one(2) {
		ops = append(ops, ops[0])
	}
	g.alone("debugger", append(ops, call))
	g.alone("debuggee", []scenario.Op{call, {Kind: act.Schedule}, call})
}

// drawUprobes adds a function that the handler of a uprobe calls and, mostly, a probe in it that
// comes and goes while tasks hit the uprobe.
func drawUprobes(g *maker) {
	if !rarely(g, 12) || (g.on.Contract || g.on.Few) && !g.on.Uprobes {
		return
	}
	code := []byte{0x55, 0x48, 0x89, 0xf8, 0x48, 0x83, 0xc0, 0x03, 0x5d, 0xc3} // push; mov; add; pop; ret
	starts := []int{0, 1, 4, 8, 9}
	if g.i386 {
		code, starts = []byte{0x55, 0x89, 0xd0, 0x83, 0xc0, 0x03, 0x5d, 0xc3}, []int{0, 1, 3, 6, 7}
	}
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: uprobedName, At: uprobedAt, Code: code})
	hit, give := scenario.Op{Kind: act.HitUprobe, Target: uprobedName, User: scenario.User{At: drawUprobeNop(g)}},
		scenario.Op{Kind: act.Schedule}
	if !g.one(4) {
		p := scenario.Probe{Name: "at-uprobed", Func: uprobedName, Offset: starts[g.rand.N(len(starts))]}
		if g.one(2) {
			p.Post = []scenario.Step{{Kind: scenario.StepCount}}
		}
		k := g.own(p)
		ops := []scenario.Op{{Kind: act.Register, Target: k}, {Kind: act.Unregister, Target: k}}
		if g.one(2) {
			ops = []scenario.Op{ops[0], hit, ops[1]}
		}
		g.alone("uprober", ops)
	}
	if !g.on.Uprobes && (hit.At != "" || g.one(3)) { // its users come and go
		drawUprobeUsers(g, hit)
		hit = aHit(g, hit)
	}
	g.alone("uprobed", []scenario.Op{hit, give, aHit(g, hit)})
}

// drawUprobeNop returns the function whose first instruction has the uprobe, "" for none: as in what is there already.
func drawUprobeNop(g *maker) (name string) {
	hits := false
	g.sc.Any(func(op *scenario.Op) bool {
		if op.Kind == act.HitUprobe {
			hits, name = true, op.At
		}
		return hits
	})
	if hits || g.i386 || g.on.Uprobes || g.on.Contract || g.on.Few || !g.one(3) ||
		g.sc.Any(func(op *scenario.Op) bool { return op.Ret != "" }) {
		return name
	}
	name = uprobedName + "-nop"
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: name, At: uprobedAt + 0x80 + arch.Addr(g.rand.N(8)),
		Code: []byte{0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3}})
	return name
}

// drawUprobeUsers adds users of the uprobe that come and go: with return handlers, filters, and handlers that need
// one hit only.
func drawUprobeUsers(g *maker, hit scenario.Op) {
	too := uprobedName + "-too"
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: too, At: uprobedAt + 0x40, Code: []byte{0x90, 0xc3}})
	returns, filters := g.one(2) && hit.At == "", g.one(2)
	for i, f := range []string{uprobedName, too} {
		comes := scenario.Op{Kind: act.RegisterUprobe, Target: f}
		if returns && !g.one(3) {
			comes.Ret = too
		}
		if filters {
			comes.Skips, comes.Removes = uint64(g.rand.N(4)), g.one(3)
		}
		ops := []scenario.Op{comes, {Kind: act.UnregisterUprobe, Target: f}}
		switch g.rand.N(4) {
		case 0:
			ops = []scenario.Op{ops[0], aHit(g, hit), ops[1]}
		case 1:
			ops = append(ops, ops...)
		case 2: // what another task may do meanwhile
			ops[i].Target = uprobedName
		}
		g.alone(fmt.Sprint("uprobe-user", i), ops)
	}
}

// aHit returns a hit of the uprobe in some process, where the function mostly calls itself, or is left by longjmp.
func aHit(g *maker, hit scenario.Op) scenario.Op {
	if hit.At != "" {
		return hit
	}
	hit.Process = g.rand.N(2)
	if g.one(2) {
		hit.Recurses = g.rand.N(3)
		hit.Leaves = g.rand.N(hit.Recurses + 2)
	}
	return hit
}

// drawDebugged adds a function with breakpoints of a debugger, which several tasks set and clear, and another with
// probes, which uprobes hit. The debugger is refused while text is being patched.
func drawDebugged(s *scene) {
	const name, hit = "broken", "hit"
	var places []int
	s.text(name, func(f *function) {
		f.put(0x55) // push %rbp
		for range 2 + s.rand.N(3) {
			f.plain()
		}
		f.put(0x5d)
		f.put(0xc3)
		places = f.starts
	})
	s.called(name, false)
	for range 1 + s.rand.N(3) {
		op := scenario.Op{Kind: act.SetBreakpoint, Target: name, Offset: places[s.rand.N(len(places)-1)]}
		clear := op
		clear.Kind = act.ClearBreakpoint
		s.comes(op, clear, op)
	}
	s.text(hit, func(f *function) {
		end := f.begin()
		f.plain()
		f.end(end)
	})
	s.called(hit, false)
	for range 2 {
		s.calls = append(s.calls, scenario.Op{Kind: act.HitUprobe, Target: hit})
	}
	for range 1 + s.rand.N(2) {
		starts := Boundaries(s.sc, hit)
		s.kprobe(hit, starts[s.rand.N(len(starts))], 3)
	}
}
