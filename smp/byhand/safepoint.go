package byhand

import (
	"kpsim/smp"
	"kpsim/smp/kapi"
)

// safepoints are what tasks pass: places where they hold no address of code that may go.
type safepoints struct {
	h      *Hand
	tasks  []kapi.TaskID // set at boot: those that are waited for
	waits  kapi.Var[int] // how many waits have begun
	passed kapi.Var[int] // how many points were passed, and tasks have ended
	seen   []int         // owned by passed: by task, how many waits had begun when it passed its last point
	conds  []pointWait   `state:"skip: a task's own: what its routine sets it to follows from what that has read"`
}

// The orders of safepoints.
var (
	pointAsks = kapi.DefineBarrier("safepoint: ask", kapi.OrderFull,
		"a locked instruction on the word that threads poll")
	pointPasses = kapi.DefineBarrier("safepoint: pass", kapi.OrderFull,
		"a locked instruction on the count of threads that have passed")
)

// ended is more than the waits of any run.
const ended = 1 << 30

// pointWait is the condition that each task but one has passed a safepoint since a wait began.
type pointWait struct {
	s    *safepoints
	by   int // set at boot: the index of the task that waits
	wait int // owned by its task: which wait it is
}

func (w *pointWait) Cell() kapi.CellID { return w.s.passed.ID() }

func (w *pointWait) Holds() bool {
	for i, seen := range w.s.seen {
		if i != w.by && seen < w.wait {
			return false
		}
	}
	return true
}

// BootSafepoints makes tasks pass safepoints.
func (h *Hand) BootSafepoints(tasks []kapi.TaskID) {
	s := &h.points
	s.waits.Init(&h.k.M.Cells, 0)
	s.passed.Init(&h.k.M.Cells, 0)
	s.tasks, s.seen, s.conds = tasks, make([]int, len(tasks)), make([]pointWait, len(tasks))
	for i := range s.conds {
		s.conds[i] = pointWait{s: s, by: i}
	}
}

func (s *safepoints) begin() {
	if len(s.tasks) > 0 {
		s.waits.Set(0)
		s.passed.Set(0)
		clear(s.seen)
	}
}

// Safepoint passes one.
func (h *Hand) Safepoint(x *smp.Ctx) { h.points.pass(x, h.points.waits.LoadAcquire(x, pointAsks)) }

// Ended is called when a task has done all that it does: no other task waits for it any more.
func (h *Hand) Ended(x *smp.Ctx) {
	h.stops.leaves(x.Task())
	if len(h.points.tasks) > 0 {
		h.points.pass(x, ended)
	}
}

func (s *safepoints) pass(x *smp.Ctx, wait int) {
	*s.passed.RMW(x, pointPasses)++
	s.seen[s.index(x.Task())] = wait
}

func (s *safepoints) index(id kapi.TaskID) int {
	for i, t := range s.tasks {
		if t == id {
			return i
		}
	}
	return 0
}

// AwaitSafepoints sleeps until each other task has passed a safepoint, or has ended. Context: may sleep.
func (h *Hand) AwaitSafepoints(x *smp.Ctx) {
	s := &h.points
	w := &s.conds[s.index(x.Task())]
	w.wait = kapi.Add(&s.waits, x, pointAsks, 1)
	x.Sleep(w)
}
