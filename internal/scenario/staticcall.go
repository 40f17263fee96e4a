package scenario

import (
	"bytes"
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// StaticCall is a call whose target is patched into its sites: 5-byte nops, or
// rets with room for a jump, as long as there is no target.
type StaticCall struct {
	Name  string
	Sites []CallSite
	// Trampoline is a function that is nothing but the call, as a tail: who isn't
	// patched calls by it. "": there is none.
	Trampoline string
	// Target is what they call when a run begins, "" for nothing. Their text says
	// the same.
	Target string
}

// CallSite is one of them.
type CallSite struct {
	Func   string
	Offset int
	Tail   bool // the function ends with it: a jump, or a ret
}

// doStaticCall makes a static call.
func (l *loader) doStaticCall(c *call) (starlark.Value, error) {
	s := StaticCall{}
	var sites, tails, trampoline, target starlark.Value
	err := c.unpack("name", &s.Name, "sites??", &sites, "tails??", &tails, "trampoline??", &trampoline, "target??", &target)
	if err != nil {
		return nil, err
	}
	for _, k := range []struct {
		what string
		v    starlark.Value
	}{{"sites", sites}, {"tails", tails}} {
		if k.v == nil {
			continue
		}
		list, err := sequence(k.what, k.v, "write [f + 2]")
		if err != nil {
			return nil, err
		}
		for _, v := range list {
			f, err := function(k.what, v)
			if err != nil {
				return nil, err
			}
			s.Sites = append(s.Sites, CallSite{Func: f.name, Offset: int(f.off), Tail: k.what == "tails"})
		}
	}
	if trampoline != nil {
		f, err := whole("trampoline", trampoline)
		if err != nil {
			return nil, err
		}
		s.Trampoline = f.name
	}
	if target != nil {
		f, err := whole("target", target)
		if err != nil {
			return nil, err
		}
		s.Target = f.name
	}
	l.position[part{theCalls, len(l.s.Calls), -1}] = c.at
	l.s.Calls = append(l.s.Calls, s)
	return handle{what: "static call", name: s.Name}, nil
}

// doSetCall makes set_call.
func (l *loader) doSetCall(c *call) (starlark.Value, error) {
	var s, f starlark.Value
	op := Op{Kind: OpSetCall}
	err := c.unpack("s", &s, "f", &f)
	if err != nil {
		return nil, err
	}
	if op.Target, err = c.handle("static call", "static_call", s); err != nil {
		return nil, err
	}
	if f != starlark.None {
		to, err := whole("f", f)
		if err != nil {
			return nil, err
		}
		op.Targets = []string{to.name}
	}
	return c.deed(&op, nil), nil
}

// places are the sites, and the trampoline.
func (s *StaticCall) places() []CallSite {
	if s.Trampoline == "" {
		return s.Sites
	}
	return append(slices.Clone(s.Sites), CallSite{Func: s.Trampoline, Tail: true})
}

func (c checker) staticCall(s *StaticCall, p part) error {
	who := fmt.Sprintf("static call %q", s.Name)
	if len(s.Sites) == 0 && s.Trampoline == "" {
		return faultf(p, "%s is called nowhere; give it sites = [f + 2]", who)
	}
	if s.Target != "" {
		if err := c.function(p, who+" target", s.Target, 0); err != nil {
			return err
		}
	}
	for _, t := range s.places() {
		if err := c.function(p, who, t.Func, t.Offset); err != nil {
			return err
		}
		site := c.text(t.Func)
		at := site.At + arch.Addr(t.Offset)
		want, what := []byte(nop5), "a 5-byte nop, 0f1f440000"
		if t.Tail {
			want, what = []byte{0xc3, x86.Int3, x86.Int3, x86.Int3, x86.Int3}, "a ret with room for a jump, c3cccccccc"
		}
		if s.Target != "" {
			to := c.text(s.Target).At
			insn, ok := x86.CallRel32(at, to)
			if what = "a call of " + s.Target; t.Tail {
				insn, ok = x86.JumpRel32(at, to)
				what = "a jump to " + s.Target
			}
			if want = insn[:]; !ok {
				return faultf(p, "%s: %s is too far from %s; place it within 2 GB", who, s.Target, t.Func)
			}
		}
		if !bytes.HasPrefix(site.Code[t.Offset:], want) {
			return faultf(p, "%s: at %s+%#x is no place of its own; its text is %s", who, t.Func, t.Offset, what)
		}
	}
	return nil
}
