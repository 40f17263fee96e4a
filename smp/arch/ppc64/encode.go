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

	wordMTLR  word = 0x7c0803a6 // mtspr lr,r0
	wordMFCTR word = 0x7c0902a6
	wordMTCTR word = 0x7c0903a6
	wordMFXER word = 0x7c0102a6
	wordMTXER word = 0x7c0103a6
	wordMFCR  word = 0x7c000026
	wordMTCR  word = 0x7c0ff120 // mtcrf 255,r0
	wordMFMSR word = 0x7c0000a6
	wordMTMSR word = 0x7c000124
	wordADDI  word = 14 << 26
	wordADDIS word = 15 << 26
	wordORI   word = 24 << 26
	wordORIS  word = 25 << 26
	wordSLDI  word = 0x780007c6 // rldicr r0,r0,32,31
	wordLD    word = opLoad << 26
	wordSTD   word = opStore << 26
	wordSTB   word = 38 << 26
	wordSTDU  word = wordSTD | 1

	maskB = 63<<26 | bitAA | bitLK
)

// LocalEntry returns how far behind its address a function is entered by code with the same TOC: behind the two
// instructions that make the TOC in r2, from the global entry's address in r12 or from a constant (ELFv2, 2.3.2.1).
// Compilers may put nops before them.
func LocalEntry(code []byte) arch.Addr {
	const half = 0xffff0000
	at := 0
	for wordAt(code, at) == wordNop {
		at += WordLen
	}
	first, second := wordAt(code, at), wordAt(code, at+WordLen)
	byEntry, constant := wordADDIS|word(TOC)<<21|word(GlobalEntry)<<16, wordADDIS|word(TOC)<<21
	if first&half != byEntry && first&half != constant || second&half != wordADDI|word(TOC)<<21|word(TOC)<<16 {
		return 0
	}
	return arch.Addr(at + 2*WordLen)
}

// wordAt returns the instruction at an offset; 0 behind the end.
func wordAt(code []byte, at int) word {
	if at+WordLen > len(code) {
		return 0
	}
	return word(arch.Word(code[at : at+WordLen]))
}

// A Saved is a register beside the general ones that code saves and restores through one of these.
type Saved struct{ from, to word }

// The registers that a detour saves, with LR.
var (
	SavedMSR = Saved{wordMFMSR, wordMTMSR}
	SavedCTR = Saved{wordMFCTR, wordMTCTR}
	SavedLR  = Saved{wordMFLR, wordMTLR}
	SavedXER = Saved{wordMFXER, wordMTXER}
	SavedCR  = Saved{wordMFCR, wordMTCR}
)

// From and To encode the moves to and from a general register.
func (s Saved) From(r arch.Reg) arch.Code { return CodeOf(s.from | word(r)<<21) }
func (s Saved) To(r arch.Reg) arch.Code   { return CodeOf(s.to | word(r)<<21) } // see From

// LoadAt, StoreAt and StoreUpdate encode ld, std and stdu of a register, at a multiple of four bytes from where
// another one points to.
func LoadAt(t, base arch.Reg, off int) arch.Code      { return atBase(wordLD, t, base, off) }
func StoreAt(t, base arch.Reg, off int) arch.Code     { return atBase(wordSTD, t, base, off) }  // see LoadAt
func StoreUpdate(t, base arch.Reg, off int) arch.Code { return atBase(wordSTDU, t, base, off) } // see LoadAt

// AddImm encodes addi.
func AddImm(t, a arch.Reg, imm int) arch.Code { return atBase(wordADDI, t, a, imm) }

func atBase(w word, t, base arch.Reg, imm int) arch.Code {
	return CodeOf(w | word(t)<<21 | word(base)<<16 | word(uint16(imm)))
}

// LoadImm encodes the five instructions that set a register to any value (patch_imm64_load_insns).
func LoadImm(t arch.Reg, v uint64) [5]arch.Code {
	part := func(w word, shift uint) arch.Code { // S and A are the register
		return CodeOf(w | word(t)<<21 | word(t)<<16 | word(v>>shift&0xffff))
	}
	return [...]arch.Code{CodeOf(wordADDIS | word(t)<<21 | word(v>>48&0xffff)), part(wordORI, 32),
		CodeOf(wordSLDI | word(t)<<21 | word(t)<<16), part(wordORIS, 16), part(wordORI, 0)}
}

// set returns code that sets a register: li, or LoadImm.
func set(r arch.Reg, v uint64) (code []byte) {
	if int64(v) == int64(int16(v)) {
		return bytesOf(AddImm(r, 0, int(int16(v))))
	}
	for _, c := range LoadImm(r, v) {
		code = append(code, c.Bytes()...)
	}
	return code
}

// put returns code that stores bytes where a register points to, which it moves on: std and stb.
func put(at arch.Reg, b []byte) (code []byte) {
	const scratch = 11
	for len(b) > 0 {
		n, store := 8, StoreAt(scratch, at, 0)
		if len(b) < 8 {
			n, store = 1, atBase(wordSTB, scratch, at, 0)
		}
		next := AddImm(at, at, n)
		code = append(code, set(scratch, arch.Word(b[:n]))...)
		code = append(append(code, store.Bytes()...), next.Bytes()...)
		b = b[n:]
	}
	return code
}

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
