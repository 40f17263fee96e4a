package scenario

import (
	"fmt"
	"slices"

	"kpsim/smp/arch"
)

// Text is one function: its bytes as linked at At.
type Text struct {
	Name    string
	At      arch.Addr
	Code    []byte
	Extable []int // offsets of instructions with an exception-table entry

	Own    bool // it is memory for code, which tasks map, write and free; Code is what a run begins with
	Mapped bool // Own: it is mapped when a run begins
}

// Data is a block of writable memory that functions refer to.
type Data struct {
	Name   string
	At     arch.Addr
	Bytes  []byte
	PerCPU bool // each CPU has a copy, found by its gs base; nothing is at At itself
	Away   bool // its pages are absent when a run begins: a task that accesses them sleeps until they are present

	// Run is the function that the handler of a page fault there calls, before it does anything else; "" for none.
	Run string
}

// Missing is an undefined symbol that code refers to. No memory is there. A run that calls or
// reads it is refused, with the symbol's name.
type Missing struct {
	Name string
	At   arch.Addr
	Size int
}

// symbols is the space of names of functions and data.
const symbols = "symbol"

// The variables are the rows of what lies in memory. layout checks where.
var (
	TheTexts = list(func(s *Scenario) *[]Text { return &s.Texts }, nil, List{
		What: "function", Many: "functions", Most: MaxTexts, Counted: "function", Space: symbols, Given: true,
		touches: touches(func(_ *Scenario, t *Text) Touches { return bit(t.Own, TouchMemory) }),
		Makers: []*Maker{{
			Word: "text",
			Params: []PartParam{
				param("name", PartName, func(t *Text) any { return &t.Name }),
				param("hex", PartCode, func(t *Text) any { return &t.Code }),
				param("at", PartAt, func(t *Text) any { return &t.At }).or("None"),
				param("size", PartCodeSize, func(t *Text) any { return &t.Code }).or("None"),
				param("extable", PartOffsets, func(t *Text) any { return &t.Extable }).or("[]"),
			},
			Says: "a function by its bytes: pairs of digits, with blanks and `#` comments between them, or pasted " +
				"output: `0x55, 0x48`, `b\"\\x55\\x48\"`, `[0x55, 0x48]`, lines of `objdump -d`, gdb's `disassemble " +
				"/r` or `x/16xb`, `xxd`, `hexdump -C` or `kpsim check --func`, `.byte 0x55, 72`. `size` is only " +
				"checked. `extable`: offsets of instructions that have an exception-table entry",
			Printed: []string{"name", "at", "size", "extable", "hex"},
			Is:      on(func(t *Text) bool { return !t.Own }),
		}, {
			Word: "code",
			Params: []PartParam{
				param("name", PartName, func(t *Text) any { return &t.Name }),
				param("hex", PartBody, func(t *Text) any { return &t.Code }).or(`""`),
				param("size", PartSpace, func(t *Text) any { return &t.Code }).or("None"),
				param("at", PartAt, func(t *Text) any { return &t.At }).or("None"),
				param("mapped", PartSwitch, func(t *Text) any { return &t.Mapped }).or("True"),
			},
			Says: "memory for code, in pages of its own, that tasks `map`, `write`, run and `free`, as a JIT's or a " +
				"trampoline's: these bytes, and breakpoints up to `size`. It is a function in all other respects. " +
				"`mapped = False`: it isn't there when a run begins",
			Printed: []string{"name", "at", "size", "mapped", "hex"},
			Is:      on(func(t *Text) bool { return t.Own }),
			Init:    func(x any) { x.(*Text).Own, x.(*Text).Mapped = true, true },
		}},
	})

	TheDatas = list(func(s *Scenario) *[]Data { return &s.Datas }, func(c checker, p Part, d *Data) error {
		who := fmt.Sprintf("data %q", d.Name)
		if d.Run != "" && !d.Away {
			return Faultf(p, "%s: run is for page faults, and no page is away; give away = True", who)
		}
		if d.Run != "" {
			return c.function(p, who, d.Run, 0)
		}
		return nil
	}, List{
		What: "data", Many: "blocks of data", Most: MaxDatas, Counted: "block", Space: symbols, Given: true,
		touches: touches(func(_ *Scenario, d *Data) Touches {
			return bit(d.Away, TouchPage) | bit(d.Run != "", TouchCall|TouchNest)
		}),
		Makers: []*Maker{{
			Word: "data",
			Params: append(dataParams(),
				param("away", PartSwitch, func(d *Data) any { return &d.Away }).or("False"),
				param("run", PartRun, func(d *Data) any { return &d.Run }).or("None")),
			Says: "writable memory: these bytes, and zeros up to `size`. `away`: it is paged out when a run " +
				"begins: a task that accesses it sleeps in the page fault until it is in memory. It takes whole " +
				"pages. `run`: a function that the handler of such a fault calls, with interrupts off, before it " +
				"asks kprobes",
			Printed: []string{"name", "at", "size", "hex", "away", "run"},
			Is:      on(func(d *Data) bool { return !d.PerCPU }),
		}, {
			Word:   "percpu",
			Params: dataParams(),
			Says: "per-CPU memory: each CPU has a copy, found through `gs`; the address itself isn't mapped. " +
				"`expect` reads the copy of the task's CPU",
			Printed: []string{"name", "at", "size", "hex"},
			Is:      on(func(d *Data) bool { return d.PerCPU }),
			Init:    func(x any) { x.(*Data).PerCPU = true },
		}},
	})

	TheMissing = list(func(s *Scenario) *[]Missing { return &s.Missing }, nil, List{
		What: "missing symbol", Many: "missing symbols", Most: MaxMissing, Space: symbols, Going: "symbol",
		Makers: []*Maker{{
			Word: "missing",
			Params: []PartParam{
				param("name", PartName, func(m *Missing) any { return &m.Name }),
				param("at", PartAt, func(m *Missing) any { return &m.At }),
				param("size", PartNumber, func(m *Missing) any { return &m.Size }).or("4096"),
			},
			Says: "an undefined symbol that a module refers to: `elf()` makes them. A run that calls it, or reads " +
				"there, ends in an error that names it. It takes whole pages",
		}},
	})
)

