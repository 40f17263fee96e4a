package lang

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"kpsim/internal/nearest"
	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/smp/arch"
)

// A partForm is how a kind of parameter of parts is written: how it is read, and printed.
type partForm struct {
	into  func(a *argument) any   // what starlark.UnpackArgs stores it in; nil: v, which read reads
	none  bool                    // None leaves it out, whatever its default
	keeps bool                    // None is a value, although it is its default
	read  func(a *argument) error // nil: into is all
	left  func(a *argument) error // it was left out, or stored by into; nil: it is as its part was made

	// print returns the argument as it is written, of the part x, which is at.
	print func(p *printer, a *scenario.PartParam, x any, at scenario.Part) string
}

// partForms has a row for each kind.
var partForms = [...]partForm{
	scenario.PartName: {
		into: stored,
		left: func(a *argument) error {
			if name := a.at.(*string); *name == "" && a.Default != "" {
				*name = numbered(a.list.What, a.list.Len(&a.l.s))
			}
			return nil
		},
		print: func(_ *printer, a *scenario.PartParam, x any, at scenario.Part) string {
			name := *a.At(x).(*string)
			if a.Default != "" && name == numbered(at.List.What, at.I) {
				return a.Default
			}
			return Quote(name)
		},
	},
	scenario.PartSymbol: {into: stored, print: func(_ *printer, a *scenario.PartParam, x any, _ scenario.Part) string {
		if name := *a.At(x).(*string); name != "" {
			return Quote(name)
		}
		return a.Default
	}},
	scenario.PartNumber: {into: stored, print: printNumber},
	scenario.PartCPU:    {into: stored, print: printNumber},
	scenario.PartSwitch: {into: stored, print: func(_ *printer, a *scenario.PartParam, x any, _ scenario.Part) string {
		return truth(*a.At(x).(*bool))
	}},
	scenario.PartWord: {
		into: func(a *argument) any { return a },
		read: func(a *argument) error {
			w := a.at.(scenario.Word)
			word, _ := starlark.AsString(a.v)
			n, err := nearest.Lookup[uint8](a.Name, word, w.Words)
			if err == nil {
				*w.At = n
			}
			return err
		},
		print: func(_ *printer, a *scenario.PartParam, x any, _ scenario.Part) string {
			w := a.At(x).(scenario.Word)
			return Quote(nearest.Word(w.Words, *w.At))
		},
	},
	scenario.PartSize: {
		into: func(a *argument) any { return a.at.(scenario.Size).At },
		left: func(a *argument) error {
			if s := a.At(a.x).(scenario.Size); *s.At < 0 {
				*s.At = s.Otherwise
			}
			return nil
		},
		print: func(_ *printer, a *scenario.PartParam, x any, _ scenario.Part) string {
			if s := a.At(x).(scenario.Size); *s.At != s.Otherwise {
				return fmt.Sprint(*s.At)
			}
			return a.Default
		},
	},
	scenario.PartFunc: {read: readWhole, print: printFunc},
	scenario.PartRun: {
		read: func(a *argument) error {
			if d, ok := a.v.(deed); ok && d.op != nil && d.op.Kind == act.Call {
				return fmt.Errorf("run is %s; give the function, and what it is called with as args: run = %s, "+
					"args = [3, 5]", describe(a.v), d.op.Target)
			}
			return readWhole(a)
		},
		print: printFunc,
	},
	scenario.PartFuncs: {
		none: true,
		read: func(a *argument) (err error) {
			*a.at.(*[]string), err = functions(a.Name, a.v)
			return err
		},
		print: printNames,
	},
	scenario.PartBlocks: {
		none: true,
		read: func(a *argument) (err error) {
			*a.at.(*[]string), err = blocks(a.Name, a.v)
			return err
		},
		print: printNames,
	},
	scenario.PartPlace: {
		read: func(a *argument) (err error) {
			at := a.at.(scenario.Place)
			*at.Func, *at.Offset, err = site(a.Name, a.v, *at.Offset)
			return err
		},
		left: func(a *argument) error {
			if says := a.maker.Lacks(a.x); says != "" {
				return fmt.Errorf("%s: %s", a.c.name, says)
			}
			return nil
		},
		print: func(p *printer, a *scenario.PartParam, x any, _ scenario.Part) string {
			at := a.At(x).(scenario.Place)
			if *at.Func == "" {
				return a.Default
			}
			return p.place(*at.Func, uint64(*at.Offset))
		},
	},
	scenario.PartOffset: {
		into: func(a *argument) any { return a.at.(scenario.Place).Offset },
		print: func(_ *printer, a *scenario.PartParam, x any, _ scenario.Part) string {
			at := a.At(x).(scenario.Place)
			if *at.Func != "" { // the place has it
				return a.Default
			}
			return fmt.Sprint(*at.Offset)
		},
	},
	scenario.PartAt: {
		read: func(a *argument) (err error) {
			*a.at.(*arch.Addr), err = address(a.v, 0)
			return err
		},
		left: func(a *argument) error {
			*a.at.(*arch.Addr) = a.l.next(a.x)
			return nil
		},
		print: func(_ *printer, a *scenario.PartParam, x any, _ scenario.Part) string {
			return hexAddr(*a.At(x).(*arch.Addr))
		},
	},
	scenario.PartCode: {
		read: readCode,
		print: func(p *printer, _ *scenario.PartParam, x any, _ scenario.Part) string {
			return p.codeString(x.(*scenario.Text))
		},
	},
	scenario.PartCodeSize: {
		read: func(a *argument) error {
			n, err := number(a.Name, a.v)
			if code := *a.at.(*[]byte); err == nil && n != uint64(len(code)) {
				return fmt.Errorf("size = %d, but hex of %q has %d bytes; correct one of them", n, a.list.Name(a.x),
					len(code))
			}
			return err
		},
		print: func(_ *printer, a *scenario.PartParam, x any, _ scenario.Part) string {
			return fmt.Sprint(len(*a.At(x).(*[]byte)))
		},
	},
	scenario.PartHex: {
		read: readBytes,
		print: func(_ *printer, a *scenario.PartParam, x any, _ scenario.Part) string {
			b := *a.At(x).(*[]byte)
			if _, is := x.(*scenario.Data); is {
				b = b[:len(b)-zeros(b)]
			}
			return dataString(b)
		},
	},
	scenario.PartRoom: {
		read: (*argument).room,
		print: func(_ *printer, a *scenario.PartParam, x any, _ scenario.Part) string {
			if b := *a.At(x).(*[]byte); zeros(b) > 0 {
				return fmt.Sprint(len(b))
			}
			return a.Default
		},
	},
	scenario.PartBody: {
		read: readCode,
		print: func(p *printer, a *scenario.PartParam, x any, _ scenario.Part) string {
			b := *a.At(x).(*[]byte)
			return p.partsOf(b[:len(b)-breaks(p.arch, b)])
		},
	},
	scenario.PartSpace: {
		read: func(a *argument) error {
			b := a.at.(*[]byte)
			n, err := number(a.Name, a.v)
			if err == nil && (n < uint64(len(*b)) || n > scenario.MaxCode) {
				err = fmt.Errorf("size = %d of %q is out of range; hex has %d bytes, a function at most %d", n,
					a.list.Name(a.x), len(*b), scenario.MaxCode)
			}
			for row := a.l.s.Machine.Processor(); err == nil && uint64(len(*b)) < n; {
				*b = append(*b, row.Filled(arch.Addr(len(*b))))
			}
			return err
		},
		print: func(p *printer, a *scenario.PartParam, x any, _ scenario.Part) string {
			if b := *a.At(x).(*[]byte); breaks(p.arch, b) > 0 {
				return fmt.Sprint(len(b))
			}
			return a.Default
		},
	},
	scenario.PartOffsets: {
		read: func(a *argument) error {
			list, err := sequence(a.Name, a.v, "write [3, 8]")
			if err != nil {
				return err
			}
			to := a.at.(*[]int)
			for i, v := range list {
				off, err := starlark.AsInt32(v)
				if err != nil {
					return fmt.Errorf("%s[%d] is %.40s; give offsets of instructions", a.Name, i, v)
				}
				*to = append(*to, off)
			}
			return nil
		},
		print: func(_ *printer, a *scenario.PartParam, x any, _ scenario.Part) string {
			return bracketed(*a.At(x).(*[]int), func(off int) string { return fmt.Sprint(off) })
		},
	},
	scenario.PartKeySites:   {read: readKeySites, print: printKeySites},
	scenario.PartKeyTargets: {read: readKeyTargets, print: printKeyTargets},
	scenario.PartKeyLikely:  {read: readKeyLikely, print: printKeyLikely},
	scenario.PartSites:      callSites(false),
	scenario.PartTails:      callSites(true),
	scenario.PartSteps: {
		keeps: true,
		read: func(a *argument) (err error) {
			*a.at.(*[]scenario.Step), err = handler(a.Name, a.v)
			return err
		},
		print: func(p *printer, a *scenario.PartParam, x any, _ scenario.Part) string {
			return p.handler(*a.At(x).(*[]scenario.Step))
		},
	},
	scenario.PartEntry: {
		keeps: true,
		read:  readEntry,
		left: func(a *argument) error {
			return fmt.Errorf("%s: missing argument for %s; write %s", a.c.name, a.Name, a.c.sig)
		},
		print: func(p *printer, a *scenario.PartParam, x any, _ scenario.Part) string {
			k := a.At(x).(*scenario.Probe)
			if k.Pre == nil {
				return p.symbols[k.Entry]
			}
			return p.handler(k.Pre)
		},
	},
	scenario.PartOps: {
		read: readOps,
		print: func(p *printer, a *scenario.PartParam, x any, _ scenario.Part) string {
			return p.ops(*a.At(x).(*[]scenario.Op))
		},
	},
	scenario.PartArgs: {
		none: true,
		read: func(a *argument) error {
			list, err := sequence(a.Name, a.v, "write [3, 5]")
			if err != nil {
				return err
			}
			to := a.at.(*[]uint64)
			for i, v := range list {
				n, err := number(fmt.Sprintf("%s[%d]", a.Name, i), v)
				if err != nil {
					return err
				}
				*to = append(*to, n)
			}
			return nil
		},
		print: func(_ *printer, a *scenario.PartParam, x any, _ scenario.Part) string {
			return bracketed(*a.At(x).(*[]uint64), literal)
		},
	},
}

