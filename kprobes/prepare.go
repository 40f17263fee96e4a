package kprobes

import (
	"bytes"

	"kpsim/kprobes/rules"
	"kpsim/smp/isa"
	"kpsim/smp/kapi"
)

// prepare asks the rules whether addr can be probed and makes the out-of-line
// copy of its instruction (spec 6.2). post: the first probe there has a
// post_handler. Context: kprobe_mutex and text_mutex held:
// a patcher's half-written instruction would be decoded as something else.
func (e *Engine) prepare(x kapi.Context, addr isa.Addr, post bool) (*point, error) {
	f, ok := e.d.Symbols.Lookup(addr)
	if !ok {
		return nil, ENOENT
	}
	if e.d.Symbols.Blacklisted(addr) || e.d.Symbols.Reserved(addr, 1) {
		return nil, EINVAL
	}
	code := e.recover(x, f)
	e.load(f, code)
	v := e.looked.judge.At(int(addr - f.Addr))
	if v.Errno != 0 {
		return nil, Errno(-v.Errno)
	}
	p := e.newPoint(addr)
	p.verdict = v
	p.insn, _ = e.d.Text.Decode(code[addr-f.Addr:], addr) // nil: the kernel takes it for an instruction, and it is none
	copy(p.orig[:], code[addr-f.Addr:])
	p.armed.Init(e.d.Cells, false)
	p.optimized.Init(e.d.Cells, false)
	p.probes.Init(e.d.Cells, nil)
	if err := e.makeSlot(x, p, post); err != nil {
		return nil, err
	}
	e.points = append(e.points, p)
	return p, nil
}

// behindEndbr returns where a probe at addr goes (5.18 and later, with IBT): a
// function's first instruction is the one behind its endbr64.
func (e *Engine) behindEndbr(x kapi.Context, addr isa.Addr) isa.Addr {
	if !e.s.Kernel.IBT {
		return addr
	}
	if f, ok := e.d.Symbols.Lookup(addr); ok && f.Addr == addr {
		return addr + isa.Addr(rules.Entry(&e.s.Kernel, e.recover(x, f)))
	}
	return addr
}

// load has the rules look at a function, if it isn't the one that they looked at
// last: most runs have one. Context: kprobe_mutex held.
func (e *Engine) load(f kapi.Function, code []byte) {
	plain := !e.d.Symbols.Reserved(f.Addr, len(code)) && !e.d.Symbols.Extable(f.Addr, f.Size)
	l := &e.looked
	if plain && l.plain && l.kernel == e.s.Kernel && l.of == f && bytes.Equal(l.code, code) {
		return
	}
	l.plain, l.kernel, l.of, l.code = plain, e.s.Kernel, f, append(l.code[:0], code...)
	l.sites, l.extable = l.sites[:0], l.extable[:0]
	if !plain {
		e.loadFacts(f)
	}
	l.judge.Load(&l.kernel, &rules.Function{
		Name: f.Name, Addr: f.Addr, Size: f.Size, Code: l.code, Sites: l.sites, Extable: l.extable,
	})
}

// loadFacts asks for the facts of each byte.
func (e *Engine) loadFacts(f kapi.Function) {
	l := &e.looked
	for i := range l.code {
		if e.d.Symbols.Reserved(f.Addr+isa.Addr(i), 1) {
			l.sites = append(l.sites, rules.Site{Offset: i, Len: 1, Kind: rules.SiteJumpLabel})
		}
	}
	for i := range f.Size {
		if e.d.Symbols.Extable(f.Addr+isa.Addr(i), 1) {
			l.extable = append(l.extable, i)
		}
	}
}

// recover returns the bytes of a function as the image had them, and those
// behind it which its last instruction may have: what is in memory, less what
// probes have written there. Context: kprobe_mutex held.
func (e *Engine) recover(x kapi.Context, f kapi.Function) []byte {
	size := f.Size + isa.MaxLen - 1
	if cap(e.code) < size {
		e.code = make([]byte, size)
	}
	code := e.code[:size]
	clear(code[f.Size:]) // there may be no memory behind it
	e.d.Text.Read(x, f.Addr, code)
	for _, q := range e.points {
		if q.freed || q.addr < f.Addr || q.addr >= f.Addr+isa.Addr(size) {
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
