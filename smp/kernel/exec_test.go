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

// Executable memory is handed out once at a time, last freed first, within
// reach of text, int3 in every byte.
func TestExec(t *testing.T) {
	for what, most := range map[uint64]int{slotMem: 32, detourMem: 256} {
		r := newRig(t, modes[0], smp.Config{CPUs: 1})
		alloc := 0
		r.hear(smpev.Alloc, func(e *traces.Event) { alloc++ })
		r.hear(smpev.Free, func(e *traces.Event) { alloc-- })
		r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
			if _, ok := r.k.Exec.Alloc(x, most+1, what); ok {
				t.Errorf("kind %d: %d bytes were handed out", what, most+1)
			}
			used := map[arch.Addr]bool{}
			var list []arch.Addr
			for range 200 { // more than are mapped at boot, if they are detours
				at, ok := r.k.Exec.Alloc(x, most, what)
				if !ok {
					break
				}
				for i := range most {
					if used[at+arch.Addr(i)] {
						t.Fatalf("%#x was handed out twice", at)
					}
					used[at+arch.Addr(i)] = true
				}
				if _, ok := x86.JumpRel32(at, smp.TextBase); !ok {
					t.Fatalf("%#x is out of reach of text", at)
				}
				poisoned(t, r, x, at, most)
				list = append(list, at)
			}
			if len(list) != 200 || alloc != len(list) {
				t.Errorf("%d were handed out, %d events", len(list), alloc)
			}
			code := make([]byte, most)
			for i := range code {
				code[i] = 0x90
			}
			for _, at := range list[:3] {
				r.k.Text.Fill(x, at, code)
				r.k.Exec.Free(x, at, most, what)
				poisoned(t, r, x, at, most)
			}
			for i := 2; i >= 0; i-- {
				if at, ok := r.k.Exec.Alloc(x, 1, what); !ok || at != list[i] {
					t.Errorf("%#x was handed out, want %#x, which was freed last", at, list[i])
				}
			}
		})
		for range 2 { // all of it is there again in the next run
			alloc = 0
			r.want(smp.Passed, "default", sim.Always0{})
		}
	}
}

// Slots as the kernel's caches hand them out: pages of one kind, the first clean
// slot of the newest page; dirty ones when they are needed or too many, and then
// after a grace period, all at once.
// A page all of whose slots are clean is unmapped, but for the last.
func TestInsnSlots(t *testing.T) {
	for _, how := range [][2]bool{{false, false}, {false, true}, {true, true}} {
		noGrace, pageGrace := how[0], how[1]
		r := &rig{t: t, reset: func() {}}
		m, err := smp.New(smp.Config{Arch: x86.AMD64, CPUs: 1, Budget: 1 << 20}, &r.log)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Close)
		r.Machine, r.k = m, kernel.Boot(m, kernel.Config{Exec: memory(15, detourMost), PageGrace: pageGrace})
		var events []traces.Event
		r.hear(smpev.Free, func(e *traces.Event) { events = append(events, *e) })
		r.hear(smpev.Retire, func(e *traces.Event) { events = append(events, *e) })
		r.hear(smpev.GPEnd, func(e *traces.Event) { events = append(events, *e) })
		kinds := func() (all []traces.Kind) {
			for _, e := range events {
				if len(all) == 0 || all[len(all)-1] != e.Kind {
					all = append(all, e.Kind)
				}
			}
			events = events[:0]
			return all
		}
		m.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
			r.k.Exec.NoGrace = noGrace
			want := func(all ...traces.Kind) {
				t.Helper()
				if noGrace {
					all = slices.DeleteFunc(all, func(k traces.Kind) bool { return k == smpev.GPEnd })
				}
				if got := kinds(); !slices.Equal(got, all) {
					t.Errorf("events %v, want %v", got, all)
				}
			}
			const perPage = 4096 / 15
			alloc := func(want arch.Addr) {
				t.Helper()
				at, ok := r.k.Exec.Alloc(x, 12, slotMem)
				if !ok || at != want {
					t.Fatalf("%#x is handed out, want %#x", at, want)
				}
			}
			at := func(page, i int) arch.Addr { return smp.ExecBase + arch.Addr(4096*page+15*i) }
			if _, ok := r.k.Exec.Alloc(x, 16, slotMem); ok {
				t.Error("16 bytes are handed out of slots of 15")
			}
			alloc(at(0, 0))
			if d, ok := r.k.Exec.Alloc(x, 200, detourMem); !ok || d != at(1, 0) {
				t.Errorf("a detour at %#x", d)
			}
			for i := 1; i < perPage; i++ {
				alloc(at(0, i))
			}
			alloc(at(2, 0))
			r.k.Exec.Free(x, at(0, 7), 12, slotMem)
			want(smpev.Free)
			alloc(at(2, 1)) // the newest page first
			for i := 2; i < perPage; i++ {
				alloc(at(2, i))
			}
			alloc(at(0, 7))
			r.k.Exec.Retire(x, at(0, 9), 12, slotMem)
			r.k.Exec.Retire(x, at(2, 9), 12, slotMem)
			want(smpev.Retire)
			alloc(at(2, 9)) // nothing clean is left
			want(smpev.GPEnd, smpev.Free)
			alloc(at(0, 9))
			want()
			for i := range perPage {
				r.k.Exec.Retire(x, at(0, i), 12, slotMem)
			}
			want(smpev.Retire)
			r.k.Exec.Retire(x, at(2, 0), 12, slotMem) // one too many
			if pageGrace && !noGrace {
				want(smpev.Retire, smpev.GPEnd, smpev.Free, smpev.GPEnd)
			} else {
				want(smpev.Retire, smpev.GPEnd, smpev.Free)
			}
			poisoned(t, r, x, at(2, 0), 15)
			if m.Memory().Present(at(0, 0)) {
				t.Error("a page whose slots are all clean is there")
			}
			if !m.Memory().Present(at(1, 0)) || !m.Memory().Present(at(2, 0)) {
				t.Error("a page of which a slot is used isn't there")
			}
			alloc(at(2, 0))
			alloc(at(3, 0)) // the address of a page that was unmapped isn't used again
			r.k.Exec.Free(x, at(3, 0), 15, slotMem)
			if m.Memory().Present(at(3, 0)) {
				t.Error("a page whose only slot was freed is there")
			}
			for i := range perPage {
				r.k.Exec.Free(x, at(2, i), 15, slotMem)
			}
			if !m.Memory().Present(at(2, 0)) {
				t.Error("the last page is unmapped")
			}
			alloc(at(2, 0))
		})
		for range 2 {
			events = events[:0]
			r.want(smp.Passed, "default", sim.Always0{})
		}
	}
}

