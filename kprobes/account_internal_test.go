package kprobes

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/thorough"
	"kpsim/kprobes/era"
	"kpsim/kprobes/rules"
	"kpsim/sched"
	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/kernel"
)

// A told probe is what the API's user knows of one: what he has asked for, and
// what was answered.
type told struct {
	k                          *Kprobe
	at                         arch.Addr
	registered, disabled, gone bool
}

// An account is what must be true of an engine by what one task has asked of it:
// which handlers a call runs, in which order; which flags a probe has; what is an
// error; and what is left when all is unregistered.
type account struct {
	*ledger
	b         *bench
	x         *smp.Ctx
	r         *sim.Rand
	s         *Settings
	m         *kernel.Module
	loaded    bool
	off       bool // enabled says 0
	probes    []*told
	chains    map[arch.Addr][]*told // who is registered at an address, the last one first
	ran, want []string
}

// accounted are the functions that are called, the arguments and what they return.
var accounted = []struct {
	at        arch.Addr
	arg, want uint64
	points    []arch.Addr
	module    bool
}{
	{at: victim.at, arg: 5, want: 8, points: []arch.Addr{0, 3, 7}},
	{at: crowded.at, arg: 5, want: 11, points: []arch.Addr{0, 1, 4, 5}},
	{at: traced.at, arg: 7, want: 10, points: []arch.Addr{0, 5}},
	{at: modCore, arg: 5, want: 8, points: []arch.Addr{0, 3}, module: true},
	{at: modCore + 0x20, arg: 6, want: 6, points: []arch.Addr{0}, module: true},
	{at: modCore + 0x40, arg: 7, want: 10, points: []arch.Addr{0}, module: true},
}

func inModule(at arch.Addr) bool { return at >= modCore }

// newTold makes a probe in one of some functions, with a post_handler or without.
func (a *account) newTold(id int, in []int) *told {
	f := accounted[in[a.r.N(len(in))]]
	p := &told{at: f.at + f.points[a.r.N(len(f.points))]}
	p.k = &Kprobe{ID: uint64(id), Addr: p.at, Pre: func(_ kapi.Context, k *Kprobe, _ *arch.Regs) int {
		a.ran = append(a.ran, fmt.Sprint("pre ", k.ID))
		return 0
	}}
	if a.r.N(3) == 0 {
		p.k.Post = func(_ kapi.Context, k *Kprobe, _ *arch.Regs, _ uint64) {
			a.ran = append(a.ran, fmt.Sprint("post ", k.ID))
		}
	}
	return p
}

// asks sets the fields of a probe that its user sets.
func (a *account) asks(p *told) {
	p.k.Addr, p.k.Flags = p.at, Flags(a.r.N(2))*FlagDisabled|Flags(a.r.N(2))*FlagGone
}

// takes notes that a probe was registered.
func (a *account) takes(p *told) {
	p.registered, p.gone = true, false
	p.disabled = p.k.Flags&FlagDisabled != 0
	a.chains[p.at] = slices.Insert(a.chains[p.at], 0, p)
}

func (a *account) drops(p *told) {
	p.registered = false
	a.chains[p.at] = slices.DeleteFunc(a.chains[p.at], func(q *told) bool { return q == p })
}

// again is what register answers for a probe that is registered: the address is looked up
// before, since 5.18.
func (a *account) again(p *told) Errno {
	if inModule(p.at) && !a.loaded && a.s.Kernel.Edition >= rules.Edition514 {
		return ENOENT
	}
	return EINVAL
}

// register registers a probe, which may be registered, or in a module that isn't
// there, or where something is refused.
func (a *account) register(p *told) {
	if p.registered {
		require.Equal(a.t, a.again(p), a.b.e.Register(a.x, p.k))
		return
	}
	a.asks(p)
	asked := p.k.Flags & FlagDisabled
	refused, graces, was := a.refused, a.graces, a.b.e.Table.probes.Len()
	err := a.b.e.Register(a.x, p.k)
	if !a.s.Batches {
		asked = 0
	}
	require.Equal(a.t, asked, p.k.Flags, "what counts of the caller's flags")
	switch {
	case inModule(p.at) && !a.loaded:
		require.Error(a.t, err)
	case err == nil:
		a.takes(p)
		return
	default:
		require.Contains(a.t, []error{ENOMEM, EBUSY}, err)
		require.Greater(a.t, a.refused, refused, "nothing was refused: %v", err)
	}
	if err == EBUSY {
		require.Greater(a.t, a.graces[kapi.QuiesceRCU], graces[kapi.QuiesceRCU], "a CPU may have found it")
	}
	require.Nil(a.t, p.k.aggr)
	require.Equal(a.t, was, a.b.e.Table.probes.Len())
}

// some picks probes.
func (a *account) some() (ps []*told) {
	for _, p := range a.probes {
		if a.r.N(4) == 0 {
			ps = append(ps, p)
		}
	}
	return ps
}

func kprobesOf(ps []*told) (ks []*Kprobe) {
	for _, p := range ps {
		ks = append(ks, p.k)
	}
	return ks
}

