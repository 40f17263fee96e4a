package bpf

import (
	"kpsim/engine/ftrace"
	"kpsim/smp/arch"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// gates are the routines that images call.
type gates struct {
	save, restore, run, into, outOf, orig, result, finish arch.Addr // set at boot
}

func (b *Bpf) bootGates() {
	bind := b.d.Boot.BootBind
	b.gates = gates{
		save: bind("bpf_tramp_save", b.save), restore: bind("bpf_tramp_restore", b.restore),
		run:  bind("__bpf_prog_enter", b.run),
		into: bind("__bpf_tramp_enter", b.into), outOf: bind("__bpf_tramp_exit", b.outOf),
		orig: bind("bpf_tramp_orig", b.orig), result: bind("bpf_tramp_result", b.result),
		finish: bind("bpf_tramp_return", b.finish),
	}
}

// The words of an image's frame. The arguments and the result are what programs get. Above the frame is the return
// address of the site's call, and above that the function's.
const (
	frameArgs   = 6
	frameResult = frameArgs
	frameRegs   = frameResult + 1
	frameWords  = frameRegs + ftrace.FrameRegs
)

// A frame is that of a call, as a routine finds it that the image has called.
type frame struct{ ftrace.Frame }

func (b *Bpf) frame(x kapi.Context, regs *arch.Regs) frame {
	return frame{ftrace.FrameOf(x, b.d.Text.Arch(), regs)}
}

// keep stores the registers in the frame.
func (f *frame) keep(regs *arch.Regs) {
	f.Keep(frameRegs, regs)
	f.Store(frameResult, regs.R[f.Arch.Result])
}

// leave loads the registers from the frame, and returns to an address with the stack pointer at sp.
func (f *frame) leave(regs *arch.Regs, to, sp arch.Addr) { f.Leave(frameRegs, regs, to, sp) }

// save makes the frame. Like the routines up to finish it is one step, which gives the CPU to no other task.
func (b *Bpf) save(x kapi.Context, regs *arch.Regs) {
	f := b.frame(x, regs)
	f.At -= arch.Addr(frameWords * f.Arch.Word)
	f.keep(regs)
	for i := range min(frameArgs, len(f.Arch.Args)) {
		f.Store(i, regs.R[f.Arch.Args[i]])
	}
	f.leave(regs, f.Back, f.At)
}

// restore takes the frame away: the image returns to the function.
func (b *Bpf) restore(x kapi.Context, regs *arch.Regs) {
	f := b.frame(x, regs)
	f.leave(regs, f.Back, f.Word(frameWords))
}

// orig calls the function, with the registers that its caller left: it returns to the image.
func (b *Bpf) orig(x kapi.Context, regs *arch.Regs) {
	f := b.frame(x, regs)
	f.leave(regs, arch.Addr(f.Load(frameWords)), f.SP)
}

// result keeps what the function has left.
func (b *Bpf) result(x kapi.Context, regs *arch.Regs) {
	f := b.frame(x, regs)
	f.keep(regs)
	if im, _ := b.find(f.Back); im != nil {
		x.Emit(smpev.Bpf, uint64(im.t.site), smpev.BpfReturns, uint64(im.at))
	}
	f.leave(regs, f.Back, f.At)
}

// finish takes the frame away: the image returns to the function's caller.
func (b *Bpf) finish(x kapi.Context, regs *arch.Regs) {
	f := b.frame(x, regs)
	result := f.Load(frameResult)
	f.leave(regs, f.Back, f.Word(frameWords+1))
	regs.R[f.Arch.Result] = result
}

// find returns the image that an address is in, and the program that the instruction before it is about. nil: none.
func (b *Bpf) find(back arch.Addr) (im *image, p *Prog) {
	for _, t := range b.tramp {
		for i := range t.images {
			im := &t.images[i]
			n := int(back-im.at)/b.d.Text.Arch().BranchLen - 1
			if im.used && back > im.at && n >= 0 && n < len(im.calls) {
				return im, im.calls[n]
			}
		}
	}
	return nil, nil
}

// into counts the task in (__bpf_tramp_enter: percpu_ref_get).
func (b *Bpf) into(x kapi.Context, regs *arch.Regs) { b.count(x, regs, 1) }

// outOf counts it out (__bpf_tramp_exit: percpu_ref_put).
func (b *Bpf) outOf(x kapi.Context, regs *arch.Regs) { b.count(x, regs, -1) }

func (b *Bpf) count(x kapi.Context, regs *arch.Regs, by int) {
	f := b.frame(x, regs)
	im, _ := b.find(f.Back)
	if im == nil {
		b.d.Traps.Bug(x, "a task counts itself in or out of a BPF trampoline that there isn't")
		return
	}
	x.PreemptDisable()
	kapi.Add(&im.refs, x, kapi.Once, by)
	x.PreemptEnable()
}

// run runs a program (__bpf_prog_enter, the program, __bpf_prog_exit). If the CPU runs it already the call is left out.
// A result that isn't 0, of a program of kind ModRet, leaves the function out: the fexit programs come next, and the
// nop before them isn't passed.
func (b *Bpf) run(x kapi.Context, regs *arch.Regs) {
	f := b.frame(x, regs)
	im, p := b.find(f.Back)
	if p == nil {
		b.d.Traps.Bug(x, "a BPF trampoline that there isn't calls a program")
		return
	}
	x.PreemptDisable()
	active := &p.active[x.CPU()]
	if active.ReadOnce(x) {
		p.emit(x, smpev.BpfMisses)
		x.PreemptEnable()
		return
	}
	active.WriteOnce(x, true)
	p.emit(x, smpev.BpfEntry+uint64(p.kind))
	x.Regs().R[f.Arch.Args[0]] = uint64(f.At)
	result := x.Call(p.run)
	p.emit(x, smpev.BpfRan)
	if p.kind == ModRet {
		if f.Store(frameResult, result); result != 0 {
			p.emit(x, smpev.BpfSkips)
			f.Mem.Store(f.SP, f.Arch.Word, uint64(im.exits))
		}
	}
	active.WriteOnce(x, false)
	x.PreemptEnable()
}