// There is room for the slots and detours of 100,000 probes, and the next run
// begins where the first has begun.
func TestManySlots(t *testing.T) {
	const probes = 100_000
	for _, slot := range []int{0, 16} {
		var log traces.Log
		m, err := smp.New(smp.Config{Arch: x86.AMD64, CPUs: 1, Budget: 1 << 30}, &log)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Close)
		k := kernel.Boot(m, kernel.Config{Exec: memory(slot, slot*detourMost/16)})
		from, to := kernel.ExecRange(x86.AMD64)
		m.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
			for i := range probes {
				for _, what := range []uint64{slotMem, detourMem} {
					at, ok := k.Exec.Alloc(x, 16, what)
					if !ok || at < from || at >= to {
						t.Fatalf("probe %d: %#x, %v", i, at, ok)
					}
					if i%1000 == 0 {
						k.Text.Fill(x, at, []byte{0xc3})
						x.Call(at)
					}
				}
			}
		})
		for range 2 {
			m.Reset(sim.Always0{})
			k.Reset()
			if m.Memory().Present(from + 4*4096) {
				t.Error("a page of the last run is there")
			}
			if got := m.Run(); got != smp.Passed {
				t.Errorf("the run ended %v: %v", got, m.Refusal())
			}
		}
	}
}

func poisoned(t *testing.T, r *rig, x *smp.Ctx, at arch.Addr, n int) {
	b := make([]byte, n)
	r.k.Text.Read(x, at, b)
	for i, v := range b {
		if v != x86.Int3 {
			t.Fatalf("byte %d of %#x is %#x, want int3", i, at, v)
		}
	}
}

