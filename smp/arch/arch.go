package arch

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// Addr is a linear address.
type Addr uint64

// A Reg is a general register by its number in the processor's own order.
type Reg uint8

// Regs is what a trap saves: the general registers, in the processor's own
// order, the instruction pointer and the flags. A probe's handler gets them.
type Regs struct {
	IP    Addr
	Flags uint64
	R     [MaxRegs]uint64
}

// MaxRegs is how many general registers the processor with the most has. A processor has the first of
// them (Registers.Used).
const MaxRegs = 34

// An Arch describes a processor to code that doesn't belong to it. It isn't
// changed. Functions may be called by any goroutine.
type Arch struct {
	Name string
	Word int // bytes of an address, and of a word of the stack

	Registers
	Branches
	Breakpoints
	Modified
	Terms

	// Instructions.
	MaxLen    int    // bytes of the longest
	Align     int    // bytes: each begins at a multiple of it
	Aligned   bool   // kernels copy to text by stores at multiples of their size (copy_to_kernel_nofault)
	Reserves  bool   // it has loads that reserve: see Reserver
	FetchUnit [3]int // aligned bytes that are fetched in one piece, by fetch.Model
	Decode    func(b []byte, at Addr) (Inst, error)
	Nop       func(n int) []byte // n bytes of nops, as few as possible

	// EntrySerialises and ReturnSerialises say that a CPU which takes a trap, or returns from one, sees the
	// newest text.
	EntrySerialises, ReturnSerialises bool

	ELF  uint16 // the machine in the header of its object files; 0: none are linked
	Herd string // its name in litmus tests

	// What small functions are made of: code that sets a register, and code that stores bytes where a register
	// points to. The second may change that register and any other that a call may change. nil: none is made.
	Set func(r Reg, v uint64) []byte
	Put func(at Reg, b []byte) []byte

	// Valid reports whether an address can be mapped at all.
	Valid func(a Addr) bool

	// BootSystem returns the state in which a kernel starts a CPU, whose own data lie at perCPU.
	BootSystem func(cpu uint32, perCPU Addr) System

	Frame     Frame
	UserFrame Frame // of a trap that user mode takes; it is Frame but for the selectors, and has a stack pointer
}

// Registers describes a processor's registers.
type Registers struct {
	RegNames  []string // by number, as people write them
	IPName    string   // of the instruction pointer
	Used      int      // how many of Regs.R change: the others stay zero
	SP        Reg      // the stack pointer
	Result    Reg      // what a function returns
	Args      []Reg    // of a call, in order
	Saved     []Reg    // those that a function must preserve, but for SP
	Own       []Reg    // those that are the kernel's or never change: no call gives them a value
	Implied   []Reg    // those that instructions use as addresses without naming them
	FlagNames []string // of the bits of Regs.Flags, by number; "": it has no name
	FixedFlag uint64   // in Regs.Flags: always set
	Cleared   uint64   // in Regs.Flags: cleared on the way to the handler of a trap

	// Entry is the register in which a function finds its own address if it is called through a pointer; 0: it doesn't.
	// Local returns how far behind its address calls from code that is linked with it enter a function with that
	// code, which need not set Entry. nil: at its address.
	Entry Reg
	Local func(code []byte) Addr

	// A call pushes its return address, or leaves it in Link.
	Pushed int // bytes that it pushes; 0: it pushes nothing
	Link   Reg
	LinkAt Addr // where above the stack pointer of its caller a function keeps that; 0: not there
	KeptAt Addr // from here to that it keeps other registers
	LinkBy Reg  // the register by which it gets there and back
}

// LocalEntry returns how far behind its address a function with that code is entered by code that is linked with it.
func (a *Arch) LocalEntry(code []byte) Addr {
	if a.Local == nil {
		return 0
	}
	return a.Local(code)
}

// Terms are a processor's own words, for people.
type Terms struct {
	Serialising string            // the instruction that serialises; "": several do
	words       *strings.Replacer // in texts that have x86's words, as those of events; nil: they are its own
}

// NewTerms returns the words of a processor that isn't x86: pairs of x86's word and its own.
func NewTerms(serialising string, words ...string) Terms {
	return Terms{serialising, strings.NewReplacer(append(words, "serialising instruction", serialising)...)}
}

