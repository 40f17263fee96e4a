package smp_test

import (
	"encoding/binary"
	"runtime"
	"testing"

	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/fetch"
	"kpsim/smp/smpev"
)

// commonLoop is twelve executed instructions, half of which touch memory, with
// a call and its return: an instruction mix as compilers make it.
const commonLoop = "48 8b 07" + //   0: mov (%rdi),%rax
	"48 01 c8" + //       add %rcx,%rax
	"48 31 c3" + //       xor %rax,%rbx
	"48 ff c1" + //       inc %rcx
	"48 89 de" + //       mov %rbx,%rsi
	"48 89 5f 08" + //    mov %rbx,8(%rdi)
	"53" + //             push %rbx
	"e8 07 00 00 00" + // call 32
	"5b" + //             pop %rbx
	"48 39 d1" + //       cmp %rdx,%rcx
	"75 e1" + //          jne 0
	"c3" + //             ret
	"c3" //          32: ret

// loopPad is where the first chunk after the loop begins.
const loopPad = 40

const benchCPUs = 4

// benchLength sets how often sources fire: an arrival in a thousand boundaries.
const benchLength = 3000

var benchStrategies = []struct {
	name string
	new  func() sched.Strategy
}{
	{"random", func() sched.Strategy { return sched.NewRandom(sched.Params{Seed: 1, Length: benchLength}) }},
	{"sticky", func() sched.Strategy { return sched.NewSticky(sched.Params{Seed: 1, Length: benchLength}) }},
}

// BenchmarkInterleaved is the machine's speed: four CPUs in an endless loop,
// each with a timer and an NMI that may come at any boundary, a strategy asked
// at each, and what it answers written down. An operation is a boundary.
//
// In its textstore rivals a fifth CPU stores to the page of the loop, next to it,
// once in a hundred instructions of the four.
//
// Its tso rivals have memory in which CPUs hold stores: tso-calm holds none in any run,
// tso in each, and all take effect at once, which are boundaries more. Compare M_instr/s.
//
// Its empty rivals ask the strategy the same, and execute nothing: the ratio of
// the two doesn't depend on the computer.
func BenchmarkInterleaved(b *testing.B) {
	for _, s := range benchStrategies { // what is compared follows each other: the computer's pace changes meanwhile
		b.Run("empty/"+s.name, func(b *testing.B) { onlyAsk(b, s.new()) })
		b.Run(s.name, func(b *testing.B) { interleaveIn(b, s.new(), smp.Config{}, 0) })
		b.Run(s.name+"-textstore", func(b *testing.B) { interleaveIn(b, s.new(), smp.Config{Fetch: fetch.Stale}, 0) })
	}
	for _, s := range benchStrategies {
		b.Run(s.name+"-tso-calm", func(b *testing.B) { interleaveIn(b, s.new(), smp.Config{Memory: smp.TSO}, 0) })
		b.Run(s.name+"-tso", func(b *testing.B) { interleaveIn(b, s.new(), smp.Config{Memory: smp.TSO}, 1) })
	}
}

// buffers answers whether stores are held, and has them take effect at once.
type buffers struct {
	sched.Strategy
	pick int
}

// Choose implements sim.Chooser.
func (s *buffers) Choose(p *sim.Point) (pick, hold int) {
	switch {
	case p.Kind == sim.Buffer:
		return s.pick, 0
	case p.Kind == sim.Step && p.First >= sim.MoverDrain:
		return 0, 0
	}
	pick, hold = s.Strategy.Choose(p)
	if hold != 0 {
		hold |= sim.Drains
	}
	return pick, hold
}

