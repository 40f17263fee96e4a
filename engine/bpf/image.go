package bpf

import (
	"slices"

	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
	"kpsim/traces"
)

// imageSize is how much memory an image has.
const imageSize = 256

// MostProgs is how many programs a function may have.
const MostProgs = 16

// An image is the code that calls a set of programs (struct bpf_tramp_image). It is a row of instructions of one
// length, mostly calls; the routines that it calls find their place in it by the return address. Once it is called its
// fields don't change.
type image struct {
	t     *trampoline `state:"boot"` // set at the boot of a run
	used  bool        // owned by tr->mutex, and by the work that frees it
	at    arch.Addr   // owned by tr->mutex
	after arch.Addr   // owned by tr->mutex: the nop after the function's call; 0: it doesn't call it (ip_after_call)
	exits arch.Addr   // owned by tr->mutex: the first fexit program
	end   arch.Addr   // owned by tr->mutex: what comes after the fexit programs (ip_epilogue)
	calls []*Prog     // owned by tr->mutex: by instruction, the program that it is about, nil: none
	// one for the trampoline, while it is wanted, and one for each task that is counted in (pcref)
	refs kapi.Var[int]
	none kapi.Is[int] `state:"boot"` // set at the boot of a run
}

// A writer writes an image.
type writer struct {
	a    *arch.Arch      // owned by its maker
	im   *image          // owned by its maker
	code [imageSize]byte // owned by its maker
	n    int             // owned by its maker
}

func (w *writer) next() arch.Addr { return w.im.at + arch.Addr(w.n) }

// put adds an instruction.
func (w *writer) put(c arch.Code, p *Prog) {
	w.n += copy(w.code[w.n:], c.Bytes())
	w.im.calls = append(w.im.calls, p)
}

// call adds a call of a gate, which is in reach.
func (w *writer) call(to arch.Addr, p *Prog) {
	c, _ := w.a.Call(w.next(), to)
	w.put(c, p)
}

// programs adds the calls of the programs of a kind.
func (w *writer) programs(g *gates, list []*Prog, kind Kind) {
	for _, p := range list {
		if p.kind == kind {
			w.call(g.run, p)
		}
	}
}

// Reaches reports whether images can be called from the program's function. The memory of images is between from and
// to.
func (p *Prog) Reaches(from, to arch.Addr) bool {
	a := p.t.b.d.Text.Arch()
	_, first := a.Call(p.t.site, from)
	_, last := a.Call(p.t.site, to)
	return first && last
}

// makeImage makes an image for the programs that are attached (arch_prepare_bpf_trampoline). Context: tr->mutex held.
func (t *trampoline) makeImage(x kapi.Context) (n int, ok bool) {
	d, g := &t.b.d, &t.b.gates
	if n, ok = t.memory(x); !ok {
		return 0, false
	}
	w := writer{a: d.Text.Arch(), im: &t.images[n]}
	im := w.im
	im.after, im.exits, im.end, im.calls = 0, 0, 0, im.calls[:0]
	w.call(g.save, nil)
	if slices.ContainsFunc(t.attached, func(p *Prog) bool { return p.kind != Fentry }) {
		w.call(g.into, nil)
		w.programs(g, t.attached, Fentry)
		w.programs(g, t.attached, ModRet)
		w.call(g.orig, nil)
		w.call(g.result, nil)
		im.after = w.next()
		lo, hi := traces.PackBytes(w.a.BranchNop.Bytes())
		x.Emit(smpev.Image, uint64(im.after), lo, hi)
		w.put(w.a.BranchNop, nil)
		im.exits = w.next()
		w.programs(g, t.attached, Fexit)
		im.end = w.next()
		w.call(g.outOf, nil)
		w.call(g.finish, nil)
	} else {
		w.programs(g, t.attached, Fentry)
		w.call(g.restore, nil)
	}
	w.put(w.a.BranchRet, nil)
	d.Text.Fill(x, im.at, w.code[:w.n])
	if d.Sync != nil { // where ftrace has another client at the site no text changes, and no CPU serialises
		d.Sync.Core(x, smpev.SyncImage)
	}
	return n, true
}

// memory returns memory for an image. Context: tr->mutex held.
func (t *trampoline) memory(x kapi.Context) (n int, ok bool) {
	d := &t.b.d
	if d.Boot.Planted(halves) {
		n, t.half = t.half, 1-t.half
		im := &t.images[n]
		if im.used {
			d.RCU.Synchronize(x, kapi.QuiesceTasks)
			return n, true
		}
		im.at, im.used = d.Exec.Alloc(x, imageSize, smpev.BpfMem)
		return n, im.used
	}
	if t.live.ReadOnce(x) == mostImages {
		x.Sleep(&t.room)
	}
	n = slices.IndexFunc(t.images[:], func(im image) bool { return !im.used })
	im := &t.images[n]
	if im.at, im.used = d.Exec.Alloc(x, imageSize, smpev.BpfMem); !im.used {
		return 0, false
	}
	im.refs.WriteOnce(x, 1)
	kapi.Add(&t.live, x, kapi.Once, 1)
	return n, true
}