func dataParams() []PartParam {
	return []PartParam{
		param("name", PartName, func(d *Data) any { return &d.Name }),
		param("hex", PartHex, func(d *Data) any { return &d.Bytes }).or(`""`),
		param("at", PartAt, func(d *Data) any { return &d.At }).or("None"),
		param("size", PartRoom, func(d *Data) any { return &d.Bytes }).or("None"),
	}
}

// Room returns the number of bytes that nothing else may use: whole pages if the data are away.
func (d *Data) Room() int {
	if d.Away {
		return int(Align(arch.Addr(len(d.Bytes)), Page))
	}
	return len(d.Bytes)
}

// A Located part lies in memory. Span returns where, how many bytes of it nothing else may use,
// and at which boundary something else may follow.
type Located interface {
	Span() (at arch.Addr, n int, boundary arch.Addr)
}

const textBoundary = 16

func (t *Text) Span() (arch.Addr, int, arch.Addr) {
	if t.Own {
		return t.At, int(Align(arch.Addr(len(t.Code)), Page)), Page
	}
	return t.At, len(t.Code), textBoundary
}

func (d *Data) Span() (arch.Addr, int, arch.Addr)    { return d.At, d.Room(), Page }
func (m *Missing) Span() (arch.Addr, int, arch.Addr) { return m.At, m.Size, Page }

// Data returns the block of data of that name, or nil.
func (s *Scenario) Data(name string) *Data {
	for i := range s.Datas {
		if s.Datas[i].Name == name {
			return &s.Datas[i]
		}
	}
	return nil
}

// Text returns the function of that name, nil if there is none.
func (s *Scenario) Text(name string) *Text {
	for i := range s.Texts {
		if s.Texts[i].Name == name {
			return &s.Texts[i]
		}
	}
	return nil
}

// Stored reports whether tasks store to a function by hand, or code may by an alias.
func (s *Scenario) Stored(function string) bool {
	return s.Any(func(op *Op) bool { return op.Kind.Has(ParamWritten) && op.Target == function }) ||
		slices.ContainsFunc(s.Aliases, func(a Alias) bool { return a.Of == function })
}

// LeadsTo returns the functions that instructions of one call or jump to, in their order, each once.
func (s *Scenario) LeadsTo(t *Text) (list []*Text) {
	var to []arch.Addr
	p := s.Machine.Processor()
	for at := 0; at < len(t.Code); {
		in, err := p.Decode(t.Code[at:], t.At+arch.Addr(at))
		if err != nil { // data between instructions
			at += p.Align
			continue
		}
		at += in.Size()
		if a, ok := in.Target(); ok {
			to = append(to, a)
		}
	}
	for i := range s.Texts {
		o := &s.Texts[i]
		if slices.ContainsFunc(to, func(a arch.Addr) bool { return a-o.At < arch.Addr(len(o.Code)) }) {
			list = append(list, o)
		}
	}
	return list
}
