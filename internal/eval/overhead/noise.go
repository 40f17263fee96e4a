package overhead

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"kpsim/kprobes"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
)

// A Noise is the cycles that a busy machine adds to a warm hit. None of it was measured on the documents' machines:
// all magnitudes are assumed. Durations are means of lognormal ones, each with the sd of its natural logarithm.
type Noise struct {
	RunCV    float64 `json:"run_cv"`    // of a whole run, from the layout of memory: sd by mean
	JitterCV float64 `json:"jitter_cv"` // of one hit, from the state of the pipeline: sd by mean

	MissesPerAccess float64 `json:"misses_per_access"` // the mean; they are Poisson
	MissNsec        float64 `json:"miss_nsec"`
	MissLogSD       float64 `json:"miss_log_sd"`

	TicksPerSec float64 `json:"ticks_per_sec"` // HZ; they are Poisson, because hits aren't in step with them
	TickNsec    float64 `json:"tick_nsec"`
	TickLogSD   float64 `json:"tick_log_sd"`

	SMIsPerSec float64 `json:"smis_per_sec"` // system management interrupts, Poisson too
	SMINsec    float64 `json:"smi_nsec"`
	SMILogSD   float64 `json:"smi_log_sd"`
}

// NominalNoise is that of a quiet machine of the 2010s with HZ=1000 and no SMIs (all assumed).
var NominalNoise = Noise{
	RunCV: 0.002, JitterCV: 0.004,
	MissesPerAccess: 0.002, MissNsec: 100, MissLogSD: 0.4,
	TicksPerSec: 1000, TickNsec: 3000, TickLogSD: 0.5,
	SMINsec: 100e3, SMILogSD: 0.3,
}

// cvMost is the largest CV: beyond it a Gaussian hit could take less than no time.
const cvMost = 0.1

// Check returns what is wrong with a noise, nil if nothing is.
func (n *Noise) Check() error {
	for _, f := range [...]struct {
		name  string
		value float64
		most  float64
	}{
		{"run_cv", n.RunCV, cvMost},
		{"jitter_cv", n.JitterCV, cvMost},
		{"misses_per_access", n.MissesPerAccess, 1},
		{"miss_nsec", n.MissNsec, 1e9},
		{"miss_log_sd", n.MissLogSD, 3},
		{"ticks_per_sec", n.TicksPerSec, 1e6},
		{"tick_nsec", n.TickNsec, 1e9},
		{"tick_log_sd", n.TickLogSD, 3},
		{"smis_per_sec", n.SMIsPerSec, 1e6},
		{"smi_nsec", n.SMINsec, 1e9},
		{"smi_log_sd", n.SMILogSD, 3},
	} {
		if !(f.value >= 0 && f.value <= f.most) {
			return fmt.Errorf("noise: %s = %v: it is to be from 0 to %v", f.name, f.value, f.most)
		}
	}
	return nil
}

// accesses returns how many lines of memory an event accesses that may be in no
// cache (assumed).
func accesses(e cycles.Event) float64 {
	switch e {
	case cycles.Point, // a cell that others write, too
		cycles.Breakpoint, cycles.Debug, cycles.Trap, // the frame
		cycles.Work(kapi.WorkNode), cycles.Work(kprobes.WorkWalk), // a probe
		cycles.Work(kprobes.WorkCall), cycles.Work(kprobes.WorkReturn), // an instance
		cycles.Work(kapi.WorkLock):
		return 1
	case cycles.Work(kapi.WorkSave), cycles.Work(kprobes.WorkDetour): // 168 bytes of registers
		return 3
	case cycles.Work(kapi.WorkCopy): // a byte
		return 1.0 / 64
	}
	return 0
}

// Accesses returns how many lines of memory a hit accesses that may be in no
// cache.
func (h *Hit) Accesses() (n float64) {
	for e, times := range h.Events {
		n += times * accesses(cycles.Event(e))
	}
	return n
}

// Expected returns the cycles that each sort of noise adds to a hit in the mean, in
// closed form; jitter adds none. A fit to noisy figures subtracts them.
func (n *Noise) Expected(h *Hit, mhz float64) (misses, ticks, smis float64) {
	sec := h.Cycles / (mhz * 1e6) // of the warm hit: a tick during a tick isn't counted
	misses = h.Accesses() * n.MissesPerAccess * n.MissNsec * mhz / 1e3
	ticks = sec * n.TicksPerSec * n.TickNsec * mhz / 1e3
	smis = sec * n.SMIsPerSec * n.SMINsec * mhz / 1e3
	return misses, ticks, smis
}

