package view_test

import (
	"errors"
	"strings"
	"testing"

	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/smp/smpev"
	"kpsim/traces"
	"kpsim/traces/view"
)

// interrupted is the hazard of the second instruction: cpu1 is interrupted at f+1, and
// returns into the jump.
func interrupted() (*tracetest.Trace, view.Input) {
	tr := begin()
	p, c := tr.On(0, prober), tr.On(1, caller)
	arm(p)
	tr.On(1, 1).Emit(smpev.Switch, 1, caller, 1)
	answer(c, kernel, 4)
	hit(c)
	rest(c, 0)
	hit(c)
	rest(c, 1)
	queue(p)
	hit(c)
	c.Emit(smpev.Fire, 0x81, 0, 0).Trap(smpev.VecTimer, f+1)
	o := tr.On(0, optimizer)
	o.Image(f, jump...).Store(f, 0xcc)
	sync(o, 2, 1)
	o.Store(f+1, jump[1:]...)
	sync(o, 2, 2)
	o.Store(f, jump[0])
	sync(o, 2, 3)
	o.Emit(kpev.Optimized, f, detour, 0)
	c.Return(smpev.VecTimer, f+1)
	answer(c, f+1, 3)
	c.Exec(f+1, 0x1b, 0x00)
	in := input(tr, 2)
	in.Property, in.Place = "T2 no-start-inside", "victim+0x1"
	in.Message = "cpu1 task5 begins 1b 00 at 0xffffffff81000001, inside the 5 bytes at 0xffffffff81000000 that a patcher has written to"
	in.Schedule = []traces.Deviation{
		{Mover: "cpu1", Name: "victim", Off: 1, Text: true, Occ: 3, Alt: "timer@cpu1"},
		{Mover: "cpu1", Name: "timer handler", Off: 1, Occ: 1, Alt: "cpu0"},
	}
	return tr, in
}

func TestInterrupted(t *testing.T) {
	_, in := interrupted()
	golden(t, "second-instruction", in)
}

func TestAll(t *testing.T) {
	_, in := interrupted()
	in.All = true
	golden(t, "second-instruction-all", in)
}

func TestWidth(t *testing.T) {
	_, in := interrupted()
	in.Width = 80
	golden(t, "second-instruction-80", in)
	in.Width = 50 // too narrow for two columns
	golden(t, "second-instruction-50", in)
	in.Width = 40
	golden(t, "second-instruction-40", in)
	var b strings.Builder
	if err := view.Interleaving(&b, in); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if len(line) > 41 {
			t.Errorf("%q sticks out", line)
		}
	}
	for _, width := range []int{1, 10, 20} { // whatever: it ends, and loses no word
		in.Width = width
		if err := view.Interleaving(new(strings.Builder), in); err != nil {
			t.Error(err)
		}
	}
}

func TestRows(t *testing.T) {
	_, in := interrupted()
	in.Rows = 12
	golden(t, "second-instruction-12", in)
}

// The jump's head is stored plainly, and cpu1 runs it with the old tail.
func TestTornJump(t *testing.T) {
	tr := begin()
	p, c := tr.On(0, prober), tr.On(1, caller)
	arm(p)
	queue(p)
	o := tr.On(0, optimizer)
	o.Emit(smpev.GPStart, smpev.GPSched, 1, 0).Emit(smpev.Switch, optimizer, 0, 1)
	tr.On(0, 0).Emit(smpev.Switch, 0, optimizer, 1)
	o.Emit(smpev.GPEnd, smpev.GPSched, 1, 0)
	o.Image(f, jump...).Store(f, jump[0])
	tr.On(1, 1).Emit(smpev.Switch, 1, caller, 1)
	c.Exec(f, 0xe9, 0x48, 0x89, 0xe5, 0x53)
	in := input(tr, 2)
	in.Property, in.Place, in.Message = "T1 whole-instructions", "victim+0x0",
		"cpu1 task5 runs e9 48 89 e5 53 at 0xffffffff81000000: bytes blend two instructions; linked there: 55"
	golden(t, "torn-jump", in)
	in.Paint = func(colour, text string) string { return colour + text + "\x1b[0m" }
	golden(t, "torn-jump-color", in)
}

// The machine is stopped, and an NMI comes between the two chunks of the store.
func TestNMIWhileStopped(t *testing.T) {
	tr := begin()
	p := tr.On(0, prober)
	arm(p)
	queue(p)
	s0, s1 := tr.On(0, 2), tr.On(1, 3)
	tr.On(0, optimizer).Image(f, jump...).Emit(smpev.Switch, optimizer, 2, 1)
	tr.On(1, 1).Emit(smpev.Switch, 1, 3, 1)
	s0.Emit(smpev.StopStart, 0, 0, 0).Store(f, jump[:4]...)
	s1.Emit(smpev.Fire, 0x82, 0, 0).Trap(smpev.VecNMI, kernel).Exec(f, 0xe9, 0x1b, 0x00, 0x00, 0x53)
	in := input(tr, 2)
	in.Property, in.Place, in.Message = "T1 whole-instructions", "victim+0x0",
		"cpu1 task3 runs e9 1b 00 00 53: bytes blend two instructions"
	in.Schedule = []traces.Deviation{{Mover: "cpu0", Name: "stopper", Off: 2, Occ: 3, Alt: "nmi@cpu1"}}
	golden(t, "nmi-while-stopped", in)
}

