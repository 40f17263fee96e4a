package overhead

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/thorough"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// A held is what is known of a spinlock.
type held struct {
	times  float64  // that it is taken
	cycles float64  // that it is held
	by     uint64   // CPUs
	since  sim.Time // its last taking
}

// spins records which CPU holds which spinlock for how long.
type spins struct {
	clock func(cpu int) sim.Time
	locks [16]held // by number
}

// Event implements traces.Sink.
func (s *spins) Event(e *traces.Event) *traces.Finding {
	at, l := s.clock(int(e.CPU)), &s.locks[e.A]
	switch {
	case e.Kind == smpev.Unlock && l.since != 0:
		l.cycles += float64(at-l.since)/cycles.Unit + release
		l.since = 0
	case e.Kind == smpev.Lock && e.B&smpev.LockSpins != 0 && e.B&smpev.LockWaits == 0:
		l.times++
		l.by |= 1 << e.CPU
		l.since = at
	}
	return nil
}

// lockCosts are the nominal ones, but lines of cache cost nothing: the time a
// lock is held must be the same however many CPUs want it, as MVA assumes. By
// them release is the time that releasing a lock takes after the event that
// says so; grab is the time that a waiting CPU takes from then until it has the
// lock.
var (
	lockCosts = func() cycles.Profile { p := *cycles.Nominal(); p[cycles.Line] = 0; return p }()
	grab      = float64(lockCosts[cycles.Point]) / cycles.Unit
	release   = grab + float64(lockCosts[cycles.Work(kapi.WorkUnlock)])/cycles.Unit
)

// demands returns for each lock that several CPUs take how many cycles of a call it is held,
// and as how many it counts if they wait for it.
func demands(t *testing.T, p *Probe, edition string) (alone, handed []float64) {
	const cpus = 2
	var s [2]spins
	for i := range s {
		sc, err := p.contended(cpus, settle+counted*i, true, edition)
		require.NoError(t, err)
		r, err := newRunner(sc, &lockCosts)
		require.NoError(t, err)
		s[i].clock = r.Machine.Clocks().Of
		r.Log.Subscribe(&s[i], smpev.Lock, smpev.Unlock)
		_, _, err = r.run(sched.NewTimed(sched.Params{Seed: 1}))
		require.NoError(t, err)
		r.Close()
	}
	for i, more := range s[1].locks {
		if few := s[0].locks[i]; more.times > few.times && more.by == 1<<cpus-1 {
			a := (more.cycles - few.cycles) / (cpus * counted)
			alone = append(alone, a)
			handed = append(handed, a+grab*(more.times-few.times)/(cpus*counted))
		}
	}
	return alone, handed
}

// mva returns how many calls a cycle n CPUs make that each go to all locks in each call,
// for so long, and else don't meet, by exact mean value analysis of a closed network
// (Reiser and Lavenberg, J. ACM 27, 1980).
func mva(n int, locks []float64, think float64) (rate float64) {
	queued := make([]float64, len(locks))
	for k := 1; k <= n; k++ {
		cycle := think
		for i, d := range locks {
			cycle += d * (1 + queued[i])
		}
		rate = float64(k) / cycle
		for i, d := range locks {
			queued[i] = rate * d * (1 + queued[i])
		}
	}
	return rate
}

// By hand: of two CPUs that hold a lock half of the time one waits a quarter of a call.
func TestMVA(t *testing.T) {
	require.InDelta(t, 0.5, mva(1, []float64{1}, 1), 1e-12)
	require.InDelta(t, 2/2.5, mva(2, []float64{1}, 1), 1e-12)
	require.InDelta(t, 2.0/3, mva(2, []float64{1, 1}, 0), 1e-12) // balanced: n/(n+1) of a station
	require.InDelta(t, 10.0/11, mva(10, []float64{1, 1}, 0), 1e-12)
}

// CPUs make no more calls than they would if they never waited, and no more than a lock
// lets pass, one after the other: the asymptotic bounds. Where they wait for locks only
// they make no fewer than by exact mean value analysis. That is of times that are
// exponential: now and then a CPU has a lock for long, and others wait although it would
// have been enough for all. Ours are the same each time, so it is a lower bound, and both
// are the same at one CPU and when the lock is always busy. Of a list without a lock,
// which is tried again, it says nothing.
func TestContention(t *testing.T) {
	p := Probes(false)[2]
	require.Equal(t, "r", p.Name)
	const stepped = ", optprobes = False, ftrace = False"
	for edition, c := range map[string]struct {
		locks int
		tries bool
	}{
		old:                          {locks: 1}, // kretprobe_lock
		`edition = "4.15"` + stepped: {locks: 1}, // the return probe's; those of tasks aren't shared
		`edition = "5.14"` + stepped: {tries: true},
		`edition = "6.5"` + stepped:  {tries: true},
		`edition = "6.9"` + stepped:  {}, // free instances are each CPU's own
	} {
		t.Run(edition, func(t *testing.T) {
			alone, handed := demands(t, &p, edition)
			require.Len(t, alone, c.locks)
			cpus := thorough.Of([]int{1, 2, 4, 7, 40}, []int{1, 2, 4, 7, 8, 16, 20, 32, 64})
			if c.locks == 0 { // half of the time is for the last
				cpus = cpus[:len(cpus)-1]
			}
			list, err := p.Scale(cpus, edition, &lockCosts)
			require.NoError(t, err)
			call, least := 1/list[0].Rate, 0.0
			think := call
			for _, d := range handed {
				think -= d
			}
			const more = 1 + 1.0/counted // by a call that ends in the time that is looked at and began before
			for _, s := range list {
				n := float64(s.CPUs)
				most := n / call
				for _, d := range alone {
					most = min(most, 1/d)
				}
				require.LessOrEqual(t, s.Rate, most*more, "%d CPUs", s.CPUs)
				require.GreaterOrEqual(t, s.Rate*more, least, "%d CPUs", s.CPUs)
				least = s.Rate
				if !c.tries {
					require.GreaterOrEqual(t, s.Rate*more, mva(s.CPUs, handed, think), "%d CPUs", s.CPUs)
				}
				require.InDelta(t, n/s.Rate, call+s.Cycles-list[0].Cycles, 1e-6, "Little's law, of %d CPUs", s.CPUs)
			}
			if c.locks > 0 {
				require.InEpsilon(t, 1/handed[0], least, 0.05, "a lock that is always busy")
			}
		})
	}
}
