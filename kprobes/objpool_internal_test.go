package kprobes

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/kprobes/rules"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
)

// A pushed is a machine on which a call of a return-probed function by the last
// CPU, after 1000 others, is interrupted where it gives its instance back: the tail
// has gone on, and nothing else. The NMI calls the function so many times.
type pushed struct {
	b     *bench
	c     conserved
	r     *Kretprobe
	seen  []string // the last CPU's ring: before, behind that, and behind one call more
	twice bool     // an instance is on that ring twice
	armed bool
}

// interrupted makes and runs it; deep: how often the last call of all calls itself.
func interrupted(t *testing.T, cpus, nested, deep int) (*pushed, smp.Outcome) {
	p := new(pushed)
	p.c.reset()
	programs := make([]func(b *bench, x *smp.Ctx), cpus)
	for c := range programs {
		programs[c] = func(*bench, *smp.Ctx) {}
	}
	programs[cpus-1] = func(b *bench, x *smp.Ctx) {
		p.r = retAt(recurs, func(kapi.Context, *Instance, *arch.Regs) int { return 0 })
		require.NoError(t, b.e.Kretprobes.Register(x, p.r))
		for range 1000 {
			called(x, recurs, 0)
		}
		p.tell()
		p.armed = true
		called(x, recurs, 0)
		p.tell()
		called(x, recurs, 0)
		p.tell()
		if deep >= 0 {
			called(x, recurs, uint64(deep))
		}
		require.NoError(t, b.e.Kretprobes.Unregister(x, p.r))
		for range 3 {
			b.k.RCU.Synchronize(x, kapi.QuiesceRCU)
		}
	}
	set := settingsOf(rules.Edition69, true)
	breakSteps(&set, "objpool-last")
	p.b = bootBench(t, set, retCodes, func(b *bench) {
		require.NoError(t, b.m.Interrupts().Add(&smp.Source{Kind: smp.NMISource, Name: "nmi", AtMost: 1}, cpus-1))
		b.k.OnInterrupt(func(x *smp.Ctx, _ *smp.Source) {
			p.armed = false
			regs := *x.Regs()
			for range nested {
				called(x, recurs, 0)
			}
			sp, ip := x.Regs().R[x86.RSP], x.Regs().IP
			*x.Regs() = regs
			x.Regs().R[x86.RSP], x.Regs().IP = sp, ip
		}, func(*smp.Source) bool { return false })
	}, programs...)
	p.b.log.Subscribe(&p.c, conservedKinds...)
	return p, p.b.run(&firing{when: func() bool { return p.armed && p.ring().tail.Peek() != p.ring().Last.Peek() }})
}

func (p *pushed) ring() *ObjpoolSlot { return &p.r.holder.rings[len(p.r.holder.rings)-1] }

func (p *pushed) tell() {
	r := p.ring()
	p.seen = append(p.seen, fmt.Sprintf("head %d last %d tail %d", r.Head.Peek(), r.Last.Peek(), r.tail.Peek()))
	for at := r.Head.Peek(); r.Last.Peek()-at <= r.Most && at != r.Last.Peek(); at++ {
		for to := at + 1; to != r.Last.Peek(); to++ {
			p.twice = p.twice || r.Owned(at) == r.Owned(to)
		}
	}
}

// TestPushInterruptedLikeKernels: the array of free instances comes to what it came
// to on a 6.12 kernel (docs/findings.md): 2 CPUs and 10 instances, 8 and 16.
func TestPushInterruptedLikeKernels(t *testing.T) {
	const before2, before8 = "head 1000 last 1005 tail 1005", "head 1000 last 1002 tail 1002"
	for _, c := range []struct {
		cpus, nested, deep int
		seen               []string
		twice              bool
		outcome            smp.Outcome
		wrong              bool // an instance is in two hands, or freed twice
		leaked             int
	}{
		{2, 1, 4, []string{before2, "head 1002 last 1006 tail 1007", "head 1003 last 1008 tail 1008"}, false, smp.Passed, false, 0},
		{2, 4, 4, []string{before2, "head 1005 last 1006 tail 1010", "head 1006 last 1011 tail 1011"}, false, smp.Passed, false, 0},
		{2, 5, -1, []string{before2, "head 1006 last 1006 tail 1011", "head 1006 last 1012 tail 1012"}, true, smp.Passed, true, 1},
		{2, 5, 5, []string{before2, "head 1006 last 1006 tail 1011", "head 1006 last 1012 tail 1012"}, true, smp.Violated, true, 10}, // it is in its task's list when it is given back
		{2, 6, -1, []string{before2, "head 1007 last 1006 tail 1012"}, false, smp.Stuck, false, 10},
		{2, 7, -1, []string{before2, "head 1008 last 1006 tail 1013"}, false, smp.Stuck, false, 10},
		{8, 2, -1, []string{before8, "head 1003 last 1003 tail 1005", "head 1003 last 1006 tail 1006"}, false, smp.Passed, false, 0}, // a lap ago it was its own
		{8, 3, -1, []string{before8, "head 1004 last 1003 tail 1006"}, false, smp.Stuck, false, 16},
	} {
		t.Run(fmt.Sprintf("%d CPUs/%d calls/%d deep", c.cpus, c.nested, c.deep), func(t *testing.T) {
			p, outcome := interrupted(t, c.cpus, c.nested, c.deep)
			require.Equal(t, c.outcome, outcome, "%v", p.b.m.Refusal())
			require.Equal(t, c.seen, p.seen)
			require.Equal(t, c.twice, p.twice)
			require.Equal(t, c.wrong, p.c.wrong != "", p.c.wrong)
			require.Equal(t, c.leaked, p.c.leaked())
		})
	}
}
