package kernel_test

import (
	"bytes"
	"fmt"
	"testing"

	"kpsim/engine/jumplabel"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/fetch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// patched is a machine on which CPUs run through a jump label in a loop, NMIs
// among them, while another turns it on and off.
type patched struct {
	*rig
	label    *jumplabel.Label
	patcher  kapi.Patcher
	patching bool
	old, new int // instructions seen at the label, whole
	traps    int
	blends   int
	late     int // breakpoints that the descriptor of no Patch in progress claimed
	inside   int // instructions started inside the label
	wrong    int // calls that returned neither image's value
}

// The label lies across two chunks if at%8 is 4 or more.
func newPatched(t testing.TB, md mode, model fetch.Model, at int) *patched {
	p := &patched{rig: newRig(t, md, smp.Config{CPUs: 3, Fetch: model})}
	for c := range 3 {
		p.source(smp.NMISource, c, 2)
		p.source(smp.TimerSource, c, 2)
	}
	// f: xor %eax,%eax; label: nop5; inc %eax; ret; target: mov $7,%eax; ret
	f := p.text("f", at-2, "31 c0 0f 1f 44 00 00 ff c0 c3 b8 07 00 00 00 c3")
	site := f + 2
	label, ok := p.labels.Add(false, jumplabel.Place{At: site, Target: f + 10})
	if !ok {
		t.Fatal("the target is out of reach")
	}
	p.label, p.patcher = label, &p.k.Poke
	p.Memory().Watch(site, 5)
	nop, _ := label.Entries()[0].Form(false)
	jump, _ := label.Entries()[0].Form(true)
	before := p.reset
	p.reset = func() {
		before()
		p.patching = false
		p.old, p.new, p.traps, p.blends, p.late, p.inside, p.wrong = 0, 0, 0, 0, 0, 0, 0
	}
	p.hear(smpev.Exec, func(e *traces.Event) {
		off := int(arch.Addr(e.A) - site)
		if off < 0 || off >= 5 {
			return // a neighbour in the chunk
		}
		b, n := traces.UnpackBytes(e.B, e.C)
		switch {
		case off > 0:
			p.inside++
		case b[0] == x86.Int3:
			p.traps++
		case bytes.Equal(b[:n], nop.Bytes()):
			p.old++
		case bytes.Equal(b[:n], jump.Bytes()):
			p.new++
		default:
			p.blends++
		}
	})
	p.hear(smpev.Claim, func(e *traces.Event) {
		if e.C == smpev.OwnerPoke && !p.patching {
			p.late++
		}
	})
	p.onInterrupt(func(x *smp.Ctx) {
		if x.Source().Kind == smp.NMISource {
			p.call(x, f)
		}
	})
	p.Tasks().AddProgram("patcher", 0, func(x *smp.Ctx) {
		for i := range 4 {
			p.patching = true
			p.label.Set(x, i%2 == 0, p.patcher)
			p.patching = false
			x.Step("patcher", i)
		}
	})
	for c := 1; c < 3; c++ {
		p.Tasks().AddProgram("runner", c, func(x *smp.Ctx) {
			for range 8 {
				p.call(x, f)
				p.k.CondResched(x)
			}
		})
	}
	return p
}

func (p *patched) call(x *smp.Ctx, f arch.Addr) {
	if v := x.Call(f); v != 1 && v != 7 {
		p.wrong++
	}
}

// leaky is a Sync that leaves one of its syncs out.
type leaky struct {
	kapi.Sync
	not kapi.Why
}

func (l leaky) Core(x kapi.Context, why kapi.Why) {
	if why != l.not {
		l.Sync.Core(x, why)
	}
}

// Under every fetch model text_poke_bp shows a CPU the old instruction, the
// new one, or a breakpoint, which is handled as either; and its descriptor
// isn't used after Patch has returned.
func TestPatchUnderRunningCPUs(t *testing.T) {
	for _, md := range modes {
		for _, model := range models {
			for _, at := range []int{8, 12, 14} {
				t.Run(fmt.Sprintf("%s/%v/%d", md.name, model, at), func(t *testing.T) {
					p := newPatched(t, md, model, at)
					old, new, traps := 0, 0, 0
					for name, ch := range schedules(12) {
						p.want(smp.Passed, name, ch)
						if p.blends+p.late+p.inside+p.wrong != 0 {
							t.Fatalf("%s: %d blends, %d claims after Retire, %d instructions inside, %d wrong results",
								name, p.blends, p.late, p.inside, p.wrong)
						}
						old, new, traps = old+p.old, new+p.new, traps+p.traps
					}
					if old == 0 || new == 0 || traps == 0 {
						t.Errorf("of the images only these were run: old %d, new %d, breakpoint %d", old, new, traps)
					}
				})
			}
		}
	}
}

// Without the first or the second sync a blend is run where bytes may be
// stale, across chunks or under mixing: the syncs are what keeps it away.
func TestPatchWithoutSync(t *testing.T) {
	for _, c := range []struct {
		not    kapi.Why
		model  fetch.Model
		at     int
		blends bool
	}{
		{0, fetch.Mixing, 12, false},
		{smpev.SyncPoke1, fetch.Coherent, 12, false},
		{smpev.SyncPoke1, fetch.Stale, 8, false},
		{smpev.SyncPoke1, fetch.Stale, 14, true},
		{smpev.SyncPoke1, fetch.Mixing, 8, true},
		{smpev.SyncPoke2, fetch.Mixing, 8, true},
		{smpev.SyncPoke2, fetch.Stale, 14, true},
	} {
		t.Run(fmt.Sprintf("%v/%v/%d", c.not, c.model, c.at), func(t *testing.T) {
			p := newPatched(t, modes[0], c.model, c.at)
			before := p.reset
			p.reset = func() {
				before()
				p.k.Poke.Sync = leaky{&p.k.Sync, c.not}
			}
			blends := 0
			for _, ch := range schedules(120) {
				p.run(ch) // whatever comes of a blend that is run
				blends += p.blends
			}
			if (blends > 0) != c.blends {
				t.Errorf("%d blends were run, want some: %v", blends, c.blends)
			}
		})
	}
}

// If the new instruction is a breakpoint itself there is no third sync: only
// the wait in Retire keeps a handler from using a descriptor that is gone. And
// a breakpoint elsewhere is never the patcher's.
func TestPatchToBreakpoint(t *testing.T) {
	r := newRig(t, modes[0], smp.Config{CPUs: 3})
	f := r.text("f", 0, "0f 1f 44 00 00 c3")
	g := r.text("g", 0x40, "cc c3")
	for c := range 3 {
		r.source(smp.NMISource, c, 2)
	}
	r.onInterrupt(func(x *smp.Ctx) { x.Call(f) })
	patching, poked := false, 0
	before := r.reset
	r.reset = func() {
		before()
		patching = false
		r.k.Traps.OnBreakpoint(func(x kapi.Context, regs *arch.Regs) uint64 {
			if regs.IP == f+1 {
				regs.IP = f + 5
			}
			return ownerOwn
		})
	}
	r.hear(smpev.Claim, func(e *traces.Event) {
		switch {
		case e.C != smpev.OwnerPoke:
		case !patching:
			t.Error("the descriptor was used after Patch had returned")
		case arch.Addr(e.B) != f+1:
			t.Errorf("the patcher claims a breakpoint at %#x", e.B-1)
		default:
			poked++
		}
	})
	r.Tasks().AddProgram("patcher", 0, func(x *smp.Ctx) {
		r.k.Text.Mutex().Lock(x)
		for _, insn := range [][5]byte{{x86.Int3, 1, 2, 3, 4}, x86.Nop5, {x86.Int3, 5, 6, 7, 8}} {
			patching = true
			r.k.Poke.Patch(x, f, insn[:], f+5)
			patching = false
			x.Step("patcher", 1)
		}
		r.k.Text.Mutex().Unlock(x)
	})
	for c := 1; c < 3; c++ {
		r.Tasks().AddProgram("runner", c, func(x *smp.Ctx) {
			for range 6 {
				x.Call(f)
				x.Call(g)
			}
		})
	}
	for name, ch := range schedules(60) {
		if r.want(smp.Passed, name, ch); t.Failed() {
			t.Fatal(name)
		}
	}
	if poked == 0 {
		t.Error("the patcher never claimed a breakpoint")
	}
}

// A stopped machine sees whole instructions only, and no breakpoint: nothing
// runs but NMIs, which see what is being written.
func TestPokeStopped(t *testing.T) {
	for _, md := range modes {
		for _, model := range models {
			t.Run(fmt.Sprintf("%s/%v", md.name, model), func(t *testing.T) {
				p := newPatched(t, md, model, 14)
				p.patcher = kernel.PokeStopped{K: p.k}
				p.onInterrupt(func(*smp.Ctx) {}) // no text in NMIs
				for name, ch := range schedules(12) {
					p.want(smp.Passed, name, ch)
					if p.blends+p.traps+p.wrong+p.inside != 0 {
						t.Fatalf("%s: %d blends, %d breakpoints, %d wrong results, %d instructions inside", name,
							p.blends, p.traps, p.wrong, p.inside)
					}
				}
			})
		}
	}
	t.Run("an NMI sees the stores", func(t *testing.T) {
		p := newPatched(t, modes[0], fetch.Coherent, 14)
		p.patcher = kernel.PokeStopped{K: p.k}
		blends := 0
		for _, ch := range schedules(150) {
			p.run(ch)
			blends += p.blends
		}
		if blends == 0 {
			t.Error("no NMI ran the text that was being written")
		}
	})
}

// Plain stores under running CPUs tear, in either order, even where every
// fetch is fresh.
func TestPokeNaiveTears(t *testing.T) {
	for _, tailFirst := range []bool{false, true} {
		for _, model := range models {
			t.Run(fmt.Sprintf("%v/tail first %v", model, tailFirst), func(t *testing.T) {
				p := newPatched(t, modes[0], model, 12)
				p.patcher = kernel.PokeNaive{K: p.k, TailFirst: tailFirst}
				blends := 0
				for _, ch := range schedules(60) {
					p.run(ch)
					blends += p.blends
				}
				if blends == 0 {
					t.Error("no blend was run")
				}
			})
		}
	}
}

// A jump label is a nop or a jump, and its text is reserved.
func TestJumpLabel(t *testing.T) {
	p := newPatched(t, modes[0], fetch.Coherent, 8)
	e := &p.label.Entries()[0]
	at := e.At
	nop, _ := e.Form(false)
	jump, _ := e.Form(true)
	for off := -1; off <= 5; off++ {
		if got, want := p.k.Symbols.Reserved(at+arch.Addr(off), 1), off >= 0 && off < 5; got != want {
			t.Errorf("label%+d is reserved: %v", off, got)
		}
	}
	if in, err := x86.Decode(jump.Bytes(), at); err != nil || in.Flow() != arch.FlowJump {
		t.Errorf("the jump is % x", jump.Bytes())
	}
	if *nop != x86.AMD64.BranchNop {
		t.Errorf("the nop is % x", nop.Bytes())
	}

	// Set is done when it returns, and may be repeated.
	r := newRig(t, modes[0], smp.Config{CPUs: 2})
	r.lockdep()
	f := r.text("f", 0, "0f 1f 44 00 00 c3 90 c3")
	label, _ := r.labels.Add(false, jumplabel.Place{At: f, Target: f + 7})
	nop, _ = label.Entries()[0].Form(false)
	jump, _ = label.Entries()[0].Form(true)
	var got [5]byte
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		for _, on := range []bool{true, true, false, false, true} {
			label.Set(x, on, &r.k.Poke)
			want := map[bool][5]byte{true: [5]byte(jump.Bytes()), false: [5]byte(nop.Bytes())}[on]
			if r.k.Text.Read(x, f, got[:]); got != want {
				t.Errorf("set %v: the text is % x, want % x", on, got, want)
			}
		}
	})
	for range 2 {
		r.want(smp.Passed, "default", sim.Always0{})
	}
	if _, ok := r.labels.Add(false, jumplabel.Place{At: f, Target: f + 1<<40}); ok {
		t.Error("a jump reaches 1 TB")
	}
}

// A breakpoint that no handler claims kills the kernel.
func TestBreakpointOfNobody(t *testing.T) {
	r := newRig(t, modes[0], smp.Config{CPUs: 1})
	f := r.text("f", 0, "cc c3")
	asked := 0
	claims := uint64(0)
	before := r.reset
	r.reset = func() {
		before()
		r.k.Traps.OnBreakpoint(func(x kapi.Context, regs *arch.Regs) uint64 {
			asked++
			return 0
		})
		r.k.Traps.OnBreakpoint(func(x kapi.Context, regs *arch.Regs) uint64 { return claims })
	}
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) { x.Call(f) })
	for range 2 { // the chain of one run is forgotten in the next
		r.want(smp.Refused, "nobody's", sim.Always0{})
	}
	claims = ownerOwn
	r.want(smp.Passed, "claimed", sim.Always0{})
	if asked != 3 {
		t.Errorf("the first of the chain was asked %d times, want once a run", asked)
	}
}
