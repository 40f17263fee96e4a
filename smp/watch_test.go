package smp_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/fetch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// A footstep is a step and what it touched.
type footstep struct {
	mv      sim.Mover
	touched []sim.Touch
	ahead   sim.Touch // what was said before of a CPU's step
}

// A follower takes the steps of a run down.
type follower struct {
	sim.Chooser
	ahead *[sim.MaxCPUs]sim.Touch
	last  [sim.MaxCPUs]sim.Touch
	steps []footstep
}

func (f *follower) Choose(p *sim.Point) (pick, hold int) {
	f.ahead = p.Ahead
	f.last = *p.Ahead
	return f.Chooser.Choose(p)
}

func (*follower) Plans() {}

func (f *follower) Stepped(mv sim.Mover, touched []sim.Touch) {
	s := footstep{mv: mv, touched: slices.Clone(touched)}
	if mv < sim.MoverIPI {
		s.ahead = f.last[mv]
	}
	f.last = [sim.MaxCPUs]sim.Touch{} // one that wasn't asked about says nothing
	f.steps = append(f.steps, s)
}

// observed runs the machine until nothing new is found to be shared.
func (r *rig) observed(o smp.Outcome, ch func() sim.Chooser) []footstep {
	r.t.Helper()
	for range 10 {
		f := &follower{}
		r.Footprint().Observe(f)
		f.Chooser = ch()
		r.want(o, f)
		if !r.Footprint().SharedGrew() {
			return f.steps
		}
	}
	r.t.Fatal("what is shared grows for ever")
	return nil
}

// of are the steps of a mover that touch something of that name.
func (r *rig) of(steps []footstep, mv sim.Mover, name string) (list []footstep) {
	for _, s := range steps {
		if s.mv == mv && slices.ContainsFunc(s.touched,
			func(t sim.Touch) bool { return strings.Contains(r.Names().Object(t.Object), name) }) {
			list = append(list, s)
		}
	}
	return list
}

// races counts the pairs of steps of two movers that conflict.
func races(a, b []footstep) (n int) {
	for _, s := range a {
		for _, t := range b {
			if slices.ContainsFunc(s.touched, func(x sim.Touch) bool {
				return slices.ContainsFunc(t.touched, func(y sim.Touch) bool {
					return x.Object == y.Object && (x.Write || y.Write)
				})
			}) {
				n++
			}
		}
	}
	return n
}

func by(steps []footstep, mv sim.Mover) (list []footstep) {
	for _, s := range steps {
		if s.mv == mv {
			list = append(list, s)
		}
	}
	return list
}

func always0() sim.Chooser { return sim.Always0{} }

// Cells: a store conflicts with whatever else is done to the same one.
func TestFootprintOfCells(t *testing.T) {
	read := func(c *kapi.Var[int]) func(x *smp.Ctx) { return func(x *smp.Ctx) { c.ReadOnce(x) } }
	write := func(c *kapi.Var[int]) func(x *smp.Ctx) { return func(x *smp.Ctx) { c.WriteOnce(x, 7) } }
	look := func(c *kapi.Var[int]) func(x *smp.Ctx) { return func(x *smp.Ctx) { c.Look(x) } }
	for _, c := range []struct {
		name string
		a, b func(c *kapi.Var[int]) func(x *smp.Ctx)
		same bool
		want int
	}{
		{"load, load", read, read, true, 0},
		{"load, store", read, write, true, 1},
		{"look, store", look, write, true, 1},
		{"store, store", write, write, true, 1},
		{"stores to two", write, write, false, 0},
	} {
		r := newRig(t, smp.Config{CPUs: 2})
		p, q := r.flag(), r.flag()
		if c.same {
			q = p
		}
		r.Tasks().AddProgram("p", 0, c.a(&p.Var))
		r.Tasks().AddProgram("q", 1, c.b(&q.Var))
		steps := r.observed(smp.Passed, always0)
		if got := races(by(steps, 0), by(steps, 1)); got != c.want {
			t.Errorf("%s: %d pairs conflict, want %d: %v", c.name, got, c.want, steps)
		}
	}
}

