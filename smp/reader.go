package smp

import (
	"kpsim/sim"
	"kpsim/smp/kapi"
)

// A reader is the routine whose step is under way, with what it has read in the step and
// which stores and versions the step has made.
type reader struct {
	reads   []Reading // what the routine may keep something of
	began   *Ctx
	by      *Ctx          // began, until it has ended
	before  sim.Hash      // what began had read when the step began
	forgot  bool          // began has forgotten what it had read (Ctx.Forget)
	anew    sim.Hash      // forgot: what stands for what it has read since
	since   int           // forgot: so many of reads are from before
	knew    bool          // forgot: it had asked which CPU it is on
	made    []kapi.CellID // cells of which the step has made versions
	drained []Held        // stores to cells that have taken effect in the step
}

// reset begins a step, of no routine so far.
func (r *reader) reset() {
	r.began, r.by, r.reads, r.forgot, r.knew = nil, nil, r.reads[:0], false, false
	r.drained, r.made = r.drained[:0], r.made[:0]
}

// read notes that the routine under way may know o's value.
func (r *reader) read(o sim.Object) { r.reads = append(r.reads, Reading{Object: o}) }

// A Reading is an object that a routine has read.
type Reading struct {
	Object  sim.Object
	Version bool     // the object is one version of a cell
	By      sim.Hash // for a version: what its maker had read; zero: the step under way made it
}

// A Doing describes how a step affects a routine's local variables.
type Doing struct {
	Routine  bool      // the step is a routine's
	Read     sim.Hash  // what the routine had read when the step began, and in the step, without objects
	OwnWords bool      // the routine may have looked at its CPU's own words
	Reads    []Reading // the objects of which the routine may have kept something

	// Forgot: Ctx.Forget was called in the step. What the routine has read since then is Anew,
	// the words of its CPU's own if OwnNow is set, and Reads from Since on.
	Forgot bool
	Anew   sim.Hash
	OwnNow bool
	Since  int
}

// Doing returns, for an observer, the Doing of the step being reported.
func (r *reader) Doing() Doing {
	d := Doing{Routine: r.began != nil, Read: r.before, Reads: r.reads, Forgot: r.forgot, Anew: r.anew, Since: r.since}
	d.OwnNow = d.Routine && (r.by == nil || r.by.knowsCPU)
	d.OwnWords = d.OwnNow || r.knew
	return d
}

// HasRead lets an observer set h as what the routine whose step is being reported has now
// read. It is ignored for a routine that has ended, and for one that has only found that it
// must wait: when such a routine continues, it is as if it had just arrived.
func (r *reader) HasRead(h sim.Hash) {
	if x := r.by; x != nil && !x.looking {
		x.read = h
	}
}
