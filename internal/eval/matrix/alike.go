package matrix

import (
	"kpsim/internal/search/explore"
	"kpsim/internal/search/rig"
	"kpsim/sim"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// alikeDrawn is the number of random schedules in which two offsets are compared, besides all
// schedules of at most one deviation.
const alikeDrawn = 300

// alikeMeans is the number of means: a random schedule deviates once in 4, 8, 16, … questions.
const alikeMeans = 5

// A trail is what a program's runs show of its site's position: each question with its
// alternatives and the next mover's place, the bytes of the site that each store writes, and how
// the runs end. Shifting the site leaves the trail unchanged unless a store is split differently,
// or a fetch or a wait changes.
type trail struct {
	rig  *rig.Rig
	site uint64
	hash sim.Hash

	// The settings of this run.
	at   uint64 // the question to deviate at
	pick int    // and the answer there;
	mean int    // or, if not 0, the mean number of questions between random deviations
	rand sim.Rand
	list []int // if not nil: number of answers of each question
}

// trailOf runs all schedules of at most one deviation, and some random ones that don't depend on
// the offset.
func trailOf(spec explore.Spec) (h sim.Hash, err error) {
	rig, err := rig.New(spec.Scenario, spec.Mutant)
	if err != nil {
		return h, err
	}
	defer rig.Close()
	t := &trail{rig: rig, site: uint64(spec.Scenario.Texts[0].At), list: make([]int, 0, 256)}
	rig.Log.Subscribe(t, smpev.TextStore)
	t.run()
	list := t.list
	t.list = nil
	for i, n := range list {
		for k := 1; k < n; k++ {
			t.at, t.pick = uint64(i), k
			t.run()
		}
	}
	t.pick = 0
	for i := range uint64(alikeDrawn) {
		t.mean = 4 << (i % alikeMeans)
		t.rand.Seed(1, i)
		t.run()
	}
	return t.hash, nil
}

func (t *trail) run() {
	run := t.rig.Run(t)
	t.hash.Add(uint64(run.Outcome))
	if run.Property != nil {
		t.word(run.Property.ID)
	}
}

func (t *trail) word(s string) {
	t.hash.Add(uint64(len(s)))
	for i := range len(s) {
		t.hash.Add(uint64(s[i]))
	}
}

// Event implements traces.Sink.
func (t *trail) Event(e *traces.Event) *traces.Finding {
	at := e.A
	if d := at - t.site; d < siteSize {
		at = d
	}
	t.hash.Add(at)
	t.hash.Add(e.C)
	return nil
}

// siteSize is more than the size of a program's text at the site, in bytes.
const siteSize = 16

// Choose implements sim.Chooser.
func (t *trail) Choose(p *sim.Point) (pick, hold int) {
	t.hash.Add(uint64(p.Kind)<<32 | uint64(p.N))
	t.hash.Add(uint64(p.First))
	for _, m := range p.Moves {
		t.hash.Add(m)
	}
	name, off, _ := t.rig.Machine.Names().Where(p.First)
	t.word(name)
	t.hash.Add(uint64(off))
	if t.list != nil {
		for uint64(len(t.list)) < p.Seq { // questions that weren't asked
			t.list = append(t.list, 1)
		}
		t.list = append(t.list, p.N)
		return 0, 0
	}
	switch {
	case t.mean > 0:
		if t.rand.N(t.mean) == 0 {
			pick = t.rand.N(p.N)
		}
	case t.pick > 0 && p.Seq == t.at:
		pick = t.pick
	}
	return pick, 0
}