// A thread that waits for a store comes after it: the step that goes on
// conflicts with it, and so does the one that has found that it must wait.
func TestFootprintOfWaiting(t *testing.T) {
	for _, sleeps := range []bool{false, true} {
		r := newRig(t, smp.Config{CPUs: 2})
		f := r.flag()
		r.Tasks().AddProgram("waiter", 0, func(x *smp.Ctx) {
			if sleeps {
				x.Sleep(&f.up)
			} else {
				x.Spin(&f.up)
			}
			x.Step("on", 1)
		})
		r.Tasks().AddProgram("other", 1, func(x *smp.Ctx) { f.WriteOnce(x, 1) })
		steps := r.observed(smp.Passed, always0)
		waits, stores := r.of(steps, 0, "cell"), r.of(steps, 1, "cell")
		require.Len(t, stores, 1)
		require.Len(t, waits, 2)
		require.Equal(t, 2, races(waits, stores))
		if sleeps {
			require.NotZero(t, races(r.of(steps, 1, "run queue of cpu0"), r.of(steps, 0, "run queue of cpu0")),
				"the store makes cpu0 go on")
		}
	}
}

const (
	incWord  = "ff 05 %s c3" // incl the word; ret
	loadWord = "8b 05 %s c3"
)

// at fills the displacement from text at off to data, for the codes above.
func at(code string, off, data int) string {
	return strings.Replace(code, "%s", hex4(uint32(smp.DataBase-smp.TextBase)+uint32(data-off-6)), 1)
}

func hex4(v uint32) string {
	const digits = "0123456789abcdef"
	var b []byte
	for range 4 {
		b = append(b, digits[v>>4&15], digits[v&15])
		v >>= 8
	}
	return string(b)
}

// Data: words that two CPUs access, one of them to write. A run that shows it
// says so, and the next one has the touches.
func TestFootprintOfData(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		b0         int // where b accesses
		want       bool
	}{
		{"both write", incWord, incWord, 0, true},
		{"one reads", incWord, loadWord, 0, true},
		{"another part of the word", incWord, loadWord, 4, true},
		{"both read", loadWord, loadWord, 0, false},
		{"another word", incWord, incWord, 8, false},
	} {
		r := newRig(t, smp.Config{CPUs: 2})
		f, g := r.text("f", 0, at(c.a, 0, 0)), r.text("g", 32, at(c.b, 32, c.b0))
		r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) { x.Call(f) })
		r.Tasks().AddProgram("q", 1, func(x *smp.Ctx) { x.Call(g) })
		steps := r.observed(smp.Passed, always0)
		p, q := r.of(steps, 0, "data"), r.of(steps, 1, "data")
		if got := races(p, q); (got > 0) != c.want || len(p) > 1 {
			t.Errorf("%s: %d pairs conflict: %v", c.name, got, steps)
		}
		require.Zero(t, len(p)+len(q)-2*races(p, q), "%s: a step of one touches what the other doesn't", c.name)
	}
}

// What a handler of an interrupt writes is shared with the text that it can
// interrupt, although it is all one CPU.
func TestFootprintOfHandlersData(t *testing.T) {
	for _, want := range []bool{true, false} {
		r := newRig(t, smp.Config{CPUs: 2})
		f, h := r.text("f", 0, at(loadWord, 0, 0)), r.text("h", 32, at(incWord, 32, 8))
		if want {
			h = r.text("h2", 64, at(incWord, 64, 0))
		}
		r.source(smp.TimerSource, 0, 1)
		r.Hooks().Trap[smpev.VecTimer] = func(x *smp.Ctx, _ *arch.Regs) { x.Call(h) }
		r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) { x.Call(f) })
		r.Tasks().AddProgram("q", 1, func(x *smp.Ctx) { x.Step("q", 1) })
		steps := r.observed(smp.Passed, func() sim.Chooser {
			return director(func(p *sim.Point) sim.Mover {
				if name, off, _ := r.Names().Where(0); name == "f" && off == 0 {
					return sim.MoverSource
				}
				return sim.NoMover
			})
		})
		require.Len(t, by(steps, sim.MoverSource), 1)
		if got := r.of(steps, 0, "data"); (len(got) > 0) != want {
			t.Errorf("the handler writes what text reads: %v; touches %v", want, got)
		}
		require.Empty(t, r.of(steps, 0, "stack"))
	}
}

