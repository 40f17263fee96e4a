package linux

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"kpsim/engine/ftrace"
	"kpsim/linux/vmlinux"
	"kpsim/smp/arch"
	"kpsim/smp/arch/ppc64"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

// The row of ppc64le. A kernel is position-independent, and is moved to where branches of 32 MiB lead from all its text
// to the services, which lie between its data and its .init.text. The area for detours lies beside it, where branches
// of scenarios reach it.
var portPPC = port{places: &places64, away: movedPPC, trap: "program_check_exception", slot: []string{"ainsn.insn"},
	perTask: true, current: currentPPC, flags: "flags", wanted: wantedPPC, cause: causePPC,
	frames: frames{header: ppc64.HeaderSize, below: 288 /* ELFv2, 2.2.2.4 */, load: ppc64.LoadPtRegs,
		store: ppc64.StorePtRegs, step: "single_step_exception", cause: stepCausePPC, left: leftPPC},
	data: cpuData{reg: ppc64.Paca, load: cpuRegsPPC, own: ownPPC, boot: bootPPC, switched: switchedPPC, mask: maskPPC},
	text: portText{entry: ppc64.GlobalEntry, thunks: ppcThunks, overlay: ppcOverlay, boot: ppcDetours + 64<<10,
		tramp: ppcTramp, local: localPPC, sites: sitesPPC},
	bootText: bootTextPPC, thunk: thunkPPC, redirect: redirectPPC, calls: callsARM, entered: enteredPPC,
	fixed: fixedPPC}

// Where a kernel and what belongs to it lie.
const (
	ppcAt      = 0xffff_ffff_8400_0000
	ppcThunks  = 0xffff_ffff_85f4_0000
	ppcOverlay = 0xffff_ffff_83f6_0000 // below the kernel, in reach of the detours, of its text and of its services
	ppcDetours = 0xffff_ffff_82b0_0000
	ppcTramp   = ppcDetours + 256<<10  // what ftrace_dyn_arch_init adds to ftrace_tramps
	ppcPacas   = 0xffff_8880_0c00_0000 // the data of each CPU that r13 points to
	ppcPoke    = 0xffff_8880_0d00_0000 // by CPU: where text is mapped that is to be stored to
)

// movedPPC is port.away.
func movedPPC(k *Kernel) int64 { return int64(ppcAt - k.Image.Sections()[0].Addr) }

// A paca is what is used of struct paca_struct (arch/powerpc/include/asm/paca.h), the data of a CPU.
type paca struct {
	size                                                int
	index, toc, offset, current, canary, mask, happened field
	poke                                                struct{ addr, pte field } // of struct patch_context
}

// pacaParts looks up the members.
func pacaParts(t *vmlinux.Types) (p paca, ok bool) {
	p.size, ok = t.Size("paca_struct")
	for _, m := range []struct {
		to           *field
		name, member string
	}{{&p.index, "paca_struct", "paca_index"}, {&p.toc, "paca_struct", "kernel_toc"},
		{&p.offset, "paca_struct", "data_offset"}, {&p.current, "paca_struct", "__current"},
		{&p.canary, "paca_struct", "canary"}, {&p.mask, "paca_struct", "irq_soft_mask"},
		{&p.happened, "paca_struct", "irq_happened"},
		{&p.poke.addr, "patch_context", "addr"}, {&p.poke.pte, "patch_context", "pte"}} {
		*m.to, ok = part(t, m.name, m.member, ok)
	}
	p.size = roundUp(p.size+16, page)
	return p, ok && p.mask.size == 1
}

// pacaOf returns where the data of a CPU is.
func pacaOf(k *Kernel, cpu int) arch.Addr { return ppcPacas + arch.Addr(cpu*k.fields.paca.size) }

// pteOf returns the page table entry of a CPU's mapping for stores to text.
func pteOf(k *Kernel, cpu int) arch.Addr { return pacaOf(k, cpu+1) - 8 }

// pokeOf returns that mapping's address.
func pokeOf(cpu int) arch.Addr { return ppcPoke + arch.Addr(cpu*page) }

// currentPPC is port.current: a task has the kernel's TOC.
func currentPPC(k *Kernel, r *arch.Regs, _ *arch.TaskState, _ arch.Addr) {
	r.R[ppc64.TOC] = k.Closure.TOC()
}

// cpuRegsPPC is port.data.load.
func cpuRegsPPC(k *Kernel, cpu int, r *arch.Regs) { r.R[ppc64.Paca] = uint64(pacaOf(k, cpu)) }

