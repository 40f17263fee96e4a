package gen

import (
	"encoding/binary"
	"fmt"
	"slices"

	"kpsim/internal/scenario"
	"kpsim/internal/scenario/act"
	"kpsim/kprobes/rules"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// Addresses of rare functions and of the data that they use.
const (
	raresAt      arch.Addr = 0xffffffff81042000
	locksAt      arch.Addr = 0xffffffff83042000 // incremented with a lock prefix, never read
	farAt        arch.Addr = 0xffffffff83043000 // two absent pages
	ownAt        arch.Addr = 0xffffffff83045000 // per-CPU data
	bufsAt       arch.Addr = 0xffffffff83046000 // one buffer for each call that needs one
	workedAt     arch.Addr = 0xffffffff81057000
	workedName             = "worked"
	bufSize                = 32 // bytes of a buffer
	bufsName               = "bufs"
	switchedName           = "switched"
)

// rare adds functions that few scenarios have: a static call, an instruction whose lock prefix
// comes and goes, absent data, per-CPU data, and functions of real objects that move memory.
// Tasks call them; handlers don't.
func (g *maker) rare() {
	g.part("rare")
	at := raresAt + arch.Addr(g.rand.N(32))
	add := func(name string, make func(f *function)) {
		f := &function{g: g, at: at, calm: true}
		make(f)
		g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: name, At: at, Code: f.code, Extable: f.extable})
		if name != "one" && name != "two" {
			g.rares = append(g.rares, name)
		}
		at += arch.Addr(len(f.code) + g.rand.N(16))
	}
	data := func(d scenario.Data) { g.sc.Datas = append(g.sc.Datas, d) }
	// kernels before 5.10 have none, and their rules know no such site
	if g.one(5) && g.sc.Machine.Kernel.Edition >= rules.Edition514 && !g.whole32 {
		g.static(add)
	}
	if g.one(5) {
		add("locked", func(f *function) {
			f.body(2)
			g.sc.Locked = append(g.sc.Locked, scenario.Site{Func: "locked", Offset: len(f.code)})
			f.number(locksAt, 0xf0, 0xff, 0x04) // lock incl
			f.put(0x31, 0xc0)                   // clear the flags
			f.put(0xc3)
		})
		data(scenario.Data{Name: "locks", At: locksAt, Bytes: make([]byte, 8)})
	}
	if g.one(5) {
		for i := range 1 + g.rand.N(2) {
			at := farAt + arch.Addr(i)*scenario.Page
			add(fmt.Sprintf("far%d", i), func(f *function) {
				end := f.begin()
				f.extable = append(f.extable, len(f.code))
				f.data(at+arch.Addr(g.rand.N(8)), 0x8b, 0x05) // mov far(%rip),%eax
				f.body(1 + g.rand.N(2))
				f.end(end)
			})
			data(scenario.Data{Name: fmt.Sprintf("far%d_data", i), At: at, Bytes: []byte("away as a run begins"),
				Away: true})
		}
	}
	if g.one(5) {
		own := by32(g, byte(0x65), 0x64) // gs, or fs
		add("own", func(f *function) {
			f.body(1 + g.rand.N(2))
			f.number(ownAt, own, 0x8b, 0x0c)   // mov %gs:own,%ecx
			f.number(ownAt+8, own, 0xff, 0x04) // incl %gs:own+8
			f.put(0x31, 0xc0)                  // clear flags that depend on the count
			f.body(1)
			f.put(0xc3)
		})
		data(scenario.Data{Name: "own_data", At: ownAt, Bytes: []byte("a CPU's own data")[:16], PerCPU: true})
	}
	if g.moves {
		g.rares = append(g.rares, movers...)
		data(scenario.Data{Name: bufsName, At: bufsAt, Bytes: make([]byte, bufSize)})
	}
}

// movers are the functions of work.o and string.o.
var movers = []string{"crc32", "sort", "memset", "memcpy", "memmove"}

// absolute adds an instruction that ends in an address in the upper 2 GB.
func (f *function) absolute(at arch.Addr, op ...byte) {
	f.put(binary.LittleEndian.AppendUint32(op, uint32(at))...)
}

// end adds the epilogue of a beginning, and the return.
func (f *function) end(end []byte) {
	for _, b := range end {
		f.put(b)
	}
	f.put(0xc3)
}

