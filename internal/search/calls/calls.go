package calls

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"kpsim/internal/search/replay"
	"kpsim/linux/linuxev"
	"kpsim/linux/source"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/traces"
	"kpsim/traces/view"
)

// callsMost is the maximum number of calls that are kept of a run.
const callsMost = 100_000

// Follow repeats the run of a replay and records, for a reader, the calls of the kernel's own
// engine and where the CPUs stand at each deviation.
func Follow(r *replay.Replay, s *source.Source, in *view.Input) {
	f := &follower{m: r.Rig.Machine, log: &r.Rig.Log, source: s,
		strategy: sched.NewAnchored(r.Taken, r.Rig.Machine.Names())}
	r.Rig.Log.Subscribe(f, linuxev.Call)
	defer r.Rig.Log.Unsubscribe(f)
	if run := r.Rig.Play(f); run.Digest != r.Digest {
		sim.Bug("follow: the run has digest %016x, the replay had %016x", run.Digest, r.Digest)
	}
	in.Calls = f.calls
	if len(f.stood) == len(in.Schedule) {
		in.Stood = f.stood
	}
	in.Line = func(addr uint64) string { return s.Says(arch.Addr(addr)) }
}

// A follower is the strategy of the repeated run, and a sink.
type follower struct {
	m        *smp.Machine
	log      *traces.Log
	source   *source.Source
	strategy sched.Strategy
	calls    []view.Call
	stood    [][]string
	lines    map[arch.Addr][]view.Frame // by return address
}

// Begin implements sched.Strategy.
func (f *follower) Begin(i uint64) bool {
	f.calls, f.stood = nil, nil
	return f.strategy.Begin(i)
}

// End implements sched.Strategy.
func (f *follower) End(points uint64) { f.strategy.End(points) }

func (f *follower) String() string { return f.strategy.String() }

// Choose implements sim.Chooser.
func (f *follower) Choose(p *sim.Point) (pick, hold int) {
	pick, hold = f.strategy.Choose(p)
	if pick != 0 {
		var lines []string
		for cpu := range f.m.CPUs() {
			lines = append(lines, fmt.Sprintf("cpu%d: %s", cpu, f.stands(cpu)))
		}
		f.stood = append(f.stood, lines)
	}
	return pick, hold
}

// stands describes where a CPU stands.
func (f *follower) stands(cpu int) string {
	task := f.m.Inspect().Current(cpu)
	if task.Idle() {
		return "idle"
	}
	name, off, text := f.m.Names().Where(sim.Mover(cpu))
	regs, _ := f.m.Inspect().Regs(cpu)
	says := task.Name + " in " + name
	if text {
		says += fmt.Sprintf("+%#x", off)
		if line := f.source.Says(regs.IP); line != "" {
			says += ", " + line
		}
		return says
	}
	if chain := f.chain(&regs, f.m.Arch().StackPointer(&regs)); chain != nil {
		says += ", called by " + f.from(chain)
		if line := f.place(chain); line != "" {
			says += ", " + line
		}
	}
	return says
}

// chain returns the return addresses of the calls that are open in a routine that the kernel has called, given the
// registers and the stack pointer that the routine began with.
func (f *follower) chain(regs *arch.Regs, sp arch.Addr) []arch.Addr {
	a := f.m.Arch()
	to := uint64(regs.R[a.Link])
	if a.Pushed > 0 {
		to, _ = f.load(sp)
		sp += arch.Addr(a.Pushed)
	}
	return f.source.Chain(arch.Addr(to), sp, f.load, f.until)
}

// load reads a word of memory.
func (f *follower) load(at arch.Addr) (uint64, bool) {
	var b [8]byte
	word := f.m.Arch().Word
	n := f.m.Inspect().BytesAt(at, b[:word])
	return binary.LittleEndian.Uint64(b[:]), n == word
}

// until reports whether a return address is that of a routine written in Go.
func (f *follower) until(v uint64) bool {
	a, page := f.m.Arch(), arch.Addr(v)&^0xfffff
	return page == a.Addr(smp.GateBase) || page == kapi.GatesOf(a)&^0xfffff
}

// place returns the line of the innermost call of a chain whose line is known: of a kernel's functions, those that
// objects with lines replace.
func (f *follower) place(chain []arch.Addr) string {
	for _, a := range chain {
		if line := f.source.Place(a - 1); line != "" {
			return line
		}
	}
	return ""
}

// from names the functions of a chain, outermost first.
func (f *follower) from(chain []arch.Addr) string {
	var names []string
	for _, a := range slices.Backward(chain) {
		names = append(names, f.source.Functions(a-1)...)
	}
	return strings.Join(slices.Compact(names), " > ")
}

// Event implements traces.Sink.
func (f *follower) Event(e *traces.Event) *traces.Finding {
	regs, _ := f.m.Inspect().Regs(int(e.CPU))
	chain := f.chain(&regs, arch.Addr(e.B))
	if chain == nil || len(f.calls) == callsMost {
		return nil
	}
	name, _, _ := f.m.Names().SymbolAt(arch.Addr(e.A))
	f.calls = append(f.calls, view.Call{
		Seq: e.Seq, CPU: e.CPU, Task: e.Task, From: f.from(chain), Where: f.place(chain),
		Says: fmt.Sprintf("%s(%s)", name, f.argument(e.C)), Frames: f.frames(chain),
	})
	return nil
}

// linesNear is the number of source lines kept before and after a line.
const linesNear = 3

// frames returns the functions of a chain with their lines, innermost first.
func (f *follower) frames(chain []arch.Addr) (list []view.Frame) {
	for _, a := range chain {
		frames, ok := f.lines[a]
		if !ok {
			for _, v := range f.source.Frames(a - 1) {
				w := view.Frame{Func: v.Func, File: v.File, Line: v.Line}
				w.From, w.Text = f.source.Around(v.File, v.Line, linesNear)
				frames = append(frames, w)
			}
			if f.lines == nil {
				f.lines = make(map[arch.Addr][]view.Frame)
			}
			f.lines[a] = frames
		}
		list = append(list, frames...)
	}
	return list
}

// argument names the object that an argument points to; "" if it points to none.
func (f *follower) argument(v uint64) string {
	if v>>63 == 0 { // a number, not a kernel pointer
		return ""
	}
	name, off, ok := f.m.Names().SymbolAt(arch.Addr(v))
	switch {
	case !ok:
		return ""
	case off == 0:
		return name
	}
	return fmt.Sprintf("%s+%#x", name, off)
}
