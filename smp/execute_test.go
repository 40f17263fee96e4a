package smp_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/fetch"
	"kpsim/smp/smpev"
)

// clockLoop sums up what rdtsc says at each turn of a loop with a push and a
// call: a clock that is fast or slow shows in the sum.
const clockLoop = "31 db" + //  0: xor %ebx,%ebx
	"0f 31" + //           2: rdtsc
	"01 c3" + //              add %eax,%ebx
	"53" + //                 push %rbx
	"e8 06 00 00 00" + //     call 18
	"ff c9" + //              dec %ecx
	"75 f2" + //              jne 2
	"93" + //                 xchg %eax,%ebx
	"c3" + //                 ret
	"c2 08 00" //         18: ret $8, which takes back the push

// fireAt fires the source at question at, if it is asked, and holds until then
// and from then on.
type fireAt struct{ at uint64 }

// Choose implements sim.Chooser.
func (f fireAt) Choose(p *sim.Point) (pick, hold int) {
	switch {
	case p.Seq == f.at:
		return 1, 0
	case p.Seq < f.at:
		return 0, int(f.at - p.Seq - 1)
	}
	return 0, sim.Forever
}

// oneByOne is a strategy without its holds.
type oneByOne struct{ sim.Chooser }

// Choose implements sim.Chooser.
func (o oneByOne) Choose(p *sim.Point) (pick, hold int) {
	pick, _ = o.Chooser.Choose(p)
	return pick, 0
}

// Instructions that are executed in one go, because the strategy has answered
// for them or because no other mover can move, have the same effect as one at a
// time, wherever the budget ends the run.
func TestExecuteInOneGo(t *testing.T) {
	type result struct {
		outcome     smp.Outcome
		counts      smp.Counts
		digest, sum uint64
	}
	const most = 120 // boundaries; the whole program has fewer
	run := func(ch sim.Chooser, budget uint64, timers int) (res result) {
		r := newRig(t, smp.Config{CPUs: 1, Budget: budget})
		r.Hooks().Trap[smpev.VecTimer] = func(*smp.Ctx, *arch.Regs) {}
		f := r.text("clockLoop", 0, clockLoop)
		r.source(smp.TimerSource, 0, timers)
		r.Tasks().AddProgram("looper", 0, func(x *smp.Ctx) {
			x.Regs().R[x86.RCX] = 9
			res.sum = x.Call(f)
		})
		res.outcome = r.run(ch)
		res.counts, res.digest = r.Counts(), r.log.Digest()
		return res
	}
	const never = most
	for n := uint64(1); n <= most; n++ {
		quiet := run(oneByOne{fireAt{never}}, n, 1)
		if quiet.outcome == smp.Exhausted {
			assert.Equal(t, n, quiet.counts.Boundaries)
		}
		assert.Equal(t, quiet, run(fireAt{never}, n, 1), "held to the end, budget %d", n)

		alone := run(sim.Always0{}, n, 0)
		assert.Zero(t, alone.counts.Points)
		alone.counts.Points = quiet.counts.Points
		assert.Equal(t, quiet, alone, "alone, budget %d", n)

		assert.Equal(t, run(oneByOne{fireAt{n}}, most, 1), run(fireAt{n}, most, 1), "held up to question %d", n)
	}
	assert.Equal(t, smp.Passed, run(fireAt{never}, most, 1).outcome)
	assert.NotEqual(t, run(fireAt{never}, most, 1).sum, run(fireAt{20}, most, 1).sum, "the clock shows the timer")
}

