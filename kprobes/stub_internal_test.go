package kprobes

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/traces"
)

// A stub is the least kernel that an engine can stand on: one CPU, one task, flat
// memory, nothing ever interrupts, and a waiter finds what it waits for done
// already, or does it itself. It knows of the simulator's machine no more than kapi
// says: that the engine's tests pass on it shows that the waist is all they need.
//
// It embeds the waist's interfaces, so that what it doesn't have is a nil
// dereference, and an engine that asks for it is noticed.
type stub struct {
	kapi.Context
	regs   arch.Regs
	mem    map[arch.Addr]byte
	funcs  []kapi.Function
	gates  map[arch.Addr]kapi.Routine
	stubs  map[string]arch.Addr
	next   arch.Addr // executable memory
	atomic int       // how deep in sections that can't be preempted
	works  []*stubWork

	onBreak, onDebug []kapi.TrapHandler
	onExit           func(x kapi.Context)
	onUnwind         kapi.Unwind
}

// Where things are in the stub.
const (
	stubStack arch.Addr = 0xffffffff90001000 // its end
	stubGates arch.Addr = 0xffffffff81800000
	stubText  arch.Addr = 0xffffffff81900000
	stubExec  arch.Addr = 0xffffffff81a00000
	stubBack  arch.Addr = stubGates - 16 // where a call made by Go returns to
)

func newStub(codes []code) *stub {
	s := &stub{mem: make(map[arch.Addr]byte), gates: make(map[arch.Addr]kapi.Routine),
		stubs: make(map[string]arch.Addr), next: stubExec}
	for a := stubStack - 0x1000; a < stubStack; a++ {
		s.mem[a] = 0
	}
	s.regs = arch.Regs{Flags: x86.F1 | x86.IF}
	s.regs.R[x86.RSP] = uint64(stubStack)
	for _, c := range codes {
		s.fill(c.at, c.bytes)
		s.funcs = append(s.funcs, kapi.Function{Name: c.name, Addr: c.at, Size: len(c.bytes)})
	}
	return s
}

// deps are all that it offers.
func (s *stub) deps() Deps {
	return Deps{
		CPUs: 1, Cells: new(kapi.Cells), Text: stubTexts{s: s}, Patch: stubPatch{s}, Sync: stubSync{}, RCU: stubRCU{},
		Locks: stubLocks{},
		Work:  s, Exec: s, Traps: s, Bind: s, Symbols: stubSymbols{s: s}, Tasks: s, Hotplug: stubHotplug{},
	}
}

func (s *stub) fill(at arch.Addr, b []byte) {
	for i, v := range b {
		s.mem[at+arch.Addr(i)] = v
	}
}

// The context.

func (s *stub) CPU() int                                 { return 0 }
func (s *stub) Task() kapi.TaskID                        { return 0 }
func (s *stub) Step(string, int)                         {}
func (s *stub) Access(kapi.CellID, kapi.Mode) kapi.Model { return nil }
func (s *stub) Touch(kapi.CellID, kapi.Mode) kapi.Model  { return nil }
func (s *stub) Mark(kapi.CellID, kapi.Mode)              {}
func (s *stub) Weak() bool                               { return false }
func (s *stub) Fence(kapi.Barrier)                       {}
func (s *stub) Regs() *arch.Regs                         { return &s.regs }
func (s *stub) Memory() arch.Memory                      { return s }
func (s *stub) Stepped(kapi.Context)                     {}
func (s *stub) InNMI() bool                              { return false }
func (s *stub) PreemptDisable()                          { s.atomic++ }
func (s *stub) PreemptEnable()                           { s.atomic-- }
func (s *stub) Atomic() bool                             { return s.atomic > 0 || s.regs.Flags&x86.IF == 0 }
func (s *stub) Emit(traces.Kind, uint64, uint64, uint64) {}
func (s *stub) Work(kapi.Work, int)                      {}
func (s *stub) Spin(w kapi.Cond)                         { s.Sleep(w) }

func (s *stub) Sleep(w kapi.Cond) {
	if !w.Holds() {
		panic("nobody is there to wait for")
	}
}

func (s *stub) IRQ(on bool) (was bool) {
	was = s.regs.Flags&x86.IF != 0
	if s.regs.Flags &^= x86.IF; on {
		s.regs.Flags |= x86.IF
	}
	return was
}

// Memory.

func (s *stub) Load(a arch.Addr, size int) (v uint64, ok bool) {
	for i := range size {
		b, ok := s.mem[a+arch.Addr(i)]
		if !ok {
			return 0, false
		}
		v |= uint64(b) << (8 * i)
	}
	return v, true
}