// An instruction that others can't see is private, and a delivery commutes with
// it; every other step of the CPU conflicts with a delivery to it.
func TestFootprintOfDeliveries(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 2})
	f := r.text("f", 0, "90 50 58 0f 31 fa fb 90 c3") // nop; push; pop; rdtsc; cli; sti; nop; ret
	r.source(smp.TimerSource, 0, 1)
	r.Hooks().Trap[smpev.VecTimer] = func(*smp.Ctx, *arch.Regs) {}
	c := r.flag()
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		x.Call(f)
		c.ReadOnce(x)
	})
	r.Tasks().AddProgram("q", 1, func(x *smp.Ctx) { c.ReadOnce(x) })
	steps := r.observed(smp.Passed, func() sim.Chooser {
		return director(func(p *sim.Point) sim.Mover {
			if name, _, _ := r.Names().Where(0); name == "return" {
				return sim.MoverSource
			}
			return 0
		})
	})
	fire := by(steps, sim.MoverSource)
	require.Len(t, fire, 1)
	var private, seen int
	for _, s := range by(steps, 0) {
		if len(s.touched) == 0 {
			private++
		} else {
			seen++
			require.Equal(t, 1, races([]footstep{s}, fire), "%v", s)
		}
	}
	require.Equal(t, 4, private, "nop, push, pop, ret; behind sti no interrupt is taken: %v", steps)
	require.Greater(t, seen, 5)
	require.Zero(t, races(by(steps, 1), fire), "another CPU's steps")
}

// IPIs: sending conflicts with taking.
func TestFootprintOfIPIs(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 3})
	answered := r.flag()
	r.Hooks().Trap[smpev.VecCall] = func(x *smp.Ctx, _ *arch.Regs) { answered.WriteOnce(x, 1) }
	r.Tasks().AddProgram("sender", 0, func(x *smp.Ctx) {
		x.Step("send", 1)
		r.Interrupts().SendIPI(x, 1<<1, smp.IPICall)
		x.SpinForIPI(&answered.up)
	})
	r.Tasks().AddProgram("taker", 1, func(x *smp.Ctx) { x.Step("on", 1) })
	r.Tasks().AddProgram("other", 2, func(x *smp.Ctx) {
		x.Step("send", 2)
		r.Interrupts().SendIPI(x, 1<<0, smp.IPIResched)
		x.Step("send", 3)
	})
	r.Hooks().Trap[smpev.VecResch] = func(*smp.Ctx, *arch.Regs) {}
	steps := r.observed(smp.Passed, always0)
	takes := by(steps, sim.MoverIPI+1)
	require.Len(t, takes, 1)
	require.Equal(t, 1, races(r.of(steps, 0, "IPIs pending on cpu1"), takes))
	require.Zero(t, races(by(steps, 2), takes))
	require.Len(t, r.of(steps, 2, "IPIs pending on cpu0"), 1)
}

// A CPU that turns interrupts off does so before or after what is sent to it,
// which could have been delivered in between. Turning them on is not such.
func TestFootprintOfClosing(t *testing.T) {
	for _, full := range []bool{false, true} {
		r := newRig(t, smp.Config{CPUs: 2, Full: full})
		f := r.text("f", 0, "fa 90 fb 90 c3") // cli; nop; sti; nop; ret
		r.Hooks().Trap[smpev.VecCall] = func(*smp.Ctx, *arch.Regs) {}
		r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
			x.Step("send", 1)
			r.Interrupts().SendIPI(x, 1<<1, smp.IPICall)
		})
		r.Tasks().AddProgram("q", 1, func(x *smp.Ctx) {
			x.Call(f)
			x.Step("count", 1)
			x.PreemptDisable()
			x.Step("count", 2)
			x.PreemptEnable()
		})
		steps := r.observed(smp.Passed, func() sim.Chooser { return director(func(*sim.Point) sim.Mover { return 1 }) })
		sends := r.of(steps, 0, "IPIs pending on cpu1")
		require.Len(t, sends, 1)
		require.Equal(t, 1, races(r.of(by(steps, 1), 1, "IPIs pending"), sends), "cli: %v", steps)
		queues := 0
		for _, s := range by(steps, 1) {
			for _, x := range s.touched {
				if strings.Contains(r.Names().Object(x.Object), "run queue of cpu1") && !x.Write {
					queues++
				}
			}
		}
		want := 0
		if full {
			want = 2 // cli and PreemptDisable
		}
		require.Equal(t, want, queues, "%v", steps)
	}
}

