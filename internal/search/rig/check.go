package rig

import (
	"fmt"
	"slices"

	"kpsim/engine"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes/kpev"
	"kpsim/properties"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// want is the value that the scenario expects for a check of a task.
type want struct{ check, value uint64 }

// callEnd is the result of a call: a digest, 0 if it isn't compared.
type callEnd struct{ task, call, digest uint64 }

// checks are the results that the scenario and a run without probes expect, and what a run
// gives instead.
type checks struct {
	*Plan
	wants   []want
	expects []callEnd
	ends    []callEnd
	wrong   error    // the first check that a twin's run has failed
	unmet   *program // the task whose operation unmetOp differed from what the author expects
	unmetOp int
	left    func(task, call uint64, l *Left) // receives what calls leave; nil: nothing does
	stored  []*scenario.Op                   // a twin's expectations of what handlers store that it hasn't met
}

func (c *checks) begin() { c.ends, c.wrong, c.unmet, c.stored = c.ends[:0], nil, nil, c.stored[:0] }

// head reports what is expected.
func (c *checks) head() {
	for _, w := range c.wants {
		c.Log.Emit(smpev.Want, 255, traces.NoTask, w.check, w.value, 0)
	}
	for _, e := range c.expects {
		c.Log.Emit(smpev.Expect, 255, traces.NoTask, e.task, e.call, e.digest)
	}
}

// word is the number of bytes compared at once: what fits in an event.
const word = 8

// prepareChecks numbers the checks of the task's operations. A task that
// repeats its operations makes the same checks again.
func (p *program) prepareChecks() {
	n := 0
	for i := range p.ops {
		p.checks = append(p.checks, n)
		op := &p.ops[i]
		add := func(what int, value uint64) {
			p.r.checks.wants = append(p.r.checks.wants, want{smpev.Check(uint64(p.task.ID), n, what), value})
			n++
		}
		switch {
		case op.Kind == act.Call && op.Checked:
			add(smpev.CheckResult, op.Returns)
			for _, v := range op.Or {
				n-- // another right value of the same check
				add(smpev.CheckResult, v)
			}
		case op.Checked:
			add(smpev.CheckErrno, op.Returns)
		case op.Kind == act.Hits:
			for which, n := range op.Counts {
				if n > 0 {
					add(smpev.CheckCount, uint64(which)<<smpev.CheckCountOf|uint64(n-1))
				}
			}
		case op.Kind == act.Expect || op.Kind == act.ExpectText:
			for b := op.Bytes; len(b) > 0; b = b[min(word, len(b)):] {
				add(smpev.CheckMemory, littleEndian(b[:min(word, len(b))]))
			}
		}
		if op.Kind == act.Call && op.On {
			add(smpev.CheckCount, inCall|1)
		}
	}
}

func littleEndian(b []byte) (v uint64) {
	for i, c := range b {
		v |= uint64(c) << (8 * i)
	}
	return v
}

// Expect reads the memory that operation i is about, as it is now.
func (p *program) Expect(x *smp.Ctx, i int) {
	op := &p.ops[i]
	at := p.r.data(op.Target, x.CPU()) + arch.Addr(op.Offset)
	x.Step("expect", i)
	held := true
	for off, n := 0, 0; off < len(op.Bytes); off, n = off+word, n+1 {
		v := uint64(0)
		for k := range min(word, len(op.Bytes)-off) {
			b, _ := x.Memory().Load(at+arch.Addr(off+k), 1)
			v |= b << (8 * k)
			held = held && byte(b) == op.Bytes[off+k]
		}
		p.got(x, i, n, smpev.CheckMemory, v, uint64(at)+uint64(off))
	}
	if p.r.twin && op.On && !held {
		p.r.checks.stored = append(p.r.checks.stored, op)
	}
}

// unprobed returns what is wrong with an expectation of what handlers have stored that the run without
// probes, which this has been, meets each time: no run can tell by it whether anything was probed. Handlers
// of fprobes and BPF programs run here, too.
func (r *Rig) unprobed() error {
	if len(r.Scenario.Fprobes)+len(r.Scenario.Bpfs) > 0 {
		return nil
	}
	for _, p := range r.tasks.all {
		for i := range p.ops {
			if op := &p.ops[i]; op.Kind == act.Expect && op.On && !slices.Contains(r.checks.stored, op) {
				return scenario.Faultf(scenario.PartIn(scenario.TheTasks, p.number, i),
					"task %s, ops[%d]: %s+%#x holds these bytes without probes, too, so probed says nothing; leave "+
						"probed out, or expect what handlers store", p.task.Name, i, op.Target, op.Offset)
			}
		}
	}
	return nil
}

// got reports the result of check n of operation i. A twin, which no monitor watches, compares
// the result itself. A difference there is a fault of the scenario, of its code, or of the
// simulated processor.
func (p *program) got(x *smp.Ctx, i, n, what int, value, at uint64) {
	check := smpev.Check(uint64(p.task.ID), p.checks[i]+n, what)
	p.came = sim.Mix(p.came ^ value)
	x.Emit(smpev.Got, check, value, at)
	c, monitors := &p.r.checks, p.r.Judges.monitors
	if c.unmet == nil && monitors != nil && monitors.Finder() == &properties.RightResult {
		c.unmet, c.unmetOp = p, i
	}
	if !p.r.twin || c.wrong != nil || p.ops[i].Kind == act.Expect && p.ops[i].On {
		return
	}
	k := slices.IndexFunc(c.wants, func(w want) bool { return w.check == check })
	if k < 0 || slices.Contains(c.wants, want{check, value}) {
		return
	}
	right, remedy := c.wants[k].value, "correct one of them"
	if bits := narrow(value, right); what == smpev.CheckResult && bits > 0 {
		remedy = fmt.Sprintf("if its result has %d bits, say bits = %d; else correct one of them", bits, bits)
	} else if p.ops[i].Kind == act.Expect && p.r.handlersRun() {
		remedy = "if handlers store it, say probed = True; else correct one of them"
	}
	c.wrong = scenario.Faultf(scenario.PartIn(scenario.TheTasks, p.number, i),
		"task %s, ops[%d]: %s gives %#x, the scenario says %#x; %s", p.task.Name, i, p.names(i, n), value,
		right, remedy)
}

// handlersRun reports whether the scenario has handlers that may store to its data.
func (r *Rig) handlersRun() bool {
	return slices.ContainsFunc(r.Scenario.Probes, func(k scenario.Probe) bool {
		return k.AnyStep(scenario.StepWrites|scenario.StepRuns) || k.Entry != ""
	})
}

// narrow returns the number of low bits in which two results agree: 32, 16 or 8. It is 0 if
// they agree in none of these widths, or completely. A negative int fills only the low half of
// rax.
func narrow(a, b uint64) int {
	for _, bits := range []int{32, 16, 8} {
		if mask := uint64(1)<<bits - 1; a != b && a&mask == b&mask && b|mask == ^uint64(0) {
			return bits
		}
	}
	return 0
}

// names returns the name of what a check examines.
func (p *program) names(i, n int) string {
	op := &p.ops[i]
	if op.Kind == act.Expect || op.Kind == act.ExpectText {
		return fmt.Sprintf("%s+%#x", op.Target, op.Offset+n*word)
	}
	return fmt.Sprintf("%v(%s)", op.Kind, op.Target)
}

// inCall says of the value of a check of a call that it counts whether a handler has run in it.
const inCall = uint64(smpev.CountInCall) << smpev.CheckCountOf

// hit counts a handler that begins in a task's call which is to be probed.
func (ts *tasks) hit(x kapi.Context) {
	for _, p := range ts.all {
		if p.task.ID == x.Task() {
			p.hit = true
		}
	}
}

// counts are how often the handlers of probes have begun, if an operation asks for it.
type counts struct {
	cell kapi.Var[int] // stored whenever one begins
	ran  [][2]int      // by probe: before the instruction, and after it; nil: nothing asks
}

// boot makes them.
func (c *counts) boot(cells *kapi.Cells, probes int) {
	c.cell.Init(cells, 0)
	c.ran = make([][2]int, probes)
}

// begin begins a run.
func (c *counts) begin() {
	if c.ran != nil {
		c.cell.Set(0)
		clear(c.ran)
	}
}

// add counts a handler that begins.
func (c *counts) add(x kapi.Context, h engine.Hit) {
	if h.Probe >= len(c.ran) {
		return
	}
	x.Mark(c.cell.ID(), kapi.Write)
	switch h.Which {
	case kpev.Pre, kpev.Entry:
		c.ran[h.Probe][0]++
	case kpev.Post, kpev.Return:
		c.ran[h.Probe][1]++
	}
}

// Hits compares how often a probe was hit.
func (p *program) Hits(x *smp.Ctx, i int) {
	op, pr := &p.ops[i], &p.r.probes
	probe, n := p.r.index(op.Target), 0
	pr.counts.cell.ReadOnce(x)
	ran := pr.counts.ran[probe]
	for which, want := range op.Counts {
		if want == 0 {
			continue
		}
		var is int
		if which < len(ran) {
			is = ran[which]
		} else {
			is = pr.wiring.engine.ReadMissed(x, probe)
		}
		p.got(x, i, n, smpev.CheckCount, uint64(which)<<smpev.CheckCountOf|uint64(is), uint64(pr.addrs[probe]))
		n++
	}
}

// A Left is what a call has left: all that its digest is made of.
type Left struct {
	Regs  arch.Regs // those that aren't compared are 0
	Words []LeftWord
}

// A LeftWord is up to eight bytes of the stack or of data.
type LeftWord struct {
	At    arch.Addr
	Size  int
	Value uint64
}

// OnLeft makes f receive what each call of a task has left, before the call's event; nil ends that.
func (r *Rig) OnLeft(f func(task, call uint64, l *Left)) { r.checks.left = f }

// Twin returns a rig without probes, with whose calls New compares. The caller closes it.
func Twin(sc *scenario.Scenario) (*Rig, error) { return build(sc, "", true) }

// leaves returns what a call has left.
func (p *program) leaves(x *smp.Ctx) *Left {
	l := &Left{Regs: *p.task.Left()}
	l.Regs.Flags = p.r.left(l.Regs.Flags)
	for i := range l.Regs.R {
		if i >= p.r.arch.Used || p.r.lost>>i&1 != 0 {
			l.Regs.R[i] = 0
		}
	}
	p.compared(x, func(from, to arch.Addr) {
		for a := from; a < to; {
			size := wordAt(a, to)
			v, _ := x.Memory().Load(a, size)
			l.Words = append(l.Words, LeftWord{a, size, v})
			a += arch.Addr(size)
		}
	})
	return l
}

// compared calls do for each range of memory that a call's digest has.
func (p *program) compared(x *smp.Ctx, do func(from, to arch.Addr)) {
	sp := p.r.arch.StackPointer(x.Regs())
	if at := p.r.arch.LinkAt; at != 0 {
		sp &^= 15 // as smp's Call has it
		do(sp, sp+p.r.arch.KeptAt)
		sp += at + arch.Addr(p.r.arch.Word)
	}
	do(sp, p.task.StackTop())
	if p.r.tasks.ownData {
		for i := range p.r.Scenario.Datas {
			d := &p.r.Scenario.Datas[i]
			at := p.r.copyAt(d, x.CPU())
			do(at, at+arch.Addr(len(d.Bytes)))
		}
	}
}

// wordAt returns how many bytes at an address are read at once.
func wordAt(a, to arch.Addr) int {
	if a%8 == 0 && a+8 <= to {
		return 8
	}
	return 1
}
