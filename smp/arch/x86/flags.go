package x86

// arith are the flags that arithmetic sets.
const arith = CF | PF | AF | ZF | SF | OF

// ac is the alignment check flag; rf and vm are never pushed.
const (
	nt uint64 = 1 << 14
	rf uint64 = 1 << 16
	vm uint64 = 1 << 17
	ac uint64 = 1 << 18

	// What popf may change at privilege 0: everything but RF, VM, VIF, VIP and
	// the reserved bits (SDM vol. 2, POPF, table 4-16). IOPL is bits 12 and 13.
	poppable = arith | TF | IF | DF | 3<<12 | nt | ac | 1<<21

	// TrapClears are the flags that are cleared on the way to a handler, once
	// they are saved (SDM vol. 3, "Flag Usage By Exception- or Interrupt-Handler
	// Procedure").
	TrapClears = TF | IF | nt | rf | vm
)

// evenParity has PF's bit for each of the sixteen xors of a byte's halves.
const evenParity = 0x9669 << 2

// resultFlags returns PF, ZF and SF of a result cut to its size.
func resultFlags(r uint64, sign uint8) uint64 {
	var z uint64
	if r == 0 {
		z = ZF
	}
	return z | evenParity>>((r^r>>4)&15)&PF | r>>(sign&63)<<7
}

// addFlags returns all flags of r = a + b, or a + b + carry. All are cut to size.
func addFlags(a, b, r uint64, sign uint8) uint64 {
	carry := (a&b | (a|b)&^r) >> (sign & 63)
	overflow := ((a ^ r) & (b ^ r)) >> (sign & 63)
	return resultFlags(r, sign) | carry | overflow<<11 | (a^b^r)&AF
}

// subFlags returns all flags of r = a - b, or a - b - borrow. All are cut to size.
func subFlags(a, b, r uint64, sign uint8) uint64 {
	borrow := (^a&b | (^a|b)&r) >> (sign & 63)
	overflow := ((a ^ b) & (a ^ r)) >> (sign & 63)
	return resultFlags(r, sign) | borrow | overflow<<11 | (a^b^r)&AF
}

// A condition is a set of states of the five flags that conditions look at:
// bit i is set if the condition holds in state i. State bits: CF PF ZF SF OF.
// So deciding costs no branch.
func holds(cond uint32, flags uint64) bool {
	state := flags&1 | flags>>1&2 | flags>>4&12 | flags>>7&16
	return cond>>(state&31)&1 != 0
}

// conditions holds the sixteen in the order of their encoding (SDM vol. 1,
// appendix B).
var conditions = func() (t [16]uint32) {
	for state := range uint32(32) {
		bit := func(n int) bool { return state>>n&1 != 0 }
		c, p, z, s, o := bit(0), bit(1), bit(2), bit(3), bit(4)
		for i, holds := range [8]bool{o, c, z, c || z, s, p, s != o, z || s != o} {
			if holds {
				t[2*i] |= 1 << state
			} else {
				t[2*i+1] |= 1 << state
			}
		}
	}
	return t
}()
