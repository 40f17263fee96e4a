package small

import (
	"slices"

	"kpsim/internal/scenario"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
)

// A function is a function of the world as the reference runs it.
type function struct {
	name   string
	body   []insn
	starts []int // offsets of its instructions
	module int   // -1: the kernel's
	init   bool
	call   int // the operation that calls it; -1: none
	depth  int // the argument of that call
}

// An insn is an instruction of a function.
type insn struct {
	offset int
	does   effect
	v      int
	to     int     // where control may continue instead, by index
	likely bool    // a label's jump stands there while it is off
	other  *insn   // as an alternative has it; nil: there is none
	probes []uint8 // those that may be there
}

// An effect is what an instruction does, as far as the reference knows: it follows calls, and
// knows results that are written as constants.
type effect uint8

const (
	nothing    effect = iota
	gives             // the result is v
	adds              // v to the result
	descends          // the argument is one less
	skips             // if the argument is below 0
	notes             // v is the next digit of the log
	calls             // function v
	returns           // it is the last
	entersSite        // it is site v of ftrace
	branches          // if label v is on
	callsKey          // the target of static call v
	leavesKey         // likewise, and returns
)

// addBody makes the body of a function.
func (w *World) addBody(f *function, t *scenario.Text) {
	s := w.Scenario
	index := func(offset int) int { return max(slices.Index(f.starts, offset), 0) }
	for i, offset := range f.starts {
		end := len(t.Code)
		if i+1 < len(f.starts) {
			end = f.starts[i+1]
		}
		in := w.dialect.effect(t.Code[offset:end])
		switch in.offset = offset; in.does {
		case skips:
			in.to = index(end + in.v)
		case calls:
			to := t.At + arch.Addr(end+in.v)
			in.v = slices.IndexFunc(s.Texts, func(u scenario.Text) bool { return u.At == to })
		}
		f.body = append(f.body, in)
	}
	for i := range s.Probes {
		p := &s.Probes[i]
		if k := slices.Index(f.starts, p.Offset); p.Func == f.name && k >= 0 {
			f.body[k].probes = append(f.body[k].probes, uint8(i))
		}
	}
	at := func(fn string, offset int) *insn {
		if i := slices.Index(f.starts, offset); fn == f.name && i >= 0 {
			return &f.body[i]
		}
		return new(insn)
	}
	for i := range s.Sites {
		in := at(s.Sites[i].Func, s.Sites[i].Offset)
		in.does, in.v = entersSite, i
	}
	for i := range s.Labels {
		for k := range s.Labels[i].Sites {
			l := &s.Labels[i].Sites[k]
			in := at(l.Func, l.Offset)
			in.does, in.v, in.to, in.likely = branches, i, index(l.TOff), l.Likely
		}
	}
	for i := range s.Calls {
		for _, p := range s.Calls[i].Places() {
			in := at(p.Func, p.Offset)
			if in.does, in.v = callsKey, i; p.Tail {
				in.does = leavesKey
			}
		}
	}
	for i := range s.Alternatives {
		a := &s.Alternatives[i]
		in, other := at(a.Func, a.Offset), w.dialect.effect(a.Code)
		other.probes = in.probes
		in.other = &other
	}
}

// A walk is a call of a function, by the rules.
type walk struct {
	s         *state
	hits      []hit
	depth     int // the argument
	result    int
	known     bool // the result is
	inHandler bool
}

// most is how many probes may stand at a place, and return probes or fprobes at a function.
type most [mostProbes]uint8