// stop_machine used correctly; the run passes.
func TestStopMachine(t *testing.T) {
	tr := begin()
	p, c := tr.On(0, prober), tr.On(1, caller)
	arm(p)
	queue(p)
	s0, s1 := tr.On(0, 2), tr.On(1, 3)
	tr.On(0, optimizer).Image(f, jump...).Emit(smpev.Switch, optimizer, 2, 0)
	tr.On(1, 1).Emit(smpev.Switch, 1, 3, 1)
	s0.Emit(smpev.StopStart, 0, 0, 0).Store(f, jump...).Emit(smpev.StopEnd, 0, 0, 0)
	s1.Emit(smpev.Serialise, 8, 0, 0).Emit(smpev.Switch, 3, caller, 1)
	s0.Emit(smpev.Serialise, 8, 0, 0).Emit(smpev.Switch, 2, optimizer, 1)
	tr.On(0, optimizer).Emit(kpev.Optimized, f, detour, 0)
	c.Exec(f, jump...)
	for i := range uint64(4) {
		c.Exec(detour+2*i, 0x41, 0x50)
	}
	c.Pre(0).CallEnd(0, 77).Emit(smpev.Exit, caller, 0, 0).Emit(smpev.Switch, caller, 1, 1)
	tr.On(0, prober).ApiEnter(kpev.Unregister, 0, 0).ApiReturn(kpev.Unregister, 0, 22)
	tr.On(0, prober).Free(detour, 20, kpev.DetourMem)
	tr.End(true)
	golden(t, "stop-machine", input(tr, 2))
}

// Only the end shows it.
func TestAtEnd(t *testing.T) {
	tr := begin()
	arm(tr.On(0, prober))
	tr.End(false)
	in := input(tr, 2)
	in.PlaceAt = f
	in.Property, in.Place, in.Message = "L2 text-restored", "victim+0x0",
		"at the end a breakpoint is left at 0xffffffff81000000"
	golden(t, "at-end", in)
}

// Eight CPUs share a column; rows with the same text are merged.
func TestEightCPUs(t *testing.T) {
	tr := begin()
	p := tr.On(0, prober)
	arm(p)
	for cpu := uint8(1); cpu < 8; cpu++ {
		ip := uint64(kernel)
		if cpu == 4 {
			ip = f + 4
		}
		answer(tr.On(cpu, 20+cpu), ip, 4)
	}
	tr.On(4, 24).Trap(smpev.VecPF, f+5).Oops(smpev.VecPF, f+5)
	in := input(tr, 8)
	in.Property, in.Place, in.Message = "O1 no-oops", "victim+0x5", "cpu4 task24 oopses"
	golden(t, "eight-cpus", in)
	in.Width = 60
	golden(t, "eight-cpus-60", in)
}

// Freed memory, and a lock rule, for which locks are shown.
func TestFreedAndLocks(t *testing.T) {
	tr := begin()
	p, c := tr.On(0, prober), tr.On(1, caller)
	arm(p)
	queue(p)
	p.Emit(kpev.Optimized, f, detour, 0).Free(detour, 20, kpev.DetourMem)
	c.Exec(detour+4, 0xcc)
	in := input(tr, 2)
	in.Property, in.Place, in.Message = "S1 no-use-after-free", "slots+0x24",
		"cpu1 task5 runs cc at 0xffffffffa0000024, in the freed detour at 0xffffffffa0000020"
	golden(t, "freed", in)

	tr = begin()
	tr.On(0, prober).Lock(1).MightSleep(1)
	in = input(tr, 1)
	in.Property, in.Message = "K1 locks", "cpu0 task4 might sleep in atomic context"
	golden(t, "locks", in)
}

// Every kind has a text of its own, and a view without names works.
func TestEveryKind(t *testing.T) {
	tr := tracetest.New()
	h := tr.On(1, 2)
	for k := range traces.Kind(128) {
		if k.String() != "" {
			h.Emit(k, 3, 2, 1)
		}
	}
	in := view.Input{Events: tr.Events, Arch: tr.Arch, CPUs: 2, All: true}
	golden(t, "every-kind", in)
	golden(t, "nothing", view.Input{Arch: tr.Arch})
	in.Property, in.At = "X1", 7
	golden(t, "every-kind-at-7", in)
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteError(t *testing.T) {
	_, in := interrupted()
	if view.Interleaving(full{}, in) == nil {
		t.Error("an error of the writer is lost")
	}
}
