package source

import (
	"strings"

	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
)

// chainWords limits how far a stack is read; chainMost limits the number of calls.
const (
	chainWords = 1024
	chainMost  = 24
	chainNear  = 256 // words searched for the caller
)

// Chain returns the return addresses of the open calls, innermost first: to is where the innermost returns to, and sp
// is above that if a call pushes it. load reads the stack, and until ends the chain by returning true.
func (s *Source) Chain(to, sp arch.Addr, load func(arch.Addr) (uint64, bool),
	until func(v uint64) bool) (list []arch.Addr) {
	v, ok := uint64(to), true
	for end := sp + s.word()*chainWords; ok && s.afterCall(v) && len(list) < chainMost && sp < end; {
		list = append(list, arch.Addr(v))
		sp, v, ok = s.caller(sp, s.function(v), load, until)
		sp += s.word()
	}
	return list
}

// Callers is Chain for a function that is at the instruction at ip: link is the register that holds return addresses, 0
// if the processor has none. A function that hasn't saved it yet, or calls nothing, returns to link.
func (s *Source) Callers(ip, link, sp arch.Addr, load func(arch.Addr) (uint64, bool),
	until func(v uint64) bool) []arch.Addr {
	in := s.function(uint64(ip))
	if link != 0 && s.afterCall(uint64(link)) && s.leads(uint64(link), in) {
		return s.Chain(link, sp, load, until)
	}
	at, v, ok := s.caller(sp, in, load, until)
	if !ok {
		return nil
	}
	return s.Chain(arch.Addr(v), at+s.word(), load, until)
}

// leads reports whether the call before a return address is one of a function, or of one that jumps to it.
func (s *Source) leads(ret uint64, function string) bool {
	to, direct := s.called(ret)
	return direct && (s.function(to) == function || s.jumps(to, function))
}

func (s *Source) word() arch.Addr { return arch.Addr(s.k.Arch().Word) }

// caller finds the return address of a function's caller, searching the stack from sp.
func (s *Source) caller(sp arch.Addr, callee string, load func(arch.Addr) (uint64, bool),
	until func(v uint64) bool) (at arch.Addr, v uint64, ok bool) {
	ended := false
	for w := range arch.Addr(chainNear) {
		got, mapped := load(sp + s.word()*w)
		if !mapped {
			break
		}
		ended = ended || until(got)
		if !s.afterCall(got) {
			continue
		}
		if s.leads(got, callee) {
			return sp + s.word()*w, got, true
		}
		if _, direct := s.called(got); !direct && !ended && !ok { // possibly called by its address
			at, v, ok = sp+s.word()*w, got, true
		}
	}
	return at, v, ok
}

// function returns the name of the function that contains an address, or "".
func (s *Source) function(a uint64) string {
	sym, ok := s.k.Image.Lookup(a)
	if !ok || !sym.Func {
		return ""
	}
	return plain(sym.Name)
}

// jumps reports whether the function at an address tail-calls another one, which then returns in
// its place.
func (s *Source) jumps(from uint64, to string) bool {
	sym, ok := s.k.Image.Lookup(from)
	sec := s.section(from)
	if !ok || sec == nil || sym.Addr != from || sym.Size > jumpsMost || from-sec.Addr+sym.Size > uint64(len(sec.Data)) {
		return false
	}
	key := [2]string{sym.Name, to}
	if got, known := s.jumped[key]; known {
		return got
	}
	code, found := sec.Data[from-sec.Addr:][:sym.Size], false
	a := s.k.Arch()
	for i := 0; i < len(code) && !found; i += a.Align {
		in, err := a.Decode(code[i:], arch.Addr(from)+arch.Addr(i))
		if err != nil || in.Flow() != arch.FlowJump && in.Flow() != arch.FlowCond {
			continue
		}
		target, _ := in.Target()
		other, ok := s.k.Image.Lookup(uint64(target))
		found = ok && other.Addr == uint64(target) && other.Addr != from && plain(other.Name) == to
	}
	s.jumped[key] = found
	return found
}

// jumpsMost is the maximum size of a function that jumps examines, in bytes.
const jumpsMost = 1 << 14

// before returns the n bytes of linked text that end at an address.
func (s *Source) before(a uint64, n int) []byte {
	sec := s.section(a)
	if sec == nil || a < sec.Addr+uint64(n) {
		return nil
	}
	end := a - sec.Addr
	return sec.Data[end-uint64(n) : end]
}

// section returns the code section that contains an address, or nil.
func (s *Source) section(a uint64) *vmlinux.Section {
	for i := range s.code {
		if sec := &s.code[i]; a >= sec.Addr && a < sec.Addr+uint64(len(sec.Data)) {
			return sec
		}
	}
	return nil
}

// afterCall reports whether a call ends at an address of the kernel's text.
func (s *Source) afterCall(a uint64) bool {
	if to, ok := s.called(a); ok {
		return s.section(to) != nil
	}
	in := s.callBefore(a)
	if in == nil {
		return false
	}
	to, direct := in.Target()
	return !direct || s.section(uint64(to)) != nil
}

// called returns the target of the call before an address; ok is false if it depends on a
// register.
func (s *Source) called(a uint64) (to uint64, ok bool) {
	if of := s.k.Arch().CallOf; of != nil {
		if to, ok := of(s.before(a, s.k.Arch().BranchLen), arch.Addr(a)); ok {
			return uint64(to), true
		}
	}
	in := s.callBefore(a)
	if in == nil || in.Flow() != arch.FlowCall {
		return 0, false
	}
	at, _ := in.Target()
	return uint64(at), !strings.HasPrefix(s.function(uint64(at)), "__x86_indirect_thunk")
}

// callMost is the length of the longest call, in bytes.
const callMost = 7

// callBefore returns the call that ends at an address, a direct one if there are several ways to read the bytes
// before it; nil: there is none.
func (s *Source) callBefore(a uint64) (call arch.Inst) {
	p := s.k.Arch()
	for n := p.Align; n <= min(callMost, p.MaxLen); n += p.Align {
		b := s.before(a, n)
		if b == nil {
			continue
		}
		switch in, err := p.Decode(b, arch.Addr(a)-arch.Addr(n)); {
		case err != nil || in.Size() != n:
		case in.Flow() == arch.FlowCall:
			return in
		case in.Flow() == arch.FlowIndirectCall:
			call = in
		}
	}
	return call
}
