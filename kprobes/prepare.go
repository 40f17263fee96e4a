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
	p := &point{id: uint64(len(e.points) + 1), addr: addr}
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
	raw := in.Raw()
	at, opsize := opcode(&raw)
	op := raw[at]
	modrm := byte(0)
	if pos, ok := in.ModRM(); ok {
		modrm = raw[pos]
	}
	mem, reg := modrm < 0xc0, modrm>>3&7
	switch flow := in.Flow(); {
	case flow == isa.FlowInt3, flow == isa.FlowUndefined, op == 0xcd, op == 0xf1: // int3, ud0 to ud2, int n, int1
		return EILSEQ
	case op == 0x8e && reg == 2: // mov to ss: no trap is taken behind it
		return EINVAL
	case flow == isa.FlowIret,
		op == 0xff && (reg == 3 || reg == 5),                    // far, through memory
		op == 0xff && (reg == 2 || reg == 4) && (mem || opsize), // only through a register is emulated
		op == 0x0f && raw[at+1] == 0x01 && !mem && reg == 0:     // vmcall and its like
		return EOPNOTSUPP
	case in.Len == isa.MaxLen:
		return ENOSPC
	}
	return 0
}

// opcode returns where the first byte behind the legacy prefixes and REX is, and
// whether one of them makes operands 16 bits wide.
func opcode(raw *[isa.MaxLen]byte) (at int, opsize bool) {
	for at < len(raw)-1 {
		switch b := raw[at]; {
		case b == 0x66:
			opsize = true
		case b == 0x67, b == 0xf0, b == 0xf2, b == 0xf3, b&0xe7 == 0x26, b&0xfe == 0x64, b&0xf0 == 0x40:
		default:
			return at, opsize
		}
		at++
	}
	return at, opsize
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
	var buf [16]byte
	raw := p.insn.Raw()
	n := copy(buf[:], raw[:p.insn.Len])
	if _, rip := p.insn.RIPRelative(); rip {
		if _, err := p.insn.Relocate(buf[:], at); err != nil {
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