// registerAll registers an array: all of it or nothing.
func (a *account) registerAll(ps []*told) {
	bad := -1
	for i, p := range ps {
		if !p.registered {
			a.asks(p)
		}
		if bad < 0 && (p.registered || inModule(p.at) && !a.loaded) {
			bad = i
		}
	}
	refused := a.refused
	err := a.b.e.RegisterAll(a.x, kprobesOf(ps))
	switch {
	case !a.s.Batches:
		require.Equal(a.t, EOPNOTSUPP, err)
	case len(ps) == 0:
		require.Equal(a.t, EINVAL, err)
	case err == nil:
		require.Negative(a.t, bad)
		for _, p := range ps {
			a.takes(p)
		}
	default:
		require.True(a.t, bad >= 0 || a.refused > refused, err)
		for _, p := range ps {
			require.Equal(a.t, p.registered, p.k.aggr != nil)
			require.Equal(a.t, p.at, p.k.Addr, "that of the bad one stays, too")
		}
	}
}

// unregister takes probes away, one by one or all at once.
func (a *account) unregister(ps []*told, array bool) {
	var err error
	before, detours := a.graces, []*Aggr(nil)
	for _, p := range a.b.e.Table.aggrs {
		if p.list == &a.b.e.Optimizer.optimizingList { // a breakpoint leads there already
			detours = append(detours, p)
		}
	}
	defer func() {
		for _, p := range detours { // who was preempted in one is waited for, or what the optimizer waits for
			if one := a.s.Quiesce; p.freed && a.graces[kapi.QuiesceTasks] == before[kapi.QuiesceTasks] {
				require.Greater(a.t, a.graces[one]-before[one], map[bool]int{true: 1}[one == kapi.QuiesceRCU])
			}
		}
	}()
	if array {
		err = a.b.e.UnregisterAll(a.x, kprobesOf(ps))
		if !a.s.Batches {
			require.Equal(a.t, EOPNOTSUPP, err)
			return
		}
	}
	for _, p := range ps {
		if !array {
			err = a.b.e.Unregister(a.x, p.k)
		}
		if !p.registered {
			require.Equal(a.t, EINVAL, err)
			if a.s.Batches {
				require.Zero(a.t, p.k.Addr)
			} else {
				require.Equal(a.t, p.at, p.k.Addr)
			}
			p.k.Addr = p.at
			continue
		}
		require.Equal(a.t, p.at, p.k.Addr)
		a.drops(p)
	}
}

func (a *account) disable(p *told) {
	err := a.b.e.Disable(a.x, p.k)
	switch {
	case !a.s.Batches:
		require.Equal(a.t, EOPNOTSUPP, err)
	case !p.registered:
		require.Equal(a.t, EINVAL, err)
	default:
		require.NoError(a.t, err)
		p.disabled = p.disabled || !p.gone
	}
}

func (a *account) enable(p *told) {
	refused := a.refused
	err := a.b.e.Enable(a.x, p.k)
	switch {
	case !a.s.Batches:
		require.Equal(a.t, EOPNOTSUPP, err)
	case !p.registered || p.gone:
		require.Equal(a.t, EINVAL, err)
	case err != nil:
		require.Equal(a.t, EBUSY, err)
		require.Greater(a.t, a.refused, refused)
	default:
		p.disabled = false
	}
}

// module loads or unloads the module: what is registered there keeps it, or is
// gone then.
func (a *account) module() {
	if !a.loaded {
		require.Zero(a.t, a.b.k.Modules.Load(a.x, a.m))
		a.loaded = true
		return
	}
	a.since = -1 // no task runs text that goes
	var there []*told
	for _, p := range a.probes {
		if p.registered && !p.gone && inModule(p.at) {
			there = append(there, p)
		}
	}
	errno := a.b.k.Modules.Unload(a.x, a.m)
	if a.s.ModuleRefs && len(there) > 0 {
		require.Equal(a.t, kernel.ModuleEAGAIN, errno)
		return
	}
	require.Zero(a.t, errno)
	a.loaded = false
	for _, p := range there {
		p.gone = true
	}
}

// step asks for something.
func (a *account) step() {
	a.since = a.waited()
	p := a.probes[a.r.N(len(a.probes))]
	switch a.r.N(14) {
	case 0, 1, 2, 3:
		a.register(p)
	case 4:
		a.registerAll(a.some())
	case 5, 6:
		a.unregister([]*told{p}, false)
	case 7:
		a.unregister(a.some(), true)
	case 8:
		a.disable(p)
	case 9:
		a.enable(p)
	case 10:
		a.b.e.Optimizer.WaitOptimizer(a.x)
	case 11:
		a.b.e.Files.SetOptimization(a.x, a.r.N(3) > 0)
	case 12:
		a.armed(a.r.N(3) > 0)
	case 13:
		a.module()
	}
}

// armed writes enabled: a refusal then is no error of the test's.
func (a *account) armed(on bool) {
	was := a.refuse
	a.refuse = nil
	a.b.e.Files.SetArmed(a.x, on)
	a.off, a.refuse = !on, was
}

