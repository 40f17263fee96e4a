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
)

// Addresses of rare functions and of the data that they use.
const (
	raresAt      arch.Addr = 0xffffffff81042000
	locksAt      arch.Addr = 0xffffffff83042000 // incremented with a lock prefix, never read
	farAt        arch.Addr = 0xffffffff83043000 // two absent pages
	ownAt        arch.Addr = 0xffffffff83045000 // per-CPU data
	bufsAt       arch.Addr = 0xffffffff83046000 // one buffer for each call that needs one
	bufSize                = 32                 // bytes of a buffer
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
