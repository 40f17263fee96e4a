package proof

import (
	"fmt"
	"sync"

	"kpsim/internal/search/explore"
	"kpsim/internal/search/parallel"
	"kpsim/internal/search/rig"
	"kpsim/sched"
	"kpsim/smp"
)

// A crew makes the runs of a search of states with several workers (sched.Team). mu guards all
// of it, except each worker's own data.
type crew struct {
	x       stateSearch
	first   bool
	mu      sync.Mutex
	news    sync.Cond // there may be work, or everything is over
	team    *sched.Team
	rec     *sched.Recorder
	run     uint64 // the number of the next run
	part    *explore.Part
	grown   uint64         // how often everything began anew
	version int            // of known
	known   smp.Known      // what the workers must know
	merges  [][2]sched.Way // merges to be checked
	pending int            // workers that check a merge
	made    uint64         // runs by the search itself
	useful  int            // workers that run ahead
	ended   bool           // no more runs are to be made
	over    bool
	err     error
}

// A worker runs ahead on a rig of its own.
type worker struct {
	rig     *rig.Rig
	st      *states
	helper  *sched.Helper
	check   *mergeCheck
	version int  // the version of what it knows
	useless bool // it doesn't run ahead
}

// byCrew makes all runs by n workers. Its result is that of run.
func (x stateSearch) byCrew(n int, first bool) (part *explore.Part, restarts uint64, err error) {
	c := x.newCrew(n, first)
	c.muster(n)
	return c.part, c.grown, c.err
}

func (x stateSearch) newCrew(n int, first bool) *crew {
	c := &crew{x: x, first: first, team: sched.NewTeam(x.s, x.st, func() sched.Claim { return newClaims() })}
	c.news.L = &c.mu
	c.rec = &sched.Recorder{Strategy: observedBy{x.s, x.st}}
	c.useful = n
	c.begin()
	c.publish()
	x.v.observe(x.rig, observedBy{x.s, x.st})
	x.s.Check(checkedMerges, func(first, again sched.Way) {
		c.merges = append(c.merges, [2]sched.Way{first, again})
	})
	return c
}

// muster starts n workers, which make all runs.
func (c *crew) muster(n int) {
	parallel.Run(n, n, &c.x.v.stop, func() (do func(job int), close func()) {
		w := c.newWorker()
		return func(int) { c.work(w) }, func() {
			w.rig.Close()
			w.check.rig.Close()
		}
	})
}

func (c *crew) begin() {
	c.part = new(explore.Part)
	c.part.Begin(0)
}

func (c *crew) newWorker() *worker {
	v := c.x.v
	w := &worker{rig: v.Spec.MustRig(), check: v.newCheck()}
	w.st = newStates(w.rig)
	v.observe(w.rig, rig.Deaf{})
	w.useless = w.st.lookAround() != c.x.around || w.st.inMaps // two rigs can't tell objects without names apart
	w.st.frozen = true
	w.helper = c.team.NewHelper(w.st)
	w.st.next = &w.helper.States
	v.observe(w.rig, observedBy{&w.helper.States, w.st})
	return w
}

// work is a worker's loop until everything is over.
func (c *crew) work(w *worker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			c.over = true
			c.news.Broadcast()
			panic(p)
		}
	}()
	if w.useless {
		c.useful--
	}
	for !c.over {
		if !c.ended {
			c.advance()
		}
		if n := len(c.merges); n > 0 {
			m := c.merges[n-1]
			c.merges = c.merges[:n-1]
			c.pending++
			c.apart(func() { w.check.same(m[0], m[1]) })
			c.pending--
			continue
		}
		if c.ended {
			if c.pending == 0 {
				c.over = true
				c.news.Broadcast()
			} else {
				c.news.Wait()
			}
			continue
		}
		if !c.ahead(w) {
			c.news.Wait()
		}
	}
}

// apart calls f without holding mu: f uses nothing of the crew.
func (c *crew) apart(f func()) {
	c.mu.Unlock()
	defer c.mu.Lock()
	f()
}

