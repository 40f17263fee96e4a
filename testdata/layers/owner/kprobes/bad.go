package kprobes

import "kpsim/smp/kapi"

func newEngine() *engine {
	e := &engine{name: "kprobes"}
	e.sweeps = 0
	e.late = 1
	hook = func() {
		e.sweeps = 2 // want owner
	}
	return e
}

var hook = func() {}

func initEngine(e *engine) { e.first = nil }

func (e *engine) run(x kapi.Context, p *page, l *list[int]) {
	e.armed.WriteOnce(x, true)
	e.perCPU = nil
	e.queues[0] = kapi.List[int]{}

	e.sweeps++ // want owner
	e.epoch++
	e.hooked = true
	e.batch = append(e.batch, 1)
	e.done, e.late = 0, 1 // want owner

	e.pages[3] = p     // want owner
	delete(e.pages, 3) // want owner
	e.page.used = 1    // want owner
	e.first.used = 1
	p.used = 2
	p.slots[2] = true // want owner
	clear(p.slots[:]) // want owner
	*e.first = page{}
	(e.late) += 2 // want owner

	l.head = 1 // want owner
	l.len++

	for e.late = range 3 { // want owner
	}
	late := e.late
	late++
	_ = late
}

var reset = func(e *engine) {
	e.late = 0 // want owner
}