// ownPPC is port.data.own.
func ownPPC(k *Kernel, g kapi.Guest, cpus int) {
	g.Map(&kapi.Image{At: pacaOf(k, 0), Size: cpus * k.fields.paca.size, Write: true})
	g.Map(&kapi.Image{At: pokeOf(0), Size: cpus * page, Write: true})
}

// ppcCanary is what a stack protector of the kernel's compares with.
const ppcCanary = 0x5ca1_ab1e_0ddb_a100

// bootPPC is port.data.boot.
func bootPPC(e *Linux, cpu int) {
	k, p, g := e.k, &e.k.fields.paca, e.d.Guest
	put := func(f field, v uint64) { g.Put(pacaOf(k, cpu)+arch.Addr(f.off), f.size, v) }
	put(p.index, uint64(cpu))
	put(p.toc, k.Closure.TOC())
	put(p.offset, uint64(g.PerCPU(cpu, 0)))
	put(p.canary, ppcCanary)
	put(p.happened, hardDisabled)
	at := g.PerCPU(cpu, k.at("cpu_patching_context"))
	g.Put(at+arch.Addr(p.poke.addr.off), 8, uint64(pokeOf(cpu)))
	g.Put(at+arch.Addr(p.poke.pte.off), 8, uint64(pteOf(k, cpu)))
}

// switchedPPC is port.data.switched: a task is the CPU's current one.
func switchedPPC(k *Kernel, g kapi.Guest, cpu int, task arch.Addr) {
	g.Put(pacaOf(k, cpu)+arch.Addr(k.fields.paca.current.off), 8, uint64(task))
}

// The bits of irq_soft_mask (asm/hw_irq.h).
const (
	softDisabled = 1
	softPMI      = 2

	// hardDisabled is PACA_IRQ_HARD_DIS of irq_happened: MSR.EE is off, and handlers of traps leave it so.
	hardDisabled = 1
)

// maskPPC is port.data.mask. A kernel masks interrupts by a byte, and one that comes is taken later. Here the CPU
// doesn't take it: MSR.EE is as the byte says.
func maskPPC(k *Kernel, g kapi.Guest, cpu int, r *arch.Regs) {
	v := uint64(softDisabled)
	if r.Flags&arch.IRQ != 0 {
		v = 0
	}
	g.Put(pacaOf(k, cpu)+arch.Addr(k.fields.paca.mask.off), 1, v)
}

// masked is in the place of a store to irq_soft_mask. The value is in the frame.
func masked(e *Linux, x kapi.Context, a *args) uint64 {
	v, _ := x.Memory().Load(arch.Addr(x.Regs().R[ppc64.SP])+ppcKept, 8)
	return irqRestore(e, x, &args{v})
}

// irqRestore is arch_local_irq_restore(mask).
func irqRestore(e *Linux, x kapi.Context, a *args) uint64 {
	x.Memory().Store(pacaOf(e.k, x.CPU())+arch.Addr(e.k.fields.paca.mask.off), 1, a[0]&0xff)
	x.IRQ(a[0]&softDisabled == 0)
	return 0
}

// enterPrepare is interrupt_enter_prepare(registers).
func enterPrepare(e *Linux, x kapi.Context, _ *args) uint64 {
	x.Memory().Store(pacaOf(e.k, x.CPU())+arch.Addr(e.k.fields.paca.mask.off), 1, softDisabled|softPMI)
	return 0
}

// Traps, as entry code saves them (asm/interrupt.h), and the bit of SRR1 that says that a trap instruction is the cause
// (Book III, "Program Interrupt").
const (
	trapProgram = 0x700
	trapTrace   = 0xd00
	trapBit     = 0x20000
)

// causePPC is port.cause: the cause is among the saved registers.
func causePPC(x kapi.Context) (cause, owner uint64) {
	frame := arch.Addr(x.Regs().R[ppc64.SP])
	msr, _ := x.Memory().Load(frame+ppc64.PtMSR, 8)
	x.Memory().Store(frame+ppc64.PtMSR, 8, msr|trapBit)
	x.Memory().Store(frame+ppc64.PtTrap, 8, trapProgram)
	return 0, 0
}

// emulateStore is TIF_EMULATE_STACK_STORE (asm/thread_info.h): emulate_step has left out the store of stdu r1, which
// may lie in the frame of the trap.
const emulateStore = 1 << 16

