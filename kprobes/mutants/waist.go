package mutants

import (
	"kpsim/smp/kapi"
)

// lockless is text whose mutex nobody takes.
type lockless struct{ kapi.Text }

// Mutex implements kapi.Text.
func (t lockless) Mutex() kapi.Mutex { return untaken{t.Text.Mutex()} }

// untaken is a mutex whose users go on without it.
type untaken struct{ kapi.Mutex }

// Lock implements kapi.Mutex.
func (untaken) Lock(kapi.Context) {}

// Unlock implements kapi.Mutex.
func (untaken) Unlock(kapi.Context) {}
