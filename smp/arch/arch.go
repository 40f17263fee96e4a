package arch

// Addr is a linear address.
type Addr uint64

// A Reg is a general register by its number in the processor's own order.
type Reg uint8

// Regs is what a trap saves: the general registers, in the processor's own
// order, the instruction pointer and the flags. A probe's handler gets them.
type Regs struct {
	R     [16]uint64
	IP    Addr
	Flags uint64
}

// An Arch describes a processor to code that doesn't belong to it. It isn't
// changed. Functions may be called by any goroutine.
type Arch struct {
	Name string
	Word int // bytes of an address, and of a word of the stack

	Registers
	Branches

	// Instructions.
	MaxLen    int // bytes of the longest
	PatchUnit int // a store to text is cut at multiples of so many bytes
	Decode    func(b []byte, at Addr) (Inst, error)
	Nop       func(n int) []byte // n bytes of nops, as few as possible

	// The breakpoint. Its handler finds IP past it by its length.
	Breakpoint []byte

	// Valid reports whether an address can be mapped at all.
	Valid func(a Addr) bool

	Frame     Frame
	UserFrame Frame // of a trap that user mode takes; it is Frame but for the selectors, and has a stack pointer
}

// Registers describes a processor's registers.
type Registers struct {
	RegNames  []string // by number, as people write them
	SP        Reg      // the stack pointer
	Result    Reg      // what a function returns
	Args      []Reg    // of a call, in order
	Saved     []Reg    // those that a function must preserve, but for SP
	Implied   []Reg    // those that instructions use as addresses without naming them
	IRQFlag   uint64   // in Regs.Flags: interrupts are taken
	StepFlag  uint64   // in Regs.Flags: a debug trap follows the next instruction
	FixedFlag uint64   // in Regs.Flags: always set
}

// Branches are branches of one length that reach all kernel text, as they stand at an address,
// and what may stand in their place. ok false: the target is out of reach.
type Branches struct {
	BranchLen  int
	Jump, Call func(at, target Addr) (c Code, ok bool)
	BranchNop  Code // one nop
	BranchRet  Code // a return, and breakpoints for what is left
	// Short is a jump that reaches less far, of ShortNop's bytes.
	Short    func(at, target Addr) (c Code, ok bool)
	ShortNop Code
	JumpByte byte // the first of what Jump encodes, and of no other instruction
	CallByte byte // likewise of Call
	Ret      []byte
}

// A Frame is the image of saved registers in memory that a trap leaves for its
// handler (pt_regs).
type Frame struct {
	Size int // in bytes

	// NoSP says that the frame has no stack pointer: what is returned to has that of the
	// frame's end, whatever a handler does.
	NoSP bool

	// At returns where the frame of a trap lies, given the stack pointer of what was
	// interrupted. A breakpoint's may lie lower, to leave room for a handler that
	// emulates a push.
	At func(sp uint64, breakpoint bool) Addr

	// Load and Store read and write the frame at an address. ok false: part of it
	// isn't mapped.
	Load  func(m Memory, at Addr, r *Regs) (ok bool)
	Store func(m Memory, at Addr, r *Regs) (ok bool)

	// Get and Put are Load and Store of Size bytes that are at hand. nil: go
	// through memory.
	Get func(b []byte, r *Regs)
	Put func(b []byte, r *Regs)
}

// An Imager is Memory that has bytes at hand.
type Imager interface {
	// Image returns the n bytes at an address, to be read or, with store, written;
	// nil if they don't lie in one page that may be accessed so.
	Image(at Addr, n int, store bool) []byte
}

// Code is an instruction by value, of at most eight bytes.
type Code struct {
	b [8]byte
	n uint8
}

// CodeOf returns the instruction that bytes are.
func CodeOf(b ...byte) (c Code) {
	c.n = uint8(copy(c.b[:], b))
	return c
}

// Bytes returns the instruction's bytes, which are c's own.
func (c *Code) Bytes() []byte { return c.b[:c.n] }

// Addr returns where a kernel of the processor has what one of 64 bits has at an address
// of the last 2 GiB: at the lower bits of that. A kernel of 32 bits is as one with
// CONFIG_VMSPLIT_2G, which has the last 2 GiB for itself, too.
func (a *Arch) Addr(at Addr) Addr { return at & (1<<(8*a.Word) - 1) }

// StackPointer returns the stack pointer.
func (a *Arch) StackPointer(r *Regs) Addr { return Addr(r.R[a.SP]) }

// RegName returns the name of a register.
func (a *Arch) RegName(r Reg) string { return a.RegNames[r] }

// IsBreakpoint reports whether an instruction that begins with b is a breakpoint.
func (a *Arch) IsBreakpoint(b byte) bool { return b == a.Breakpoint[0] }

// BreakpointAt returns the address of the breakpoint, given the registers r
// that its handler finds.
func (a *Arch) BreakpointAt(r *Regs) Addr { return r.IP - Addr(len(a.Breakpoint)) }
