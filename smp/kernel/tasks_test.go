package kernel_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"testing"

	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
	"kpsim/traces"
)

// callTo is text of one call, which pushes a register before it and pops it
// after it.
func callTo(at, target arch.Addr) string {
	b := []byte{0x53, 0xe8}
	b = binary.LittleEndian.AppendUint32(b, uint32(target-(at+6)))
	return hex.EncodeToString(append(b, 0x5b, 0xc3))
}

// TestExit: text that calls do_exit ends its program where it stands, whatever
// called it; what OnExit asked for runs, once for each program.
func TestExit(t *testing.T) {
	r := newRig(t, modes[3], smp.Config{CPUs: 2})
	exit, ok := kernel.Export("do_exit")
	if !ok {
		t.Fatal("no do_exit")
	}
	inner := r.text("inner", 0, callTo(smp.TextBase, exit))
	outer := r.text("outer", 0x20, callTo(smp.TextBase+0x20, inner))
	for c := range 2 {
		r.Tasks().AddProgram("p", c, func(x *smp.Ctx) {
			if c == 0 {
				x.Call(outer)
				t.Error("the program goes on")
			}
		})
		r.source(smp.PreemptSource, c, 2)
	}
	var ended []kapi.TaskID
	r.Freeze()
	s := sched.NewSticky(sched.Params{Seed: 1, Mean: 3})
	for i := range uint64(50) {
		s.Begin(i)
		r.Reset(s)
		r.k.Reset()
		ended = ended[:0]
		lock := r.k.Locks.NewSpinlock("lock", true)
		r.k.Tasks.OnExit(func(x kapi.Context) {
			lock.Lock(x)
			ended = append(ended, x.Task())
			lock.Unlock(x)
		})
		if o := r.Run(); o != smp.Passed || len(ended) != 2 || ended[0] == ended[1] {
			t.Fatalf("schedule %d: %v, %v; %v", i, o, r.Refusal(), ended)
		}
	}
}

// reclaimed is called back for.
type reclaimed struct{ times int }

func (h *reclaimed) Reclaim(by kapi.Emitter) {
	h.times++
	by.Emit(traces.KprobesBlock, 1, 2, 3)
}

// TestCallRCU: what call_rcu calls back for comes when no section that had begun
// is still open, and once.
func TestCallRCU(t *testing.T) {
	for _, md := range modes {
		t.Run(md.name, func(t *testing.T) {
			r := newRig(t, md, smp.Config{CPUs: 3})
			var h reclaimed
			called, inside, came := false, 0, 0
			r.Tasks().AddProgram("reader", 0, func(x *smp.Ctx) {
				for range 3 {
					r.k.RCU.ReadLock(x)
					if !called {
						inside++
						x.Step("reading", 1)
						x.Step("reading", 2)
						if h.times != 0 {
							t.Error("a section that was open when it was called for")
						}
						inside--
					}
					r.k.RCU.ReadUnlock(x)
					x.Sleep(kapi.Yield)
				}
			})
			r.Tasks().AddProgram("caller", 1, func(x *smp.Ctx) {
				x.PreemptDisable()
				x.Step("caller", 1)
				was := inside
				r.k.RCU.Call(x, &h)
				if was > 0 && inside > 0 && h.times > 0 {
					t.Error("before the section has ended")
				}
				called = true
				x.PreemptEnable()
				x.Sleep(kapi.Yield)
				r.k.RCU.Synchronize(x, kapi.QuiesceRCU)
			})
			r.Freeze()
			r.hear(traces.KprobesBlock, func(e *traces.Event) { came++ })
			s := sched.NewSticky(sched.Params{Seed: 1, Mean: 3})
			for i := range uint64(200) {
				s.Begin(i)
				r.Reset(s)
				r.k.Reset()
				h, called, inside, came = reclaimed{}, false, 0, 0
				if o := r.Run(); o != smp.Passed || h.times != 1 || came != 1 {
					t.Fatalf("schedule %d: %v, %v: called back %d times", i, o, r.Refusal(), h.times)
				}
			}
		})
	}
}

// TestBacktrace: the return addresses on the stack, as the caller gets them.
func TestBacktrace(t *testing.T) {
	r := newRig(t, modes[0], smp.Config{CPUs: 1})
	var got []arch.Addr
	at := r.k.Bind("trace", func(x kapi.Context, regs *arch.Regs) {
		got = r.k.Tasks.Backtrace(x, x86.SP(regs), got[:0])
	})
	inner := r.text("inner", 0, callTo(smp.TextBase, at))
	outer := r.text("outer", 0x20, callTo(smp.TextBase+0x20, inner))
	for i, f := range []arch.Addr{inner, outer} {
		r.k.Symbols.Add(kapi.Function{Name: []string{"inner", "outer"}[i], Addr: f, Size: 8}, nil)
	}
	unwinds := false
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		if unwinds {
			r.k.Tasks.OnUnwind(func(_ kapi.Context, _ kapi.TaskID, _, word arch.Addr) (arch.Addr, bool) { return word | 1, true })
		}
		x.Regs().R[x86.RBX] = uint64(outer) // saved on the stack: the beginning of a function is no return address
		x.Call(outer)
	})
	r.Freeze()
	for _, unwinds = range []bool{false, true} {
		r.Reset(new(sched.Default))
		r.k.Reset()
		if r.k.Bind("trace", func(x kapi.Context, regs *arch.Regs) { got = r.k.Tasks.Backtrace(x, x86.SP(regs), got[:0]) }) != at {
			t.Fatal("bound elsewhere")
		}
		if o := r.Run(); o != smp.Passed {
			t.Fatal(o, r.Refusal())
		}
		d := arch.Addr(0)
		if unwinds {
			d = 1
		}
		if want := []arch.Addr{inner + 6 + d, outer + 6 + d}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%x, want %x", got, want)
		}
	}
}
