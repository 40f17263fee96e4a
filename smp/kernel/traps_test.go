package kernel_test

import (
	"slices"
	"testing"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

const unmapped = 0x123456789000

// Which handlers are asked about a fault, in which order, and what happens to
// one that none claims. The function's first instruction faults, and is an int3
// by then.
func TestFaults(t *testing.T) {
	load, ud2, div := "8b 07 c3", "0f 0b c3", "f7 f2 c3" // mov (%rdi),%eax | ud2 | div %edx; ret
	for _, c := range []struct {
		name, code string
		nr         uint64
		extable    bool
		asked      func(regs *arch.Regs) uint64
		pageIn     bool
		want       uint64 // what it returns
		owner      uint64 // 0: the kernel dies
	}{
		{name: "nobody's", code: load, nr: smpev.VecPF},
		{name: "#UD", code: ud2, nr: smpev.VecUD},
		{name: "fixed up", code: load, nr: smpev.VecPF, extable: true, want: 7, owner: smpev.OwnerFault},
		{name: "#UD, fixed up", code: ud2, nr: smpev.VecUD, extable: true, want: 7, owner: smpev.OwnerFault},
		{name: "#DE, fixed up", code: div, nr: smpev.VecDE, extable: true, want: 7, owner: smpev.OwnerFault},
		{name: "wanted", code: load, nr: smpev.VecPF, extable: true, want: 8, owner: ownerOwn,
			asked: func(regs *arch.Regs) uint64 { regs.IP += 2; regs.R[x86.RAX]++; return ownerOwn }},
		{name: "moved, and not wanted", code: "90 90 " + load, nr: smpev.VecPF, extable: true, want: 5, owner: smpev.OwnerFault,
			asked: func(regs *arch.Regs) uint64 { regs.IP -= 2; regs.R[x86.RDI] = uint64(smp.DataBase); return 0 }},
		{name: "brought in", code: load, nr: smpev.VecPF, extable: true, pageIn: true, want: 5, owner: smpev.OwnerFault},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, modes[0], smp.Config{CPUs: 1})
			f := r.text("f", 0, c.code)
			if c.extable {
				r.k.Symbols.Add(kapi.Function{Name: "f", Addr: f, Size: 4}, []int{0})
			}
			var owners []uint64
			r.hear(smpev.Claim, func(e *traces.Event) {
				if e.A != c.nr {
					t.Errorf("a claim of vector %d, want %d", e.A, c.nr)
				}
				owners = append(owners, e.C)
			})
			r.reset = func() {
				r.k.Traps.OnFault(func(x kapi.Context, regs *arch.Regs, trapnr int) uint64 {
					if uint64(trapnr) != c.nr {
						t.Errorf("vector %d, want %d", trapnr, c.nr)
					}
					if c.asked != nil {
						return c.asked(regs)
					}
					return 0
				})
			}
			if c.pageIn {
				r.k.Traps.PageIn = func(_ *smp.Ctx, regs *arch.Regs, addr arch.Addr) bool {
					if addr != unmapped {
						t.Errorf("%#x is to be brought in", addr)
					}
					regs.R[x86.RDI] = uint64(smp.DataBase)
					return true
				}
			}
			var got uint64
			r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
				x.Memory().Store(smp.DataBase, 8, 5)
				x.Regs().R[x86.RDI], x.Regs().R[x86.RAX], x.Regs().R[x86.RDX] = unmapped, 7, 0
				got = x.Call(f)
			})
			if c.owner == 0 {
				r.want(smp.Refused, "default", sim.Always0{})
				return
			}
			r.want(smp.Passed, "default", sim.Always0{})
			if got != c.want || !slices.Equal(owners, []uint64{c.owner}) {
				t.Errorf("it returns %d, want %d; owners %v", got, c.want, owners)
			}
		})
	}
}

// The length of what is fixed up is that of the linked instruction, whatever
// stands there by now.
func TestFixupUnderBreakpoint(t *testing.T) {
	r := newRig(t, modes[0], smp.Config{CPUs: 1})
	f := r.text("f", 0, "8b 87 10 00 00 00 c3") // mov 16(%rdi),%eax; ret
	r.k.Symbols.Add(kapi.Function{Name: "f", Addr: f, Size: 7}, []int{0})
	r.reset = func() {
		r.k.Traps.OnFault(func(x kapi.Context, regs *arch.Regs, _ int) uint64 {
			r.k.Text.Write(x, f, []byte{x86.Int3})
			return 0
		})
	}
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		x.Regs().R[x86.RDI], x.Regs().R[x86.RAX] = unmapped, 7
		if got := x.Call(f); got != 7 {
			t.Errorf("it returns %d", got)
		}
	})
	for range 2 {
		r.want(smp.Passed, "default", sim.Always0{})
	}
}

// A step that no handler claims ends the stepping; one that a handler claims is
// its own.
func TestDebug(t *testing.T) {
	for _, wanted := range []bool{false, true} {
		r := newRig(t, modes[0], smp.Config{CPUs: 1})
		f := r.text("f", 0, "9c 81 0c 24 00 01 00 00 9d 90 51 59 c3") // pushf; orl TF; popf; nop; push; pop; ret
		var at []arch.Addr
		claims := 0
		r.hear(smpev.Claim, func(e *traces.Event) { claims++ })
		r.hear(smpev.Trap, func(e *traces.Event) { at = append(at, arch.Addr(e.B)-f) })
		r.reset = func() {
			r.k.Traps.OnDebug(func(_ kapi.Context, regs *arch.Regs) uint64 {
				if !wanted {
					return 0
				}
				if regs.IP == f+11 {
					regs.Flags &^= x86.TF
				}
				return ownerOwn
			})
		}
		r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) { x.Call(f) })
		for range 2 {
			at, claims = at[:0], 0
			r.want(smp.Passed, "default", sim.Always0{})
			if want := []arch.Addr{10, 11}[:1+b2i(wanted)]; !slices.Equal(at, want) || claims != b2i(wanted)*2 {
				t.Errorf("wanted %v: #DB at %v, %d claims", wanted, at, claims)
			}
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

var _ kapi.Traps = (*kernel.Traps)(nil)
