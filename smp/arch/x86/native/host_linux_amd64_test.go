package native

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// Where the harness keeps what it needs itself. All of it lies below 2 GiB, so
// that code reaches it without a register.
const (
	stubsAt = 0x5100_0000 // machine code: enter, leave, the handler of signals
	areaAt  = 0x5100_1000 // an area
)

// An area is what goes in and comes out. Its layout is known to the stubs.
type area struct {
	in      [16]uint64 // 0x000
	inFlags uint64     // 0x080
	inFS    uint64     // 0x088
	inGS    uint64     // 0x090
	entry   uint64     // 0x098: where the code begins; of 32-bit code a far pointer
	first   uint64     // 0x0a0: where enter goes: there, or to the stub that does a far jump
	inSel   [2]uint64  // 0x0a8: the selectors of fs and gs in 32-bit mode

	_        [0x100 - 0xb8]byte
	out      [16]uint64 // 0x100
	outFlags uint64     // 0x180
	outIP    uint64     // 0x188
	trap     int64      // 0x190: the vector; -1: none
	cr2      uint64     // 0x198
	outFS    uint64     // 0x1a0
	outGS    uint64     // 0x1a8

	_      [0x200 - 0x1b0]byte
	host   [4]uint64 // 0x200: rsp, rbp, r14, r15 of Go
	hostFS uint64    // 0x220
	hostGS uint64    // 0x228
	busy   uint64    // 0x230: code is running, so signals are its own

	_      [0x300 - 0x238]byte
	old    [32]uint64  // 0x300: the handlers that were there before
	code   [0x100]byte // 0x400: what runs, to be read after the child has died
	length uint64
}

const (
	inFlagsAt  = areaAt + 0x80
	inFSAt     = areaAt + 0x88
	inGSAt     = areaAt + 0x90
	entryAt    = areaAt + 0x98
	firstAt    = areaAt + 0xa0
	inSelAt    = areaAt + 0xa8
	outAt      = areaAt + 0x100
	outFlagsAt = areaAt + 0x180
	outIPAt    = areaAt + 0x188
	trapAt     = areaAt + 0x190
	cr2At      = areaAt + 0x198
	outFSAt    = areaAt + 0x1a0
	outGSAt    = areaAt + 0x1a8
	hostAt     = areaAt + 0x200
	hostFSAt   = areaAt + 0x220
	hostGSAt   = areaAt + 0x228
	busyAt     = areaAt + 0x230
	oldAt      = areaAt + 0x300
)

// The selectors of user mode: Linux, arch/x86/include/asm/segment.h.
const codeSelector64, codeSelector32, dataSelector = 0x33, 0x23, 0x2b

// A host is the processor that the test runs on. There is one a process.
type host struct {
	*area
	memory         [3]*[pageSize]byte
	text           *[textSize]byte
	enter          func()
	leaveAt        uint32 // of the stub that code comes back to
	faultAt, farAt uint32
	fsgsbase       bool // user code may read and write the bases of fs and gs by itself
}

var theHost *host