// static adds a static call. Its result depends on its current target, so it isn't compared.
func (g *maker) static(add func(name string, make func(f *function))) {
	s := scenario.StaticCall{Name: "static"}
	for i, name := range []string{"one", "two"} {
		add(name, func(f *function) {
			f.put(0xb8, byte(1+i), 0, 0, 0)
			f.put(0xc3)
		})
	}
	add(switchedName, func(f *function) {
		f.body(1 + g.rand.N(3))
		s.Sites = append(s.Sites, scenario.CallSite{Func: switchedName, Offset: len(f.code)})
		f.put(x86.Nop5[:]...)
		f.body(1)
		f.put(0xc3)
	})
	if g.one(2) {
		add("switched_tail", func(f *function) {
			f.body(1)
			s.Sites = append(s.Sites, scenario.CallSite{Func: "switched_tail", Offset: len(f.code), Tail: true})
			f.put(0xc3)
			f.code = append(f.code, x86.Int3, x86.Int3, x86.Int3, x86.Int3)
		})
	}
	g.sc.Calls = append(g.sc.Calls, s)
}

// rareTasks adds the tasks for rare's functions.
func (g *maker) rareTasks() {
	g.part("rare-tasks")
	add := func(name string, ops ...scenario.Op) {
		g.sc.Tasks = append(g.sc.Tasks, scenario.Task{Name: name, CPU: g.rand.N(g.sc.Machine.CPUs),
			Repeat: 1 + g.rand.N(2), Ops: ops})
	}
	if len(g.sc.Calls) > 0 {
		set := func(to ...string) scenario.Op {
			return scenario.Op{Kind: act.SetCall, Target: "static", Targets: to}
		}
		add("setter", set("one"), g.callOf(switchedName), set("two"), set())
	}
	if len(g.sc.Locked) > 0 {
		add("unlocker", scenario.Op{Kind: act.Locks}, scenario.Op{Kind: act.Schedule},
			scenario.Op{Kind: act.Locks, On: true})
	}
}

// moverArgs returns the arguments of a call of a mover, which reads the pool and writes to a
// buffer of its own.
func (g *maker) moverArgs(f string) []uint64 {
	from, n := uint64(poolAt)+8*uint64(g.rand.N(4)), uint64(g.rand.N(4))
	if f == "crc32" {
		return []uint64{from, n}
	}
	bufs := &g.sc.Datas[slices.IndexFunc(g.sc.Datas, func(d scenario.Data) bool { return d.Name == bufsName })]
	to := uint64(bufs.At) + uint64(len(bufs.Bytes))
	bufs.Bytes = append(bufs.Bytes, make([]byte, bufSize)...)
	switch f {
	case "sort":
		return []uint64{to, from, n}
	case "memset":
		return []uint64{to, n, 7 * n}
	}
	return []uint64{to, from, 7 * n}
}

// drawWorks adds a function that a work calls, tasks that queue the work and wait for it, and mostly a
// probe in the function that comes and goes meanwhile.
func drawWorks(g *maker) {
	if !g.one(10) || g.on.Contract || g.on.Few {
		return
	}
	code, starts := []byte{0x55, 0x48, 0x89, 0xf8, 0x48, 0x83, 0xc0, 0x03, 0x5d, 0xc3}, []int{0, 1, 4, 8, 9}
	if g.i386 {
		code, starts = []byte{0x55, 0x89, 0xd0, 0x83, 0xc0, 0x03, 0x5d, 0xc3}, []int{0, 1, 3, 6, 7}
	}
	g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: workedName, At: workedAt, Code: code})
	queue := scenario.Op{Kind: act.QueueWork, Target: workedName}
	between := []scenario.Op{{Kind: act.Schedule}, queue, {Kind: act.FlushWork, Target: workedName}}
	for range 1 + g.rand.N(2) {
		ops := []scenario.Op{queue}
		for range 1 + g.rand.N(4) {
			ops = append(ops, between[g.rand.N(len(between))])
		}
		g.alone(fmt.Sprint("queuer", len(g.sc.Tasks)), append(ops, between[2]))
	}
	if g.one(4) {
		return
	}
	p := scenario.Probe{Name: "at-worked", Func: workedName, Offset: starts[g.rand.N(len(starts))]}
	count := []scenario.Step{{Kind: scenario.StepCount}}
	switch g.rand.N(4) {
	case 0:
		p.Kind, p.Offset, p.Post = scenario.ProbeKretprobe, 0, count
	case 1:
		p.Post = count
	}
	p.Disabled = g.sc.Machine.Batches && g.one(4)
	k := g.own(p)
	var ops []scenario.Op
	for range 1 + g.rand.N(3) {
		ops = append(ops, scenario.Op{Kind: act.Register, Target: k}, g.settled(), queue,
			scenario.Op{Kind: act.Unregister, Target: k}, queue)
	}
	g.alone("worker", ops)
}

