package kernelcost

import (
	"slices"

	"kpsim/smp/arch"
)

// special counts an instruction's additional costs.
func (s *stretch) special(in arch.Inst) {
	b := in.Bytes()
	locked, repeats := false, false
	// On i386 4x isn't a prefix, but then it is the last byte.
	for len(b) > 1 && (slices.Contains(prefixes, b[0]) || b[0]>>4 == 4) {
		locked = locked || b[0] == 0xf0
		repeats = repeats || b[0] == 0xf3 || b[0] == 0xf2
		b = b[1:]
	}
	switch op := b[0]; {
	case locked, (op == 0x86 || op == 0x87) && len(b) > 1 && b[1]>>6 != 3: // xchg with memory
		s.Locked++
	case repeats && (op == 0xa4 || op == 0xa5 || op == 0xaa || op == 0xab):
		s.Blocks++
	case op == 0x9d:
		s.Flags++
	case op == 0xfa || op == 0xfb:
		s.Switched++
	}
}

// prefixes are the prefixes of an instruction, without REX.
var prefixes = []byte{0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3}