// newHost maps the guest's pages and the stubs, and takes over the signals of
// faults. What isn't caused by code under test goes on to Go's handlers.
func newHost() (*host, error) {
	if theHost != nil {
		return theHost, nil
	}
	h := &host{fsgsbase: hwcap2()&2 != 0} // HWCAP2_FSGSBASE
	fd := -1
	if name := os.Getenv(areaEnv); name != "" { // the parent reads it if we die
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		fd = int(f.Fd())
		defer f.Close()
	}
	const rw, rwx = syscall.PROT_READ | syscall.PROT_WRITE, syscall.PROT_READ | syscall.PROT_WRITE | syscall.PROT_EXEC
	for _, r := range []struct {
		at       arch.Addr
		size     uintptr
		prot, fd int
	}{
		{textAt, textSize, rwx, -1}, {dataAt, pageSize, rw, -1}, {stackAt, pageSize, rw, -1}, {lowAt, pageSize, rw, -1},
		{stubsAt, pageSize, rwx, -1}, {areaAt, pageSize, rw, fd},
	} {
		flags := syscall.MAP_PRIVATE | syscall.MAP_ANON
		if r.fd >= 0 {
			flags = syscall.MAP_SHARED
		}
		const fixedNoReplace = 0x100000
		got, _, errno := syscall.Syscall6(syscall.SYS_MMAP, uintptr(r.at), r.size, uintptr(r.prot),
			uintptr(flags|fixedNoReplace), uintptr(r.fd), 0)
		if errno != 0 || got != uintptr(r.at) {
			return nil, fmt.Errorf("native: mapping %#x: %v", r.at, errno)
		}
	}
	h.area = (*area)(at(areaAt))
	for i, base := range []uint32{fsBase32, gsBase32} {
		h.inSel[i] = ldt(uint32(i), base)
	}
	for i, a := range pageAt {
		h.memory[i] = (*[pageSize]byte)(at(uintptr(a)))
	}
	h.text = (*[textSize]byte)(at(uintptr(textAt)))
	stubs := (*[pageSize]byte)(at(stubsAt))
	handler, restorer := h.assemble(stubs)
	entry := at(stubsAt)
	p := &entry
	h.enter = *(*func())(unsafe.Pointer(&p)) // a Go func value is a pointer to a pointer to code

	for _, sig := range faultSignals {
		type sigaction struct {
			handler, flags, restorer, mask uint64
		}
		const siginfo, onstack, restorerFlag = 4, 0x08000000, 0x04000000
		act, old := sigaction{handler, siginfo | onstack | restorerFlag, restorer, ^uint64(0)}, sigaction{}
		if _, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&act)),
			uintptr(unsafe.Pointer(&old)), 8, 0, 0); errno != 0 {
			return nil, errno
		}
		h.old[sig] = old.handler
	}
	theHost = h
	return h, nil
}

// ldt makes an entry of the local descriptor table, a flat segment but for its base,
// and returns the selector; 0: the kernel doesn't allow it.
func ldt(entry, base uint32) (selector uint64) {
	const seg32bit, limitInPages, useable = 1, 1 << 4, 1 << 6
	// struct user_desc: Linux, arch/x86/include/uapi/asm/ldt.h
	desc := [4]uint32{entry, base, 0xfffff, seg32bit | limitInPages | useable}
	if n, _, _ := syscall.Syscall(syscall.SYS_MODIFY_LDT, 0x11, uintptr(unsafe.Pointer(&desc)),
		unsafe.Sizeof(desc)); n != 0 {
		return 0
	}
	return uint64(entry<<3 | 7)
}

var faultSignals = []syscall.Signal{syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGILL, syscall.SIGBUS, syscall.SIGTRAP}

// at makes a pointer of an address that mmap was given.
func at(a uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }

// lock keeps the goroutine on its thread and all signals but those of faults off
// it: fs, which Go's handlers need, belongs to the code under test. The result
// undoes it.
func (h *host) lock() (unlock func()) {
	runtime.LockOSThread()
	mask, old := ^uint64(0), uint64(0)
	for _, sig := range faultSignals {
		mask &^= 1 << (sig - 1)
	}
	setMask := func(p, old *uint64) {
		const setmask = 2
		syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, setmask, uintptr(unsafe.Pointer(p)),
			uintptr(unsafe.Pointer(old)), 8,
			0, 0)
	}
	setMask(&mask, &old)
	// Compatibility mode needs data segments; 64-bit code doesn't look at them.
	selectors := arch.Regs{R: [arch.MaxRegs]uint64{x86.RAX: dataSelector}}
	h.raw([]byte{0x8e, 0xd8, 0x8e, 0xc0}, selectors) // mov ds, eax; mov es, eax
	return func() {
		setMask(&old, nil)
		runtime.UnlockOSThread()
	}
}