// strays adds tasks that do what others do, or undo it, at any time: each object of the scenario is
// changed by several tasks. So its states are met by each operation, and operations by each other.
func strays(g *maker) {
	g.part("strays")
	if !g.one(4) || g.on.Contract || g.on.Few {
		return
	}
	var groups [][]scenario.Op // by object
	var calls []scenario.Op
	for i := range g.sc.Tasks {
		for _, op := range g.sc.Tasks[i].Ops {
			if op.Kind == act.Call && seen(g, op.Target) {
				calls = append(calls, op)
			}
			if !sharable(g, &op) {
				continue
			}
			n := slices.IndexFunc(groups, func(of []scenario.Op) bool { return of[0].Kind.Object == op.Kind.Object })
			if n < 0 {
				n, groups = len(groups), append(groups, nil)
			}
			groups[n] = append(groups[n], op)
		}
	}
	if len(groups) == 0 {
		return
	}
	for i := range 1 + g.rand.N(2) {
		g.numbered("stray", i)
		var ops []scenario.Op
		for range 3 + g.rand.N(6) {
			of := groups[g.rand.N(len(groups))]
			if ops = append(ops, stray(g, of[g.rand.N(len(of))])); g.one(4) {
				ops = append(ops, g.settled())
			}
		}
		if len(calls) > 0 { // what they have left is seen
			ops = append(ops, calls[g.rand.N(len(calls))], g.settled(), calls[g.rand.N(len(calls))])
		}
		cpu := g.rand.N(g.sc.Machine.CPUs)
		if g.sc.Machine.Offline>>cpu&1 != 0 {
			cpu = 0
		}
		g.sc.Tasks = append(g.sc.Tasks, scenario.Task{Name: fmt.Sprint("stray", i), CPU: cpu, Repeat: 1 + g.rand.N(2),
			Ops: ops})
	}
}

// seen reports whether any task may call a function: its text stays, and a call needs no buffer of its own.
func seen(g *maker, f string) bool {
	return !slices.Contains(movers, f) && !slices.ContainsFunc(g.sc.Modules, func(m scenario.Module) bool {
		return slices.Contains(m.Core, f) || slices.Contains(m.Init, f)
	}) && f != applied
}

// sharable reports whether another task may do an operation, too, or undo it.
func sharable(g *maker, op *scenario.Op) bool {
	lent := slices.ContainsFunc(g.sc.Modules, func(m scenario.Module) bool { return lends(g.sc, &m) })
	switch op.Kind.Object {
	case scenario.Nothing, scenario.AFunction, scenario.AllAlternatives:
		return false
	case scenario.AModule: // a call of text that isn't there is a fault
		return !lent && !g.sc.Any(func(c *scenario.Op) bool {
			return c.Kind == act.Call && slices.ContainsFunc(g.sc.Modules, func(m scenario.Module) bool {
				return slices.Contains(m.Core, c.Target)
			})
		})
	case scenario.ADirect, scenario.AnFprobe, scenario.ABpf, scenario.ADispatcher, scenario.ATailCall:
		return !lent
	case scenario.APatch:
		return g.sc.Machine.Quiesce != kapi.QuiesceStackCheck
	case scenario.AProbe:
		if op.Target == "" {
			return false
		}
		// alternatives are written over a probe that comes before them
		p := g.sc.Probe(op.Target)
		if p.Func == "last" || p.Func == applied || lent && p.Name == "lent" {
			return false
		}
		// an array takes back what it has registered: in between, calls of other tasks have answers that no
		// order of calls gives
		return !g.sc.Any(func(c *scenario.Op) bool {
			return len(c.Targets) > 1 && slices.Contains(c.Targets, op.Target)
		})
	}
	return true
}

// stray draws an operation about the object of another one.
func stray(g *maker, op scenario.Op) scenario.Op {
	m := &g.sc.Machine
	if op.Kind.Object == scenario.AProbe {
		kinds := []*scenario.Operation{act.Register, act.Unregister}
		if m.Batches {
			kinds = append(kinds, act.Enable, act.Disable)
			if g.sc.Probe(op.Target).Kind != scenario.ProbeJprobe {
				kinds = append(kinds, act.RegisterAll, act.UnregisterAll)
			}
		}
		k := kinds[g.rand.N(len(kinds))]
		if k.Has(scenario.ParamParts) {
			return scenario.Op{Kind: k, Targets: []string{op.Target}}
		}
		return scenario.Op{Kind: k, Target: op.Target}
	}
	if op.Kind.Has(scenario.ParamOn) {
		op.On = g.one(2)
	}
	undo := act.Named(op.Kind.Inverse)
	if undo == nil || g.one(2) || undo.Has(scenario.ParamInto, scenario.ParamIntos) {
		return op
	}
	op.Kind, op.Fails, op.User = undo, smpev.CPUStepNone, scenario.User{}
	if !undo.Has(scenario.ParamFuncs) {
		op.Targets = nil
	}
	return op
}