// rareLeast is the number of ticks from which the mean's interval covers its 95 %.
const rareLeast = 15

// Rare returns the events that are drawn so rarely in runs of a hit that the interval of the mean covers less than 95
// %: they make a tenth or more of the variance of a run's mean, and fewer than 15 of them are expected in all runs.
func (n *Noise) Rare(h *Hit, mhz float64, runs, hits int) (names []string) {
	sec := h.Cycles / (mhz * 1e6)
	sorts := [...]struct {
		of               string
		number, nsec, sd float64
	}{
		{"misses", h.Accesses() * n.MissesPerAccess, n.MissNsec, n.MissLogSD},
		{"ticks", sec * n.TicksPerSec, n.TickNsec, n.TickLogSD},
		{"SMIs", sec * n.SMIsPerSec, n.SMINsec, n.SMILogSD},
	}
	var each [len(sorts)]float64
	all := h.Cycles * h.Cycles * (n.RunCV*n.RunCV + n.JitterCV*n.JitterCV/float64(hits))
	for i, s := range sorts {
		cycles := s.nsec * mhz / 1e3
		each[i] = s.number * cycles * cycles * math.Exp(s.sd*s.sd) / float64(hits)
		all += each[i]
	}
	for i, s := range sorts {
		if each[i] > 0 && each[i] >= all/10 && s.number*float64(runs)*float64(hits) < rareLeast {
			names = append(names, s.of)
		}
	}
	return names
}

// noiseUnit is the fraction of a cycle that noise is rounded to. The last bits of logarithms and exponentials differ
// between machines; with rounding, draws from a seed don't. Sums of such cycles are exact, in any order.
const noiseUnit = 1.0 / 4096

// Draw returns the cycles of each of a number of hits in a row, in the run with number run. It is
// a function of its arguments alone.
func (n *Noise) Draw(h *Hit, mhz float64, seed, run uint64, hits int) []float64 {
	src := rand.NewPCG(seed, run)
	gauss := distuv.Normal{Sigma: 1, Src: src}
	sec := h.Cycles / (mhz * 1e6)
	misses := newCompound(h.Accesses()*n.MissesPerAccess, n.MissNsec*mhz/1e3, n.MissLogSD, src)
	ticks := newCompound(sec*n.TicksPerSec, n.TickNsec*mhz/1e3, n.TickLogSD, src)
	smis := newCompound(sec*n.SMIsPerSec, n.SMINsec*mhz/1e3, n.SMILogSD, src)

	slow := n.RunCV * gauss.Rand()
	list := make([]float64, hits)
	for i := range list {
		noise := h.Cycles*(slow+n.JitterCV*gauss.Rand()) + misses.draw() + ticks.draw() + smis.draw()
		list[i] = h.Cycles + math.Round(noise/noiseUnit)*noiseUnit
	}
	return list
}

// A compound is a sum of a Poisson number of lognormal durations.
type compound struct {
	none   bool
	number distuv.Poisson
	each   distuv.LogNormal
}

func newCompound(number, mean, sd float64, src rand.Source) compound {
	return compound{
		none:   number == 0 || mean == 0,
		number: distuv.Poisson{Lambda: number, Src: src},
		each:   distuv.LogNormal{Mu: math.Log(mean) - sd*sd/2, Sigma: sd, Src: src},
	}
}

func (c *compound) draw() (sum float64) {
	if c.none {
		return 0
	}
	for range int(c.number.Rand()) {
		sum += c.each.Rand()
	}
	return sum
}

// Stream returns the seed of a figure's own draws, so that figures are independent of each other.
func Stream(seed uint64, machine, edition, probe string) uint64 {
	own := fnv.New64a()
	fmt.Fprintf(own, "%s %s %s", machine, edition, probe)
	return seed ^ own.Sum64()
}

// DrawRuns returns the hits of runs 0, 1, … of a seed.
func (n *Noise) DrawRuns(h *Hit, mhz float64, seed uint64, runs, hits int) Samples {
	s := make(Samples, runs)
	for i := range s {
		s[i] = n.Draw(h, mhz, seed, uint64(i), hits)
	}
	return s
}