// stored stores a parameter where its part holds it.
func stored(a *argument) any { return a.at }

// numbered is the name of a part that was given none.
func numbered(what string, n int) string { return fmt.Sprint(what, n) }

func printNumber(_ *printer, a *scenario.PartParam, x any, _ scenario.Part) string {
	return fmt.Sprint(*a.At(x).(*int))
}

func printFunc(p *printer, a *scenario.PartParam, x any, _ scenario.Part) string {
	if name := *a.At(x).(*string); name != "" {
		return p.symbols[name]
	}
	return a.Default
}

func printNames(p *printer, a *scenario.PartParam, x any, _ scenario.Part) string {
	return bracketed(*a.At(x).(*[]string), func(name string) string { return p.symbols[name] })
}

// bracketed prints a list.
func bracketed[T any](list []T, print func(x T) string) string {
	said := make([]string, len(list))
	for i, x := range list {
		said[i] = print(x)
	}
	return "[" + strings.Join(said, ", ") + "]"
}

func readWhole(a *argument) error {
	f, err := functionStart(a.Name, a.v)
	*a.at.(*string) = f.name
	return err
}

// breaks returns how many bytes at the end of code are as memory is filled with.
func breaks(row *arch.Arch, b []byte) (n int) {
	for n < len(b) && b[len(b)-1-n] == row.Filled(arch.Addr(len(b)-1-n)) {
		n++
	}
	return n
}

