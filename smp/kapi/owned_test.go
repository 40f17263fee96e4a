package kapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// holds is a context of CPU 0, which holds each store until it is committed.
type holds struct {
	kapi.Context
	queue []kapi.Cell
}

func (h *holds) Access(kapi.CellID, kapi.Mode) kapi.Model { return h }
func (h *holds) Touch(kapi.CellID, kapi.Mode) kapi.Model  { return h }
func (h *holds) Mark(kapi.CellID, kapi.Mode)              {}

// Load implements kapi.Model.
func (h *holds) Load(c kapi.Cell, _ kapi.Barrier) (held, back int) {
	for _, q := range h.queue {
		if q == c {
			return 0, 0
		}
	}
	return -1, 0
}

// Store implements kapi.Model.
func (h *holds) Store(c kapi.Cell, _ kapi.Barrier) (held, back int) {
	h.queue = append(h.queue, c)
	return 0, 0
}

// Update implements kapi.Model.
func (h *holds) Update(c kapi.Cell, b kapi.Barrier) (from, held int) {
	from, _ = h.Load(c, b)
	held, _ = h.Store(c, b)
	return from, held
}

// Locked implements kapi.Model.
func (h *holds) Locked(_ kapi.Cell, _ kapi.Barrier, fails bool) bool { return !fails }

// Keeps implements kapi.Model.
func (h *holds) Keeps() bool { return false }

func (h *holds) commit() {
	for _, c := range h.queue {
		c.Commit(0)
	}
	h.queue = nil
}

// TestOwned: who keeps the other writers out reads his own stores before others see them.
func TestOwned(t *testing.T) {
	var cells kapi.Cells
	var x holds
	var v kapi.Var[int]
	var l kapi.List[int]
	var tab kapi.Table[int]
	var a kapi.Array[int]
	v.Init(&cells, 1)
	l.Init(&cells)
	tab.Init(&cells, 1)
	a.Init(&cells, 4)
	l.Fill(1)
	a.Fill(2, 1)
	in := func(at arch.Addr, f func(arch.Addr) (int, bool)) int {
		n, _ := f(at)
		return n
	}
	got := func() []int {
		return []int{v.Owned(), len(l.Owned()), in(8, tab.Owned), a.Owned(2), v.Peek(), len(l.Peek()), in(8, tab.Peek),
			a.Peek(2)}
	}
	require.Equal(t, []int{1, 1, 0, 1, 1, 1, 0, 1}, got())
	v.WriteOnce(&x, 2)
	kapi.Plus(&v, &x, 3)
	l.Add(&x, 7)
	tab.Put(&x, 8, 9)
	a.Store(&x, kapi.Once, 2, 3)
	a.Store(&x, kapi.Once, 1, 4)
	require.Equal(t, []int{5, 2, 9, 3, 1, 1, 0, 1}, got())
	require.Equal(t, []int{1, 7}, l.All(&x))
	require.Equal(t, []int{3, 4}, []int{a.Load(&x, kapi.Once, 2), a.Load(&x, kapi.Once, 1)})
	x.commit()
	require.Equal(t, []int{5, 2, 9, 3, 5, 2, 9, 3}, got())
}
