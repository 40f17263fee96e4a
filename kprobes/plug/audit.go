package plug

import (
	"bytes"
	"strconv"

	"kpsim/kprobes"
	"kpsim/kprobes/era"
	"kpsim/kprobes/kpev"
	"kpsim/linux/linuxev"
	"kpsim/smp/kapi"
	"kpsim/traces"
)

// audit reports the engine's claims about itself to monitors. Before a routine releases
// kprobe_mutex, it reports the state of every aggregator. When a routine has acquired the
// mutex, it reports whether data owned by the mutex changed while it was free. At the end of
// a run it reports the contents of kprobes/list. It is no part of a run: it stores nothing,
// has no scheduling point, and changes no digest.
type audit struct {
	kapi.Locks // set at watch: the engine's
	p          *plug
	tell       func(x kapi.Context, k traces.Kind, a, b, c uint64)
	mutex      audited
	file       []byte // the list as last read
}

// audited is kprobe_mutex, wrapped to report.
type audited struct {
	kapi.Mutex
	a     *audit
	owned uint64 // the digest of the data that it owns, at its last release
	let   bool   // it has been released at least once
}

// Lock implements kapi.Mutex. It reports Foreign if the data that the mutex owns isn't as the last holder left it.
func (m *audited) Lock(x kapi.Context) {
	m.Mutex.Lock(x)
	if m.let && m.a.p.e.Owned() != m.owned {
		m.a.tell(x, kpev.Foreign, 0, 0, 0)
	}
}

// watch routes the making of the engine's locks through a.
func (a *audit) watch(p *plug, d *kprobes.Deps) {
	a.Locks, a.p, a.tell = d.Locks, p, d.Tell
	d.Locks = a
}

// NewMutex implements kapi.Locks.
func (a *audit) NewMutex(name string) kapi.Mutex {
	m := a.Locks.NewMutex(name)
	if name != "kprobe_mutex" {
		return m
	}
	a.mutex = audited{Mutex: m, a: a}
	return &a.mutex
}

// Unlock implements kapi.Mutex.
func (m *audited) Unlock(x kapi.Context) {
	e := m.a.p.e
	m.a.tell(x, kpev.Carries, 0, 0, 1)
	for i := range e.Table.Points() {
		if addr, bits, detour, ok := e.Table.StateOf(i); ok {
			m.a.tell(x, kpev.State, addr, bits, detour)
			for _, p := range e.Table.ProbesOf(i) {
				m.a.tell(x, kpev.Carries, addr, p.ID, 0)
			}
		}
	}
	m.owned, m.let = e.Owned(), true
	m.Mutex.Unlock(x)
}

// remains reports what the engine still holds when nothing runs. Monitors use it only when
// no work is left.
func (p *plug) remains(tell func(k traces.Kind, a, b, c uint64)) {
	if cpu, at, ok := p.e.Hits.Busy(); ok {
		tell(linuxev.Remains, linuxev.CurrentProbe, uint64(at), uint64(cpu))
	}
	if at, ok := p.e.Table.Unneeded(); ok {
		tell(linuxev.Remains, linuxev.UnusedPoint, uint64(at), 0)
	}
	if at, ok := p.e.Ftrace.CalledInVain(); ok {
		tell(linuxev.Remains, linuxev.Traced, uint64(at), 0)
	}
	if ri, ok := p.e.Rethook.InFlight(); ok {
		tell(linuxev.Remains, linuxev.InFlight, ri.ID, uint64(ri.Task))
	}
}

// list reports kprobes/list line by line.
func (a *audit) list(p *plug, tell func(k traces.Kind, a, b, c uint64)) {
	tell(kpev.Listed, 0, 0, 0)
	a.file = p.e.Table.List(a.file[:0])
	old := uint64(0)
	if p.files == era.FilesFirst {
		old = kpev.TagNone
	}
	for rest := a.file; len(rest) > 0; {
		n := 0
		for rest[n] != '\n' {
			n++
		}
		addr, letter, tags := listed(rest[:n])
		tell(kpev.Listed, addr, letter, tags|old)
		rest = rest[n+1:]
	}
}

// listed parses a line of kprobes/list: "ffffffff81000000  k  name+0x0    [DISABLED]".
func listed(line []byte) (addr, letter, tags uint64) {
	digits := bytes.IndexByte(line, ' ') // the length of the address
	at := digits + 2                     // the index of the letter
	addr, _ = strconv.ParseUint(string(line[:digits]), 16, 64)
	letter = uint64(line[at])
	for i := at; i < len(line); i++ {
		if line[i] != '[' || i+1 == len(line) {
			continue
		}
		switch line[i+1] { // a module's name is also in brackets, but in lower case
		case 'G':
			tags |= kpev.TagGone
		case 'D':
			tags |= kpev.TagDisabled
		case 'O':
			tags |= kpev.TagOptimized
		case 'F':
			tags |= kpev.TagFtrace
		}
	}
	return addr, letter, tags
}
