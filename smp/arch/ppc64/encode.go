package ppc64

import "kpsim/smp/arch"

// What patching writes.
const (
	wordTrap word = 0x7fe00008 // tw 31,r0,r0
	wordNop  word = 0x60000000 // ori r0,r0,0: the preferred nop
	wordBLR  word = 0x4e800020 // bclr 20,0,0
	wordB    word = 0x48000000
	wordBL   word = wordB | bitLK
	wordMFLR word = 0x7c0802a6 // mfspr r0,lr

	maskB = 63<<26 | bitAA | bitLK
)

// CodeOf returns an instruction of one word as bytes.
func CodeOf(w word) arch.Code { return arch.CodeOf(byte(w), byte(w>>8), byte(w>>16), byte(w>>24)) }

// Trap returns the breakpoint.
func Trap() arch.Code { return CodeOf(wordTrap) }

// Nop returns the preferred nop.
func Nop() arch.Code { return CodeOf(wordNop) }

// Ret returns blr.
func Ret() arch.Code { return CodeOf(wordBLR) }

// Jump encodes b, to stand at an address. ok false: the target is out of reach, which is 32 MiB (Book I,
// "Branch Instructions").
func Jump(at, target arch.Addr) (c arch.Code, ok bool) { return branch(wordB, at, target) }

// Call encodes bl.
func Call(at, target arch.Addr) (c arch.Code, ok bool) { return branch(wordBL, at, target) }

func branch(w word, at, target arch.Addr) (arch.Code, bool) {
	const reach = 1 << 25
	d := int64(target - at)
	return CodeOf(w | word(d)&0x03fffffc), d >= -reach && d < reach && d&3 == 0
}

// NopN returns n bytes of nops, as few of them as it takes: pnop isn't used, because it must not cross a
// boundary. n is a multiple of four, for no instruction has another length.
func NopN(n int) []byte {
	if n%WordLen != 0 {
		panic("ppc64: nops of a length that no instruction has")
	}
	b := make([]byte, 0, max(n, 0))
	for len(b) < n {
		c := Nop()
		b = append(b, c.Bytes()...)
	}
	return b
}
