package overhead

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"kpsim/kprobes"
	"kpsim/smp/cycles"
	"kpsim/smp/kapi"
)

// A Machine is one that the documents' figures were measured on.
type Machine struct {
	Name string // as in the figures
	Arch string
	MHz  float64
	core string // machines of one core share the fitted numbers
	code *code
	typical
	fenced bool // a lock is released by a locked instruction, too
	ist    bool // exceptions enter by an IST stack and read an MSR (paranoid_entry)
}

// Detours reports whether its kernel makes breakpoints jumps.
func (m *Machine) Detours() bool { return m.code.detours }

// Edition is the edition that its figures are of.
func (m *Machine) Edition() string {
	if m.Detours() {
		return figureEditions[1]
	}
	return figureEditions[0]
}

// ID is the machine's name on command lines.
func (m *Machine) ID() string {
	return strings.ReplaceAll(strings.ToLower(m.Name), " ", "-") + "/" + m.Arch
}

// typical are cycles from the literature for processors of a kind. They were neither fitted nor measured on these
// machines, and two in three may be off by 40 % (study of cycles 2).
type typical struct {
	lock       float64 // a locked read-modify-write
	mispredict float64 // a return
	block      float64 // a copy of 8 to 21 words
	flags      float64 // pushf, cli, popf
	detour     float64 // pushf and popf of a detour's or a trampoline's registers
}

// code is how many instructions a kernel's code executes for each event. Only their
// sums over a hit are known, of the code as it is written again in C (study of cycles
// 1): how they are shared out is assumed. Its error is put at 15 to 20 %.
type code struct {
	detours bool
	entry   float64 // an exception's entry and exit
	lookup  float64 // from the exception's C code along the chain of notifiers to the chain of probes
	node    float64 // per node of the chain
	step    float64
	resume  float64
	handler float64
	walk    float64 // per probe
	save    float64
	call    float64
	ret     float64
	detour  float64
	locking float64 // a lock or an unlock
	// blocks are how many blocks of at most 21 words the registers are that a jprobe keeps: struct pt_regs of ppc64 has
	// 44; 0: one
	blocks float64
	// one lock is held from the breakpoint to the end of the step, and again after the trampoline's (2.6.13); the
	// engine's own locks represent no others
	one bool
}

// instructions returns how many an event is.
func (c *code) instructions(e cycles.Event) float64 {
	switch e {
	case cycles.Instruction, cycles.Point:
		return 1
	case cycles.Breakpoint, cycles.Debug, cycles.Trap:
		return c.entry
	case cycles.Work(kprobes.WorkLookup):
		return c.lookup
	case cycles.Work(kapi.WorkNode):
		return c.node
	case cycles.Work(kprobes.WorkStep):
		return c.step
	case cycles.Work(kprobes.WorkResume):
		return c.resume
	case cycles.Work(kapi.WorkHandler):
		return c.handler
	case cycles.Work(kprobes.WorkWalk):
		return c.walk
	case cycles.Work(kapi.WorkSave):
		return c.save
	case cycles.Work(kprobes.WorkCall):
		return c.call
	case cycles.Work(kprobes.WorkReturn):
		return c.ret
	case cycles.Work(kprobes.WorkDetour):
		return c.detour
	case cycles.Work(kapi.WorkLock), cycles.Work(kapi.WorkUnlock):
		return c.locking
	}
	return 0
}

var (
	code2005 = code{entry: 37, lookup: 88, node: 7, step: 48, resume: 90, handler: 8, walk: 18.5, save: 36.5, call: 55,
		ret: 62, locking: 1, one: true}
	code2005x64 = code{entry: 55, lookup: 85, node: 7, step: 40, resume: 73, handler: 8, walk: 16, save: 32.5, call: 68,
		ret: 74, locking: 1, one: true}
	codePower = func() code { c := code2005x64; c.entry, c.blocks = 65, 2; return c }()
	code2010  = code{detours: true, entry: 53, lookup: 167, node: 7, step: 71, resume: 132, handler: 8, walk: 18,
		call: 70, ret: 78, detour: 38, locking: 2}
	code2010x64 = code{detours: true, entry: 65, lookup: 166, node: 7, step: 60, resume: 112, handler: 8, walk: 18,
		call: 85, ret: 95, detour: 45, locking: 2}
)

