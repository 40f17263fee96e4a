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
)

// An On selects what scenarios are drawn for. The zero value is any machine with the engine in
// Go.
type On struct {
	Machines []scenario.Machine // one of these, with random CPUs and fetch model; nil: any

	// Contract makes tasks call the API as its users must: a probe belongs to one task, and a
	// return probe is neither registered twice nor unregistered while unregistered. The engine in
	// Go has answers to such calls; in a kernel's engine they corrupt memory.
	Contract bool

	// Few omits programs with fifty probes or more, in which a kernel's own engine takes too many
	// steps.
	Few bool

	// Debugger and Uprobes allow debuggers and uprobes with Contract and Few, which otherwise
	// exclude both. They require a kernel whose own breakpoint handler can be asked before the
	// debugger, and can return to user mode.
	Debugger, Uprobes bool

	Without []string // built-in scenarios that none is derived from (fromLibrary)

	Memory smp.Ordering // memory model of all machines; it isn't drawn, so the other draws don't depend on it
}

// Of is Generate driven by a recipe: equal recipes give equal scenarios. It also returns the
// names of the scenario's parts.
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

// FuzzOn is Fuzz on a given machine, with its settings and CPUs, for both engines.
func FuzzOn(seed uint64, m scenario.Machine) *scenario.Scenario {
	s := GenerateOn(newRecipes(&Recipe{Seed: seed}), m)
	s.Name = fmt.Sprintf("fuzz-%d", seed)
	return s
}

// GenerateOn is Generate on a given machine, with its settings and CPUs, for both engines.
func GenerateOn(c Choices, m scenario.Machine) *scenario.Scenario {
	if t := tongues[m.Arch]; t != nil {
		return drawWords(c, &On{Few: true}, t, func(g *maker) { g.sc.Machine = m })
	}
	return generate(c, &On{Few: true}, &m, func(g *maker) { g.sc.Machine = m })
}

// Generate draws a whole scenario: a machine of any edition, or of none, with individually
// changed settings; random functions besides those of the library; probes of every kind at any
// offset, mostly at a few addresses, so that they share addresses and lie in each other's
// regions; handlers that do more than count. Tasks call the API in any order, also for each
// other's probes, write the sysctl and kprobes/enabled, flip a jump label, load a module, exit,
// bring CPUs online and offline, trace, retarget static calls and remove lock prefixes; other
// tasks run the functions meanwhile. There are interrupts, absent data, and per-CPU data.
//
// The result is sound: the optimizer's wait suffices for the preemption model, the patcher works,
// and no task hits a probe three levels deep. So no schedule may break a property.
//
// One scenario in libraryIn is derived from a built-in one instead (fromLibrary), and one in sceneIn of the
// others is a small one about one thing (scene).
func Generate(c Choices) *scenario.Scenario {
	return anything(c, new(On))
}

const libraryIn = 4

// i386In: one in this many of the others is for a 32-bit kernel.
const i386In = 12

func anything(c Choices, on *On) *scenario.Scenario {
	if m := on.first(); m != nil && tongues[m.Arch] != nil {
		return drawWords(c, on, tongues[m.Arch], func(g *maker) { g.machineOf(on.Machines) })
	}
	c.Part("objects")
	if c.One(libraryIn) {
		g := &maker{rand: c, on: on, sc: new(scenario.Scenario)}
		if g.fromLibrary() {
			return g.sc
		}
	}
	c.Part("theme")
	if c.One(sceneIn) {
		g := &maker{rand: c, on: on}
		if drawScene(g) {
			return g.sc
		}
	}
	return generate(c, on, on.first(), func(g *maker) { g.machineOf(on.Machines) })
}

// first returns one of the machines, which are all of one processor; nil: any may be drawn.
func (on *On) first() *scenario.Machine {
	if on.Machines == nil {
		return nil
	}
	return &on.Machines[0]
}

// generate is Generate with a machine made by a function, for the processor of the given one.
func generate(c Choices, on *On, given *scenario.Machine, machine func(g *maker)) *scenario.Scenario {
	g := &maker{rand: c, on: on, labelled: true}
	c.Part("processor")
	if g.i386 = c.One(i386In); given != nil {
		g.i386 = given.Arch.Bits32()
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
	g.tales(true)
	g.probers()
	g.callers()
	g.sources()
	g.module()
	g.others()
	g.row()
	g.rareTasks()
	g.tales(false)
	g.built()
	g.settings(true)
	g.lies()
	g.plugs()
	g.settings(false)
	g.absent(given != nil)
	strays(g)
	firstInterrupts(g.sc)
	g.alternatives()
	if on.Contract {
		g.sc = Sane(g.sc)
	}
	return g.sc
}

// Scenarios over the library's functions, without tasks; one has the movers too.
var (
	plainBase = copies(sync.OnceValue(func() *scenario.Scenario { return base("") }))
	moverBase = copies(sync.OnceValue(func() *scenario.Scenario { return base(`elf("work.o"); elf("string.o")`) }))
	moduleOf  = copies(sync.OnceValue(func() *scenario.Scenario { return load(drawnModule) }))
)

// copies makes copies of a scenario to extend. They share the contents of texts and data, which
// are never written.
func copies(of func() *scenario.Scenario) func() *scenario.Scenario {
	return func() *scenario.Scenario {
		s := *of()
		s.Texts, s.Datas, s.Modules = slices.Clone(s.Texts), slices.Clone(s.Datas), slices.Clone(s.Modules)
		return &s
	}
}

// load parses a scenario in this file's source.
func load(text string) *scenario.Scenario {
	s, err := lang.Load("drawn", []byte(text), library.Open)
	if err != nil {
		panic(err)
	}
	return s
}

// A maker is a scenario being drawn.
type maker struct {
	rand     Choices
	on       *On
	sc       *scenario.Scenario
	funcs    []string              // functions with probes
	labelled bool                  // there is a jump label
	nests    bool                  // a handler calls a function
	tasks    int                   // number of probers
	kinds    []*scenario.Operation // operations that probers do
	next     string                // the function being drawn
	made     []string              // functions drawn so far
	takes    []int                 // the maximum number of instructions each executes
	special  [][]int               // function.special of each
	focus    string                // the function of most calls; its probe mostly gets a jump
	sleeps   bool                  // focus may sleep, so no handler calls it
	sites    []scenario.Site       // sites of ftrace in the functions
	changes  bool                  // a handler changes return values
	rares    []string              // functions that few scenarios have
	moves    bool                  // the objects with movers are included
	i386     bool                  // the functions are 32-bit code
	whole32  bool                  // for a given 32-bit kernel, which has no sites of static calls
	faulty   bool                  // handlers call functions that fault
	lateSite bool                  // a probe is at a site of ftrace in a module
	wanted   bool                  // a tale is drawn for certain
}

// arch returns the architecture of the functions.
func (g *maker) arch() *arch.Arch { return g.sc.Machine.Processor() }

// one reports true once in n.
func (g *maker) one(n int) bool { return g.rand.One(n) }

// rarely reports true once in n, and always where the part that asks is what the scenario is about.
func rarely(g *maker, n int) bool { return g.wanted || g.rand.One(n) }

// part starts a part of the scenario.
func (g *maker) part(name string) { g.rand.Part(name) }

func (g *maker) numbered(name string, i int) { g.rand.Part(fmt.Sprint(name, i)) }