// ahead makes a worker try the next run. It returns false if there is nothing to try.
func (c *crew) ahead(w *worker) bool {
	if w.useless {
		return false
	}
	b := w.helper.Next()
	if b == nil {
		return false
	}
	if w.version != c.version {
		w.version = c.version
		w.rig.Machine.Footprint().SetKnown(&c.known)
		w.helper.Know()
	}
	ok := false
	c.apart(func() {
		defer func() {
			if recover() != nil { // a bug: the search would meet it alone, too
				w.useless = true
			}
		}()
		w.st.strange = false
		w.helper.Begin(b)
		run := w.rig.Run(observedBy{&w.helper.States, w.st})
		w.helper.End()
		ok = run.Outcome != smp.Refused && !w.learnt()
	})
	if !ok {
		w.version = -1 // it knows conflicts that the search has dropped
	}
	if w.useless {
		c.useful--
	}
	c.team.Tried(b, w.helper, ok)
	c.news.Broadcast() // there are branches after it
	return true
}

// learnt reports whether the worker's run has shown something that isn't known from other
// runs. The states that it found may then be distinguished differently.
func (w *worker) learnt() bool {
	f := w.rig.Machine.Footprint()
	learnt := f.Learnt()
	learnt = w.helper.Learnt() || learnt || w.st.strange
	if f.ReadsUninit() || w.rig.Machine.State().ReadsClock() {
		w.useless, learnt = true, true // the search itself must find that
	}
	return learnt
}

// advance moves the search on as far as possible.
func (c *crew) advance() {
	v, s := c.x.v, c.x.s
	for had := false; ; had = true {
		if v.ended() {
			c.end()
			return
		}
		switch c.team.Advance() {
		case sched.Waits:
			if c.useful == 0 {
				c.team.Alone()
				continue
			}
			if had {
				c.news.Broadcast()
			}
			return
		case sched.Done:
			c.end()
			return
		case sched.Ran:
			c.part.Runs++
			c.part.Counts.Points += c.team.Asked()
			c.ran(false)
		case sched.Runs:
			c.team.SetOut()
			c.made++
			c.rec.Begin(c.run)
			run := c.x.rig.Run(c.rec)
			c.rec.End(run.Counts.Points)
			if run.Outcome == smp.Refused {
				c.err = fmt.Errorf("%s: %w", v.Scenario.Name, run.Err)
				c.end()
				return
			}
			if run.Outcome == smp.Exhausted {
				v.Cut++
			}
			c.part.Take(c.run, run, c.rec)
			c.team.Arrived()
			if run.Property != nil {
				v.broken.Add(1)
			}
			c.ran(run.Property != nil && c.first)
		}
		if !c.ended && v.Memory > 0 && s.Bytes() > v.Memory {
			v.filled.Store(true)
			c.end()
		}
		if c.ended {
			return
		}
		c.learn()
	}
}

// ran counts a run. last says that it is the last one.
func (c *crew) ran(last bool) {
	v := c.x.v
	c.run++
	if n := v.runs.Add(1); n%watchEvery == 0 && v.Watch != nil {
		v.Watch(n, v.broken.Load(), c.x.s.Progress())
		v.back(c.x.s, n)
	}
	if last {
		c.end()
	}
}

// learn publishes what a run of the search has shown. It makes everything begin anew if that
// is needed.
func (c *crew) learn() {
	f := c.x.rig.Machine.Footprint()
	grew := f.SharedGrew()
	if grew = c.x.s.Grew() || grew; grew {
		c.team.Restart()
		c.grown++
		c.x.v.Cut = 0
		c.begin()
	}
	learnt := f.Learnt()
	if learnt = c.team.Learnt() || learnt || grew; learnt {
		c.publish()
	}
}

// publish sets what the workers must know.
func (c *crew) publish() {
	c.version++
	c.x.rig.Machine.Footprint().Known(&c.known)
}

func (c *crew) end() {
	c.ended = true
	c.news.Broadcast()
}