// Each version of the text is decoded once: not again when it is back, not for
// each CPU, not in the next run, and not because bytes after it change.
func TestDecodedOnce(t *testing.T) {
	// 0: inc %eax; 2: a site of five bytes; 7: dec %ecx; jne 0; ret; 12: a pad
	const loop, site, pad = "ff c0 0f 1f 44 00 00 ff c9 75 f5 c3 90 90 90 90", 2, 12
	versions := [][]byte{{0x0f, 0x1f, 0x44, 0, 0}, {0xcc, 0x1f, 0x44, 0, 0}, {0xe9, 0, 0, 0, 0}}
	r := newRig(t, smp.Config{CPUs: 3, Fetch: fetch.Coherent})
	r.Hooks().Trap[smpev.VecBP] = func(_ *smp.Ctx, regs *arch.Regs) { regs.IP += 4 }
	f := r.text("loop", 0, loop)
	r.Memory().Watch(f, 16) // so that each instruction that is executed is in the log
	for c := range 2 {
		r.Tasks().AddProgram("looper", c, func(x *smp.Ctx) {
			x.Regs().R[x86.RCX] = 60
			x.Call(f)
		})
	}
	r.Tasks().AddProgram("patcher", 2, func(x *smp.Ctx) {
		for i := range 40 {
			x.Text().Fill(f+site, versions[(i+1)%len(versions)])
			x.Text().Write(f+pad, []byte{byte(i), 0x90, byte(i), 0x90})
		}
	})
	seen := map[[3]uint64]bool{}
	for i, run := 0, sched.NewRandom(sched.Params{Seed: 1}); i < 20; i++ {
		run.Begin(uint64(i))
		r.want(smp.Passed, run)
		for _, e := range r.events(smpev.Exec) {
			seen[[3]uint64{e.A, e.B, e.C}] = true
		}
		assert.EqualValues(t, len(seen), r.Text().Decoded(), "run %d", i)
	}
	assert.Len(t, seen, 5+len(versions)-1, "every version was executed")
}

// The first store to a piece of text is seen by the very next instruction, if
// the model is coherent: the one that is about to be executed has been decoded,
// and is forgotten.
func TestStoreIsSeenAtOnce(t *testing.T) {
	r := newRig(t, smp.Config{CPUs: 2, Fetch: fetch.Coherent})
	f := r.text("wait", 0, "90 90 eb fc") // nop; nop; jmp to the first
	r.Tasks().AddProgram("runner", 0, func(x *smp.Ctx) { x.Call(f) })
	var before uint64
	r.Tasks().AddProgram("patcher", 1, func(x *smp.Ctx) {
		for i := range 20 {
			x.Step("patcher", i)
		}
		x.Text().Fill(f, []byte{0xc3, 0xc3, 0xc3, 0xc3})
		before = r.Counts().Instructions
	})
	for i, run := uint64(0), sched.NewRandom(sched.Params{Seed: 1}); i < 50; i++ {
		run.Begin(i)
		r.want(smp.Passed, run)
		assert.Equal(t, before+1, r.Counts().Instructions, "run %d: instructions after the store, which are one ret", i)
	}
}

// A told is what a Tracer was told of.
type told struct {
	ips      []arch.Addr
	accesses []string
}

func (t *told) Instruction(_ uint8, in arch.Inst, regs *arch.Regs) {
	t.ips = append(t.ips, in.At())
	if regs.IP != in.At() {
		panic("it is told before it is executed")
	}
}

func (t *told) Access(_ uint8, a arch.Addr, size int, store bool) {
	t.accesses = append(t.accesses, fmt.Sprintf("%d %t", size, store))
}

// A tracer is told of every instruction and of what it accesses, of a store when the
// instruction makes it, held or not, and changes nothing.
func TestTrace(t *testing.T) {
	for _, memory := range []smp.Ordering{smp.SC, smp.TSO} {
		var all told
		run := func(tr smp.Tracer) (smp.Counts, uint64, uint64) {
			r := newRig(t, smp.Config{CPUs: 1, Memory: memory})
			f := r.text("storingLoop", 0, storingLoop)
			sum := uint64(0)
			r.Tasks().AddProgram("looper", 0, func(x *smp.Ctx) {
				x.Regs().R[x86.RDI], x.Regs().R[x86.RCX] = uint64(smp.DataBase), 2
				sum = x.Call(f)
			})
			r.Trace(tr)
			assert.Equal(t, smp.Passed, r.run(holding{}))
			return r.Counts(), r.log.Digest(), sum
		}
		counts, digest, sum := run(nil)
		tracedCounts, tracedDigest, tracedSum := run(&all)
		assert.Equal(t, counts, tracedCounts)
		assert.Equal(t, digest, tracedDigest)
		assert.Equal(t, sum, tracedSum)
		assert.Len(t, all.ips, int(counts.Instructions))
		turn := []string{"4 true", "4 false"}
		assert.Equal(t, append(append(turn, turn...), "8 false"), all.accesses, memory)
	}
}

// storingLoop stores and loads rcx times, and returns.
const storingLoop = "89 0f" + // mov %ecx,(%rdi)
	"8b 07" + // mov (%rdi),%eax
	"ff c9" + // dec %ecx
	"75 f8" + // jne to the first
	"c3"
