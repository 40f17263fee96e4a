package kprobes

import "kpsim/smp/kapi"

type engine struct {
	armed  kapi.Var[bool]
	queues [2]kapi.List[int]
	perCPU []kapi.Var[int]
	name   string // never written after it was built
	sweeps int
	epoch  int  // owned by kprobe_mutex
	hooked bool // set at boot

	// owned by the optimizer's task
	batch []int
	// how many of batch are done
	done int

	late  int
	pages map[int]*page
	page  page
	first *page
}

// page is a value in engine, and a pointer elsewhere.
type page struct {
	used  int // owned by kprobe_mutex
	slots [4]bool
}

type list[T any] struct {
	head T
	len  int // owned by whoever holds the list
}