// InWords puts the processor's words in the place of x86's.
func (t *Terms) InWords(text string) string {
	if t.words == nil {
		return text
	}
	return t.words.Replace(text)
}

// Modified is what a processor's manual says of text that is modified.
type Modified struct {
	Caches string // what makes all CPUs' caches agree after a store to text; "": they do by themselves
	// Live are the instructions that may be replaced, and take another one's place, while a CPU runs them. Of others
	// nothing is promised. nil: the manual has no such list.
	Live     []Pattern
	LiveSays string // their names, and the section of the manual
}

// Breakpoints are a processor's, and how kernels patch with them.
type Breakpoints struct {
	Breakpoint []byte
	Past       Addr      // bytes from the breakpoint to the IP that its handler finds
	Breaks     []Pattern // it and others, of other lengths or with numbers of their own
	// BreakpointFirst says that an instruction which other CPUs may run is replaced by way of a breakpoint
	// (text_poke_bp). Otherwise it is stored whole, and all CPUs serialise once what belongs together is stored.
	BreakpointFirst bool
	Fill            uint64 // eight aligned bytes of memory for code that is written at run time: breakpoints
}

// Branches are branches of one length that reach all kernel text, as they stand at an address,
// and what may stand in their place. ok false: the target is out of reach.
type Branches struct {
	BranchLen  int
	Reach      string // how far they reach, for people
	Jump, Call func(at, target Addr) (c Code, ok bool)
	Gates      Addr // where the services lie that a kernel's own code calls (kapi.GatesOf); 0: the usual place
	// CallOf returns the target of a direct call of several instructions that ends at an address, given the bytes
	// before that; nil: calls are one instruction.
	CallOf func(before []byte, end Addr) (target Addr, ok bool)
	// NearExec says that branches don't reach the usual place of executable memory: kernels set some aside in text.
	NearExec  bool
	BranchNop Code    // one nop
	BranchRet Code    // a return, and breakpoints for what is left
	IsJump    Pattern // what Jump encodes, and no other instruction
	IsCall    Pattern // likewise of Call
	Ret       []byte
	Labels    []LabelForm // what stands at the site of a jump label, the form that reaches farthest first
	Pad       string      // what indirect branches lead to, as people write it; "": any instruction
	Sites     []SiteForm  // how functions call ftrace: by the kernel's usual way, then by others
}

// A SiteForm is how a function calls ftrace: what stands at its site while no client wants the calls, and while one
// does.
type SiteForm struct {
	Compiled int    // bytes of nops that the compiler leaves for it
	Before   []byte // what boot writes there first, and what stays; the site begins behind it
	// Nop and Call are what stands at a site. The target of Nop is ftrace's own trampoline.
	Nop  func(at, target Addr) Code
	Call func(at, target Addr) (c Code, ok bool)
	Keep int // bytes at their beginning that are the same in both, and aren't written

	// Where calls push nothing: the register in which this call leaves the address behind it, and that in which
	// the trampoline finds where the function returns to.
	Link, Parent Reg

	// Stub returns what a site branches to, ok if all of it is in reach: code that calls ftrace's trampoline, and goes
	// on behind the site. call says where in it the call stands. nil: the call stands at the site.
	Stub func(at, site, trampoline Addr) (code []byte, call int, ok bool)

	Stopped bool // it is written with the machine stopped
	Local   bool // the writer makes no other CPU serialise
}

// SiteForm returns how functions call ftrace. stopped: text is written with the machine stopped; stubs: calls stand out
// of line. ok false: no kernel of the processor writes sites so, or none has sites.
func (a *Arch) SiteForm(stopped, stubs bool) (f *SiteForm, ok bool) {
	for i := range a.Sites {
		if f = &a.Sites[i]; f.Stopped == stopped && (f.Stub != nil) == stubs {
			return f, true
		}
	}
	return nil, false
}

// At returns the site of a function whose nops begin at an address.
func (f *SiteForm) At(nops Addr) Addr { return nops + Addr(len(f.Before)) }

// Always returns the function that returns c: a nop that is the same at each site.
func Always(c Code) func(at, target Addr) Code { return func(Addr, Addr) Code { return c } }

