package kernel_test

import (
	"testing"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/kapi"
)

// What is queued runs once for each time that it wasn't pending: a run begins
// after every Queue, and Flush returns only when it has ended.
func TestDelayedWork(t *testing.T) {
	for _, md := range modes {
		t.Run(md.name, func(t *testing.T) {
			r := newRig(t, md, smp.Config{CPUs: 3})
			f := r.text("f", 0, loop8)
			for c := range 3 {
				r.source(smp.TimerSource, c, 2)
				r.source(smp.PreemptSource, c, 2)
			}
			var work kapi.DelayedWork
			queued, runs, running := 0, 0, false
			pending, armed := false, 0 // as it must be: queued, and its run hasn't begun; how often it became so
			covered := 0               // the number of the last Queue before the run that began last
			newWork := func() {
				work = r.k.Work.NewDelayedWork("work", func(x kapi.Context) {
					if running {
						t.Error("the work runs twice at once")
					}
					running, pending = true, false
					runs++
					covered = queued
					x.Step("work", 1)
					x.Call(f)
					x.Step("work", 2)
					running = false
				})
			}
			newWork() // as an engine does, which is made at boot and again in each run
			before := r.reset
			r.reset = func() {
				before()
				queued, runs, covered, running = 0, 0, 0, false
				pending, armed = false, 0
				newWork()
			}
			for c := range 3 {
				r.Tasks().AddProgram("p", c, func(x *smp.Ctx) {
					for range 3 {
						x.Step("p", 1)
						work.Queue(x)
						queued++
						mine := queued
						if !pending {
							pending = true
							armed++
						}
						if c == 2 {
							work.Flush(x)
							if covered < mine {
								t.Errorf("flushed, but the last run began before queue %d", mine)
							}
						}
						x.Call(f)
					}
				})
			}
			for name, ch := range schedules(40) {
				r.want(smp.Passed, name, ch)
				if covered != 9 || runs != armed || running {
					t.Errorf("%s: queued 9 times, %d of them while not pending; %d runs, the last of which began after queue %d", name, armed, runs, covered)
				}
			}
		})
	}
}

// To queue what is pending does nothing; to queue what runs has it run again.
func TestQueueTwice(t *testing.T) {
	r := newRig(t, modes[0], smp.Config{CPUs: 2})
	var work kapi.DelayedWork
	runs := 0
	again := false
	newWork := func() {
		work = r.k.Work.NewDelayedWork("work", func(x kapi.Context) {
			if runs++; runs == 1 && again {
				work.Queue(x)
				work.Queue(x)
			}
		})
	}
	newWork()
	r.reset = func() { newWork(); runs = 0 }
	r.Tasks().AddProgram("p", 1, func(x *smp.Ctx) {
		work.Flush(x) // nothing to flush: nothing to wait for
		work.Queue(x)
		work.Queue(x)
		work.Flush(x)
		if !again && runs != 1 {
			t.Errorf("%d runs after one flush, want 1", runs)
		}
	})
	for _, again = range []bool{false, true} {
		r.want(smp.Passed, "default", sim.Always0{})
		if want := map[bool]int{false: 1, true: 2}[again]; runs != want {
			t.Errorf("again %v: %d runs, want %d", again, runs, want)
		}
	}
}

// By default a flush has the work run at once, before anything else moves.
func TestFlushRunsTheWorkAtOnce(t *testing.T) {
	r := newRig(t, modes[0], smp.Config{CPUs: 3})
	f := r.text("f", 0, loop8)
	var work kapi.DelayedWork
	newWork := func() { work = r.k.Work.NewDelayedWork("work", func(kapi.Context) {}) }
	newWork()
	r.reset = newWork
	r.Tasks().AddProgram("flusher", 1, func(x *smp.Ctx) {
		work.Queue(x)
		before := r.Counts().Instructions
		work.Flush(x)
		if n := r.Counts().Instructions - before; n != 0 {
			t.Errorf("%d instructions of others ran meanwhile", n)
		}
	})
	r.Tasks().AddProgram("other", 2, func(x *smp.Ctx) { x.Call(f) })
	r.want(smp.Passed, "default", sim.Always0{})
}

// Work that is queued and never flushed is done before the run has passed, and
// a run that ends with work pending leaves none to the next.
func TestWorkIsNeverLost(t *testing.T) {
	r := newRig(t, modes[0], smp.Config{CPUs: 1, Budget: 3})
	var work kapi.DelayedWork
	runs := 0
	newWork := func() { work = r.k.Work.NewDelayedWork("work", func(kapi.Context) { runs++ }) }
	newWork()
	r.reset = func() { newWork(); runs = 0 }
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) { work.Queue(x) })
	r.want(smp.Exhausted, "too short", sim.Always0{})

	r = newRig(t, modes[0], smp.Config{CPUs: 1})
	newWork()
	queue := true
	r.reset = func() { newWork(); runs = 0 }
	r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
		if queue {
			work.Queue(x)
		}
	})
	for _, queue = range []bool{true, false, true} {
		r.want(smp.Passed, "default", sim.Always0{})
		if want := map[bool]int{true: 1}[queue]; runs != want {
			t.Errorf("queued %v: %d runs", queue, runs)
		}
	}
}