// Text: a store conflicts with fetches of its chunk, watched from the start or
// since then, and with nothing else under coherent. Where fetches may be stale
// it also matters whether a CPU serialises before it or after.
func TestFootprintOfText(t *testing.T) {
	for _, c := range []struct {
		name  string
		model fetch.Model
		off   arch.Addr // what is stored to
		watch bool      // from the start
		text  int       // of the other CPU's steps that fetch from its chunk
		floor int       // and that serialise
	}{
		{"its chunk", fetch.Coherent, 2, true, 5, 0},
		{"its chunk, found at run time", fetch.Coherent, 2, false, 5, 0},
		{"another chunk", fetch.Coherent, 17, false, 6, 0},
		{"behind it all", fetch.Coherent, 32, false, 0, 0},
		{"its chunk", fetch.Stale, 2, true, 5, 1},
		{"behind it all", fetch.Mixing, 32, false, 0, 1},
	} {
		r := newRig(t, smp.Config{CPUs: 2, Fetch: c.model})
		// A nop; in the next chunk nop, nop, cpuid, nop, and the first byte of a
		// nop of four; its other bytes, and nops.
		f := r.text("f", 7, "90 90 90 0f a2 90 66 66 66 90"+strings.Repeat("90", 12)+"c3")
		r.Memory().Map(f+25, make([]byte, 32), smp.PermRead|smp.PermExec)
		at := (f + c.off) &^ 7
		if c.watch {
			r.Memory().Watch(at, 1)
		}
		r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) { x.Text().Fill(at, []byte{0x90}) })
		r.Tasks().AddProgram("q", 1, func(x *smp.Ctx) { x.Call(f) })
		steps := r.observed(smp.Passed, func() sim.Chooser { return director(func(*sim.Point) sim.Mover { return 1 }) })
		stores := r.of(steps, 0, "text at "+r.Names().Symbol(at))
		require.Len(t, stores, 1)
		require.Equal(t, c.text, races(r.of(steps, 1, "text at "+r.Names().Symbol(at)), stores), "%s, %v", c.name,
			c.model)
		require.Equal(t, c.floor, races(r.of(steps, 1, "cpu1 serialised"), stores), "%s, %v", c.name, c.model)
		require.Equal(t, c.text, len(r.of(steps, 1, "text at")), "%s, %v", c.name, c.model)
	}
}

// What a Point says that a CPU's next step begins with touching, it touches.
func TestAhead(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 2})
	f := r.text("f", 0, strings.Repeat("90", 12)+"c3")
	r.Memory().Watch(f, 1)
	a, b := r.flag(), r.flag()
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		a.WriteOnce(x, 1)
		x.Text().Write(f, []byte{0x90})
		x.Spin(&b.up)
	})
	r.Tasks().AddProgram("q", 1, func(x *smp.Ctx) {
		x.Sleep(&a.up)
		x.Call(f)
		b.WriteOnce(x, 1)
	})
	g, h := r.text("g", 32, at(incWord, 32, 0)), r.text("h", 64, at(loadWord, 64, 4))
	r.Tasks().AddProgram("writes", 0, func(x *smp.Ctx) { x.Call(g) })
	r.Tasks().AddProgram("reads", 1, func(x *smp.Ctx) { x.Call(h) })
	r.Memory().GuardStacks() // else nothing is said of data
	said := map[string]bool{}
	for name, ch := range schedules(20) {
		for _, s := range r.observed(smp.Passed, func() sim.Chooser { return ch }) {
			if s.ahead.Object == 0 {
				continue
			}
			said[strings.Fields(r.Names().Object(s.ahead.Object))[0]] = true
			require.Contains(t, s.touched, s.ahead, "%s: %s", name, r.Names().Object(s.ahead.Object))
		}
	}
	require.True(t, said["cell"] && said["text"] && said["data"], "%v", said)
	r.Footprint().Observe(nil)
	r.want(smp.Passed, director(func(p *sim.Point) sim.Mover {
		require.Nil(t, p.Ahead)
		return sim.NoMover
	}))
}
