package bpf

import (
	"slices"

	"kpsim/engine/ftrace"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// Deps are the kernel services that trampolines stand on.
type Deps struct {
	Boot   kapi.Boot
	Cells  *kapi.Cells
	Text   kapi.Text
	Exec   kapi.Exec
	Patch  kapi.Batcher
	RCU    kapi.RCU
	Traps  kapi.Traps
	Ftrace *ftrace.Ftrace
	Work   func(name string, f func(x kapi.Context)) kapi.DelayedWork // makes a work at boot
	Sync   kapi.Sync                                                  // nil: CPUs hold no old bytes
	CPUs   int
	_      struct{}
}

// The errnos of Attach and Detach, besides those of ftrace.
const (
	EBUSY  = ftrace.EBUSY  // it is attached
	EINVAL = ftrace.EINVAL // it isn't attached
	ENOMEM = 12            // there is no memory for an image
)

// A Kind is when a program is called.
type Kind uint8

// The kinds, in the order in which an image calls their programs.
const (
	Fentry Kind = iota // where a call begins
	ModRet             // likewise; if its result isn't 0 the function isn't called, and that is the call's result
	Fexit              // where the function has returned, with its result
)

// KindWords are the names of the kinds.
var KindWords = []string{"fentry", "fmod_ret", "fexit"}

// Memory is the kind of executable memory that images need.
var Memory = kapi.Memory{What: smpev.BpfMem, Most: imageSize, Alloc: "bpf_jit_alloc_exec", Collect: "bpf_jit_free_exec",
	Unmap: "bpf_jit_free_exec"}

// Bpf is the trampolines of one kernel.
type Bpf struct {
	d     Deps          `state:"boot"` // set at boot
	gates gates         // set at boot
	tramp []*trampoline // set at boot: one for each function that may have programs
	progs []*Prog       // set at boot

	dispatchers []*Dispatcher // set at boot
	tails       []*TailCall   // set at boot
}

// A trampoline is what a function's programs share (struct bpf_trampoline).
type trampoline struct {
	b        *Bpf              `state:"boot"` // set at boot
	site     arch.Addr         // set at boot: the function's site of ftrace
	mutex    kapi.Mutex        `state:"address: it is among the mutexes"` // set at boot: tr->mutex
	attached []*Prog           // owned by mutex: the newest first (progs_hlist)
	images   [mostImages]image // memory for images
	cur      int               // owned by mutex: the image that the site calls; -1: none (cur_image)
	live     kapi.Var[int]     // how many images are in use
	room     room              `state:"boot"` // set at boot
	put      kapi.Var[uint32]  // a bit for each image that waits to be freed
	free     kapi.DelayedWork  `state:"skip: a work of the kernel's"` // set at boot: it frees them

	// owned by mutex: with the fault halves, the half that comes next
	half int
}

// mostImages is how many images of a function there may be at a time.
const mostImages = 16

// A Prog is a program that may be attached to a function.
type Prog struct {
	t      *trampoline      `state:"boot"` // set at boot
	kind   Kind             // set at boot
	run    arch.Addr        // set at boot: the function that it is
	active []kapi.Var[bool] // by CPU: it runs there (prog->active)
}

// New returns the trampolines of a kernel: none.
func New(d Deps) *Bpf { return &Bpf{d: d} }

// Any reports whether there is a program, a dispatcher or a tail call.
func (b *Bpf) Any() bool { return len(b.progs)+len(b.dispatchers)+len(b.tails) > 0 }

// Add makes a program that may be attached to the function with the site, at boot.
func (b *Bpf) Add(site, run arch.Addr, kind Kind) *Prog {
	if len(b.progs) == 0 {
		b.bootGates()
	}
	i := slices.IndexFunc(b.tramp, func(t *trampoline) bool { return t.site == site })
	if i < 0 {
		i = len(b.tramp)
		t := &trampoline{b: b, site: site, mutex: b.d.Boot.BootMutex("tr->mutex")}
		t.room = room{t}
		t.free = b.d.Work("bpf_tramp_image_put", t.freeImages)
		b.tramp = append(b.tramp, t)
	}
	p := &Prog{t: b.tramp[i], kind: kind, run: run, active: make([]kapi.Var[bool], b.d.CPUs)}
	b.progs = append(b.progs, p)
	return p
}

// Begin sets up the state at the beginning of a run.
func (b *Bpf) Begin() {
	for _, t := range b.tramp {
		t.attached, t.cur, t.half = t.attached[:0], -1, 0
		t.live.Init(b.d.Cells, 0)
		t.put.Init(b.d.Cells, 0)
		for i := range t.images {
			im := &t.images[i]
			*im = image{t: t, calls: im.calls[:0]}
			im.refs.Init(b.d.Cells, 0)
			im.none = kapi.Is[int]{Var: &im.refs}
		}
	}
	for _, d := range b.dispatchers {
		d.known, d.image, d.off = d.known[:0], 0, 0
	}
	for _, t := range b.tails {
		t.prog = 0
	}
	for _, p := range b.progs {
		for c := range p.active {
			p.active[c].Init(b.d.Cells, false)
		}
	}
}

// Attached reports whether the program is attached, and Beside whether another one is attached to its function, as of
// now. They access nothing.
func (p *Prog) Attached() bool { return slices.Contains(p.t.attached, p) }

// Beside is said at Attached.
func (p *Prog) Beside() bool {
	return slices.ContainsFunc(p.t.attached, func(q *Prog) bool { return q != p })
}

// emit emits what becomes of the program.
func (p *Prog) emit(x kapi.Context, what uint64) {
	x.Emit(smpev.Bpf, uint64(p.t.site), what, uint64(p.run))
}

// Attach has the program called from now on (bpf_trampoline_link_prog). Context: may sleep; takes tr->mutex.
func (p *Prog) Attach(x kapi.Context) (errno int) {
	t := p.t
	p.emit(x, smpev.BpfAttaches+uint64(p.kind))
	t.mutex.Lock(x)
	done := uint64(smpev.BpfAttached)
	if slices.Contains(t.attached, p) {
		errno = EBUSY
	} else {
		t.attached = slices.Insert(t.attached, 0, p)
		if errno = t.update(x); errno != 0 {
			t.attached = t.attached[1:]
			done = smpev.BpfRefused
		}
	}
	t.mutex.Unlock(x)
	p.emit(x, done)
	return errno
}

// Detach ends that (bpf_trampoline_unlink_prog). It doesn't wait: calls that are under way may still call the program,
// unless the function hasn't returned and it is of kind Fexit. Context: as Attach.
func (p *Prog) Detach(x kapi.Context) (errno int) {
	t := p.t
	p.emit(x, smpev.BpfDetaches)
	t.mutex.Lock(x)
	if i := slices.Index(t.attached, p); i < 0 {
		errno = EINVAL
	} else {
		t.attached = slices.Delete(t.attached, i, i+1)
		errno = t.update(x)
	}
	t.mutex.Unlock(x)
	p.emit(x, smpev.BpfDetached)
	return errno
}

// update makes the function call the programs that are attached (bpf_trampoline_update):
//
//	step 1: make an image for them
//	step 2: have the site call it, in the place of the image that it calls
//	step 3: put that image
//
// Context: tr->mutex held.
func (t *trampoline) update(x kapi.Context) (errno int) {
	old, f := t.cur, t.b.d.Ftrace
	if len(t.attached) == 0 {
		// its client is allocated: ftrace_shutdown waits for all tasks, too
		if errno = f.UnregisterDirect(x, t.site, true); errno == 0 {
			t.cur = -1
			t.putImage(x, old)
		}
		return errno
	}
	next, ok := t.makeImage(x)
	if !ok {
		return ENOMEM
	}
	if to := t.images[next].at; old < 0 {
		errno = f.RegisterDirect(x, t.site, to)
	} else {
		errno = f.ModifyDirect(x, t.site, to, false)
	}
	if errno != 0 {
		t.freeImage(x, next)
		return errno
	}
	if t.cur = next; old >= 0 {
		t.putImage(x, old)
	}
	return 0
}