// holds looks at everything.
func (a *account) holds() {
	for _, f := range accounted {
		if f.module && !a.loaded {
			continue
		}
		a.ran, a.want = []string{}, []string{}
		for _, off := range f.points {
			for _, post := range []bool{false, true} {
				for _, p := range a.chains[f.at+off] {
					switch {
					case a.off || p.disabled || p.gone:
					case !post:
						a.want = append(a.want, fmt.Sprint("pre ", p.k.ID))
					case p.k.Post != nil:
						a.want = append(a.want, fmt.Sprint("post ", p.k.ID))
					}
				}
			}
		}
		require.Equal(a.t, f.want, callArg(a.x, f.at, f.arg), "%#x", f.at)
		require.Equal(a.t, a.want, a.ran, "%#x", f.at)
		a.b.idle(a.t, a.x)
	}
	held, listed := 0, bytes.Count(a.b.e.Table.List(nil), []byte{'\n'})
	if a.s.Return == era.ReturnGlobal {
		listed-- // the trampoline's
	}
	for _, p := range a.probes {
		if p.registered {
			listed--
		}
	}
	require.Zero(a.t, listed, "lines in the list")
	for _, p := range a.probes {
		if !p.registered {
			require.Equal(a.t, p.k.Flags, a.b.e.FlagsOf(p.k))
			continue
		}
		require.Equal(a.t, when(FlagGone, p.gone)|when(FlagDisabled, p.disabled),
			a.b.e.FlagsOf(p.k)&(FlagGone|FlagDisabled))
		require.Zero(a.t, p.k.Missed())
		if inModule(p.at) {
			held++
		}
	}
	if !a.s.ModuleRefs {
		held = 0
	}
	require.Equal(a.t, held, a.refs, "modules held")
}

// ends takes all away: the text is what it was, and nothing is left of the engine's.
func (a *account) ends(texts []code) {
	a.refuse, a.since = nil, -1
	a.unregister(a.probes, a.s.Batches)
	if !a.loaded {
		a.module()
	}
	a.b.e.Optimizer.WaitOptimizer(a.x)
	a.holds()
	for _, f := range texts {
		require.Equal(a.t, f.bytes, a.b.textOf(a.x, f), f.name)
	}
	require.Empty(a.t, a.out, "memory that is nobody's")
	require.Zero(a.t, a.b.e.Table.probes.Len())
	require.True(a.t, a.b.e.Optimizer.Settled())
	for _, p := range a.b.e.Table.aggrs {
		require.True(a.t, p.freed, "%#x", p.addr)
	}
}

// accountSettings are the editions, each built with and without preemption, and the
// steps with the boosts.
func accountSettings() (list []Settings) {
	for _, ed := range rules.AllEditions() {
		list = append(list, settingsOf(ed, false), settingsOf(ed, true))
		for _, step := range []era.Step{era.StepInt3, era.StepDebug} {
			for _, boost := range []era.Boost{era.BoostPrepare, era.BoostStepped} {
				s := settingsOf(ed, false)
				s.Step, s.Boost, s.ModuleRefs = step, boost, step == era.StepDebug
				list = append(list, s)
			}
		}
	}
	return list
}

// TestAccount: whatever one task asks of the engine, what it is answered and what
// runs then follows from that, in every edition, and with services that fail; locks
// are held where the kernel wants them; and all that was taken is given back.
func TestAccount(t *testing.T) {
	texts := []code{victim, crowded, traced}
	for i, s := range accountSettings() {
		var r sim.Rand
		a := &account{ledger: &ledger{t: t}, r: &r, s: &s}
		fails := false
		b := newBench(t, s, texts, func(b *bench, x *smp.Ctx) {
			a.b, a.x, a.caller = b, x, x.Task()
			in := []int{r.N(len(accounted)), r.N(len(accounted))} // so few that many probes share an address
			for id := range 8 {
				a.probes = append(a.probes, a.newTold(id+1, in))
			}
			for range 50 {
				if a.refuse = nil; fails {
					a.refuse = func() bool { return r.N(4) == 0 }
				}
				a.step()
				a.holds()
			}
			a.ends(texts)
		})
		a.m = b.k.Modules.NewModule("mod", modTexts, modInit, modCore+0x60, true)
		b.ftrace.AddSite(traced.site())
		b.ftrace.AddSite(modCore + 0x40)
		b.m.Freeze()
		b.wire = func(_ *kernel.Kernel, d *Deps) { a.wire(d) }
		sticky := sched.NewSticky(sched.Params{Seed: 3, Mean: 16})
		for run := range thorough.Of[uint64](4, 12) {
			r.Seed(uint64(i), run)
			a.loaded, a.off, a.probes, a.chains = true, false, nil, make(map[arch.Addr][]*told)
			fails = run%2 == 1
			sticky.Begin(run)
			require.Equal(t, smp.Passed, b.run(sticky), "settings %d, run %d: %v", i, run, b.m.Refusal())
		}
	}
}
