package smp_test

import (
	"strings"
	"testing"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/smpev"
)

// What a page doesn't permit is a page fault at the instruction, with nothing
// done, and says where.
func TestPermissions(t *testing.T) {
	const unmapped = 0x1000
	for _, c := range []struct {
		name, code string
		rdi        arch.Addr
		ip, fault  arch.Addr // 0: at f, at rdi
	}{
		{name: "store to text", code: "48 89 07", rdi: smp.TextBase},
		{name: "store to the gate page", code: "48 89 07", rdi: smp.GateBase},
		{name: "store to executable memory", code: "48 89 07", rdi: smp.ExecBase},
		{name: "load of unmapped", code: "48 8b 07", rdi: unmapped},
		{name: "store to unmapped", code: "48 89 07", rdi: unmapped},
		{name: "store across the end", code: "48 89 07", rdi: smp.DataBase + 0xffc, fault: smp.DataBase + 0x1000},
		{name: "load across the end", code: "48 8b 07", rdi: smp.DataBase + 0xffc, fault: smp.DataBase + 0x1000},
		{name: "read-modify-write of text", code: "48 ff 07", rdi: smp.TextBase},
		{name: "execute data", code: "ff d7", rdi: smp.DataBase, ip: smp.DataBase},
		{name: "execute unmapped", code: "ff d7", rdi: unmapped, ip: unmapped},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, smp.Config{CPUs: 1})
			r.Memory().MapExec(smp.ExecBase, 1)
			f := r.text("f", 0, c.code+" 90 90 c3")
			ret := r.text("ret", 0x100, "c3")
			ip, fault := c.ip, c.fault
			if ip == 0 {
				ip = f
			}
			if fault == 0 {
				fault = c.rdi
			}
			var before, after uint64
			r.Hooks().Trap[smpev.VecPF] = func(x *smp.Ctx, regs *arch.Regs) {
				if regs.IP != ip {
					t.Errorf("regs.IP is %#x, want %#x", regs.IP, ip)
				}
				regs.IP = ret
			}
			r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
				at := c.rdi &^ 7
				before, _ = x.Memory().Load(at, 8)
				x.Regs().R[x86.RDI], x.Regs().R[x86.RAX] = uint64(c.rdi), ^uint64(0)
				x.Call(f)
				after, _ = x.Memory().Load(at, 8)
			})
			for range 2 { // on a used machine as on a new one
				r.want(smp.Passed, sim.Always0{})
				traps := r.events(smpev.Trap)
				if len(traps) != 1 || traps[0].A != smpev.VecPF || traps[0].B != uint64(ip) || traps[0].C != uint64(fault) {
					t.Errorf("traps %v: want one #PF at %#x for %#x", traps, ip, fault)
				}
				if before != after {
					t.Errorf("memory was %#x and is %#x", before, after)
				}
			}
		})
	}
}

// A trap that can't be delivered, since there is no stack for its frame, is a
// double fault: it stops the machine with a report.
func TestDoubleFault(t *testing.T) {
	const noStack = "48 c7 c4 00 20 00 00 " // mov $0x2000,%rsp
	for _, c := range []struct {
		name, code string
		kind       smp.SourceKind
		fires      bool
	}{
		{name: "int3", code: noStack + "cc 90"},
		{name: "push", code: noStack + "50"},
		{name: "ud2", code: noStack + "0f 0b"},
		{name: "timer", code: noStack + "90 90 eb fe", kind: smp.TimerSource, fires: true},
		{name: "nmi", code: noStack + "90 90 eb fe", kind: smp.NMISource, fires: true},
		{name: "stack overflow", code: "50 eb fd"},
		{name: "stack in text", code: "48 c7 c4 80 00 00 81 cc 90"}, // mov $TextBase+0x80,%rsp
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, smp.Config{CPUs: 2})
			f := r.text("f", 0, c.code)
			if c.fires {
				r.source(c.kind, 0, 1)
			}
			r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) { x.Call(f) })
			fire := director(func(p *sim.Point) sim.Mover {
				if name, off, _ := r.Names().Where(0); name == "f" && off >= 7 {
					return sim.MoverSource
				}
				return sim.NoMover
			})
			var digest uint64
			for range 3 {
				r.want(smp.Refused, fire)
				if err := r.Refusal(); err == nil || !strings.Contains(err.Error(), "double fault") || !strings.Contains(err.Error(), "f+0x") {
					t.Errorf("the report is %v", err)
				}
				oops := r.events(smpev.Oops)
				if len(oops) != 1 || oops[0].A != smpev.VecDF {
					t.Errorf("oopses %v: want one, a double fault", oops)
				}
				if d := r.log.Digest(); digest != 0 && d != digest {
					t.Error("a used machine went another way")
				}
				digest = r.log.Digest()
			}
		})
	}
}

// A vector without a handler is the kernel's end.
func TestOops(t *testing.T) {
	for _, c := range []struct {
		name, code string
		vector     uint64
	}{
		{"#BP", "cc", smpev.VecBP},
		{"#UD", "0f 0b", smpev.VecUD},
		{"#DE", "31 c9 f7 f1", smpev.VecDE}, // xor %ecx,%ecx; div %ecx
		{"#PF", "48 8b 04 25 00 20 00 00", smpev.VecPF},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, smp.Config{CPUs: 1})
			f := r.text("f", 0, c.code+" c3")
			r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) { x.Call(f) })
			r.want(smp.Refused, sim.Always0{})
			traps, oops := r.events(smpev.Trap), r.events(smpev.Oops)
			if len(traps) != 1 || traps[0].A != c.vector || len(oops) != 1 || oops[0].A != c.vector {
				t.Errorf("traps %v, oopses %v: want one of vector %d each", traps, oops, c.vector)
			}
		})
	}
}

// What this simulator doesn't execute is refused, and named.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ name, code, says string }{
		{"hlt", "f4", "hlt"},
		{"bad gate", "68 08 00 00 82 48 c7 04 24 08 00 00 82 c3", "no routine"}, // push GateBase+8; ret
	} {
		r := newRig(t, smp.Config{CPUs: 1})
		f := r.text("f", 0, c.code)
		r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) { x.Call(f) })
		r.want(smp.Refused, sim.Always0{})
		if err := r.Refusal(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Text that could be stored to would be executed as it was decoded first; and
// what is mapped twice can't be both.
func TestMapRefuses(t *testing.T) {
	for _, perms := range [][]smp.Perm{
		{smp.PermRead | smp.PermWrite | smp.PermExec},
		{smp.PermRead | smp.PermExec, smp.PermRead | smp.PermWrite},
		{smp.PermRead | smp.PermWrite, smp.PermRead},
	} {
		r := newRig(t, smp.Config{CPUs: 1})
		func() {
			defer func() {
				if _, ok := recover().(*sim.BugError); !ok {
					t.Errorf("a page was mapped with permissions %v", perms)
				}
			}()
			for _, p := range perms {
				r.Memory().Map(smp.TextBase, []byte{0xc3}, p)
			}
		}()
	}
}