// leftPPC is port.frames.left: the way out of a trap makes that store (interrupt_return in interrupt_64.S).
func leftPPC(t *traps, x kapi.Context, frame arch.Addr, regs *arch.Regs) {
	task, f := t.taskAt(x.Task()), t.k.fields.thread.flags
	flags := get(x, task, f)
	if flags&emulateStore == 0 {
		return
	}
	set(x, task, f, flags&^emulateStore)
	t.d.Traps.Stepped(x)
	x.Memory().Store(arch.Addr(regs.R[ppc64.SP]), 8, uint64(frame+ppc64.IntFrameSize))
}

// stepCausePPC is causePPC of a step.
func stepCausePPC(x kapi.Context) (cause, owner uint64) {
	x.Memory().Store(arch.Addr(x.Regs().R[ppc64.SP])+ppc64.PtTrap, 8, trapTrace)
	return 0, 0
}

// fixedPPC is port.fixed: rows have no kinds.
func fixedPPC(*Kernel, *arch.Regs, *vmlinux.ExEntry, int) bool { return true }

// enteredPPC is port.entered: a call links LR.
func enteredPPC(_ *env, x kapi.Context) arch.Addr {
	return arch.Addr(x.Regs().R[ppc64.LR]) - ppc64.WordLen
}

// localPPC is port.text.local.
func localPPC(k *Kernel, at arch.Addr) arch.Addr {
	const most = 4 * ppc64.WordLen // two nops of ftrace's, with some compilers, and what makes the TOC
	return at + ppc64.LocalEntry(k.Image.Bytes(uint64(at), most))
}

// ppcHalf is an instruction but for its immediate.
const ppcHalf = 0xffff0000

// Instructions of thunks. A frame lies below what a function may use without one.
const (
	ppcSaveLR   = 0xf8010010           // std r0,16(r1)
	ppcLoadLR   = 0xe8010010           // ld r0,16(r1)
	ppcPush     = 0xf821ffc1           // stdu r1,-64(r1)
	ppcPop      = 0x38210040           // addi r1,r1,64
	ppcPushFar  = 0xf821fea1           // stdu r1,-352(r1)
	ppcPopFar   = 0x38210160           // addi r1,r1,352
	ppcKeepR0   = 0xf8010020           // std r0,32(r1)
	ppcKeepLR   = 0xf8010028           // std r0,40(r1)
	ppcKeep     = 0xf8010000 | ppcKept // std …,48(r1)
	ppcKept     = 48
	ppcSource   = 31 << 21   // the register that is stored
	ppcGetR0    = 0xe8010020 // ld r0,32(r1)
	ppcGetLR    = 0xe8010028 // ld r0,40(r1)
	ppcFromLR   = 0x7c0802a6 // mflr r0
	ppcToLR     = 0x7c0803a6 // mtlr r0
	ppcNop      = 0x60000000
	ppcStoreB   = 0x98000000 // stb
	ppcStoreW   = 0x90000000 // stw
	ppcStoreD   = 0xf8000000 // std
	ppcStores   = 0xfc000003 // the opcode, and that of std
	ppcOfR13    = 13 << 16
	ppcBase     = 31 << 16
	ppcDistance = 0xffff
)

// A ppcCode assembles words and branches that stand at an address.
type ppcCode struct {
	at    arch.Addr
	bytes []byte
	far   bool // a branch doesn't reach its target
}

func (c *ppcCode) add(words ...uint32) {
	for _, w := range words {
		c.bytes = binary.LittleEndian.AppendUint32(c.bytes, w)
	}
}

func (c *ppcCode) branch(f func(at, target arch.Addr) (arch.Code, bool), to arch.Addr) {
	b, ok := f(c.at+arch.Addr(len(c.bytes)), to)
	c.bytes, c.far = append(c.bytes, b.Bytes()...), c.far || !ok
}

// thunkPPC is port.thunk. The first instruction at the local entry is executed here: redirectPPC puts a branch in its
// place.
func thunkPPC(k *Kernel, at arch.Addr, targets [3]arch.Addr) (code []byte, ok bool) {
	entry := localPPC(k, targets[1])
	first := k.bytes(entry, ppc64.WordLen)
	in, err := k.arch.Decode(first, entry)
	if err != nil || in.Flow() != arch.FlowNext {
		return nil, false
	}
	const body = 11 * ppc64.WordLen // from the thunk
	c := ppcCode{at: at}
	c.add(ppcFromLR, ppcSaveLR, ppcPush)
	c.branch(ppc64.Call, targets[0])
	c.branch(ppc64.Call, at+body)
	c.branch(ppc64.Call, targets[2])
	c.add(ppcPop, ppcLoadLR, ppcToLR)
	ret := ppc64.Ret()
	c.bytes = append(append(c.bytes, ret.Bytes()...), ret.Bytes()...)
	c.bytes = append(c.bytes, first...)
	c.branch(ppc64.Jump, entry+ppc64.WordLen)
	return c.bytes, !c.far
}

