package mutate

import (
	"fmt"
	"strconv"
	"strings"

	"kpsim/internal/nearest"
	"kpsim/linux/closure"
	"kpsim/linux/vmlinux"
	"kpsim/sim"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
)

// A Mutant is a fault: bytes that replace others of the same length.
type Mutant struct {
	Name string // "skip-call:kprobe_optimizer:synchronize_rcu_tasks:1", "invert:kprobe_int3_handler+0x1c"
	Says string // what is broken, and its line if it is known
	Addr uint64
	Old  []byte
	New  []byte
}

// All returns all mutants of a closure, by address. Mutants of one instruction are in the
// order of their kinds.
func All(c *closure.Closure) []Mutant {
	l := lister{c: c, names: make(map[string]int), end: make(map[string]bool)}
	for i := range c.Inside {
		if f := &c.Inside[i]; f.Set != "plain" && !early(c, f) {
			l.function(f)
		}
	}
	return l.out
}

// kinds lists the mutants of a function, by processor.
var kinds = [...]func(l *lister, f *closure.Function){target.X8664: kindsX86, target.I386: kindsX86,
	target.RISCV64: riscv.kinds, target.ARM64: arm.kinds, target.PPC64LE: power.kinds}

// A row is what the kinds need of a processor other than x86.
type row struct {
	nop, ret func(n int) []byte // n bytes that do nothing, or return
	// condition adds the mutants of a conditional branch, and plain those of an instruction that continues to the next
	// one.
	condition, plain func(l *lister, in arch.Inst)
}

// kinds lists the mutants of a function.
func (r *row) kinds(l *lister, f *closure.Function) {
	var code []arch.Inst
	dead := make(map[arch.Addr]bool) // addresses at which the kernel dies or warns
	l.c.Decode(f, func(in arch.Inst) {
		code = append(code, in)
		s, _ := l.c.Target(f, in)
		dead[in.At()] = in.Flow() == arch.FlowBreakpoint || in.Flow() == arch.FlowUndefined ||
			in.Flow() == arch.FlowCall && dull[s.Name]
	})
	for i, in := range code {
		switch in.Flow() {
		case arch.FlowCall, arch.FlowJump:
			r.call(l, in)
		case arch.FlowCond:
			if t, _ := in.Target(); !dead[t] && !(i+1 < len(code) && dead[code[i+1].At()]) {
				r.condition(l, in)
			}
		default:
			r.plain(l, in)
		}
	}
}

// call adds the mutant that skips a call, or a tail call.
func (r *row) call(l *lister, in arch.Inst) {
	s, kind := l.c.Target(l.f, in)
	jump := in.Flow() == arch.FlowJump
	if kind != closure.Inner && kind != closure.Outer || dull[s.Name] ||
		jump && closure.Base(s.Name) == closure.Base(l.f.Name) {
		return
	}
	with := r.nop(in.Size())
	if jump {
		with = r.ret(in.Size())
	}
	l.skip(s.Name, in, with)
}

// function lists the mutants of a function.
func (l *lister) function(f *closure.Function) {
	l.f, l.label, l.calls = f, f.Name, make(map[string]int)
	if l.names[f.Name]++; l.names[f.Name] > 1 {
		l.label = fmt.Sprintf("%s#%d", f.Name, l.names[f.Name])
	}
	kinds[l.c.Image.Processor()](l, f)
}

// early reports whether a function runs only at boot.
func early(c *closure.Closure, f *closure.Function) bool {
	s := c.Image.Section(".init.text")
	return s != nil && f.Addr >= s.Addr && f.Addr < s.Addr+s.Size
}

