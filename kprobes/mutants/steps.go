package mutants

import (
	"kpsim/kprobes"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// The words of the steps.
type (
	steps   = kprobes.Steps
	engine  = kprobes.Engine
	kprobe  = kprobes.Kprobe
	aggr    = kprobes.Aggr
	context = kapi.Context
	regs    = arch.Regs
)

// Steps returns the steps of the engine to be built, for changes.
func (w *Wiring) Steps() *steps {
	if w.Engine.Steps == nil {
		w.Engine.Steps = kprobes.Linux()
	}
	return w.Engine.Steps
}

// on is a mutant that changes steps only.
func on(change func(s *steps)) func(w *Wiring) { return func(w *Wiring) { change(w.Steps()) } }

// skipN leaves out a step that has N arguments and returns nothing. For other steps write a function that returns the
// mutant's answer.
func skip1[A any](f *func(A))                   { *f = func(A) {} }
func skip2[A, B any](f *func(A, B))             { *f = func(A, B) {} }
func skip3[A, B, C any](f *func(A, B, C))       { *f = func(A, B, C) {} }
func skip4[A, B, C, D any](f *func(A, B, C, D)) { *f = func(A, B, C, D) {} }

func skip5[A, B, C, D, E any](f *func(A, B, C, D, E)) { *f = func(A, B, C, D, E) {} }

// Bits of an Aggr's Note that mutants use: the low half has the bytes under a jump.
const (
	noteReused  = 1 << (32 + iota) // it is taken for enabled
	noteSilent                     // it is taken for disabled
	noteShared                     // another probe has joined
	notePosted                     // a probe with a post_handler has joined it
	noteGoing                      // its text is about to go
	noteForced                     // its jump was removed by force while it waited for that
	noteCleared                    // the last one with a post_handler has left others
)