func readBytes(a *argument) (err error) {
	name := a.list.Name(a.x)
	if name == "" {
		name = a.list.What
	}
	*a.at.(*[]byte), err = bytesOf(a.Name, ofPart(name), a.v)
	return err
}

func readCode(a *argument) (err error) {
	*a.at.(*[]byte), err = a.l.codeOf(a.Name, ofPart(a.list.Name(a.x)), a.v)
	return err
}

// callSites are the sites of a static call that are tails, or those that aren't.
func callSites(tails bool) partForm {
	return partForm{
		none: true,
		read: func(a *argument) error {
			list, err := sequence(a.Name, a.v, "write [f + 2]")
			if err != nil {
				return err
			}
			to := a.at.(*[]scenario.CallSite)
			for _, v := range list {
				f, err := function(a.Name, v)
				if err != nil {
					return err
				}
				*to = append(*to, scenario.CallSite{Func: f.name, Offset: int(f.off), Tail: tails})
			}
			return nil
		},
		print: func(p *printer, a *scenario.PartParam, x any, _ scenario.Part) string {
			list := slices.DeleteFunc(slices.Clone(*a.At(x).(*[]scenario.CallSite)), func(t scenario.CallSite) bool {
				return t.Tail != tails
			})
			return bracketed(list, func(t scenario.CallSite) string { return p.place(t.Func, uint64(t.Offset)) })
		},
	}
}

