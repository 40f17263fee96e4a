package ppc64

import (
	"encoding/binary"

	"kpsim/smp/arch"
)

// A trap frame, from low to high addresses (arch/powerpc/include/asm/ptrace.h, 6.12). It begins with
// the header of a stack frame, because a handler saves its LR there:
//
//	back chain, CR, LR and TOC of the callee    STACK_FRAME_MIN_SIZE
//	marker, and eight bytes of alignment
//	gpr[32] nip msr orig_gpr3 ctr link xer ccr softe trap dar dsisr result    struct user_pt_regs
//	ppr exit_result amr iamr                    with it struct pt_regs
//
// Entry code saves all of it: the processor itself stores nothing.
const (
	HeaderSize = 32 + 16
	PtRegsSize = 48 * 8
	FrameSize  = HeaderSize + PtRegsSize

	// redZone is what code of a kernel may use below its stack pointer (KERNEL_REDZONE_SIZE).
	redZone = 288
)

// IntFrameSize is how far below the stack pointer an interrupt's frame begins (INT_FRAME_SIZE).
const IntFrameSize = FrameSize + redZone

// Offsets in a frame.
const (
	frameMarker = 32

	PtGPR  = HeaderSize
	PtNIP  = PtGPR + 32*8
	PtMSR  = PtNIP + 8
	PtOrig = PtNIP + 2*8
	PtCTR  = PtNIP + 3*8
	PtLink = PtNIP + 4*8
	PtXER  = PtNIP + 5*8
	PtCCR  = PtNIP + 6*8
	PtSoft = PtNIP + 7*8
	PtTrap = PtNIP + 8*8
)

// regsMarker is STACK_FRAME_REGS_MARKER: an unwinder finds a frame of registers by it.
const regsMarker = 0xffffffff_8d9a988d

// frame is that of a trap that a kernel's code takes, userFrame that of user mode, which begins at the
// end of the kernel's stack.
var (
	frame     = frameOf(0, redZone)
	userFrame = frameOf(msrPR, 0)
)

// frameOf is a frame whose MSR has PR or not.
func frameOf(pr uint64, skipped arch.Addr) arch.Frame {
	return arch.Frame{
		Size: FrameSize,
		At:   func(sp uint64, _ bool) arch.Addr { return arch.Addr(sp) - FrameSize - skipped },
		Load: loadFrame,
		Store: func(m arch.Memory, at arch.Addr, r *arch.Regs) bool {
			return storeFrame(m, at, r, pr)
		},
		Get: func(b []byte, r *arch.Regs) { getFrame((*[FrameSize]byte)(b), r) },
		Put: func(b []byte, r *arch.Regs) { putFrame((*[FrameSize]byte)(b), r, pr) },
	}
}

// image returns the bytes of the frame at an address if m has them at hand.
func image(m arch.Memory, at arch.Addr, store bool) *[FrameSize]byte {
	if i, ok := m.(arch.Imager); ok {
		if b := i.Image(at, FrameSize, store); b != nil {
			return (*[FrameSize]byte)(b)
		}
	}
	return nil
}

func loadFrame(m arch.Memory, at arch.Addr, r *arch.Regs) (ok bool) {
	if b := image(m, at, false); b != nil {
		getFrame(b, r)
		return true
	}
	var b [FrameSize]byte
	for i := PtGPR; i < PtSoft; i += 8 {
		v, ok := m.Load(at+arch.Addr(i), 8)
		if !ok {
			return false
		}
		binary.LittleEndian.PutUint64(b[i:], v)
	}
	getFrame(&b, r)
	return true
}

func storeFrame(m arch.Memory, at arch.Addr, r *arch.Regs, pr uint64) (ok bool) {
	if b := image(m, at, true); b != nil {
		putFrame(b, r, pr)
		return true
	}
	var b [FrameSize]byte
	putFrame(&b, r, pr)
	for i := 0; i < FrameSize; i += 8 {
		if !m.Store(at+arch.Addr(i), 8, binary.LittleEndian.Uint64(b[i:])) {
			return false
		}
	}
	return true
}

// putFrame writes a frame. The back chain is the stack pointer of what was interrupted. softe is 1 if
// interrupts were off (IRQS_DISABLED). orig_gpr3, trap, dar and what follows are zero: what serves the
// trap writes them.
func putFrame(b *[FrameSize]byte, r *arch.Regs, pr uint64) {
	le := binary.LittleEndian
	clear(b[:])
	le.PutUint64(b[:], r.R[SP])
	le.PutUint64(b[frameMarker:], regsMarker)
	for i, v := range r.R[:LR] {
		le.PutUint64(b[PtGPR+8*i:], v)
	}
	le.PutUint64(b[PtNIP:], uint64(r.IP))
	le.PutUint64(b[PtMSR:], MSR(r.Flags)|pr)
	le.PutUint64(b[PtCTR:], r.R[CTR])
	le.PutUint64(b[PtLink:], r.R[LR])
	le.PutUint64(b[PtXER:], r.Flags&flagsXER)
	le.PutUint64(b[PtCCR:], r.Flags>>32)
	if r.Flags&arch.IRQ == 0 {
		b[PtSoft] = 1
	}
}

// LoadPtRegs reads a struct pt_regs at an address, which is a frame without its header. ok false: part of it is not
// mapped.
func LoadPtRegs(m arch.Memory, at arch.Addr, r *arch.Regs) (ok bool) {
	return loadFrame(m, at-HeaderSize, r)
}

// StorePtRegs writes what LoadPtRegs has read, and nothing else.
func StorePtRegs(m arch.Memory, at arch.Addr, r *arch.Regs) (ok bool) {
	ok = true
	store := func(off int, v uint64) { ok = ok && m.Store(at-HeaderSize+arch.Addr(off), 8, v) }
	for i, v := range r.R[:LR] {
		store(PtGPR+8*i, v)
	}
	store(PtNIP, uint64(r.IP))
	store(PtMSR, MSR(r.Flags))
	store(PtCTR, r.R[CTR])
	store(PtLink, r.R[LR])
	store(PtXER, r.Flags&flagsXER)
	store(PtCCR, r.Flags>>32)
	return ok
}

func getFrame(b *[FrameSize]byte, r *arch.Regs) {
	le := binary.LittleEndian
	for i := range r.R[:LR] {
		r.R[i] = le.Uint64(b[PtGPR+8*i:])
	}
	r.IP = arch.Addr(le.Uint64(b[PtNIP:]))
	r.R[CTR], r.R[LR] = le.Uint64(b[PtCTR:]), le.Uint64(b[PtLink:])
	r.Flags = withMSR(le.Uint64(b[PtCCR:])<<32|le.Uint64(b[PtXER:])&flagsXER, le.Uint64(b[PtMSR:]))
}
