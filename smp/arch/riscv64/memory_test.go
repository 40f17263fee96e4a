package riscv64_test

import (
	"encoding/binary"

	"kpsim/smp/arch"
	rv "kpsim/smp/arch/riscv64"
)

// flat is memory from an address, with the state of a CPU and its reservation.
type flat struct {
	base     arch.Addr
	b        []byte
	system   *rv.System
	at       arch.Addr // the reservation; n is 0 without one
	n        int
	readOnly bool
}

const dataAt arch.Addr = 0x20000000

func newFlat() *flat { return &flat{base: dataAt, b: make([]byte, 512), system: rv.NewSystem(0)} }

func (m *flat) of(a arch.Addr, size int) []byte {
	if a < m.base || a-m.base > arch.Addr(len(m.b)-size) {
		return nil
	}
	return m.b[a-m.base:][:size]
}

func (m *flat) Load(a arch.Addr, size int) (v uint64, ok bool) {
	b := m.of(a, size)
	switch {
	case b == nil:
		return 0, false
	case size == 1:
		return uint64(b[0]), true
	case size == 2:
		return uint64(binary.LittleEndian.Uint16(b)), true
	case size == 4:
		return uint64(binary.LittleEndian.Uint32(b)), true
	}
	return binary.LittleEndian.Uint64(b), true
}

func (m *flat) Store(a arch.Addr, size int, v uint64) bool {
	b := m.of(a, size)
	switch {
	case b == nil || m.readOnly:
		return false
	case size < 8 && v>>(8*size) != 0:
		panic("a store has more bits than it stores")
	case size == 1:
		b[0] = byte(v)
	case size == 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case size == 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	default:
		binary.LittleEndian.PutUint64(b, v)
	}
	return true
}

func (m *flat) System() arch.System { return m.system }

func (m *flat) Reserve(a arch.Addr, n int) { m.at, m.n = a, n }

func (m *flat) Reserved(a arch.Addr, n int) bool {
	ok := m.n == n && m.at == a
	m.n = 0
	return ok
}
