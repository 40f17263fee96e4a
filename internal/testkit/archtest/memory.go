package archtest

import "kpsim/smp/arch"

// Where the code and the memory of a case lie. The programs that run the cases under an emulator, reference.c of
// each processor, have these numbers, too.
const (
	Code   = 0x50000000 // slots, one a case
	Slot   = 256        // bytes of a slot
	Start  = 128        // of the first instruction in its slot
	Words  = 8          // of a case's code
	Data   = 0x60000000
	Size   = 0x10000 // of the data
	Window = 256     // bytes at its end: what a case stores to
	First  = Data + Size - Window
)

// A Memory is that of a case: its window, zeroes before it, and its code. Stores elsewhere fail.
type Memory struct {
	Code   [Words]uint32
	Fill   uint32 // the words of the slot before and after the code
	Slot   arch.Addr
	Window [Window]byte

	Strayed bool // a store went elsewhere

	at       arch.Addr
	reserved int
}

// Reserve implements arch.Reserver.
func (m *Memory) Reserve(a arch.Addr, n int) { m.at, m.reserved = a, n }

// Reserved implements arch.Reserver.
func (m *Memory) Reserved(a arch.Addr, n int) bool {
	ok := m.reserved == n && m.at == a && n != 0
	m.reserved = 0
	return ok
}

// Byte returns the byte at an address. ok false: there is none.
func (m *Memory) Byte(a arch.Addr) (b byte, ok bool) {
	switch {
	case a >= First && a < First+Window:
		return m.Window[a-First], true
	case a >= Data && a < First:
		return 0, true
	case a >= m.Slot && a < m.Slot+Slot:
		i := (a - m.Slot - Start) / 4
		w := m.Fill
		if a >= m.Slot+Start && i < Words {
			w = m.Code[i]
		}
		return byte(w >> (8 * (a & 3))), true
	}
	return 0, false
}

// Load implements arch.Memory.
func (m *Memory) Load(a arch.Addr, size int) (v uint64, ok bool) {
	for i := range size {
		b, ok := m.Byte(a + arch.Addr(i))
		if !ok {
			return 0, false
		}
		v |= uint64(b) << (8 * i)
	}
	return v, true
}

// Store implements arch.Memory.
func (m *Memory) Store(a arch.Addr, size int, v uint64) bool {
	if a < First || a+arch.Addr(size) > First+Window {
		m.Strayed = true
		return false
	}
	if size < 8 && v>>(8*size) != 0 {
		panic("a store has more bits than it stores")
	}
	for i := range size {
		m.Window[a-First+arch.Addr(i)] = byte(v >> (8 * i))
	}
	return true
}
