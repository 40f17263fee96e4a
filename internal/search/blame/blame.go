package blame

import (
	"math"
	"slices"

	"kpsim/internal/search/replay"
	"kpsim/internal/search/rig"
	"kpsim/properties"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/traces"
)

// Odds tells how often a run breaks its property if its first questions are answered as in the
// trace and the others at random.
type Odds struct {
	Questions  int    `json:"questions"`  // length of the prefix
	Deviations int    `json:"deviations"` // number of deviations in the prefix
	Event      uint32 `json:"event"`      // number of events of the trace's run up to here
	Runs       int    `json:"runs"`
	Fails      int    `json:"fails"` // runs that broke the property
	// Low and High are the 95 % interval of the probability, after Wilson.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Chance returns the share of runs that broke the property.
func (o *Odds) Chance() float64 { return float64(o.Fails) / float64(max(o.Runs, 1)) }

// A Point is where a run was lost: the prefix of its choices after which most continuations break
// the property.
type Point struct {
	Questions int    // number of questions of the run
	Curve     []Odds // by length of the prefix
	Runs      int    // number of runs made in all

	// FromStart reports that most runs fail whatever is chosen, so that no choice is to blame. Otherwise, most
	// continuations pass without the choice Point, and most fail with it. Sharp reports that this choice alone raises
	// the odds by a fifth or more. If it doesn't, the odds rise gradually, from less than a quarter at From to three
	// quarters or more at To.
	FromStart bool
	Point     Choice
	Sharp     bool
	From, To  Odds

	// Worst is the deviation that alone raises the odds most. Its Question is -1 if the intervals
	// show no such deviation.
	Worst Choice
}

// A Choice is one choice, and the odds without it and with it.
type Choice struct {
	Question  int // number of the question, from 0
	Deviation int // number of the deviation in the schedule, from 1; 0: the default answer
	Label     traces.Deviation
	Before    Odds
	After     Odds
}

// A Sampling configures how the continuations of a run are sampled.
type Sampling struct {
	Seed uint64
	Runs int // runs for each prefix; 0: SamplingRuns
	// maximum for all runs together, except that each prefix gets samplingLeast runs; 0:
	// samplingQuestions
	Questions int64
	Progress  func(runs, most, fails uint64) // called after each run, with the maximum number of runs; may be nil
	_         struct{}
}

// sharpRise is the minimum rise in the odds of a choice that is to blame on its own.
const sharpRise = 0.2

// The defaults of a Sampling.
const (
	SamplingRuns      = 1000
	samplingQuestions = 40_000_000
	samplingLeast     = 40
	samplingMost      = 10 * samplingQuestions // maximum for the samplingLeast runs
)

// Runs that go round in circles ask few questions, and have many boundaries. These bound what is sampled of them: about
// a second, or three if there are deviations.
const (
	samplingBoundaries = 12_000_000
	samplingFew        = 3 // runs for each prefix, at least
	samplingLong       = 3 * samplingBoundaries
)

// Find samples continuations of the run that file describes and r has replayed, which broke a
// property. Deviations are numbered as in r.Taken. The result depends on the seed. Continuations
// are decided in turn by random, and by sticky with means 64, 16 and 4.
func Find(file *traces.File, r *replay.Replay, s Sampling) (*Point, error) {
	rig, err := rig.NewGoingOn(r.Rig.Scenario, file.Remark(traces.OriginMutant), r.Rig.Judges.GoOn)
	if err != nil {
		return nil, err
	}
	defer rig.Close()

	n := sampler{rig: rig, breaks: r.Property, report: s.Progress}
	n.record(r)
	n.length, n.boundaries = r.Counts.Points, r.Counts.Boundaries
	if err := n.prepare(s); err != nil {
		return nil, err
	}
	n.grid()
	return n.blame(), nil
}

type sampler struct {
	rig                *rig.Rig
	breaks             *properties.Property
	rec                *sched.Recording
	events             []uint32 // number of events before each question
	length, boundaries uint64   // questions and boundaries of the run
	prefix             *sched.Prefix
	each               int // runs for each prefix
	curve              []Odds
	runs               int
	fails              int
	report             func(runs, most, fails uint64)
	most               uint64
}

// record plays the trace again and records all answers.
func (n *sampler) record(r *replay.Replay) {
	c := &counting{Strategy: sched.NewAnchored(r.Taken, n.rig.Machine.Names()), log: &n.rig.Log}
	n.rig.Log.Store = true
	rec := &sched.Recorder{Strategy: c, All: true}
	if run := n.rig.Play(rec); run.Digest != r.Digest {
		sim.Bug("a run with digest %#x has %#x when it is played again", r.Digest, run.Digest)
	}
	n.rig.Log.Store = false
	n.rec, n.events = rec.Recording(), append(c.events, uint32(len(n.rig.Log.Events)))
}

// A counting records the number of events before each question.
type counting struct {
	sched.Strategy
	log    *traces.Log
	events []uint32
}

func (c *counting) Begin(i uint64) bool {
	c.events = c.events[:0]
	return c.Strategy.Begin(i)
}

func (c *counting) Choose(p *sim.Point) (pick, hold int) {
	c.events = append(c.events, uint32(len(c.log.Events)))
	return c.Strategy.Choose(p)
}

// prepare makes the choosers of the continuations. Arrivals are as likely as in a whole run:
// their mean is taken from the default run's length.
func (n *sampler) prepare(s Sampling) error {
	length := n.length
	if len(n.rec.Choices) > 0 {
		length = n.rig.Play(new(sched.Default)).Counts.Points
	}
	n.prefix = sched.NewPrefix(n.rec, sched.Continuations(sched.Params{Seed: s.Seed, Length: length})...)

	if n.each = s.Runs; n.each <= 0 {
		n.each = SamplingRuns
	}
	if s.Questions <= 0 {
		s.Questions = samplingQuestions
	}
	prefixes := int64(2*len(n.rec.Choices) + 2 + 3*10) // including the prefixes of three bisections
	if most := s.Questions / (prefixes * int64(max(length, n.rec.Asked, 1))); int64(n.each) > most {
		least := min(samplingLeast, int64(n.each))
		if n.each = int(max(most, least)); least*prefixes*int64(max(length, n.rec.Asked)) > samplingMost {
			return replay.ErrLong
		}
	}
	grid := int64(2*len(n.rec.Choices) + 1) // the prefixes that are sampled in any case
	if most := samplingBoundaries / (grid * int64(max(n.boundaries, 1))); s.Runs <= 0 && int64(n.each) > most {
		if n.each = min(n.each, max(int(most), samplingFew)); grid*int64(n.each)*int64(n.boundaries) > samplingLong {
			return replay.ErrLong
		}
	}
	n.most = uint64(prefixes) * uint64(n.each)
	return nil
}

// grid samples the empty prefix, the whole run, and the prefixes without and with each deviation.
func (n *sampler) grid() {
	n.sample(0)
	for _, c := range n.rec.Choices {
		n.sample(int(c.Seq))
		n.sample(int(c.Seq) + 1)
	}
	n.sample(len(n.rec.All))
}

// sample samples the continuations of a prefix, once.
func (n *sampler) sample(cut int) *Odds {
	at, ok := slices.BinarySearchFunc(n.curve, cut, func(o Odds, cut int) int { return o.Questions - cut })
	if ok {
		return &n.curve[at]
	}
	o := Odds{Questions: cut, Event: n.events[cut], Runs: n.each}
	for _, c := range n.rec.Choices {
		if int(c.Seq) < cut {
			o.Deviations++
		}
	}
	n.prefix.Cut(cut)
	if cut == len(n.rec.All) { // nothing is left to draw: it is the run that was recorded
		o.Runs = 0
		n.ran(&o, true)
	}
	for i := range o.Runs {
		n.prefix.Begin(uint64(i))
		run := n.rig.Run(n.prefix)
		n.prefix.End(run.Counts.Points)
		n.ran(&o, run.Property == n.breaks)
	}
	o.Runs = max(o.Runs, 1)
	if o.Low, o.High = Wilson(o.Fails, o.Runs); cut == len(n.rec.All) {
		o.Low, o.High = o.Chance(), o.Chance()
	}
	n.curve = slices.Insert(n.curve, at, o)
	return &n.curve[at]
}

// ran counts and reports a run.
func (n *sampler) ran(o *Odds, fails bool) {
	n.runs++
	if fails {
		o.Fails++
		n.fails++
	}
	if n.report != nil {
		n.report(uint64(n.runs), n.most, uint64(n.fails))
	}
}

// blame finds the choice to blame.
func (n *sampler) blame() *Point {
	r := &Point{Questions: len(n.rec.All), Worst: Choice{Question: -1}}
	low, high, ok := n.cross(2)
	if r.FromStart = !ok; ok {
		r.Point = n.choice(low)
		if r.Sharp = n.sample(high).Chance()-n.sample(low).Chance() >= sharpRise; !r.Sharp {
			if low, _, ok = n.cross(1); ok {
				r.From = *n.sample(low)
			} else {
				r.From = *n.sample(0)
			}
			_, high, _ = n.cross(3)
			r.To = *n.sample(high)
		}
		for _, c := range n.rec.Choices {
			b := n.choice(int(c.Seq))
			if rises := b.After.Low - b.Before.High; rises > 0 &&
				(r.Worst.Question < 0 || rises > r.Worst.After.Low-r.Worst.Before.High) {
				r.Worst = b
			}
		}
	}
	r.Curve, r.Runs = n.curve, n.runs
	return r
}

// cross bisects to the last choice at which the odds pass the given number of quarters. It
// returns the prefixes without and with that choice; ok is false if the odds are higher from the
// start.
func (n *sampler) cross(quarters int) (low, high int, ok bool) {
	above := func(o *Odds) bool { return 4*o.Fails >= quarters*o.Runs }
	last := -1
	for i := range n.curve {
		if !above(&n.curve[i]) {
			last = i
		}
	}
	if last < 0 {
		return 0, 0, false
	}
	low, high = n.curve[last].Questions, n.curve[last+1].Questions // the whole run fails, so a next prefix exists
	for high-low > 1 {
		if mid := (low + high) / 2; above(n.sample(mid)) {
			high = mid
		} else {
			low = mid
		}
	}
	return low, high, true
}

// choice returns the odds around one question. Both prefixes must have been sampled.
func (n *sampler) choice(question int) Choice {
	b := Choice{Question: question, Label: n.label(question), Before: *n.sample(question)}
	b.After = *n.sample(question + 1)
	b.Deviation = b.After.Deviations
	if b.Deviation == b.Before.Deviations {
		b.Deviation = 0
	}
	return b
}

func (n *sampler) label(question int) traces.Deviation {
	n.prefix.Cut(len(n.rec.All))
	spot := sched.NewSpot(n.prefix, n.rig.Machine.Names(), uint64(question))
	n.rig.Play(spot)
	return traces.Deviation(spot.Anchor())
}

// Wilson returns the 95 % interval of a probability after k successes in n trials (Wilson, "Probable inference, the
// law of succession, and statistical inference", 1927). After one to three successes, or failures, its nearer end is
// that of a Poisson count: Wilson's own covers as little as 84 % there (Brown, Cai and DasGupta, "Interval estimation
// for a binomial proportion", 2001).
func Wilson(k, n int) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	const z = 1.959964 // 2.5 % on each side of the normal distribution
	p, m := float64(k)/float64(n), float64(n)
	mid := p + z*z/(2*m)
	half := z * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	all := 1 + z*z/m
	low, high = max(0, (mid-half)/all), min(1, (mid+half)/all)
	if k < len(fewLeast) {
		low = min(low, fewLeast[k]/m)
	}
	if n-k < len(fewLeast) {
		high = max(high, 1-fewLeast[n-k]/m)
	}
	return low, high
}

// fewLeast are the means with which a Poisson count is so large or larger with probability 5 %.
var fewLeast = [...]float64{0, 0.051293, 0.355362, 0.817691}
