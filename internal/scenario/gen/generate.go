package gen

import (
	"fmt"
	"slices"
	"sync"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/lang"
	"kpsim/internal/scenario/library"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
)

// On says what scenarios are drawn for. The zero value is any machine of the engine in Go.
type On struct {
	Machines []scenario.Machine // one of these, but for its CPUs and its fetch model; nil: any

	// Contract says that tasks call the API as its users must: a probe is one task's, and a
	// return probe isn't registered twice, nor unregistered if it isn't registered. The engine
	// in Go answers such calls too; in a kernel's they corrupt memory.
	Contract bool

	// Few leaves out programs of fifty probes and more, in which a kernel's own engine takes
	// too many steps.
	Few bool

	// Debugger and Uprobes are for Contract and Few, which leave both out without: a kernel's own
	// handler of breakpoints can be asked before a debugger is, and can go back to user mode.
	Debugger, Uprobes bool

	Memory smp.Ordering // of all machines, so that others are drawn as ever
}

// Of is Generate by a recipe: equal recipes give equal scenarios. It also returns the names
// of the scenario's parts.
func Of(r *Recipe, on On) (sc *scenario.Scenario, parts []string) {
	c := newRecipes(r)
	sc = anything(c, &on)
	if sc.Name = fmt.Sprintf("fuzz-%d", r.Seed); len(r.Parts) > 0 {
		sc.Name = fmt.Sprintf("fuzz-%016x", r.Hash())
	}
	for i := range c.parts {
		parts = append(parts, c.parts[i].name)
	}
	return sc, parts
}

// Fuzz is Of for a recipe without parts, on any machine.
func Fuzz(seed uint64) *scenario.Scenario {
	sc, _ := Of(&Recipe{Seed: seed}, On{})
	return sc
}

// FuzzOn is Fuzz on a machine that is given, with its settings and CPUs, for both engines.
func FuzzOn(seed uint64, m scenario.Machine) *scenario.Scenario {
	s := GenerateOn(newRecipes(&Recipe{Seed: seed}), m)
	s.Name = fmt.Sprintf("fuzz-%d", seed)
	return s
}

// GenerateOn is Generate on a given machine, with its settings and CPUs, for both engines.
func GenerateOn(c Choices, m scenario.Machine) *scenario.Scenario {
	return generate(c, &On{Few: true}, &m, func(g *maker) { g.sc.Machine = m })
}

// Generate draws a whole scenario: a machine of any edition, or of none, with settings
// that are changed one by one; functions of drawn instructions beside those of the library;
// probes of every kind at any offset, mostly at a few addresses, so that they join each
// other and stand in each other's regions; handlers that do more than count; tasks that
// call the API in any order, for each other's probes too, write the sysctl and
// kprobes/enabled, flip a jump label, load a module, exit, bring CPUs and take them down, trace, retarget
// static calls and take lock prefixes away; tasks that run the functions for as long;
// interrupts; data that is away, and data of each CPU.
//
// What comes out is sound: the optimizer's wait is enough for the preemption model, the
// patcher is one that works, and no task hits a probe three deep. So no schedule may break
// a property.
//
// One scenario in libraryIn is made from a built-in one instead (fromLibrary).
func Generate(c Choices) *scenario.Scenario {
	return anything(c, new(On))
}

const libraryIn = 4

// One of the others in i386In is for a kernel of 32 bits.
const i386In = 12

func anything(c Choices, on *On) *scenario.Scenario {
	c.Part("objects")
	if c.One(libraryIn) {
		g := &maker{rand: c, on: on, sc: new(scenario.Scenario)}
		if g.fromLibrary() {
			return g.sc
		}
	}
	return generate(c, on, on.first(), func(g *maker) { g.machineOf(on.Machines) })
}

// first is one of the machines, all of which are for one processor; nil: any may be drawn.
func (on *On) first() *scenario.Machine {
	if on.Machines == nil {
		return nil
	}
	return &on.Machines[0]
}

// generate is Generate with the machine that a function makes, for the processor of the one
// that is given.
func generate(c Choices, on *On, given *scenario.Machine, machine func(g *maker)) *scenario.Scenario {
	g := &maker{rand: c, on: on, labelled: true}
	c.Part("processor")
	if g.i386 = c.One(i386In); given != nil {
		g.i386 = given.Arch == target.I386
		g.whole32 = g.i386
	}
	c.Part("objects")
	if g.moves = c.One(5) && !g.i386; g.moves {
		g.sc = moverBase()
	} else if g.i386 {
		g.sc = base32()
	} else {
		g.sc = plainBase()
	}
	g.sc.Name = "drawn"
	c.Part("machine")
	machine(g)
	g.texts()
	g.rare()
	g.odd()
	c.Part("calls")
	g.changes = g.one(6)
	g.calls()
	g.probes()
	g.wide()
	g.probers()
	g.callers()
	g.sources()
	g.module()
	g.others()
	g.row()
	g.rareTasks()
	g.wideTasks()
	g.built()
	g.settings()
	g.lies()
	g.plugs()
	g.absent(given != nil)
	g.firstInterrupts()
	g.alternatives()
	if on.Contract {
		g.sc = Sane(g.sc)
	}
	return g.sc
}

// Scenarios over the library's functions, without tasks; with the movers, too.
var (
	plainBase = copies(sync.OnceValue(func() *scenario.Scenario { return base("") }))
	moverBase = copies(sync.OnceValue(func() *scenario.Scenario { return base(`elf("work.o"); elf("string.o")`) }))
	moduleOf  = copies(sync.OnceValue(func() *scenario.Scenario { return load(drawnModule) }))
)

// copies makes copies of a scenario to add to: what its texts and data hold is shared, since
// nothing writes to it.
func copies(of func() *scenario.Scenario) func() *scenario.Scenario {
	return func() *scenario.Scenario {
		s := *of()
		s.Texts, s.Datas, s.Modules = slices.Clone(s.Texts), slices.Clone(s.Datas), slices.Clone(s.Modules)
		return &s
	}
}

// load reads what is written here.
func load(text string) *scenario.Scenario {
	s, err := lang.Load("drawn", []byte(text), library.Open)
	if err != nil {
		panic(err)
	}
	return s
}

// A maker is a scenario in the making.
type maker struct {
	rand     Choices
	on       *On
	sc       *scenario.Scenario
	funcs    []string              // that are probed
	labelled bool                  // there is a jump label
	nests    bool                  // a handler calls a function
	tasks    int                   // probers
	kinds    []*scenario.Operation // what these do
	next     string                // the function that is being drawn
	made     []string              // functions that were
	takes    []int                 // how many instructions each executes at most
	focus    string                // the function that most calls are of, whose probe mostly gets a jump
	sleeps   bool                  // focus may sleep: no handler calls it
	sites    []scenario.Site       // of ftrace, in these
	changes  bool                  // a handler changes what is returned
	rares    []string              // functions that few scenarios have
	moves    bool                  // the objects with movers are there
	i386     bool                  // functions are code of 32 bits
	whole32  bool                  // for a kernel that is given, which has no sites of static calls there
	faulty   bool                  // handlers call what faults
	lateSite bool                  // a probe is at a site of ftrace in a module
}

// arch is what the functions are for.
func (g *maker) arch() *arch.Arch { return g.sc.Machine.Processor() }

// one reports true once in n.
func (g *maker) one(n int) bool { return g.rand.One(n) }

// part begins a part of the scenario, of those that are numbered its number i.
func (g *maker) part(name string) { g.rand.Part(name) }

func (g *maker) numbered(name string, i int) { g.rand.Part(fmt.Sprint(name, i)) }
