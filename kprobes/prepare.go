package kprobes

import (
	"kpsim/smp/isa"
	"kpsim/smp/kapi"
)

// prepare checks that addr can be probed and makes the out-of-line copy of its
// instruction (spec 6.2; the errno of each kind of byte is that of Linux 6.12).
// Context: kprobe_mutex and text_mutex held: a patcher's half-written
// instruction would be decoded as something else.
func (e *Engine) prepare(x kapi.Context, addr isa.Addr) (*point, error) {
	f, ok := e.d.Symbols.Lookup(addr)
	if !ok {
		return nil, ENOENT
	}
	if e.d.Symbols.Blacklisted(addr) || e.d.Symbols.Reserved(addr, 1) {
		return nil, EINVAL
	}
	p := e.newPoint(addr)
	code := e.recover(x, f)
	at := f.Addr
	for at < addr {
		in, err := e.d.Text.Decode(code[at-f.Addr:], at)
		if err != nil {
			return nil, EILSEQ
		}
		at += isa.Addr(in.Len)
	}
	if at != addr {
		return nil, EILSEQ
	}
	var err error
	if p.insn, err = e.d.Text.Decode(code[addr-f.Addr:], addr); err != nil {
		return nil, EILSEQ
	}
	if errno := refuse(p.insn); errno != 0 {
		return nil, errno
	}
	copy(p.orig[:], code[addr-f.Addr:])
	p.armed.Init(e.d.Cells, false)
	p.optimized.Init(e.d.Cells, false)
	p.probes.Init(e.d.Cells, nil)
	if err := e.makeSlot(x, p); err != nil {
		return nil, err
	}
	e.points = append(e.points, p)
	return p, nil
}

// refuse says why an instruction can't be probed, or 0.
func refuse(in *isa.Inst) Errno {
	op, addrsize := opcode(in)
	mem, reg := op[1] < 0xc0, op[1]>>3&7
	switch flow := in.Flow(); {
	case flow == isa.FlowInt3, flow == isa.FlowUndefined, op[0] == 0xcd, op[0] == 0xf1: // int3, ud0 to ud2, int n, int1
		return EILSEQ
	case masksTraps(in):
		return EINVAL
	case flow == isa.FlowIret,
		op[0] == 0xff && (reg == 3 || reg == 5),                      // far, through memory
		op[0] == 0xff && (reg == 2 || reg == 4) && (mem || addrsize), // only through a whole register is emulated
		op[0] == 0x0f && op[1] == 0x01 && op[2]&0xf8 == 0xc0:         // vmcall and its like
		return EOPNOTSUPP
	case in.Len == isa.MaxLen:
		return ENOSPC
	}
	return 0
}

// masksTraps reports whether no trap is taken behind the instruction: mov to ss.
func masksTraps(in *isa.Inst) bool {
	op, _ := opcode(in)
	return op[0] == 0x8e && op[1]>>3&7 == 2
}

// jumpsAnywhere reports whether the instruction is a jump, near or far, whose
// target can't be known.
func jumpsAnywhere(in *isa.Inst) bool {
	switch in.Flow() {
	case isa.FlowIndirectJump:
		return true
	case isa.FlowOther:
		op, _ := opcode(in)
		return op[0] == 0xff && op[1]>>3&7 == 5
	}
	return false
}

// opcode returns the first bytes behind the legacy prefixes and REX, and
// whether one of the prefixes makes addresses 32 bits wide.
func opcode(in *isa.Inst) (op [3]byte, addrsize bool) {
	raw := in.Raw()
	for i, b := range raw {
		switch {
		case b == 0x67:
			addrsize = true
		case b == 0x66, b == 0xf0, b == 0xf2, b == 0xf3, b&0xe7 == 0x26, b&0xfe == 0x64, b&0xf0 == 0x40:
		default:
			copy(op[:], raw[i:])
			return op, addrsize
		}
	}
	return op, addrsize
}

// makeSlot copies the instruction, relocated, with a breakpoint behind it; one
// that changes the instruction pointer or the interrupt flag is emulated.
func (e *Engine) makeSlot(x kapi.Context, p *point) error {
	if p.insn.Emulated() {
		return nil
	}
	at, ok := e.d.Exec.Alloc(x, p.slotSize(), kapi.SlotMem)
	if !ok {
		return ENOMEM
	}
	buf := e.insn[:isa.MaxLen+1]
	raw := p.insn.Raw()
	n := copy(buf, raw[:p.insn.Len])
	if _, rip := p.insn.RIPRelative(); rip {
		if _, err := p.insn.Relocate(buf, at); err != nil {
			e.d.Exec.Free(x, at, p.slotSize(), kapi.SlotMem)
			return EINVAL
		}
	}
	buf[n] = isa.Int3
	e.d.Text.Fill(x, at, buf[:n+1])
	p.slot = at
	return nil
}

// slotSize is the size of the copy and the breakpoint behind it.
func (p *point) slotSize() int { return int(p.insn.Len) + 1 }

// recover returns the bytes of a function as the image had them: what is in
// memory, less what probes have written there. Context: kprobe_mutex held.
func (e *Engine) recover(x kapi.Context, f kapi.Function) []byte {
	if cap(e.code) < f.Size {
		e.code = make([]byte, f.Size)
	}
	code := e.code[:f.Size]
	e.d.Text.Read(x, f.Addr, code)
	for _, q := range e.points {
		if q.freed || q.addr < f.Addr || q.addr >= f.Addr+isa.Addr(f.Size) {
			continue
		}
		off := int(q.addr - f.Addr)
		if q.jumped {
			copy(code[off:], q.orig[:jumpSize])
		} else if q.armed.Peek() {
			code[off] = q.orig[0]
		}
	}
	return code
}
