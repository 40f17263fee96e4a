package native

import "kpsim/smp/arch/x86"

const (
	arith = x86.CF | x86.PF | x86.AF | x86.ZF | x86.SF | x86.OF
	ioplF = 3 << 12
	ntF   = 1 << 14
	acF   = 1 << 18
	idF   = 1 << 21
)

// An anatomy is where the opcode of an instruction lies and what it says.
type anatomy struct {
	vex        bool
	space, op  byte
	reg        int
	mem        bool
	opsize, w  bool
	addr, b    bool // an address-size prefix; REX.B
	f2, f3, cs bool
	segment    bool   // fs or gs
	tail       []byte // from the ModRM byte on, or after the opcode
}

// dissect finds the opcode again, from the bytes alone.
func dissect(in *x86.Inst) (a anatomy) {
	raw := in.Raw()
	b := raw[:]
	for {
		switch b[0] {
		case 0x66:
			a.opsize = true
		case 0x67:
			a.addr = true
		case 0xf0, 0x26, 0x36, 0x3e:
		case 0xf2:
			a.f2, a.f3 = true, false
		case 0xf3:
			a.f3, a.f2 = true, false
		case 0x64, 0x65:
			a.segment = true
		case 0x2e:
			a.cs = true
		default:
			if in.Mode() == x86.Mode64 && b[0]&0xf0 == 0x40 {
				a.w, a.b = b[0]&8 != 0, b[0]&1 != 0
				b = b[1:]
				continue
			}
			pos, modrm := in.ModRM()
			opPos := len(raw) - len(b)
			a.space = 1
			switch {
			case modrm && pos-opPos >= 2 && (b[0] == 0xc4 || b[0] == 0xc5 || b[0] == 0x62):
				a.vex = true
				a.space = 2
				if b[0] != 0xc5 {
					a.space = b[1]&3 + 1
				}
				opPos = pos - 1
			case b[0] == 0x0f && b[1] == 0x38:
				a.space, opPos = 3, opPos+2
			case b[0] == 0x0f && b[1] == 0x3a:
				a.space, opPos = 4, opPos+2
			case b[0] == 0x0f:
				a.space, opPos = 2, opPos+1
			}
			a.op = raw[opPos]
			a.tail = raw[opPos+1:]
			if modrm {
				a.reg = int(raw[pos] >> 3 & 7)
				a.mem = raw[pos]>>6 != 3
			}
			return a
		}
		a.w, a.b = false, false // a REX that isn't last doesn't count
		b = b[1:]
	}
}