// pad implements rival.
func (h *host) pad(mode x86.Mode, a arch.Addr) []byte {
	var b []byte
	if mode == x86.Mode64 {
		b = append(b, 0xc7, 0x04, 0x25) // mov dword [outIP], a
		b = le32(le32(b, outIPAt), uint32(a))
		b = append(b, 0xe9) // jmp leave
		return le32(b, h.leaveAt-uint32(a)-uint32(len(b))-4)
	}
	b = append(b, 0xc7, 0x05)
	b = le32(le32(b, outIPAt), uint32(a))
	b = le32(append(b, 0xea), h.leaveAt) // jmp far leave
	return append(b, codeSelector64, 0)
}

// pages implements rival.
func (h *host) pages() [3]*[pageSize]byte { return h.memory }

// run implements rival.
func (h *host) run(p *program, s *arch.Regs) ending {
	copy(h.in[:], s.R[:])
	h.inFlags, h.inFS, h.inGS = s.Flags, fsBase, gsBase
	h.entry, h.first = uint64(s.IP), uint64(s.IP)
	if p.mode == x86.Mode32 {
		h.entry |= codeSelector32 << 32
		h.first = uint64(h.farAt)
	}
	copy(h.area.code[:], p.code)
	h.length = uint64(len(p.code))
	h.trap, h.outIP = -1, 0
	h.enter()
	e := ending{s: arch.Regs{IP: arch.Addr(h.outIP), Flags: h.outFlags}, trap: int(h.trap), cr2: h.cr2,
		fs: h.outFS, gs: h.outGS}
	copy(e.s.R[:], h.out[:])
	return e
}

// raw runs code once and returns the registers after it.
func (h *host) raw(code []byte, s arch.Regs) arch.Regs {
	copy(h.text[codeAt-textAt:], code)
	end := codeAt + arch.Addr(len(code))
	copy(h.text[end-textAt:], h.pad(x86.Mode64, end))
	s.IP, s.Flags = codeAt, x86.F1
	return h.run(&program{code: code}, &s).s
}

// has32 is the feature of a kernel that lets programs run code of 32 bits, with segments of
// their own. It isn't one of the processor.
const has32 = "32-bit mode"

// runs32 reports whether it does.
func (h *host) runs32() bool {
	if h.inSel[0] == 0 || h.inSel[1] == 0 {
		return false
	}
	code := []byte{0x90}
	copy(h.text[codeAt-textAt:], append(code, h.pad(x86.Mode32, codeAt+1)...))
	end := h.run(&program{mode: x86.Mode32, code: code}, &arch.Regs{IP: codeAt, Flags: x86.F1})
	return end.trap == -1
}

// features are what cpuid says it has, by the names of Linux, and has32.
func (h *host) features() map[string]bool {
	leaf := func(n, sub uint64) arch.Regs {
		return h.raw([]byte{0x0f, 0xa2}, arch.Regs{R: [arch.MaxRegs]uint64{x86.RAX: n, x86.RCX: sub}})
	}
	one, seven, ext := leaf(1, 0), leaf(7, 0), leaf(0x8000_0001, 0)
	bit := func(r uint64, n int) bool { return r>>n&1 != 0 }
	return map[string]bool{
		has32: h.runs32(), "fsgsbase": h.fsgsbase, // without it a switch of tasks loses bases that user code has set
		"cx16": bit(one.R[x86.RCX], 13), "sse4_2": bit(one.R[x86.RCX], 20), "movbe": bit(one.R[x86.RCX], 22),
		"popcnt": bit(one.R[x86.RCX], 23),
		"bmi1":   bit(seven.R[x86.RBX], 3), "bmi2": bit(seven.R[x86.RBX], 8), "adx": bit(seven.R[x86.RBX], 19),
		"clflushopt": bit(seven.R[x86.RBX], 23), "clwb": bit(seven.R[x86.RBX], 24),
		"serialize": bit(seven.R[x86.RDX], 14),
		"lahf_lm":   bit(ext.R[x86.RCX], 0), "lzcnt": bit(ext.R[x86.RCX], 5), "3dnowprefetch": bit(ext.R[x86.RCX], 8),
		"movdiri": bit(seven.R[x86.RCX], 27), "movdir64b": bit(seven.R[x86.RCX], 28),
	}
}

