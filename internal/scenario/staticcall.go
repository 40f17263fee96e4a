package scenario

import (
	"bytes"
	"slices"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/image"
)

// StaticCall is a call whose target is patched into its sites. While it has no target, the
// sites are 5-byte nops, or rets with room for a jump.
type StaticCall struct {
	Name  string
	Sites []CallSite
	// Trampoline is a function that is nothing but the call, as a tail:
	// unpatched callers go through it. "": there is none.
	Trampoline string
	// Target is what the sites call when a run begins, "" for nothing. Their text must agree.
	Target string
}

// CallSite is a site of a static call.
type CallSite struct {
	Func   string
	Offset int
	Tail   bool // the function ends with it: a jump, or a ret
}

// Places returns the sites, and the trampoline.
func (s *StaticCall) Places() []CallSite {
	if s.Trampoline == "" {
		return s.Sites
	}
	return append(slices.Clone(s.Sites), CallSite{Func: s.Trampoline, Tail: true})
}

// TheCalls is the row of static calls.
var TheCalls = list(func(s *Scenario) *[]StaticCall { return &s.Calls }, checker.checkStaticCall, List{
	What: "static call", Many: "static calls", Most: MaxModules, Counted: "static call", Space: others, Given: true,
	Paragraph: InOthers, Touches: TouchPatched,
	patched: writes(func(s *StaticCall) (list []Patched) {
		for i, t := range s.Places() {
			list = append(list, Patched{Func: t.Func, Offset: t.Offset, Len: x86.JumpLen, Kind: image.SiteStaticCall,
				Trampoline: i == len(s.Sites)})
		}
		return list
	}),
	Makers: []*Maker{{
		Word: "static_call",
		Params: []PartParam{
			param("name", PartName, func(s *StaticCall) any { return &s.Name }),
			param("sites", PartSites, func(s *StaticCall) any { return &s.Sites }).or("[]"),
			param("tails", PartTails, func(s *StaticCall) any { return &s.Sites }).or("[]"),
			param("trampoline", PartFunc, func(s *StaticCall) any { return &s.Trampoline }).or("None"),
			param("target", PartFunc, func(s *StaticCall) any { return &s.Target }).or("None"),
		},
		Says: "a call whose target is patched: 5-byte nops `0f1f440000` at `sites` that become calls, and " +
			"`c3cccccccc` at `tails`, a ret that becomes a jump; with a `target` they are calls of it and jumps to " +
			"it already. `trampoline` is a function that is only such a tail, for callers without a site",
		Kernel: []string{"DEFINE_STATIC_CALL", "static_call_key"},
	}},
	Fewer: on(func(s *StaticCall) (list []Change[any]) {
		if len(s.Places()) == 1 {
			return nil
		}
		if s.Trampoline != "" {
			list = append(list, Change[any]{"trampoline of static call " + s.Name, func(x any) {
				x.(*StaticCall).Trampoline = ""
			}})
		}
		for k := len(s.Sites) - 1; k >= 0; k-- {
			list = append(list, Change[any]{"site in " + s.Sites[k].Func + " of static call " + s.Name, func(x any) {
				s := x.(*StaticCall)
				s.Sites = slices.Delete(slices.Clone(s.Sites), k, k+1)
			}})
		}
		return list
	}),
})

func (c checker) checkStaticCall(p Part, s *StaticCall) error {
	who := p.who(s.Name)
	if len(s.Sites) == 0 && s.Trampoline == "" {
		return Faultf(p, "%s is called nowhere; give it sites = [f + 2]", who)
	}
	if s.Target != "" {
		if err := c.function(p, who+" target", s.Target, 0); err != nil {
			return err
		}
	}
	for _, t := range s.Places() {
		if err := c.function(p, who, t.Func, t.Offset); err != nil {
			return err
		}
		site := c.s.Text(t.Func)
		at := site.At + arch.Addr(t.Offset)
		want, what := x86.Nop5[:], "a 5-byte nop, 0f1f440000"
		if t.Tail {
			want, what = []byte{0xc3, x86.Int3, x86.Int3, x86.Int3, x86.Int3}, "a ret with room for a jump, c3cccccccc"
		}
		if s.Target != "" {
			to := c.s.Text(s.Target).At
			insn, ok := x86.CallRel32(at, to)
			if what = "a call of " + s.Target; t.Tail {
				insn, ok = x86.JumpRel32(at, to)
				what = "a jump to " + s.Target
			}
			if want = insn[:]; !ok {
				return Faultf(p, "%s: %s is too far from %s; place it within 2 GB", who, s.Target, t.Func)
			}
		}
		if !bytes.HasPrefix(site.Code[t.Offset:], want) {
			return Faultf(p, "%s: at %s+%#x is no place of its own; its text is %s", who, t.Func, t.Offset, what)
		}
	}
	return nil
}
