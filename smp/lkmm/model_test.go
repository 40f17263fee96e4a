package lkmm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sim"
	"kpsim/smp/lkmm"
)

func oldest(n int) int { return n - 1 }
func newest(int) int   { return 0 }

// TestBoring: who always answers 0 reads the newest, and stores the newest.
func TestBoring(t *testing.T) {
	var m lkmm.Model
	m.Reset(2)
	for range 3 {
		require.Zero(t, m.Store(0, 7, lkmm.Relaxed, newest))
		require.Zero(t, m.Load(1, 7, lkmm.Relaxed, newest))
	}
}

// TestConservative: without sets of dependencies, a store is after every load before it.
func TestConservative(t *testing.T) {
	for _, known := range []bool{false, true} {
		var m lkmm.Model
		m.Reset(2)
		m.Store(0, 0, lkmm.Relaxed, newest)
		m.Fence(0, lkmm.WMB)
		m.Store(0, 1, lkmm.Relaxed, newest)
		m.Load(1, 1, lkmm.Relaxed, newest)
		back := 0
		if known { // that it depends on nothing
			back = m.StoreAfter(1, 0, lkmm.Relaxed, 0, oldest)
			require.Equal(t, 1, back, "a store that depends on nothing may be early")
		} else {
			back = m.Store(1, 0, lkmm.Relaxed, func(int) int { t.Error("asked"); return 0 })
			require.Zero(t, back)
		}
	}
}

// TestForget: what each CPU has passed is dropped, a CPU that lags keeps it, up to Depth.
func TestForget(t *testing.T) {
	var m lkmm.Model
	m.Reset(2)
	m.Store(0, 3, lkmm.Relaxed, newest)
	m.Store(0, 3, lkmm.Relaxed, newest)
	require.Zero(t, m.Forget(3), "CPU 1 may read the oldest")
	require.Equal(t, 3, m.Versions(3))
	m.Load(1, 3, lkmm.Relaxed, func(n int) int { require.Equal(t, 3, n); return 1 })
	require.Equal(t, 1, m.Forget(3))
	m.Load(1, 3, lkmm.Relaxed, func(n int) int { require.Equal(t, 2, n); return 0 })
	require.Equal(t, 1, m.Forget(3))
	require.Equal(t, 1, m.Versions(3))
	for range 40 {
		m.Store(0, 3, lkmm.Relaxed, newest)
		m.Forget(3)
	}
	require.Equal(t, lkmm.Depth, m.Versions(3))
	require.Zero(t, m.Forget(99), "a cell that nothing was stored to")
}

// drive does some of everything.
func drive(m *lkmm.Model, choose func(int) int) {
	for i := range 30 {
		cpu, at := i%3, uint32(i*7%5)
		m.Store(cpu, at, lkmm.Order(i%4), choose)
		m.Load(2-cpu, at, lkmm.Order(i%5), choose)
		m.RMW((cpu+1)%3, at, lkmm.Order(i%4))
		m.Failed(cpu, at)
		m.Fence(cpu, lkmm.Fence(i%3))
		m.ReadLock(cpu, 0)
		m.GPBegin((cpu+1)%3, 0)
		m.ReadUnlock(cpu, 0)
		m.GPEnd((cpu+1)%3, 0)
		m.Send(cpu, 0)
		m.Take(0)
		_, d := m.LoadAfter(cpu, at, lkmm.Relaxed, 0, choose)
		m.StoreAfter(cpu, at, lkmm.Relaxed, d, choose)
		m.Forget(at)
	}
}

func state(m *lkmm.Model) (h sim.Hash) {
	m.AddState(&h)
	return h
}

// TestReset: a model that is used again is as a new one, and allocates nothing.
func TestReset(t *testing.T) {
	var fresh, used lkmm.Model
	fresh.Reset(3)
	used.Reset(3)
	drive(&used, oldest)
	used.Reset(3)
	require.Equal(t, state(&fresh), state(&used))
	drive(&fresh, oldest)
	drive(&used, oldest)
	require.Equal(t, state(&fresh), state(&used))
	if n := testing.AllocsPerRun(10, func() { used.Reset(3); drive(&used, oldest) }); n != 0 {
		t.Errorf("%v allocations a run", n)
	}
}

// TestCopy: a copy is in the same state, has the same future, and is another one; what
// nothing depends on any more is no part of it.
func TestCopy(t *testing.T) {
	var m, c lkmm.Model
	m.Reset(3)
	drive(&m, oldest)
	for range 2 { // also into one that is larger
		c.Copy(&m)
		require.Equal(t, state(&m), state(&c))
		c.Store(0, 9, lkmm.Release, newest)
		require.NotEqual(t, state(&m), state(&c))
	}
	c.Copy(&m)
	drive(&c, newest)
	drive(&m, newest)
	require.Equal(t, state(&m), state(&c))

	m.Keep(0, 0)
	require.NotEqual(t, state(&m), state(&c))
	c.Keep(0, 0)
	require.Equal(t, state(&m), state(&c))
}

// TestState: two orders of independent stores are one state, once nothing old is left;
// what a CPU may still read makes two.
func TestState(t *testing.T) {
	after := func(read bool, order ...int) sim.Hash {
		var m lkmm.Model
		m.Reset(2)
		m.Load(0, 2, lkmm.Relaxed, newest) // names the cells
		for _, cpu := range order {
			m.Store(cpu, uint32(cpu), lkmm.Relaxed, newest)
		}
		if read {
			m.Load(1, 0, lkmm.Relaxed, newest)
		}
		m.Forget(0)
		m.Forget(1)
		return state(&m)
	}
	require.Equal(t, after(false, 0, 1), after(false, 1, 0))
	require.NotEqual(t, after(false, 0, 1), after(true, 0, 1))
}

// TestMisuse: an end without a begin, and too many CPUs, are bugs of the caller.
func TestMisuse(t *testing.T) {
	var m lkmm.Model
	require.Panics(t, func() { m.Reset(65) })
	m.Reset(1)
	require.Panics(t, func() { m.ReadUnlock(0, 0) })
}