func hwcap2() (v uint64) {
	b, _ := os.ReadFile("/proc/self/auxv")
	for ; len(b) >= 16; b = b[16:] {
		if binary.LittleEndian.Uint64(b) == 26 { // AT_HWCAP2
			v = binary.LittleEndian.Uint64(b[8:])
		}
	}
	return v
}

// assemble writes the stubs, enter first. Layouts of struct sigcontext and
// struct ucontext: Linux, arch/x86/include/uapi/asm/sigcontext.h.
func (h *host) assemble(page *[pageSize]byte) (handler, restorer uint64) {
	c := &coder{at: stubsAt, fsgsbase: h.fsgsbase}

	// enter: called by Go, which expects RSP, RBP, R14 and R15 back (ABIInternal).
	for i, r := range []arch.Reg{x86.RSP, x86.RBP, x86.R14, x86.R15} {
		c.store(r, hostAt+8*uint32(i))
	}
	c.storeBase(fs, hostFSAt)
	c.storeBase(gs, hostGSAt)
	c.put(0x48, 0xc7, 0x04, 0x25).word(busyAt).word(1) // mov qword [busy], 1
	c.loadBase(fs, inFSAt)
	c.loadBase(gs, inGSAt)
	c.put(0x48, 0xc7, 0xc4).word(inFlagsAt) // mov rsp, inFlags
	c.put(0x9d)                             // popfq
	for r := x86.RAX; r <= x86.R15; r++ {
		c.load(r, areaAt+8*uint32(r))
	}
	c.put(0xff, 0x24, 0x25).word(firstAt) // jmp [first]
	h.farAt = c.here()
	c.put(0x8e, 0x24, 0x25).word(inSelAt)     // mov fs, [inSel]
	c.put(0x8e, 0x2c, 0x25).word(inSelAt + 8) // mov gs, [inSel+8]
	c.put(0xff, 0x2c, 0x25).word(entryAt)     // jmp far [entry]

	h.leaveAt = c.here()
	c.store(x86.RSP, outAt+8*uint32(x86.RSP))
	c.put(0x48, 0xc7, 0xc4).word(outFlagsAt + 8) // mov rsp, outFlags+8
	c.put(0x9c)                                  // pushfq
	for r := x86.RAX; r <= x86.R15; r++ {
		if r != x86.RSP {
			c.store(r, outAt+8*uint32(r))
		}
	}
	c.put(0xfc) // cld

	h.faultAt = c.here()
	c.storeBase(fs, outFSAt)
	c.storeBase(gs, outGSAt)
	c.put(0x31, 0xc0, 0x8e, 0xe0, 0x8e, 0xe8) // xor eax, eax; mov fs, eax; mov gs, eax
	c.loadBase(fs, hostFSAt)
	c.loadBase(gs, hostGSAt)
	c.put(0x48, 0xc7, 0x04, 0x25).word(busyAt).word(0)
	for i, r := range []arch.Reg{x86.RSP, x86.RBP, x86.R14, x86.R15} {
		c.load(r, hostAt+8*uint32(i))
	}
	c.put(0xc3)

	// The handler: RDI is the signal, RDX the ucontext, whose registers begin at 40.
	handler = uint64(c.here())
	c.put(0x48, 0x83, 0x3c, 0x25).word(busyAt).put(0) // cmp qword [busy], 0
	c.put(0x75, 10)                                   // jne ours
	c.put(0x48, 0x8b, 0x04, 0xfd).word(oldAt)         // mov rax, [old+8*rdi]
	c.put(0xff, 0xe0)                                 // jmp rax
	greg := func(i, to uint32) {
		c.put(0x48, 0x8b, 0x82).word(40 + 8*i) // mov rax, [rdx+…]
		c.store(x86.RAX, to)
	}
	order := []arch.Reg{x86.R8, x86.R9, x86.R10, x86.R11, x86.R12, x86.R13, x86.R14, x86.R15, x86.RDI, x86.RSI, x86.RBP,
		x86.RBX,
		x86.RDX, x86.RAX, x86.RCX, x86.RSP}
	for i, r := range order {
		greg(uint32(i), outAt+8*uint32(r))
	}
	greg(16, outIPAt)
	greg(17, outFlagsAt)
	greg(20, trapAt)
	greg(22, cr2At)
	c.put(0x48, 0xc7, 0x82).word(40 + 8*16).word(h.faultAt)                 // RIP
	c.put(0x48, 0xc7, 0x82).word(40 + 8*17).word(uint32(x86.IF | x86.F1))   // flags
	c.put(0x66, 0xc7, 0x82).word(40+8*18).put(codeSelector64, 0)            // CS
	c.put(0x48, 0xc7, 0x82).word(40 + 8*15).word(areaAt + pageSize - 0x100) // RSP
	c.put(0xc3)
	restorer = uint64(c.here())
	c.put(0xb8, 15, 0, 0, 0, 0x0f, 0x05) // rt_sigreturn
	copy(page[:], c.b)
	return handler, restorer
}