// Named returns the mutant with a name. The error suggests near names.
func Named(c *closure.Closure, name string) (Mutant, error) {
	var names []string
	for _, m := range All(c) {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	if near := nearest.DidYouMean(name, names); near != "" {
		return Mutant{}, fmt.Errorf("no mutant of %s is called %q; %s", c.Image.Release, name, near)
	}
	if same := ofFunction(name, names); len(same) > 0 {
		return Mutant{}, fmt.Errorf("no mutant of %s is called %q; of this function there are %s", c.Image.Release,
			name, strings.Join(same, ", "))
	}
	return Mutant{}, fmt.Errorf("no mutant of %s is called %q; a name is as skip-call:FUNCTION:CALLEE:1 or "+
		"invert:FUNCTION+0x1c", c.Image.Release, name)
}

// mostNear is how many mutants of the same function an error lists.
const mostNear = 4

// ofFunction returns at most mostNear names of the same kind and function, those nearest to the place.
func ofFunction(name string, names []string) (out []string) {
	kind, at, _ := strings.Cut(name, ":")
	f, place := split(at)
	var before, after []string
	for _, n := range names {
		k, a, _ := strings.Cut(n, ":")
		if g, p := split(a); k != kind || g != f {
			continue
		} else if p < place {
			before = append(before, n)
		} else {
			after = append(after, n)
		}
	}
	before = before[max(0, len(before)-mostNear/2):]
	return append(before, after[:min(len(after), mostNear-len(before))]...)
}

// split cuts a place into the function and the offset. Without an offset, off is 0.
func split(at string) (f string, off uint64) {
	at, _, _ = strings.Cut(at, ":")
	f, text, _ := strings.Cut(at, "+")
	off, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		off = 0
	}
	return f, off
}

// Draw draws n of all mutants without repetition, in an order that the seed decides. If
// fewer than n exist, it returns all.
func Draw(c *closure.Closure, seed uint64, n int) []Mutant {
	all := All(c)
	n = max(0, min(n, len(all)))
	var r sim.Rand
	r.Seed(seed, 0)
	for i := range n {
		j := i + r.N(len(all)-i)
		all[i], all[j] = all[j], all[i]
	}
	return all[:n]
}

// lister collects mutants.
type lister struct {
	c     *closure.Closure
	out   []Mutant
	names map[string]int  // how many functions of each name were seen
	end   map[string]bool // the names of mutants already added
	label string          // the name of the current function, made unique
	calls map[string]int  // how many calls of each callee the function has made up to here
	f     *closure.Function
}

// add adds a mutant, unless it changes nothing.
func (l *lister) add(name, says string, addr uint64, old, new []byte) {
	if string(old) == string(new) || len(old) != len(new) || l.end[name] {
		return
	}
	l.end[name] = true
	where := fmt.Sprintf("%s+%#x", l.label, addr-l.f.Addr)
	if frames := l.c.Image.Line(addr); len(frames) > 0 {
		where += line(frames)
	}
	l.out = append(l.out, Mutant{Name: name, Says: says + " at " + where, Addr: addr, Old: old, New: new})
}

// skip adds the mutant that puts other bytes in the place of a call.
func (l *lister) skip(callee string, in arch.Inst, with []byte) {
	l.calls[callee]++
	l.add(fmt.Sprintf("skip-call:%s:%s:%d", l.label, callee, l.calls[callee]), "skip the call to "+callee,
		uint64(in.At()), in.Bytes(), with)
}

// mnemonic returns the first word of an instruction.
func mnemonic(in arch.Inst) string {
	word, _, _ := strings.Cut(in.String(), " ")
	return word
}

// line returns the place in the source: the innermost frame in a .c file, and the function
// of a header that is inlined there.
func line(frames []vmlinux.Frame) string {
	at := 0
	for at < len(frames)-1 && strings.HasSuffix(frames[at].File, ".h") {
		at++
	}
	in := frames[at]
	s := fmt.Sprintf(", %s:%d", in.File, in.Line)
	if at < len(frames)-1 && in.Func != "" {
		s += " in " + in.Func
	}
	if at > 0 && frames[0].Func != "" {
		s += ", of " + frames[0].Func
	}
	return s
}

// place returns the name of an instruction of the function.
func (l *lister) place(addr uint64) string { return fmt.Sprintf("%s+%#x", l.label, addr-l.f.Addr) }