func interleaveIn(b *testing.B, s sched.Strategy, cfg smp.Config, buffer int) {
	// One run is no longer than the default budget: a recording isn't either.
	stores := cfg.Fetch == fetch.Stale
	cfg.CPUs, cfg.Budget = benchCPUs, uint64(min(b.N, smp.DefaultBudget))
	if stores {
		cfg.CPUs = benchCPUs + 1
	}
	if cfg.Memory == smp.TSO {
		s = &buffers{s, buffer}
	}
	r := newRig(b, cfg)
	r.log.Store = false
	f := r.text("loop", 0, commonLoop)
	nothing := func(*smp.Ctx, *arch.Regs) {}
	h := r.Hooks()
	h.Trap[smpev.VecTimer], h.Trap[smpev.VecNMI] = nothing, nothing
	for c := range benchCPUs {
		r.source(smp.TimerSource, c, 1<<30)
		r.source(smp.NMISource, c, 1<<30)
		r.Tasks().AddProgram("looper", c, func(x *smp.Ctx) {
			regs := x.Regs()
			regs.R[x86.RDI], regs.R[x86.RDX] = uint64(smp.DataBase)+uint64(64*c), ^uint64(0)
			x.Call(f)
		})
	}
	stored, pad := 0, [8]byte{}
	if stores {
		r.Tasks().AddProgram("patcher", benchCPUs, func(x *smp.Ctx) {
			for ; ; stored++ { // a fifth of the boundaries are its own: one in 25 of them stores
				for i := range 24 {
					x.Step("patcher", i)
				}
				binary.LittleEndian.PutUint64(pad[:], uint64(stored))
				x.Text().Write(f+loopPad, pad[:])
			}
		})
	}
	rec := &sched.Recorder{Strategy: s}
	run := func(i uint64) smp.Counts {
		rec.Begin(i)
		r.Reset(rec)
		if o := r.Run(); o != smp.Exhausted {
			b.Fatalf("the run ended %v: %v", o, r.Refusal())
		}
		rec.End(r.Counts().Points)
		return r.Counts()
	}
	run(0) // fibres, decoding, the recording's memory
	stored = 0
	decoded := r.Text().Decoded()

	var sum smp.Counts
	runs := uint64(0)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.ResetTimer()
	for sum.Boundaries < uint64(b.N) {
		runs++
		k := run(runs)
		sum.Boundaries += k.Boundaries
		sum.Points += k.Points
		sum.Instructions += k.Instructions
		sum.Switches += k.Switches
	}
	b.StopTimer()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(sum.Instructions)/b.Elapsed().Seconds()/1e6, "M_instr/s")
	n := float64(sum.Boundaries)
	b.ReportMetric(float64(sum.Instructions)/n, "instr/op")
	b.ReportMetric(float64(sum.Points)/n, "points/op")
	b.ReportMetric(float64(sum.Switches)/n*1000, "switches/kop")
	b.ReportMetric(float64(stored)/float64(sum.Instructions)*1000, "stores/kinstr")
	b.ReportMetric(float64(r.Text().Decoded()-decoded)/float64(runs), "decodes/run")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(runs), "allocs/run")
}

// onlyAsk puts the questions of interleave to a strategy, and does nothing else.
func onlyAsk(b *testing.B, s sched.Strategy) {
	var clocks sim.Clocks
	p := sim.Point{Kind: sim.Step, N: 3 * benchCPUs, Clocks: &clocks}
	p.Moves = sim.Moves{1<<benchCPUs - 1, 0, 1<<(2*benchCPUs) - 1}
	rec := &sched.Recorder{Strategy: s}
	var ch sim.Chooser = rec
	hold, calls := 0, 0
	for i := range b.N {
		if i%smp.DefaultBudget == 0 {
			rec.Begin(uint64(i))
			p.Seq, hold = 0, 0
		}
		if hold > 0 {
			hold--
			p.Seq++
			continue
		}
		calls++
		pick, h := ch.Choose(&p)
		p.Seq++
		hold = h & sim.Forever
		if mv := p.Mover(pick); mv < sim.MoverIPI {
			p.First = mv
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "M_points/s")
	b.ReportMetric(float64(calls)/float64(b.N), "calls/op")
}

// BenchmarkRun is what one short run costs from Reset to its end: two CPUs,
// one of which interrupts the other with IPIs.
func BenchmarkRun(b *testing.B) {
	for _, s := range benchStrategies {
		b.Run(s.name, func(b *testing.B) {
			r := newRig(b, smp.Config{CPUs: 2})
			r.log.Store = false
			f := r.text("f", 0, loop8)
			answered := r.flag()
			r.Hooks().Trap[smpev.VecCall] = func(x *smp.Ctx, _ *arch.Regs) { answered.WriteOnce(x, 1) }
			r.Tasks().AddProgram("sender", 0, func(x *smp.Ctx) {
				for range 4 {
					answered.WriteOnce(x, 0)
					r.Interrupts().SendIPI(x, 1<<1, smp.IPICall)
					x.SpinForIPI(&answered.up)
				}
			})
			r.Tasks().AddProgram("runner", 1, func(x *smp.Ctx) {
				for range 4 {
					x.Call(f)
				}
			})
			rec := &sched.Recorder{Strategy: s.new()}
			b.ReportAllocs()
			var k smp.Counts
			for i := range b.N {
				rec.Begin(uint64(i))
				r.Reset(rec)
				answered.Set(0)
				if o := r.Run(); o != smp.Passed {
					b.Fatal(o)
				}
				rec.End(r.Counts().Points)
				k = r.Counts()
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
			b.ReportMetric(float64(k.Boundaries), "boundaries/op")
		})
	}
}
