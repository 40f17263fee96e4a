package kprobes

import (
	"kpsim/smp/isa"
	"kpsim/smp/kapi"
)

// prepare checks that addr can be probed and makes the out-of-line copy of its
// instruction. Context: kprobe_mutex held.
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
		return nil, EINVAL
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

// makeSlot copies the instruction, relocated, with a breakpoint behind it; one
// that changes the instruction pointer or the interrupt flag is emulated.
func (e *Engine) makeSlot(x kapi.Context, p *point) error {
	switch {
	case p.insn.Emulated():
		return nil
	case p.insn.Flow() != isa.FlowNext:
		return EOPNOTSUPP
	}
	at, ok := e.d.Exec.Alloc(x, p.slotSize(), kapi.SlotMem)
	if !ok {
		return ENOMEM
	}
	var buf [16]byte
	n, err := p.insn.Relocate(buf[:], at)
	if err != nil {
		e.d.Exec.Free(x, at, p.slotSize(), kapi.SlotMem)
		return EINVAL
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
