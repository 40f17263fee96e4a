package arm64

import (
	"testing"

	"kpsim/internal/testkit/archtest"
	"kpsim/smp/arch"
)

// TestAllOrNothing: a load or store that faults, whatever its form, has changed neither registers nor
// memory. The memory can be read before the window, and not written.
func TestAllOrNothing(t *testing.T) {
	outcomes := make(map[arch.Outcome]int)
	for _, table := range [][]form{memoryForms, exclusiveForms} {
		for i := range table {
			for n := range 300 {
				c, in := drawCase(&table[i], n)
				if in == nil || !in.memory {
					continue
				}
				slot := arch.Addr(archtest.Code + n*archtest.Slot)
				d := draw{archtest.Draw(n)}
				base := &c.SP
				if in.n != uint8(SP) {
					base = &c.Regs[in.n]
				}
				*base += [3]uint64{1 << 32, ^uint64(0xfff), d.Below(64)}[n%3] // nowhere, read only, not aligned
				m := c.memory(slot)
				if n&1 != 0 {
					m.Reserve(arch.Addr(*base), int(in.size)<<(in.word>>21&1)) // as stxr and stxp ask
				}
				r := c.registers(slot)
				r.IP = in.Addr
				was := r
				o := in.Exec(&r, m)
				outcomes[o]++
				if o.Faulted() && (r != was || m.Window != c.Memory) {
					t.Fatalf("%v: %v, and something has changed", in, o)
				}
				if !o.Faulted() && m.Strayed {
					t.Fatalf("%v: %v, and a store has failed", in, o)
				}
			}
		}
	}
	for _, o := range []arch.Outcome{arch.Next, arch.Relaxed, arch.PageFault, arch.Protection} {
		if outcomes[o] < 100 {
			t.Errorf("%v: %d", o, outcomes[o])
		}
	}
}

// halves is memory of two pages, the second of which is read only.
type halves struct {
	words  map[arch.Addr]uint64
	stores int
}

func (h *halves) Load(a arch.Addr, _ int) (uint64, bool) { return h.words[a], true }

func (h *halves) Store(a arch.Addr, _ int, v uint64) bool {
	if a >= pageSize {
		return false
	}
	h.words[a] = v
	h.stores++
	return true
}

// TestStoreTwo: of two stores to two pages, the first is taken back if the second faults.
func TestStoreTwo(t *testing.T) {
	h := &halves{words: map[arch.Addr]uint64{pageSize - 8: 7}}
	in := decodeWord(0xa9000420, 0) // stp x0, x1, [x1]
	r := arch.Regs{}
	r.R[0], r.R[1] = 9, pageSize-8
	if o := in.Exec(&r, h); o != arch.PageFault || h.words[pageSize-8] != 7 || h.stores != 2 {
		t.Errorf("%v, %d, %d stores", o, h.words[pageSize-8], h.stores)
	}
	r.R[1] -= 8
	if o := in.Exec(&r, h); o != arch.Next || h.words[pageSize-8] != pageSize-16 || h.words[pageSize-16] != 9 {
		t.Errorf("%v, %v", o, h.words)
	}
}
