package scenario

import (
	"bytes"

	"kpsim/smp/arch"
)

// endbr64 is the instruction that an indirect call must lead to on a kernel with IBT.
var endbr64 = []byte{0xf3, 0x0f, 0x1e, 0xfa}

// A HandlerIP is the instruction pointer that a kprobe's handlers must find; 0: unknown.
type HandlerIP struct{ Pre, Post arch.Addr }

// HandlerIPs returns the instruction pointers for each probe. A pre_handler finds the address
// after the breakpoint, which is one byte long (spec 1.2), or the probe's where a breakpoint's trap saves that, and
// a post_handler finds the next instruction (1.4). This holds whether the probe is a breakpoint, a jump or a call from
// ftrace. The result is 0 where a handler changes the path, for functions with a jprobe, and
// for instructions that go elsewhere or take several steps.
func (s *Scenario) HandlerIPs() []HandlerIP {
	list := make([]HandlerIP, len(s.Probes))
	jprobes := make(map[string]bool)
	for i := range s.Probes {
		p := &s.Probes[i]
		if p.AnyStep(StepMoves) {
			return list
		}
		if f, ok := s.Place(p); ok && p.Kind == ProbeJprobe {
			jprobes[f] = true
		}
	}
	for i := range s.Probes {
		p := &s.Probes[i]
		f, ok := s.Place(p)
		if !ok || p.Kind != ProbeKprobe || jprobes[f] {
			continue
		}
		t, off := s.Text(f), p.Offset+s.Entry(p)
		if t == nil || off >= len(t.Code) {
			continue
		}
		at, code := t.At+arch.Addr(off), t.Code[off:]
		if s.Machine.Engine != "" && bytes.HasPrefix(code, endbr64) {
			continue // that engine may be built with IBT, whatever the machine says
		}
		list[i].Pre = at + s.Machine.Processor().Past
		if in, err := s.Machine.Processor().Decode(code, at); err == nil && in.Flow() == arch.FlowNext &&
			code[0]&0xfe != 0xf2 &&
			!s.Machine.AnyByte {
			list[i].Post = in.Next()
		}
	}
	return list
}