// redirectPPC is port.redirect. Functions are watched at their local entries, so calls through pointers are, too.
func redirectPPC(k *Kernel, to map[arch.Addr]arch.Addr) error {
	for i := range watched {
		at := k.compiled(watched[i].name)
		if thunk, ok := to[at]; ok {
			if err := k.putBranch(localPPC(k, at), thunk); err != nil {
				return err
			}
		}
	}
	return nil
}

// ppcSites is where the code for sites begins, behind the thunks.
const ppcSites = ppcThunks + page

// sitesPPC is port.text.sites. Stores to irq_soft_mask are done by a gate, and so are those that text is stored by.
func sitesPPC(k *Kernel) error {
	gate := func(name string, do func(e *Linux, x kapi.Context, a *args) uint64) arch.Addr {
		k.services = append(k.services, &service{name: name, served: &served{keeps: true, do: do}})
		return gateAt(k, len(k.services)-1)
	}
	masks := gate("interrupts are masked", masked)
	im := &kapi.Image{At: ppcSites, Exec: true}
	var failed error
	add := func(in *ppc64.Inst, to arch.Addr) {
		c := ppcCode{at: im.At + arch.Addr(len(im.Bytes))}
		c.add(ppcPushFar, ppcKeepR0, ppcKeep|in.Word()&ppcSource, ppcFromLR, ppcKeepLR)
		c.branch(ppc64.Call, to)
		c.add(ppcGetLR, ppcToLR, ppcGetR0, ppcPopFar)
		c.branch(ppc64.Jump, in.Next())
		im.Bytes = append(im.Bytes, c.bytes...)
		if err := k.putBranch(in.At(), c.at); err != nil || c.far {
			failed = fmt.Errorf("%#x: a branch doesn't reach it", uint64(in.At()))
		}
	}
	stores := 0
	for i := range k.Closure.Inside {
		f := &k.Closure.Inside[i]
		var code []*ppc64.Inst
		k.Closure.Decode(f, func(in arch.Inst) {
			if p, ok := in.(*ppc64.Inst); ok {
				code = append(code, p)
			}
		})
		for n, p := range code {
			w := p.Word()
			if w&(ppcOp|ppcBase) == ppcStoreB|ppcOfR13 && int(w&ppcDistance) == k.fields.paca.mask.off {
				add(p, masks)
			}
			if to, ok := textStorePPC(code, n); ok {
				stores++
				add(p, gate("text is stored", to.do))
			}
		}
	}
	if stores == 0 {
		failed = fmt.Errorf("its patch_mem has no store before a dcbst and an icbi: the kernel is newer than this " +
			"program")
	}
	im.Size = roundUp(len(im.Bytes)+1, page)
	k.images = append(k.images, im)
	return failed
}

// A textStore is a store to text, of n bytes. The registers are those of its address in the CPU's mapping and of the
// address where the text runs.
type textStore struct {
	mapped, at arch.Reg
	n          uint64
}

// The instructions by which __patch_mem makes caches coherent (Power ISA, Book II, 4.3).
const (
	ppcCache = 0xffe007fe
	ppcDCBST = 0x7c00006c
	ppcICBI  = 0x7c0007ac
	ppcBKeep = 0xfc000003 // of b
	ppcIndex = 11         // where rb is
	ppcNear  = 8          // instructions from a dcbst to its icbi, at most
)

// textStorePPC returns the store of an instruction, if text is stored by it: the next is a dcbst, or a branch to one,
// and an icbi follows that. It is the compiled code of __patch_mem, which callers may have inlined.
func textStorePPC(code []*ppc64.Inst, i int) (s textStore, ok bool) {
	switch w := code[i].Word(); {
	case w&(ppcOp|ppcDistance) == ppcStoreW:
		s.n = ppc64.WordLen
	case w&(ppcOp|ppcDistance) == ppcStoreD:
		s.n = 2 * ppc64.WordLen
	default:
		return s, false
	}
	s.mapped = arch.Reg(code[i].Word() >> 16 & 31)
	if i++; i == len(code) {
		return s, false
	}
	if to, is := code[i].Target(); is && code[i].Word()&ppcBKeep == ppcFarB {
		i = slices.IndexFunc(code, func(p *ppc64.Inst) bool { return p.At() == to })
	}
	if i < 0 || code[i].Word()&ppcCache != ppcDCBST {
		return s, false
	}
	for _, p := range code[i:min(i+ppcNear, len(code))] {
		if p.Word()&ppcCache == ppcICBI {
			s.at = arch.Reg(p.Word() >> ppcIndex & 31)
			return s, true
		}
	}
	return s, false
}

