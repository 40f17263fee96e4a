package bpf

import (
	"encoding/binary"
	"slices"

	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// A Dispatcher is a function that calls the program that its third argument points to. Its first instruction, a nop of
// five bytes, becomes a jump to an image that leads to the programs it knows by direct jumps (struct bpf_dispatcher).
// The image has two halves: a change writes the one that isn't in use.
type Dispatcher struct {
	b     *Bpf         `state:"boot"` // set at boot
	at    arch.Addr    // set at boot: the nop
	mutex kapi.Mutex   `state:"address: it is among the mutexes"` // set at boot: d->mutex
	known []dispatched // owned by mutex: the programs that the image knows
	image arch.Addr    // owned by mutex; 0: there is none yet
	off   int          // owned by mutex: where the half begins that was written last (image_off)
}

// A dispatched is a program that a dispatcher knows.
type dispatched struct {
	run   arch.Addr // owned by the dispatcher's mutex
	users int       // owned by the dispatcher's mutex: how many have added it
}

// MostDispatched is the most programs that a dispatcher may know. Half of an image has room for them.
const MostDispatched = 8

const halfSize = imageSize / 2

// DispatcherMemory is the kind of executable memory that a dispatcher needs.
var DispatcherMemory = kapi.Memory{What: smpev.DispatcherMem, Most: imageSize, Alloc: "bpf_prog_pack_alloc",
	Collect: "bpf_prog_pack_free", Unmap: "bpf_prog_pack_free"}

var reusesHalf = kapi.DefineFault("bpf-dispatcher-reused",
	"the half of a dispatcher's image that was in use is written again while a CPU may still be in it",
	"bpf_dispatcher_update: synchronize_rcu, since 4121d4481b72 (6.2)")

// AddDispatcher makes a dispatcher of the function that begins at at, at boot.
func (b *Bpf) AddDispatcher(at arch.Addr) *Dispatcher {
	d := &Dispatcher{b: b, at: at, mutex: b.d.Boot.BootMutex("d->mutex")}
	b.dispatchers = append(b.dispatchers, d)
	return d
}

// Images calls image with what stands at a dispatcher that knows no program.
func (b *Bpf) Images(image func(at arch.Addr, insn arch.Code)) {
	for _, d := range b.dispatchers {
		image(d.at, b.d.Text.Arch().BranchNop)
	}
}

// At returns where its function begins, and Knows whether it knows a program, as of now. They access nothing.
func (d *Dispatcher) At() arch.Addr { return d.at }

// Knows is said at At.
func (d *Dispatcher) Knows() bool { return len(d.known) > 0 }

// Reaches reports whether a program can be called from memory between from and to, and that from the function.
func (d *Dispatcher) Reaches(run, from, to arch.Addr) bool {
	a := d.b.d.Text.Arch()
	for _, end := range [...]arch.Addr{from, to} {
		_, in := a.Jump(d.at, end)
		_, out := a.Jump(end, run)
		if !in || !out || arch.Addr(int32(run)) != run {
			return false
		}
	}
	return true
}

// Change has the dispatcher know a program, or forget it (bpf_dispatcher_change_prog). A program that was added several
// times is known until it is removed as often; one that isn't known isn't removed. Context: may sleep; takes d->mutex,
// text_mutex.
func (d *Dispatcher) Change(x kapi.Context, run arch.Addr, on bool) {
	d.mutex.Lock(x)
	if d.image == 0 {
		at, ok := d.b.d.Exec.Alloc(x, imageSize, smpev.DispatcherMem)
		if !ok {
			d.mutex.Unlock(x)
			return
		}
		d.image = at
	}
	were := len(d.known)
	i := slices.IndexFunc(d.known, func(p dispatched) bool { return p.run == run })
	switch {
	case on && i >= 0:
		d.known[i].users++
	case on && were < MostDispatched:
		d.known = append(d.known, dispatched{run, 1})
	case !on && i >= 0 && d.known[i].users > 1:
		d.known[i].users--
	case !on && i >= 0:
		d.known = slices.Delete(d.known, i, i+1)
	}
	if len(d.known) != were {
		d.update(x, were)
	}
	d.mutex.Unlock(x)
}

// update writes the image anew (bpf_dispatcher_update). were is how many programs it knew:
//
//	step 1: write the half that isn't in use
//	step 2: have the function's first instruction jump there; if no program is left it becomes the nop again
//	step 3: wait for CPUs in the half before: the next change writes it
//
// Context: d->mutex held.
func (d *Dispatcher) update(x kapi.Context, were int) {
	s, off := &d.b.d, 0
	if were > 0 {
		off = halfSize - d.off
	}
	insn := s.Text.Arch().BranchNop
	if len(d.known) > 0 {
		to := d.image + arch.Addr(off)
		s.Text.Fill(x, to, d.half(to))
		if s.Sync != nil { // a CPU that traps on the jump's breakpoint comes here before any serialises
			s.Sync.Core(x, smpev.SyncImage)
		}
		insn, _ = s.Text.Arch().Jump(d.at, to)
	}

	s.Text.Mutex().Lock(x)
	s.Patch.Batch(x, []kapi.Rewrite{{At: d.at, Insn: insn.Bytes()}})
	s.Text.Mutex().Unlock(x)

	if !s.Boot.Planted(reusesHalf) {
		s.RCU.Synchronize(x, kapi.QuiesceRCU)
	}
	if len(d.known) > 0 {
		d.off = off
	}
}

// The instructions of an image, on x86-64, but for the jump that comes after the last program: jmp *%rdx.
var (
	compare = []byte{0x48, 0x81, 0xfa} // cmp $imm32,%rdx
	equal   = []byte{0x0f, 0x84}       // je rel32
	rest    = []byte{0xff, 0xe2}       // jmp *%rdx
)

// half returns the code of a half of the image that begins at at (arch_prepare_bpf_dispatcher). All of it is written:
// nothing is left of what was there.
func (d *Dispatcher) half(at arch.Addr) (code []byte) {
	for _, p := range d.known {
		code = binary.LittleEndian.AppendUint32(append(code, compare...), uint32(p.run))
		code = append(code, equal...)
		end := at + arch.Addr(len(code)+4)
		code = binary.LittleEndian.AppendUint32(code, uint32(p.run-end))
	}
	code = append(code, rest...)
	for len(code) < halfSize {
		code = append(code, d.b.d.Text.Arch().Breakpoint...)
	}
	return code
}