// A coder collects machine code.
type coder struct {
	b        []byte
	at       uint32
	fsgsbase bool
}

func (c *coder) here() uint32 { return c.at + uint32(len(c.b)) }

func (c *coder) put(b ...byte) *coder {
	c.b = append(c.b, b...)
	return c
}

func (c *coder) word(v uint32) *coder {
	c.b = le32(c.b, v)
	return c
}

// store and load are mov between a register and an absolute address.
func (c *coder) store(r arch.Reg, to uint32)  { c.move(0x89, r, to) }
func (c *coder) load(r arch.Reg, from uint32) { c.move(0x8b, r, from) }

func (c *coder) move(op byte, r arch.Reg, a uint32) {
	c.put(0x48|byte(r)>>3<<2, op, byte(r)&7<<3|4, 0x25).word(a)
}

// A segment is one with a base: its place among the instructions of FSGSBASE, and what
// arch_prctl calls its reading and writing (Linux, arch/x86/include/uapi/asm/prctl.h).
type segment struct {
	number   byte
	get, set uint32
}

var (
	fs = segment{0, 0x1003, 0x1002}
	gs = segment{1, 0x1004, 0x1001}
)

// storeBase stores a segment's base at an absolute address. It changes RAX, and without
// FSGSBASE RCX, RSI, RDI and R11.
func (c *coder) storeBase(s segment, to uint32) {
	if c.fsgsbase {
		c.put(0xf3, 0x48, 0x0f, 0xae, 0xc0|s.number<<3) // rdfsbase rax
		c.store(x86.RAX, to)
		return
	}
	c.put(0xbe).word(to) // mov esi, to
	c.archPrctl(s.get)
}

// loadBase sets a segment's base to what is at an absolute address, and changes what storeBase
// does.
func (c *coder) loadBase(s segment, from uint32) {
	c.load(x86.RSI, from)
	if c.fsgsbase {
		c.put(0xf3, 0x48, 0x0f, 0xae, 0xd6|s.number<<3) // wrfsbase rsi
		return
	}
	c.archPrctl(s.set)
}

func (c *coder) archPrctl(code uint32) {
	c.put(0xbf).word(code)                // mov edi, code
	c.put(0xb8).word(158).put(0x0f, 0x05) // mov eax, SYS_ARCH_PRCTL; syscall
}

func le32(b []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(b, v) }