// do makes the store. The mapping must be the CPU's own, and be of the page that the address is in. What follows about
// caches runs.
func (s textStore) do(e *Linux, x kapi.Context, _ *args) uint64 {
	r, cpu := x.Regs(), x.CPU()
	at, to := arch.Addr(r.R[s.at]), arch.Addr(r.R[s.mapped])
	v, _ := x.Memory().Load(arch.Addr(r.R[ppc64.SP])+ppcKept, 8)
	pte, _ := x.Memory().Load(pteOf(e.k, cpu), 8)
	if to != pokeOf(cpu)+at%page || pfn(pte) != frameOf(at)&pfnMask {
		e.bug(x, fmt.Sprintf("text at %#x is stored to at %#x, where it isn't mapped", uint64(at), uint64(to)))
		return 0
	}
	if e.poked(x, "patch_instruction", at, s.n) == nil {
		return 0
	}
	b := e.poke.words[cpu][:s.n] // no mutex keeps writers of labels and of detours apart; interrupts are off
	for i := range b {
		b[i] = byte(v >> (8 * i))
	}
	e.poke.store(x, at, b, true)
	return 0
}

// frameOf returns the number of the page that an address of text is in: __pa and vmalloc_to_pfn, which here are the
// same.
func frameOf(at arch.Addr) uint64 { return uint64(at) << 4 >> 4 / page }

// pfn returns the page that an entry of a page table is of (PTE_RPN_MASK, asm/book3s/64/pgtable.h). It is stored with
// the highest byte first.
func pfn(pte uint64) uint64 { return bits.ReverseBytes64(pte) / page & pfnMask }

const pfnMask = 1<<57/page - 1

// pfnOf is vmalloc_to_pfn(address).
func pfnOf(_ *Linux, _ kapi.Context, a *args) uint64 { return frameOf(arch.Addr(a[0])) }

// isModuleAddr is is_vmalloc_or_module_addr(address).
func isModuleAddr(e *Linux, _ kapi.Context, a *args) uint64 {
	return b2u(e.memory.inCode(arch.Addr(a[0])))
}

// flushRange is flush_icache_range(from, to): where caches are coherent it serialises the CPU.
func flushRange(e *Linux, x kapi.Context, _ *args) uint64 {
	e.d.Sync.Self(x, smpev.SyncSelf)
	return 0
}

// copyMemory is memcpy_power7(to, from, size).
func copyMemory(e *Linux, x kapi.Context, a *args) uint64 {
	b := make([]byte, min(a[2], page))
	for done := uint64(0); done < a[2]; done += uint64(len(b)) {
		b = b[:min(a[2]-done, page)]
		e.read(x, arch.Addr(a[1]+done), b)
		e.write(x, arch.Addr(a[0]+done), b)
	}
	return a[0]
}

// locationRange is ftrace_location_range(from, to): it looks from from to to, too.
func locationRange(e *Linux, x kapi.Context, a *args) uint64 {
	e.d.Symbols.Look(x)
	return uint64(e.siteIn(ftrace.Site, arch.Addr(a[0]), int(a[1]-a[0])+1))
}

// exceptionPPC is _exception(signal, registers, code, address).
func exceptionPPC(e *Linux, x kapi.Context, _ *args) uint64 {
	e.bug(x, "an exception in the kernel")
	return 0
}

// wantedPPC is port.wanted: preempt_schedule goes on as long as the flag is set. It loads the flags, and masks one bit
// (need_resched, include/linux/sched.h).
func wantedPPC(k *Kernel) (w kapi.Wanted) {
	const ldMask, andi = 0xfc000003, 28 << 26
	s, _ := k.Image.Symbol("preempt_schedule")
	code, load := k.Image.Bytes(s.Addr, s.Size), false
	for ; len(code) >= ppc64.WordLen; code = code[ppc64.WordLen:] {
		w := binary.LittleEndian.Uint32(code)
		if n := uint64(w & 0xffff); load && w&ppcOp == andi && n&(n-1) == 0 {
			return kapi.Wanted{Set: n}
		}
		load = w&ldMask == 58<<26 && int(w&0xfffc) == k.fields.thread.flags.off
	}
	return w
}
