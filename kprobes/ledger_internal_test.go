package kprobes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/engine/ftrace"
	"kpsim/kprobes/kpev"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
)

// A ledger stands between an engine and its kernel, and holds the engine to what
// the waist says of its services (kapi):
//
//	text is written, and memory that will be run is filled, under text_mutex; live
//	text under the CPU-hotplug lock, too
//	text is looked at by who registers under text_mutex, since a patcher may be at it
//	executable memory is handed out and given back under kprobe_mutex, each piece
//	once, as long as it was; where a jump leads out of it it is retired, and that after
//	a grace period
//	a module is let go as often as it was held
//
// refuse makes a service fail that may: memory that is used up, a site that
// somebody else has.
type ledger struct {
	t            testing.TB
	kprobe, text noted
	reads        noted
	out          map[arch.Addr]*piece
	refs         int                             // modules held
	graces       [kapi.QuiesceStackCheck + 1]int // grace periods waited for, by flavour
	refuse       func() bool
	refused      int
	caller       kapi.TaskID // who calls the API
	// how many grace periods had been waited for when the call under way began; -1: it is no matter
	since int
}

func (l *ledger) waited() (n int) {
	for _, c := range l.graces {
		n += c
	}
	return n
}

// A piece is executable memory that was handed out.
type piece struct {
	size  int
	what  uint64
	jumps bool // a jump leads out of it: a CPU in it doesn't come back to the engine
}

// A noted lock knows who holds it.
type noted struct {
	kapi.Mutex
	readers kapi.CPUs
	by      int // 1 + the task, 0: none
}

func (n *noted) Lock(x kapi.Context) {
	n.Mutex.Lock(x)
	n.by = 1 + int(x.Task())
}

func (n *noted) Unlock(x kapi.Context) {
	n.by = 0
	n.Mutex.Unlock(x)
}

func (n *noted) ReadLock(x kapi.Context) {
	n.readers.ReadLock(x)
	n.by = 1 + int(x.Task())
}

func (n *noted) ReadUnlock(x kapi.Context) {
	n.by = 0
	n.readers.ReadUnlock(x)
}

func (n *noted) held(x kapi.Context) bool { return n.by == 1+int(x.Task()) }

// wire puts the ledger between. Two tasks of a test may read the hotplug lock at
// a time, so that there is one task that calls the API.
func (l *ledger) wire(d *Deps) {
	l.kprobe, l.text, l.reads = noted{}, noted{Mutex: d.Text.Mutex()}, noted{readers: d.Hotplug}
	l.out, l.refs = make(map[arch.Addr]*piece), 0
	d.Text, d.Patch, d.Exec, d.Hotplug = ledgerText{d.Text, l}, ledgerPatch{d.Patch, l}, ledgerExec{d.Exec, l}, &l.reads
	d.Locks, d.RCU = ledgerLocks{d.Locks, l}, ledgerRCU{d.RCU, l}
	if d.Modules != nil {
		d.Modules = ledgerModules{d.Modules, l}
	}
	if d.Ftrace != nil {
		d.Ftrace = ledgerFtrace{d.Ftrace, l}
	}
}

func (l *ledger) refuses() bool {
	if l.refuse != nil && l.refuse() {
		l.refused++
		return true
	}
	return false
}

// live says that text is written which others may run.
func (l *ledger) live(x kapi.Context) {
	require.True(l.t, l.text.held(x), "text is written without text_mutex")
	require.True(l.t, l.reads.held(x), "text is written while CPUs may come")
}

// wrote notes what was written to memory that was handed out.
func (l *ledger) wrote(at arch.Addr, b []byte) {
	for from, p := range l.out {
		if n := len(b) - jumpSize; at >= from && at < from+arch.Addr(p.size) {
			require.LessOrEqual(l.t, at+arch.Addr(len(b)), from+arch.Addr(p.size), "memory behind a piece is written")
			p.jumps = p.jumps || p.what == kpev.DetourMem || n >= 0 && b[n] == jumpOpcode
		}
	}
}

type ledgerText struct {
	kapi.Text
	*ledger
}

func (t ledgerText) Mutex() kapi.Mutex { return &t.text }

