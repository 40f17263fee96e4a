package kernel_test

import (
	"fmt"
	"testing"

	"kpsim/engine/staticcall"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// A static call is retargeted under running CPUs: each call reaches the old
// target or the new one, or none while there is none, by its site, by a tail
// call, and by the trampoline.
func TestStaticCall(t *testing.T) {
	for _, md := range modes[:4] {
		for _, model := range models {
			t.Run(fmt.Sprintf("%s/%v", md.name, model), func(t *testing.T) {
				r := newRig(t, md, smp.Config{CPUs: 3, Fetch: model})
				one := r.text("one", 0, "b8 01 00 00 00 c3")
				two := r.text("two", 0x10, "b8 02 00 00 00 c3")
				tramp := r.text("tramp", 0x20, "c3 cc cc cc cc")
				f := r.text("f", 0x3b, "31 c0 0f 1f 44 00 00 c3")    // xor %eax,%eax; the site; ret
				tail := r.text("tail", 0x50, "31 c0 c3 cc cc cc cc") // xor %eax,%eax; the site
				by := r.text("by", 0x60, "31 c0 e8 b9 ff ff ff c3")  // xor %eax,%eax; call tramp; ret
				if in, err := x86.Decode([]byte{0xe8, 0xb9, 0xff, 0xff, 0xff}, by+2); err != nil {
					t.Fatal(err)
				} else if to, _ := in.Target(); to != tramp {
					t.Fatalf("the call goes to %#x", to)
				}
				s := r.calls.Add(tramp, 0, staticcall.CallSite{At: f + 2}, staticcall.CallSite{At: tail + 2, Tail: true})
				if !s.Reaches(one) || s.Reaches(one+1<<40) || !r.k.Symbols.Reserved(f+6, 1) || r.k.Symbols.Reserved(f+7, 1) || !r.k.Symbols.Reserved(tramp, 1) {
					t.Error("reach, or what is reserved")
				}
				for c := range 3 {
					r.source(smp.NMISource, c, 1)
				}
				seen := [3]int{}
				wrong := 0
				check := func(x *smp.Ctx) {
					for _, at := range []arch.Addr{f, tail, by} {
						if v := x.Call(at); v <= 2 {
							seen[v]++
						} else {
							wrong++
						}
					}
				}
				r.onInterrupt(check)
				r.lockdep()
				is := func(x *smp.Ctx, want uint64) {
					for _, at := range []arch.Addr{f, tail, by} {
						if v := x.Call(at); v != want {
							t.Errorf("%#x returned %d after it was updated to %d", at, v, want)
						}
					}
				}
				r.Tasks().AddProgram("updater", 0, func(x *smp.Ctx) {
					is(x, 0)
					for _, to := range []arch.Addr{one, two, two, 0, one} {
						s.Update(x, to, nil)
						is(x, map[arch.Addr]uint64{one: 1, two: 2}[to])
					}
				})
				for c := 1; c < 3; c++ {
					r.Tasks().AddProgram("runner", c, func(x *smp.Ctx) {
						for range 4 {
							check(x)
							r.k.CondResched(x)
						}
					})
				}
				for name, ch := range schedules(8) {
					r.want(smp.Passed, name, ch)
				}
				if wrong != 0 || seen[0] == 0 || seen[1] == 0 || seen[2] == 0 {
					t.Errorf("%d wrong; of the targets were seen: %v", wrong, seen)
				}
			})
		}
	}
}

// A lock prefix comes and goes, and the instruction means the same.
func TestLockPrefix(t *testing.T) {
	r := newRig(t, modes[0], smp.Config{CPUs: 1})
	f := r.text("f", 0, "f0 48 ff 07 c3") // lock incq (%rdi); ret
	l := &r.k.Prefix
	l.Add(f)
	if !r.k.Symbols.Reserved(f, 1) || r.k.Symbols.Reserved(f+1, 1) || len(r.k.Symbols.Sites(nil, f, 1)) != 1 || r.k.Symbols.Sites(nil, f, 1)[0].Kind != kapi.SiteAlternative {
		t.Error("what is reserved")
	}
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		var b [1]byte
		for i, on := range []bool{false, true, true, false} {
			l.Set(x, on)
			x.Regs().R[x86.RDI] = uint64(smp.DataBase)
			x.Call(f)
			if r.k.Text.Read(x, f, b[:]); (b[0] == 0xf0) != on {
				t.Errorf("set %v: %#x", on, b[0])
			}
			if v, _ := x.Memory().Load(smp.DataBase, 8); v != uint64(i)+1 {
				t.Errorf("set %v: the counter is %d", on, v)
			}
		}
	})
	r.want(smp.Passed, "default", sim.Always0{})
}