// Machines are the machines of the figures.
var Machines = []Machine{
	{Name: "Pentium M", Arch: "i386", MHz: 1495, core: "Pentium M", code: &code2005,
		typical: typical{lock: 25, mispredict: 13, block: 32}},
	{Name: "Opteron 246", Arch: "x86_64", MHz: 1994, core: "Opteron 246", code: &code2005x64,
		typical: typical{lock: 16, mispredict: 11, block: 25}},
	{Name: "POWER5", Arch: "ppc64", MHz: 1656, core: "POWER5", code: &codePower,
		typical: typical{lock: 70, mispredict: 16, block: 50}},
	{Name: "Xeon E5410", Arch: "i386", MHz: 2330, core: "Xeon E5410", code: &code2010,
		typical: typical{lock: 21, mispredict: 15, block: 30, flags: 37, detour: 29}, fenced: true},
	{Name: "Xeon E5410", Arch: "x86_64", MHz: 2330, core: "Xeon E5410", code: &code2010x64,
		typical: typical{lock: 21, mispredict: 15, block: 30, flags: 37, detour: 29}, ist: true},
}

// saved returns how many blocks the registers are.
func (m *Machine) saved() float64 { return max(m.code.blocks, 1) }

// fixed returns an event's cost besides instructions and fitted numbers.
func (m *Machine) fixed(e cycles.Event) float64 {
	switch e {
	case cycles.Work(kprobes.WorkStep), cycles.Work(kprobes.WorkReturn):
		if m.code.one {
			return m.lock
		}
	case cycles.Work(kapi.WorkLock):
		if !m.code.one {
			return m.lock
		}
	case cycles.Work(kapi.WorkUnlock):
		if m.fenced {
			return m.lock
		}
	case cycles.Work(kapi.WorkFlags):
		return m.flags
	case cycles.Work(kapi.WorkMispredict):
		return m.mispredict
	case cycles.Work(kapi.WorkSave): // registers are a block or two; so are 64 bytes of stack
		return m.block * m.saved()
	case cycles.Work(kapi.WorkCopy):
		return m.block / 64
	case cycles.Work(kprobes.WorkDetour):
		return m.detour
	}
	return 0
}

//go:embed figures.csv
var figuresCSV string

// A Figure is one that the documents print.
type Figure struct {
	Machine *Machine
	Probe   *Probe
	Usec    float64 // a hit, rounded to 0.01
}

// Cycles is the figure in cycles of its machine.
func (f *Figure) Cycles() float64 { return f.Usec * f.Machine.MHz }

// Figures returns the documents' figures.
func Figures() []Figure {
	list, err := ReadFigures("figures.csv", figuresCSV)
	if err != nil {
		panic(err)
	}
	return list
}

// ReadFigures reads figures: machine,arch,mhz,edition,probe,usec, with comments in lines of their own, which begin
// with #. The machines may be others than the documents'.
func ReadFigures(name, text string) (list []Figure, err error) {
	rows := csv.NewReader(strings.NewReader(text))
	rows.Comment = '#'
	const header = "machine,arch,mhz,edition,probe,usec"
	r, err := rows.Read()
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	// The column was called era in November 2026.
	if got := strings.Join(r, ","); got != header && got != strings.Replace(header, "edition", "era", 1) {
		return nil, fmt.Errorf("%s: line 1: the columns are to be %s", name, header)
	}
	for {
		r, err := rows.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		line, _ := rows.FieldPos(0)
		if len(list) == mostFigures {
			return nil, fmt.Errorf("%s: line %d: more than %d figures; give means", name, line, mostFigures)
		}
		m, err := owner(list, r[0], r[1], r[2], r[3])
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, line, err)
		}
		var p *Probe
		for _, q := range ProbesOn(m.Arch, m.Detours()) {
			if q.Name == r[4] {
				p = &q
			}
		}
		if p == nil {
			return nil, fmt.Errorf("%s: line %d: edition %s has no probe %q; there are %s",
				name, line, r[3], r[4], strings.Join(probeNames(m.Detours()), ", "))
		}
		us, err := strconv.ParseFloat(r[5], 64)
		if err != nil || !(us > 0 && us <= mostUsec) {
			return nil, fmt.Errorf("%s: line %d: usec: %q is no number of microseconds above 0 and up to %d",
				name, line, r[5], mostUsec)
		}
		list = append(list, Figure{m, p, us})
	}
	return list, nil
}
