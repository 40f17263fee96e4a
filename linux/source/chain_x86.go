package source

import (
	"encoding/binary"
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

// Chain returns the return addresses of the open calls, innermost first. sp is where the first
// one lies. load reads the stack, and until ends the chain by returning true.
func (s *Source) Chain(sp arch.Addr, load func(arch.Addr) (uint64, bool),
	until func(v uint64) bool) (list []arch.Addr) {
	v, ok := load(sp)
	for end := sp + 8*chainWords; ok && s.afterCall(v) && len(list) < chainMost && sp < end; {
		list = append(list, arch.Addr(v))
		sp, v, ok = s.caller(sp+8, s.function(v), load, until)
	}
	return list
}

// caller finds the return address of a function's caller, searching the stack from sp.
func (s *Source) caller(sp arch.Addr, callee string, load func(arch.Addr) (uint64, bool),
	until func(v uint64) bool) (at arch.Addr, v uint64, ok bool) {
	ended := false
	for w := range arch.Addr(chainNear) {
		got, mapped := load(sp + 8*w)
		if !mapped {
			break
		}
		ended = ended || until(got)
		if !s.afterCall(got) {
			continue
		}
		to, direct := s.called(got)
		if direct && (s.function(to) == callee || s.jumps(to, callee)) {
			return sp + 8*w, got, true
		}
		if !direct && !ended && !ok { // possibly called by its address
			at, v, ok = sp+8*w, got, true
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
	for i := 0; i+5 <= len(code) && !found; i++ {
		if code[i] == 0xe9 || i > 0 && code[i-1] == 0x0f && code[i]&0xf0 == 0x80 {
			target := from + uint64(i+5) + uint64(int64(int32(binary.LittleEndian.Uint32(code[i+1:]))))
			other, ok := s.k.Image.Lookup(target)
			found = ok && other.Addr == target && other.Addr != from && plain(other.Name) == to
		}
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
	b := s.before(a, 7)
	if b == nil {
		return false
	}
	if b[2] == 0xe8 {
		return s.section(a+uint64(int64(int32(binary.LittleEndian.Uint32(b[3:]))))) != nil
	}
	for n := 2; n <= 7; n++ { // ff /2: call through a register or memory
		if i := 7 - n; b[i] == 0xff && b[i+1]>>3&7 == 2 {
			return true
		}
	}
	return false
}

// called returns the target of the call before an address; ok is false if it depends on a
// register.
func (s *Source) called(a uint64) (to uint64, ok bool) {
	b := s.before(a, 5)
	if b == nil || b[0] != 0xe8 {
		return 0, false
	}
	to = a + uint64(int64(int32(binary.LittleEndian.Uint32(b[1:]))))
	return to, !strings.HasPrefix(s.function(to), "__x86_indirect_thunk")
}