func (t ledgerText) Poke(x kapi.Context, at arch.Addr, b []byte) {
	t.live(x)
	t.Text.Poke(x, at, b)
}

func (t ledgerText) Fill(x kapi.Context, at arch.Addr, b []byte) {
	require.True(t.t, t.text.held(x), "memory is filled without text_mutex")
	t.wrote(at, b)
	t.Text.Fill(x, at, b)
}

func (t ledgerText) Write(x kapi.Context, at arch.Addr, b []byte) {
	t.wrote(at, b)
	t.Text.Write(x, at, b)
}

func (t ledgerText) Read(x kapi.Context, at arch.Addr, b []byte) {
	if t.kprobe.held(x) {
		require.True(t.t, t.text.held(x), "text is looked at without text_mutex")
	}
	t.Text.Read(x, at, b)
}

type ledgerPatch struct {
	kapi.Patcher
	*ledger
}

func (p ledgerPatch) Patch(x kapi.Context, at arch.Addr, insn []byte, resume arch.Addr) {
	p.live(x)
	p.Patcher.Patch(x, at, insn, resume)
}

type ledgerLocks struct {
	kapi.Locks
	*ledger
}

func (l ledgerLocks) NewMutex(name string) kapi.Mutex {
	m := l.Locks.NewMutex(name)
	if name != "kprobe_mutex" {
		return m
	}
	l.kprobe.Mutex = m
	return &l.kprobe
}

type ledgerRCU struct {
	kapi.RCU
	*ledger
}

func (r ledgerRCU) Synchronize(x kapi.Context, f kapi.Flavour) {
	r.graces[f]++
	r.RCU.Synchronize(x, f)
}

type ledgerExec struct {
	kapi.Exec
	*ledger
}

func (e ledgerExec) Alloc(x kapi.Context, size int, what uint64) (arch.Addr, bool) {
	require.True(e.t, e.kprobe.held(x), "memory is handed out without kprobe_mutex")
	if e.refuses() {
		return 0, false
	}
	at, ok := e.Exec.Alloc(x, size, what)
	if ok {
		require.Nil(e.t, e.out[at])
		e.out[at] = &piece{size: size, what: what}
	}
	return at, ok
}

func (e ledgerExec) back(x kapi.Context, at arch.Addr, size int, what uint64, retired bool) {
	p := e.out[at]
	require.NotNil(e.t, p, "%#x isn't handed out", at)
	require.Equal(e.t, []any{p.size, p.what}, []any{size, what})
	require.True(e.t, retired || !p.jumps, "somebody may be in it still")
	if p.jumps && x.Task() == e.caller && e.since >= 0 {
		require.Greater(e.t, e.waited(), e.since, "somebody may have been sent there just now")
	}
	delete(e.out, at)
}

func (e ledgerExec) Free(x kapi.Context, at arch.Addr, size int, what uint64) {
	e.back(x, at, size, what, false)
	e.Exec.Free(x, at, size, what)
}

func (e ledgerExec) Retire(x kapi.Context, at arch.Addr, size int, what uint64) {
	e.back(x, at, size, what, true)
	e.Exec.Retire(x, at, size, what)
}

type ledgerModules struct {
	kapi.Modules
	*ledger
}

func (m ledgerModules) Get(x kapi.Context, of *kapi.Module) bool {
	ok := m.Modules.Get(x, of)
	if ok {
		m.refs++
	}
	return ok
}

func (m ledgerModules) Put(x kapi.Context, of *kapi.Module) {
	m.refs--
	require.GreaterOrEqual(m.t, m.refs, 0, "a module is let go that isn't held")
	m.Modules.Put(x, of)
}

type ledgerFtrace struct {
	ftrace.Tracer
	*ledger
}

func (f ledgerFtrace) NewOps(name string, h ftrace.Handler, flags ftrace.Flags) ftrace.Client {
	return ledgerOps{f.Tracer.NewOps(name, h, flags), f.ledger}
}

type ledgerOps struct {
	ftrace.Client
	*ledger
}

func (o ledgerOps) Filter(x kapi.Context, ip arch.Addr, on bool) int {
	if on && o.refuses() {
		return ftrace.EBUSY
	}
	return o.Client.Filter(x, ip, on)
}