// readEntry reads the entry of a jprobe: a list of steps, or a function.
func readEntry(a *argument) (err error) {
	k := a.at.(*scenario.Probe)
	if _, ok := a.v.(*starlark.List); ok {
		k.Pre, err = handler(a.Name, a.v)
		return err
	}
	f, err := functionStart(a.Name, a.v)
	if err != nil {
		return fmt.Errorf("%w; or a list of steps, as entry = [count()]", err)
	}
	k.Entry = f.name
	return nil
}

// readOps reads the operations of a task.
func readOps(a *argument) error {
	list, err := sequence(a.Name, a.v, "write [call(f), schedule()]")
	if err != nil {
		return err
	}
	to, n := a.at.(*[]scenario.Op), a.list.Len(&a.l.s)
	for j, v := range list {
		d, ok := v.(deed)
		if !ok || d.op == nil {
			return noOperation(j, d, v)
		}
		a.l.position[scenario.PartIn(a.list, n, j)] = d.at
		*d.used = true
		*to = append(*to, *d.op)
	}
	return nil
}

// room reads the size of a block, whose bytes have been read.
func (a *argument) room() error {
	n, err := number(a.Name, a.v)
	if err != nil {
		return err
	}
	b, name := a.at.(*[]byte), a.list.Name(a.x)
	if n < uint64(len(*b)) || n > scenario.MaxData {
		return fmt.Errorf("size = %d of %q is out of range; hex has %d bytes, a block at most %d", n, name, len(*b),
			scenario.MaxData)
	}
	more := int(n) - len(*b)
	if a.l.zeros += more; a.l.zeros > scenario.MaxMemory { // they cost the program nothing
		return fmt.Errorf("all data up to %q take more than %d bytes; make them smaller", name, scenario.MaxMemory)
	}
	*b = append(*b, make([]byte, more)...)
	return nil
}

// functions reads a list of whole functions.
func functions(what string, v starlark.Value) (names []string, err error) {
	list, err := sequence(what, v, "write [f, g]")
	if err != nil {
		return nil, err
	}
	for _, v := range list {
		f, err := functionStart(what, v)
		if err != nil {
			return nil, err
		}
		names = append(names, f.name)
	}
	return names, nil
}

// blocks reads a list of blocks of data.
func blocks(what string, v starlark.Value) (names []string, err error) {
	list, err := sequence(what, v, "write [d]")
	if err != nil {
		return nil, err
	}
	for _, v := range list {
		d, ok := v.(location)
		if !ok || d.what != "data" || d.off != 0 {
			return nil, fmt.Errorf("%s is %s; give blocks, as data() returns them", what, describe(v))
		}
		names = append(names, d.name)
	}
	return names, nil
}

// site adds an offset to a location: kprobe(at = f + 1) is kprobe(at = f, offset = 1).
func site(what string, v starlark.Value, offset int) (name string, off int, err error) {
	p, err := function(what, v)
	if err != nil {
		return "", 0, err
	}
	if offset < -maxOffset || offset > maxOffset {
		return "", 0, fmt.Errorf("offset %d from %s is out of range; stay within the function", offset, p.name)
	}
	return p.name, int(p.off) + offset, nil
}

// noOperation is the error of element j of ops that is none: a step of a handler, or another value.
func noOperation(j int, d deed, v starlark.Value) error {
	if d.step != nil {
		return fmt.Errorf("ops[%d] is %s, a step of a handler; give an operation, as call(f)", j, describe(v))
	}
	if h, is := v.(handle); is {
		return fmt.Errorf("ops[%d] is %s; say what is done to it, as in register(k)", j, h)
	}
	if p, is := v.(location); is && p.what == "function" && p.off == 0 {
		return fmt.Errorf("ops[%d] is a function; write call(%s)", j, p)
	}
	return fmt.Errorf("ops[%d] is %s; give an operation, as call(f) or register(k)", j, describe(v))
}
