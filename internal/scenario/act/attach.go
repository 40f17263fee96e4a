package act

import (
	"kpsim/engine/ftrace"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// An Observed is ftrace whose clients are observed: monitors get an event for each call of a client's API, and for each
// call of its handler.
type Observed struct {
	Arch *arch.Arch // set at boot: of the machine
	ftrace.Tracer
	made []*observed // owned by the boot of a run: taken in order
	n    int         // how many are in use
}

// Of returns a kernel's ftrace with its clients observed, nil for a kernel without ftrace.
func (t *Observed) Of(is ftrace.Tracer) ftrace.Tracer {
	if t.Tracer = is; is == nil {
		return nil
	}
	return t
}

// Begin forgets the clients of the last run.
func (t *Observed) Begin() { t.n = 0 }

// Made calls f with each client of the run: its number in events, and its flags.
func (t *Observed) Made(f func(subject, flags uint64)) {
	for _, o := range t.made[:t.n] {
		flags := uint64(0)
		if o.flags&ftrace.Modifies != 0 {
			flags |= smpev.LeadsModifies
		}
		if o.flags&ftrace.Dynamic != 0 {
			flags |= smpev.LeadsDynamic
		}
		f(o.subject, flags)
	}
}

// An observed is a client of ftrace.
type observed struct {
	ftrace.Client
	subject uint64
	flags   ftrace.Flags
	h       ftrace.Handler // the client's
	told    ftrace.Handler // tells, and calls it
}

// NewOps implements ftrace.Tracer.
func (t *Observed) NewOps(name string, h ftrace.Handler, flags ftrace.Flags) ftrace.Client {
	if t.n == len(t.made) {
		o := &observed{subject: smpev.SubjectOps + uint64(t.n)}
		o.told = func(x kapi.Context, ip arch.Addr, regs *arch.Regs) {
			x.(*smp.Ctx).Tell(smpev.Serves, o.subject, uint64(ip), uint64(t.Arch.StackPointer(regs)))
			o.h(x, ip, regs)
		}
		t.made = append(t.made, o)
	}
	o := t.made[t.n]
	t.n++
	o.h, o.flags = h, flags
	o.Client = t.Tracer.NewOps(name, o.told, flags)
	return o
}

// Filter implements ftrace.Client.
func (o *observed) Filter(x kapi.Context, ip arch.Addr, on bool) int {
	call := uint64(smpev.AttachUnfilter)
	if on {
		call = smpev.AttachFilter
	}
	return attach(x, o.subject, call, uint64(ip), func() int { return o.Client.Filter(x, ip, on) })
}

// Register implements ftrace.Client.
func (o *observed) Register(x kapi.Context) int {
	return attach(x, o.subject, smpev.AttachRegister, 0, func() int { return o.Client.Register(x) })
}

// Unregister implements ftrace.Client.
func (o *observed) Unregister(x kapi.Context) int {
	return attach(x, o.subject, smpev.AttachUnregister, 0, func() int { return o.Client.Unregister(x) })
}

// attach makes a call that attaches something to sites of ftrace, and tells monitors of its beginning and its end.
func attach(x kapi.Context, subject, call, value uint64, do func() int) (errno int) {
	x.(*smp.Ctx).Tell(smpev.Attach, subject, call, value)
	errno = do()
	x.(*smp.Ctx).Tell(smpev.Attached, subject, call, uint64(errno))
	return errno
}