// call runs a function. In a handler no handlers run, and hits are missed instead (1.11).
func (k *walk) call(fn int) {
	s, w := k.s, k.s.w
	var back, exits most // return probes and fprobes of this call
	returning, leaving := 0, 0
	f := &w.funcs[fn]
	for i := 0; i < len(f.body); {
		in := &f.body[i]
		if i++; in.other != nil && s.applied {
			in = in.other
		}
		if len(in.probes) > 0 && !s.off {
			returning = k.probes(in, &back, returning)
		}
		switch in.does {
		case gives:
			k.result, k.known = in.v, true
		case adds:
			k.result += in.v
		case descends:
			k.depth--
		case skips:
			if k.depth < 0 {
				i = in.to
			}
		case notes:
			s.log = s.log<<4 | uint64(in.v)
		case calls:
			k.call(in.v)
		case entersSite:
			leaving = k.fprobes(fn, &exits)
			if to := s.directs[in.v]; to > 0 {
				k.call(int(to - 1))
			}
			if to := s.version(fn); to >= 0 {
				k.call(to)
				i = len(f.body)
			}
		case branches:
			if s.labels[in.v] != in.likely {
				i = in.to
			}
		case callsKey, leavesKey:
			if to := s.targets[in.v]; to > 0 {
				k.call(int(to - 1))
			}
			if in.does == leavesKey {
				i = len(f.body)
			}
		case returns:
			i = len(f.body)
		}
	}
	for returning > 0 {
		returning--
		p := back[returning]
		s.objects[p].calls--
		k.hits = append(k.hits, hit{p, kpev.Return})
	}
	for leaving > 0 {
		leaving--
		if exit := w.fprobes[exits[leaving]].exit; exit >= 0 {
			k.aside(exit)
		}
	}
}

// aside runs a function whose result is dropped: a handler that is a function.
func (k *walk) aside(fn int) {
	in := walk{s: k.s, hits: k.hits}
	in.call(fn)
	k.hits = in.hits
}

// probes runs the handlers of the probes at an instruction, the last registered first (1.8), a
// jprobe's last. It returns how many return probes follow the call.
func (k *walk) probes(in *insn, back *most, returning int) int {
	s := k.s
	var at most
	n, on := 0, false
	for _, i := range in.probes {
		o := &s.objects[i]
		if !o.registered || o.gone {
			continue
		}
		on = on || !o.disabled
		j := n
		for ; j > 0 && s.before(i, at[j-1]); j-- {
			at[j] = at[j-1]
		}
		at[j] = i
		n++
	}
	if !on {
		return returning
	}
	for _, i := range at[:n] {
		p, o := &s.w.probes[i], &s.objects[i]
		switch {
		case k.inHandler:
			o.missed++
		case o.disabled:
		case p.kind == scenario.ProbeKretprobe:
			if p.maxactive > 0 && int(o.calls) == p.maxactive {
				o.lost++
				continue
			}
			if p.pre {
				k.hits = append(k.hits, hit{i, kpev.Entry})
			}
			if !p.declines {
				o.calls++
				back[returning] = i
				returning++
			}
		case p.kind == scenario.ProbeJprobe:
			k.hits = append(k.hits, hit{i, kpev.Jump})
		case p.pre:
			if k.hits = append(k.hits, hit{i, kpev.Pre}); p.runs >= 0 && p.runsPre {
				k.within(p.runs)
			}
		}
	}
	if k.inHandler {
		return returning
	}
	for _, i := range at[:n] {
		p := &s.w.probes[i]
		if !s.objects[i].disabled && p.kind == scenario.ProbeKprobe && p.post {
			if k.hits = append(k.hits, hit{i, kpev.Post}); p.runs >= 0 && !p.runsPre {
				k.within(p.runs)
			}
		}
	}
	return returning
}

// before reports whether the handlers of a probe come before those of another one.
func (s *state) before(i, j uint8) bool {
	if a, b := s.w.probes[i].kind == scenario.ProbeJprobe, s.w.probes[j].kind == scenario.ProbeJprobe; a != b {
		return b
	}
	return s.objects[i].since > s.objects[j].since
}

// within runs a function that a handler calls.
func (k *walk) within(fn int) {
	in := walk{s: k.s, hits: k.hits, inHandler: true}
	in.call(fn)
	k.hits = in.hits
}
