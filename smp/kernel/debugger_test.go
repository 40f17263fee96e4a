package kernel_test

import (
	"slices"
	"testing"

	"kpsim/engine/debugger"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A debugger's breakpoint is set once and cleared once, neither while text_mutex is held. A
// CPU that hits it goes on after the instruction, whatever that does to the path and the stack.
func TestDebugger(t *testing.T) {
	r := newRig(t, modes[0], smp.Config{CPUs: 2})
	f := r.text("f", 0, "53 48 8d 5f 01 e8 04 00 00 00 5b c3 90 90 48 89 d8 c3") // push %rbx; lea 1(%rdi),%rbx; call g; pop %rbx; ret; g: mov %rbx,%rax; ret
	g := debugger.New(debugger.Deps{Boot: r.k, Cells: &r.Cells, Text: &r.k.Text, Sync: &r.k.Sync, Traps: &r.k.Traps})
	places := []arch.Addr{f, f + 1, f + 5, f + 10, f + 11, f + 14, f + 17}
	for _, at := range append(places, f) {
		g.Add(at)
	}
	r.Memory().Watch(f, 18)
	r.reset = g.Begin
	var owners []uint64
	r.hear(smpev.Claim, func(e *traces.Event) { owners = append(owners, e.C) })
	want := func(what string, is, errno int) {
		t.Helper()
		if is != errno {
			t.Errorf("%s: %d, want %d", what, is, errno)
		}
	}
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		call := func(traps int) {
			t.Helper()
			owners = owners[:0]
			x.Regs().R[x86.RDI] = 6
			if got := x.Call(f); got != 7 {
				t.Errorf("it returns %d", got)
			}
			if !slices.Equal(owners, slices.Repeat([]uint64{smpev.OwnerDebugger}, traps)) {
				t.Errorf("owners %v, want the debugger %d times", owners, traps)
			}
		}
		want("none", g.Clear(x, f), debugger.ENOENT)
		for i, at := range places {
			want("set", g.Set(x, at), 0)
			call(i + 1)
		}
		want("again", g.Set(x, f), debugger.EEXIST)
		if !g.HasHitBreak(x, f) || g.HasHitBreak(x, f+2) {
			t.Error("there is one at f, and none at f+2")
		}
		r.k.Text.Mutex().Lock(x)
		want("cleared while the text is written", g.Clear(x, f), debugger.EBUSY)
		r.k.Text.Mutex().Unlock(x)
		call(len(places))
		for i, at := range places {
			want("clear", g.Clear(x, at), 0)
			call(len(places) - i - 1)
		}
		want("cleared already", g.Clear(x, f), debugger.ENOENT)
		r.k.Text.Mutex().Lock(x)
		want("set while the text is written", g.Set(x, f), debugger.EBUSY)
		r.k.Text.Mutex().Unlock(x)
		call(0)
	})
	for range 2 {
		r.want(smp.Passed, "default", sim.Always0{})
	}
}