// A LabelForm is what stands at the site of a jump label: a nop, or a jump of the same length.
type LabelForm struct {
	Nop    Code
	Jump   func(at, target Addr) (c Code, ok bool)
	IsJump Pattern   // what Jump encodes, and no other instruction
	Reach  string    // how far, for people
	Hex    [2]string // the nop, and how the jump is recognized, as people write code
	Local  bool      // the writer makes no other CPU serialise
}

// Len returns the length of both.
func (f *LabelForm) Len() int { return int(f.Nop.n) }

// Holds reports whether code begins with the nop or with a jump, and whether it is the jump.
func (f *LabelForm) Holds(code []byte) (ok, jump bool) {
	if len(code) < f.Len() {
		return false, false
	}
	jump = f.IsJump.Match(Word(code))
	return jump || bytes.HasPrefix(code, f.Nop.Bytes()), jump
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

// IsBreakpoint reports whether the instruction is a breakpoint of which w has the first bytes, up to
// eight, as Word has them.
func (a *Arch) IsBreakpoint(w uint64) bool { return a.BreakLen(w) > 0 }

// ShortBreak returns the bytes of the shortest breakpoint.
func (a *Arch) ShortBreak() []byte {
	short := slices.MinFunc(a.Breaks, func(p, q Pattern) int { return cmp.Compare(p.Len(), q.Len()) })
	return binary.LittleEndian.AppendUint64(nil, short.Is)[:short.Len()]
}

// BreakLen returns the length of such a breakpoint, 0 if the instruction is none.
func (a *Arch) BreakLen(w uint64) int {
	for _, p := range a.Breaks {
		if p.Match(w) {
			return p.Len()
		}
	}
	return 0
}

// Filled returns what MapExec has put at an address: a byte of a breakpoint.
func (a *Arch) Filled(at Addr) byte { return byte(a.Fill >> (8 * (at % 8))) }

// A Pattern is what the first bytes of some instructions have in common, as Word has them.
type Pattern struct{ Mask, Is uint64 }

// Len returns how many bytes it looks at.
func (p Pattern) Len() int { return (bits.Len64(p.Mask) + 7) / 8 }

// Match reports whether an instruction is one of them.
func (p Pattern) Match(w uint64) bool { return w&p.Mask == p.Is }

// Hex returns code as people write it: as pairs of digits, or, where instructions are numbers, as numbers of
// four bytes or of Align.
func (a *Arch) Hex(code []byte) string {
	if a.Align == 1 {
		return hex.EncodeToString(code)
	}
	var words []string
	for len(code) > 0 {
		n := min(4, len(code))
		if n%a.Align != 0 { // part of an instruction
			return strings.Join(append(words, fmt.Sprintf("% x", code)), " ")
		}
		words = append(words, fmt.Sprintf("%0*x", 2*n, Word(code[:n])))
		code = code[n:]
	}
	return strings.Join(words, " ")
}

// Word returns the first bytes of b, up to eight, as a little-endian number.
func Word(b []byte) (w uint64) {
	for i, v := range b[:min(8, len(b))] {
		w |= uint64(v) << (8 * i)
	}
	return w
}

// BreakpointAt returns the address of the breakpoint, given the registers r
// that its handler finds.
func (a *Arch) BreakpointAt(r *Regs) Addr { return r.IP - a.Past }

// Caller returns where the function that has just been entered returns to. ok false: the stack isn't
// mapped there.
func (a *Arch) Caller(m Memory, r *Regs) (to Addr, ok bool) {
	if a.Pushed == 0 {
		return Addr(r.R[a.Link]), true
	}
	v, ok := m.Load(a.StackPointer(r), a.Pushed)
	return Addr(v), ok
}

// PushCaller makes the function that is entered next return to an address, as a call of it does. ok false: the stack
// isn't mapped there.
func (a *Arch) PushCaller(m Memory, r *Regs, to Addr) (ok bool) {
	r.R[a.SP] -= uint64(a.Pushed)
	return a.SetCaller(m, r, to)
}

// SetCaller makes it return to another address.
func (a *Arch) SetCaller(m Memory, r *Regs, to Addr) (ok bool) {
	if a.Pushed == 0 {
		r.R[a.Link] = uint64(to)
		return true
	}
	return m.Store(a.StackPointer(r), a.Pushed, uint64(to))
}
