package smp

import "kpsim/smp/arch"

// WriteBy stores b to text in stores of by bytes, from 1 on; the last one may be shorter. A store across an aligned
// 8-byte chunk is one for each chunk, unless it is of 16 aligned bytes (SDM vol. 3, "Guaranteed Atomic Operations").
// Each has a yield point before it. No CPU is serialised.
func (p *Patcher) WriteBy(a arch.Addr, b []byte, by int) {
	for len(b) > 0 {
		n := min(by, len(b))
		if p.oneStep(a, n) {
			p.yield(a, true)
			p.put(a, b[:n])
		} else {
			k := int(chunk - a%chunk)
			p.yield(a, true)
			p.put(a, b[:k])
			p.WriteBy(a+arch.Addr(k), b[k:n], by)
		}
		a, b = a+arch.Addr(n), b[n:]
	}
}

// Exchange stores b to text, in one step, if old stands there, and reports whether it did (CMPXCHG, CMPXCHG16B): at
// most 8 bytes of an aligned chunk, or 16 aligned ones. No CPU is serialised.
func (p *Patcher) Exchange(a arch.Addr, old, b []byte) bool {
	if !p.oneStep(a, len(b)) {
		return false
	}
	p.yield(a, true)
	p.m.foot.touchFetch(a, len(b))
	var now [16]byte
	if n := p.m.mem.peek(a, now[:len(b)], PermRead); string(now[:n]) != string(old) {
		return false
	}
	p.put(a, b)
	return true
}

// oneStep reports whether n bytes at a are stored at once.
func (p *Patcher) oneStep(a arch.Addr, n int) bool {
	return a%chunk+arch.Addr(n) <= chunk || a%16 == 0 && n == 16
}

// put stores b within the step under way.
func (p *Patcher) put(a arch.Addr, b []byte) {
	for len(b) > 0 {
		n := min(len(b), int(chunk-a%chunk))
		p.m.text.store(p.cpu, a, little(b[:n]), n)
		a, b = a+arch.Addr(n), b[n:]
	}
}