// Slots of detours have a size of their own: 33 of 124 bytes a page, so that the 34th
// that is retired since the last collection has all collected, of all probes.
func TestDetourSlots(t *testing.T) {
	r := &rig{t: t, reset: func() {}}
	m, err := smp.New(smp.Config{Arch: x86.AMD64, CPUs: 1, Budget: 1 << 20}, &r.log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	r.Machine, r.k = m, kernel.Boot(m, kernel.Config{Exec: memory(15, 124), PageGrace: true})
	freed := 0
	r.hear(smpev.Free, func(e *traces.Event) { freed++ })
	m.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		var at [67]arch.Addr
		for i := range at {
			at[i], _ = r.k.Exec.Alloc(x, 119, detourMem)
		}
		if at[32] != at[0]+32*124 || at[33] != at[0]+4096 {
			t.Errorf("the 33rd lies at %#x, the 34th at %#x", at[32], at[33])
		}
		for i := range 33 {
			r.k.Exec.Retire(x, at[2*i], 119, detourMem)
		}
		if freed != 0 {
			t.Errorf("%d are freed of 33", freed)
		}
		r.k.Exec.Retire(x, at[1], 119, detourMem)
		if freed != 34 {
			t.Errorf("%d are freed of 34", freed)
		}
		for i := range 32 { // what is collected isn't counted again
			r.k.Exec.Retire(x, at[2*i+3], 119, detourMem)
		}
		if freed != 34 {
			t.Errorf("%d are freed of 34 and 32", freed)
		}
		r.k.Exec.Free(x, at[66], 119, detourMem)
		if !m.Memory().Present(at[0]) || m.Memory().Present(at[66]) {
			t.Error("the page of the last one is to go, and no other")
		}
	})
	for range 2 {
		freed = 0
		r.want(smp.Passed, "default", sim.Always0{})
	}
}

// A CPU that runs in a page of slots that was unmapped takes a page fault.
func TestRunInUnmappedSlots(t *testing.T) {
	r := &rig{t: t, reset: func() {}}
	m, err := smp.New(smp.Config{Arch: x86.AMD64, CPUs: 1, Budget: 1 << 20}, &r.log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	r.Machine, r.k = m, kernel.Boot(m, kernel.Config{Exec: memory(2048, 2048)})
	var oops traces.Event
	r.hear(smpev.Oops, func(e *traces.Event) { oops = *e })
	m.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		r.k.Exec.Alloc(x, 16, slotMem)
		r.k.Exec.Alloc(x, 16, slotMem)
		at, _ := r.k.Exec.Alloc(x, 16, slotMem)
		r.k.Text.Fill(x, at, []byte{0x90, 0xc3})
		x.Call(at)
		r.k.Exec.Free(x, at, 16, slotMem)
		r.k.Sync.Self(x, smpev.SyncSelf)
		x.Call(at)
		t.Error("the call came back")
	})
	m.Reset(sim.Always0{})
	r.k.Reset()
	m.Run()
	if oops.A != smpev.VecPF || oops.B != oops.C {
		t.Errorf("the kernel dies of %v", oops)
	}
}

// A CPU that still runs in freed memory takes a breakpoint.
func TestRunInFreedMemory(t *testing.T) {
	r := newRig(t, modes[0], smp.Config{CPUs: 1})
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		at, _ := r.k.Exec.Alloc(x, 16, slotMem)
		r.k.Text.Fill(x, at, []byte{0x90, 0xc3})
		x.Call(at)
		r.k.Exec.Free(x, at, 16, slotMem)
		r.k.Sync.Self(x, smpev.SyncSelf)
		x.Call(at)
		t.Error("the call came back")
	})
	r.want(smp.Refused, "default", sim.Always0{})
}

// Symbols are found by address and by name; what is bound keeps its address
// from run to run.
func TestSymbols(t *testing.T) {
	r := newRig(t, modes[0], smp.Config{CPUs: 1})
	s := &r.k.Symbols
	s.Add(kapi.Function{Name: "f", Addr: 0x1000, Size: 16}, []int{4})
	s.Add(kapi.Function{Name: "g", Addr: 0x1010, Size: 8}, nil)
	for addr, want := range map[arch.Addr]string{0xfff: "", 0x1000: "f", 0x100f: "f", 0x1010: "g", 0x1017: "g",
		0x1018: ""} {
		if f, ok := s.Lookup(addr); f.Name != want || ok != (want != "") {
			t.Errorf("%#x lies in %q, want %q", addr, f.Name, want)
		}
	}
	if f, ok := s.Named("g"); !ok || f.Addr != 0x1010 {
		t.Errorf("g is %v", f)
	}
	if _, ok := s.Named("h"); ok {
		t.Error("there is no h")
	}
	if !s.Extable(0x1000, 5) || s.Extable(0x1000, 4) || s.Extable(0x1005, 20) {
		t.Error("the exception-table entry of f+4 isn't where it is")
	}
	nothing := func(kapi.Context, *arch.Regs) {}
	var first []arch.Addr
	for range 3 {
		r.Reset(sim.Always0{})
		r.k.Reset()
		got := []arch.Addr{r.k.Bind("a", nothing), r.k.Bind("b", nothing)}
		if first == nil {
			first = got
		}
		if got[0] != first[0] || got[1] != first[1] || got[0] == got[1] {
			t.Errorf("bound at %#x, at first %#x", got, first)
		}
	}
	if _, ok := kernel.Export("no such routine"); ok {
		t.Error("what isn't exported was found")
	}
}