func (s *stub) Store(a arch.Addr, size int, v uint64) (ok bool) {
	if _, ok := s.Load(a, size); !ok {
		return false
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	s.fill(a, b[:size])
	return true
}

func (s *stub) System() arch.System { return new(x86.System) }

// Call implements kapi.Context: it interprets until the call is back.
func (s *stub) Call(f arch.Addr) uint64 {
	was := s.regs
	s.regs.R[x86.RSP] = was.R[x86.RSP]&^15 - 8
	s.Store(x86.SP(&s.regs), 8, uint64(stubBack))
	for s.regs.IP = f; s.regs.IP != stubBack; {
		if g, ok := s.gates[s.regs.IP]; ok {
			g(s, &s.regs)
			back, _ := s.Load(x86.SP(&s.regs), 8)
			s.regs.R[x86.RSP] += 8
			s.regs.IP = arch.Addr(back)
			continue
		}
		s.instruction()
	}
	left := s.regs.R[x86.RAX]
	s.regs = was
	return left
}

// instruction executes one, with the traps that it has.
func (s *stub) instruction() {
	var b [x86.MaxLen]byte
	for i := range b {
		b[i] = s.mem[s.regs.IP+arch.Addr(i)]
	}
	in, err := x86.Decode(b[:], s.regs.IP)
	if err != nil {
		panic(fmt.Sprintf("at %#x: %v", uint64(s.regs.IP), err))
	}
	stepped := s.regs.Flags&x86.TF != 0
	switch out := in.Exec(&s.regs, s); out {
	case arch.Breakpoint:
		if !s.trap(s.onBreak) {
			panic(fmt.Sprintf("nobody owns the breakpoint at %#x", uint64(in.Addr)))
		}
		return
	case arch.Next, arch.Relaxed, arch.Interrupts, arch.Shadowed:
	default:
		panic(fmt.Sprintf("%v at %#x", out, uint64(in.Addr)))
	}
	if stepped && !s.trap(s.onDebug) {
		s.regs.Flags &^= x86.TF
	}
}

// trap asks the chain, on a stack of its own below that of what was interrupted.
func (s *stub) trap(chain []kapi.TrapHandler) (owned bool) {
	saved := s.regs
	s.regs.R[x86.RSP] = saved.R[x86.RSP]&^15 - 256
	s.regs.Flags &^= x86.IF | x86.TF
	for _, h := range chain {
		if owned = h(s, &saved) != 0; owned {
			break
		}
	}
	s.regs = saved
	return owned
}

func (s *stub) OnBreakpoint(h kapi.TrapHandler) { s.onBreak = append(s.onBreak, h) }
func (s *stub) OnDebug(h kapi.TrapHandler)      { s.onDebug = append(s.onDebug, h) }
func (s *stub) OnFault(kapi.FaultHandler)       {}
func (s *stub) OnStepping(func(cpu int) bool)   {}
func (s *stub) FromUser(kapi.Context) bool      { return false }
func (s *stub) Bug(_ kapi.Context, why string)  { panic("the kernel dies: " + why) }

// Binder, tasks, executable memory, works.

func (s *stub) Bind(_ string, f kapi.Routine) arch.Addr {
	at := stubGates + arch.Addr(16*len(s.gates))
	s.gates[at] = f
	return at
}

func (s *stub) Stub(name string) arch.Addr {
	if _, ok := s.stubs[name]; !ok {
		s.stubs[name] = stubText + arch.Addr(256*len(s.stubs))
		s.funcs = append(s.funcs, kapi.Function{Name: name, Addr: s.stubs[name], Size: 256})
	}
	return s.stubs[name]
}

func (s *stub) Link(stub arch.Addr, code []byte) {
	s.fill(stub, make([]byte, 256))
	s.fill(stub, code)
}

func (s *stub) Count() int                                   { return 1 }
func (s *stub) StackTop(kapi.Context) arch.Addr              { return stubStack }
func (s *stub) OnUser(func(x kapi.Context, regs *arch.Regs)) {}
func (s *stub) RunUser(kapi.Context, arch.Addr)              {}
func (s *stub) InUser(kapi.Context, uint8, *arch.Regs)       {}
func (s *stub) OnExit(f func(x kapi.Context))                { s.onExit = f }
func (s *stub) OnUnwind(f kapi.Unwind)                       { s.onUnwind = f }
func (s *stub) Unwind(x kapi.Context, t kapi.TaskID, slot, word arch.Addr) (arch.Addr, bool) {
	return s.onUnwind(x, t, slot, word)
}

func (s *stub) unwound(x kapi.Context, slot, word arch.Addr) arch.Addr {
	if to, ok := s.onUnwind(x, x.Task(), slot, word); ok {
		return to
	}
	return word
}

func (s *stub) Backtrace(x kapi.Context, sp arch.Addr, to []arch.Addr) []arch.Addr {
	for slot := sp; slot < stubStack; slot += 8 {
		v, _ := s.Load(slot, 8)
		if _, ok := (stubSymbols{s: s}).Lookup(arch.Addr(v)); ok {
			to = append(to, s.unwound(x, slot, arch.Addr(v)))
		}
	}
	return to
}

func (s *stub) Alloc(_ kapi.Context, size int, _ uint64) (arch.Addr, bool) {
	at := s.next
	s.next += arch.Addr(size)
	s.fill(at, make([]byte, size))
	return at, true
}

func (s *stub) Free(_ kapi.Context, at arch.Addr, size int, _ uint64) {
	for i := range size {
		s.mem[at+arch.Addr(i)] = x86.Int3
	}
}

func (s *stub) Retire(x kapi.Context, at arch.Addr, size int, what uint64) { s.Free(x, at, size, what) }

type stubWork struct {
	f      func(x kapi.Context)
	queued bool
}

func (s *stub) NewDelayedWork(_ string, f func(x kapi.Context)) kapi.DelayedWork {
	w := &stubWork{f: f}
	s.works = append(s.works, w)
	return w
}

func (w *stubWork) Queue(kapi.Context) { w.queued = true }

func (w *stubWork) Flush(x kapi.Context) {
	for w.queued {
		w.queued = false
		w.f(x)
	}
}

// Text, patching, and what is trivial on one CPU.

type stubTexts struct {
	kapi.Text
	s *stub
}

func (t stubTexts) Read(_ kapi.Context, at arch.Addr, b []byte) {
	for i := range b {
		b[i] = t.s.mem[at+arch.Addr(i)]
	}
}

func (t stubTexts) Write(_ kapi.Context, at arch.Addr, b []byte) { t.s.fill(at, b) }
func (t stubTexts) Fill(_ kapi.Context, at arch.Addr, b []byte)  { t.s.fill(at, b) }
func (t stubTexts) Poke(_ kapi.Context, at arch.Addr, b []byte)  { t.s.fill(at, b) }
func (t stubTexts) Mutex() kapi.Mutex                            { return stubLock{} }
func (t stubTexts) Arch() *arch.Arch                             { return x86.AMD64 }

func (t stubTexts) Decode(b []byte, at arch.Addr) (arch.Inst, error) { return x86.AMD64.Decode(b, at) }

type stubPatch struct{ s *stub }

func (p stubPatch) Patch(_ kapi.Context, at arch.Addr, b []byte, _ arch.Addr) { p.s.fill(at, b) }

type stubLock struct{}

func (stubLock) Lock(kapi.Context)       {}
func (stubLock) Unlock(kapi.Context)     {}
func (stubLock) AssertHeld(kapi.Context) {}

type stubLocks struct{}

func (stubLocks) NewMutex(string) kapi.Mutex             { return stubLock{} }
func (stubLocks) NewSpinlock(string, bool) kapi.Spinlock { return stubLock{} }

type stubHotplug struct{}

func (stubHotplug) ReadLock(kapi.Context)   {}
func (stubHotplug) ReadUnlock(kapi.Context) {}
func (stubHotplug) AssertHeld(kapi.Context) {}

type stubSync struct{}

func (stubSync) Core(kapi.Context, kapi.Why) {}
func (stubSync) Self(kapi.Context, kapi.Why) {}

type stubRCU struct{}

func (stubRCU) Synchronize(kapi.Context, kapi.Flavour) {}
func (stubRCU) ReadLock(kapi.Context)                  {}
func (stubRCU) ReadUnlock(kapi.Context)                {}
func (stubRCU) Sections(kapi.Context) int              { return 0 }
func (stubRCU) Call(x kapi.Context, h kapi.Reclaimer)  { h.Reclaim(x) }

type stubSymbols struct {
	kapi.Symbols
	s *stub
}

func (y stubSymbols) Lookup(a arch.Addr) (kapi.Function, bool) {
	for _, f := range y.s.funcs {
		if a >= f.Addr && a < f.Addr+arch.Addr(f.Size) {
			return f, true
		}
	}
	return kapi.Function{}, false
}

func (y stubSymbols) Named(name string) (kapi.Function, bool) {
	for _, f := range y.s.funcs {
		if f.Name == name {
			return f, true
		}
	}
	return kapi.Function{}, false
}

func (y stubSymbols) Kind(a arch.Addr) kapi.TextKind {
	if _, ok := y.Lookup(a); ok {
		return kapi.TextCore
	}
	return kapi.TextNone
}

func (stubSymbols) Extable(arch.Addr, int) bool                          { return false }
func (stubSymbols) Reserved(arch.Addr, int) bool                         { return false }
func (stubSymbols) Sites(to []kapi.Site, _ arch.Addr, _ int) []kapi.Site { return to }
func (stubSymbols) Banned(arch.Addr) kapi.Ban                            { return kapi.BanNone }
func (stubSymbols) Blacklist(to []kapi.Banned) []kapi.Banned             { return to }
func (stubSymbols) Look(kapi.Context)                                    {}

// TestStub: the kernel's unit tests and selftests hold on the stub as they do on the
// simulated machine.
func TestStub(t *testing.T) {
	for _, units := range [][]kunit{kunits, kunitRets, kunitJs, selftests} {
		for i := range units {
			u := &units[i]
			for _, ed := range orAll(u.in, every) {
				for _, preemption := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/%v/preemption=%v", u.name, ed, preemption), func(t *testing.T) {
						s := newStub(u.codes())
						c := &kcase{ed: ed, alone: true, e: New(s.deps(), settingsOf(ed, preemption))}
						u.run(c, s)
						require.Empty(t, c.wrong)
						require.Zero(t, s.atomic, "preemption is still off")
						require.Equal(t, stubStack, x86.SP(&s.regs))
					})
				}
			}
		}
	}
}
