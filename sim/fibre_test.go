package sim

import (
	"bytes"
	"errors"
	"testing"
)

// steps is a body that parks n times, and records what happened.
type steps struct {
	f      *Fibre
	n      int
	log    string
	before func()
}

func (s *steps) Run() {
	defer func() {
		if s.f.Dying() {
			s.log += "d"
		}
		s.f.Park() // must not park while dying, nor does it after the end
		s.log += "e"
	}()
	for range s.n {
		s.log += "."
		s.f.Park()
	}
	if s.before != nil {
		s.before()
	}
	s.log += "!"
}

func TestFibreStartParkResume(t *testing.T) {
	var p Pool
	f := p.Get()
	s := &steps{f: f, n: 2}
	var got []bool
	got = append(got, f.Start(s), f.Resume(), f.Resume())
	if s.log != "..!" || got[0] || got[1] || got[2] {
		t.Fatalf("log %q, done %v: want two parks, then one in the deferred code", s.log, got)
	}
	if !f.Resume() || s.log != "..!e" {
		t.Fatalf("log %q: the body should be done", s.log)
	}
	p.Put(f)
	p.Close()
}

type once func()

func (o once) Run() { o() }

func TestFibreThatNeverParks(t *testing.T) {
	var p Pool
	f := p.Get()
	ran := 0
	for range 3 {
		if !f.Start(once(func() { ran++ })) {
			t.Fatal("it isn't done")
		}
	}
	if ran != 3 || p.Made() != 1 {
		t.Errorf("ran %d times on %d fibres", ran, p.Made())
	}
}

func TestFibreKill(t *testing.T) {
	var p Pool
	f := p.Get()
	s := &steps{f: f, n: 3}
	f.Start(s)
	f.Resume()
	f.Kill()
	if s.log != "..de" {
		t.Errorf("log %q: want two steps, and all of the deferred code", s.log)
	}
	f.Kill() // again: nothing to kill
	p.Put(f)

	g := p.Get()
	s = &steps{f: g}
	if g != f || p.Made() != 1 {
		t.Error("a killed fibre wasn't used again")
	}
	if g.Start(s); s.log != "!" || g.Dying() {
		t.Errorf("after a kill: log %q", s.log)
	}
	g.Resume()
	p.Put(g)
	p.Close()
}

// A body that recovers from all panics, as careless code does, ends all the same.
func TestFibreKillRecovered(t *testing.T) {
	var p Pool
	f := p.Get()
	f.Start(once(func() {
		func() {
			defer func() { recover() }()
			f.Park()
		}()
		f.Park()
	}))
	f.Kill()
	p.Put(f)
}

func TestPoolReuse(t *testing.T) {
	var p Pool
	for range 100 {
		a, b := p.Get(), p.Get()
		a.Start(&steps{f: a, n: 1})
		b.Start(&steps{f: b, n: 1})
		a.Kill()
		b.Kill()
		p.Put(a)
		p.Put(b)
	}
	if p.Made() != 2 {
		t.Errorf("%d fibres were made, want 2", p.Made())
	}
	p.Close()
}

func TestPutParked(t *testing.T) {
	var p Pool
	f := p.Get()
	f.Start(&steps{f: f, n: 1})
	defer func() {
		if _, ok := recover().(*BugError); !ok {
			t.Error("putting back a parked fibre is no bug")
		}
		f.Kill()
	}()
	p.Put(f)
}

// A panic in a body surfaces where the fibre was resumed, after the body's deferred
// code.
func TestFibrePanic(t *testing.T) {
	boom := errors.New("boom")
	for _, dying := range []bool{false, true} {
		var p Pool
		f := p.Get()
		cleaned := false
		f.Start(once(func() {
			defer func() {
				cleaned = true
				if dying {
					panic(boom)
				}
			}()
			f.Park()
			panic(boom)
		}))
		func() {
			defer func() {
				if r := recover(); r != boom {
					t.Errorf("dying %v: recovered %v", dying, r)
				}
			}()
			if dying {
				f.Kill()
			} else {
				f.Resume()
			}
		}()
		if !cleaned {
			t.Error("the deferred code didn't run")
		}
	}
}

func BenchmarkFibre(b *testing.B) {
	var p Pool
	s := &steps{n: 1}
	b.ReportAllocs()
	for b.Loop() {
		f := p.Get()
		s.f, s.log = f, ""
		f.Start(pause{f})
		f.Resume()
		p.Put(f)
	}
}

type pause struct{ f *Fibre }

func (p pause) Run() { p.f.Park() }

func BenchmarkFibreKill(b *testing.B) {
	var p Pool
	b.ReportAllocs()
	for b.Loop() {
		f := p.Get()
		f.Start(pause{f})
		f.Kill()
		p.Put(f)
	}
}

func BenchmarkFibreSwitch(b *testing.B) {
	var p Pool
	f := p.Get()
	f.Start(once(func() {
		for {
			f.Park()
		}
	}))
	for b.Loop() {
		f.Resume()
	}
	f.Kill()
}

// TestFibrePanicStack: a panic of Go's runtime in a body, and a bug, carry the stack of
// the fibre. The caller that resumed it, perhaps itself on a fibre, has another one.
func TestFibrePanicStack(t *testing.T) {
	for _, c := range []struct {
		body  once
		stack func(r any) []byte
	}{
		{once(outOfRange), func(r any) []byte { return r.(*Panic).Stack }},
		{once(aBug), func(r any) []byte { return r.(*BugError).Stack }},
	} {
		var p Pool
		f, g := p.Get(), p.Get()
		func() {
			defer func() {
				if stack := c.stack(recover()); !bytes.Contains(stack, []byte("sim.outOfRange")) &&
					!bytes.Contains(stack, []byte("sim.aBug")) {
					t.Errorf("the stack isn't that of the body:\n%s", stack)
				}
			}()
			f.Start(once(func() { g.Start(c.body) }))
		}()
		if !f.Lost() || !g.Lost() {
			t.Errorf("lost: %v, %v", f.Lost(), g.Lost())
		}
	}
}

func outOfRange() {
	var none []int
	none[len(none)]++
}

func aBug() { Bug("on purpose") }
