package properties_test

import (
	"encoding/hex"
	"testing"

	"kpsim/internal/testkit/tracetest"
	"kpsim/kprobes/kpev"
	"kpsim/properties"
	"kpsim/smp/arch/riscv64"
	"kpsim/smp/smpev"
)

// Logs of a processor whose breakpoints have two sizes, whose branches are two instructions, and whose
// breakpoint's trap saves the breakpoint's own address. The text:
//
//	f            f+4        f+8           f+10
//	nop          nop        c.addi        c.jr ra      linked
//	auipc t0     jalr t0                               the call
func riscv64Logs() map[string]*tracetest.Trace {
	a := riscv64.RV64
	const far = 0x12345678
	code, _ := a.Call(f, far)
	call := code.Bytes()
	nop := []byte{0x13, 0, 0, 0}
	ebreak := a.Breakpoint
	cebreak := []byte{0x02, 0x90}
	list := make(map[string]*tracetest.Trace)
	log := func(name, first string, build func(tr *tracetest.Trace)) {
		tr := tracetest.New()
		tr.Arch = a
		tr.Load(f, first, "13 00 00 00", "41 11", "82 80")
		build(tr)
		list[name] = tr
	}
	write := func(tr *tracetest.Trace) {
		tr.Image(f, call...).Store(f, call[:4]...).Store(f+4, call[4:]...)
	}
	const linked = "13 00 00 00"

	log("a call runs whole", linked, func(tr *tracetest.Trace) {
		tr.Image(f, append(append([]byte(nil), nop...), nop...)...)
		write(tr)
		tr.On(1, 2).Exec(f, call[:4]...).Exec(f+4, call[4:]...)
		tr.ExpectNone()
	})
	log("preempted between the two", linked, func(tr *tracetest.Trace) {
		c := tr.On(1, 2).Exec(f, nop...).Trap(smpev.VecTimer, f+4)
		write(tr)
		c.Return(smpev.VecTimer, f+4).Exec(f+4, call[4:]...)
		tr.ExpectViolation("T2", "begins e7 82 82 67 at 0x1004, the second instruction of the pair at 0x1000")
	})
	log("preempted between the two, and patched back", linked, func(tr *tracetest.Trace) {
		write(tr)
		c := tr.On(1, 2).Exec(f, call[:4]...).Trap(smpev.VecTimer, f+4)
		both := append(append([]byte(nil), nop...), nop...)
		tr.Image(f, both...).Store(f+4, nop...).Store(f, nop...)
		c.Return(smpev.VecTimer, f+4).Exec(f+4, nop...)
		tr.ExpectNone() // a register is set, and not used
	})
	log("the interrupt runs it, too", linked, func(tr *tracetest.Trace) {
		c := tr.On(1, 2).Exec(f, nop...).Trap(smpev.VecTimer, f+4)
		write(tr)
		c.Exec(f, call[:4]...).Exec(f+4, call[4:]...)
		c.Return(smpev.VecTimer, f+4).Exec(f+4, call[4:]...)
		tr.ExpectViolation("T2", "hasn't run the first")
	})
	first := hex.EncodeToString(call[:4])
	log("the first half has been there from the start", first, func(tr *tracetest.Trace) {
		c := tr.On(1, 2).Exec(f, call[:4]...).Trap(smpev.VecTimer, f+4)
		tr.Image(f, call...).Store(f+4, call[4:]...)
		c.Return(smpev.VecTimer, f+4).Exec(f+4, call[4:]...)
		tr.ExpectNone()
	})
	log("the first half ran in a slot", linked, func(tr *tracetest.Trace) {
		write(tr)
		tr.Alloc(slot, 8, kpev.SlotMem).Store(slot, append(append([]byte(nil), nop...), ebreak...)...)
		tr.Register(1, f).Image(f, ebreak...).Store(f, ebreak...)
		c := tr.On(1, 2).Break(f).Pre(1).Own(f, kpev.OwnerKprobe).Resume(slot)
		c.Exec(slot, nop...).Break(slot+4).Own(slot+4, kpev.OwnerKprobe).Resume(f+4).Exec(f+4, call[4:]...)
		tr.ExpectNone()
	})
	log("torn", linked, func(tr *tracetest.Trace) {
		write(tr)
		tr.On(1, 2).Exec(f, call[0], call[1], 0, 0)
		tr.ExpectViolation("T1", "bytes blend two instructions")
	})
	log("nobody owns the breakpoint", linked, func(tr *tracetest.Trace) {
		tr.Image(f+8, cebreak...).Store(f+8, cebreak...)
		tr.On(1, 2).Exec(f+8, cebreak...).Trap(smpev.VecBP, f+8).Return(smpev.VecBP, f+8)
		tr.ExpectViolation("B1", "takes the breakpoint at 0x1008, and it has no owner: returns to 0x1008")
	})
	for name, b := range map[string][]byte{"short": cebreak, "long": ebreak} {
		at := map[string]uint64{"short": f + 8, "long": f + 4}[name]
		log("a "+name+" breakpoint is left", linked, func(tr *tracetest.Trace) {
			tr.Register(1, at).Image(at, b...).Store(at, b...).Unregister(1)
			tr.ExpectViolation("L2", "its breakpoint is still at")
		})
		log("a "+name+" breakpoint goes", linked, func(tr *tracetest.Trace) {
			was := map[string][]byte{"short": {0x41, 0x11}, "long": nop}[name]
			tr.Register(1, at).Image(at, b...).Store(at, b...).Image(at, was...).Store(at, was...).Unregister(1)
			tr.End(true).ExpectNone()
		})
	}
	log("half a breakpoint is left", linked, func(tr *tracetest.Trace) {
		tr.Register(1, f+4).Image(f+4, ebreak...).Store(f+4, ebreak[:2]...).Unregister(1)
		tr.End(true).ExpectViolation("L2", "holds")
	})
	return list
}

// Nothing of the catalogue is about one processor.
func TestRISCV64(t *testing.T) {
	for name, tr := range riscv64Logs() {
		t.Run(name, func(t *testing.T) {
			ms := properties.NewMonitors(tr.Arch, properties.All...)
			tr.Check(t, tracetest.Watch{ID: tr.Rejects(), Kinds: ms.Kinds(), Monitor: ms})
			if id := tr.Rejects(); id != "" && (ms.Finder() == nil || ms.Finder().ID != id) {
				t.Errorf("found by %v, want %s", ms.Finder(), id)
			}
		})
	}
}
