package gen

import (
	"encoding/binary"
	"fmt"

	"kpsim/internal/scenario"
	"kpsim/kprobes/era"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// Addresses of the drawn functions and of the data that they access.
const (
	textsAt   arch.Addr = 0xffffffff81040000
	poolAt    arch.Addr = 0xffffffff83040000 // never written
	noteAt    arch.Addr = 0xffffffff83041000 // never read
	poolName            = "pool"
	noteName            = "note"
	zeroName            = "zero" // returns 0, and is shorter than a jump
	dataSize            = 64     // bytes of pool and note
	longest             = 60     // maximum number of instructions of a function with its callees
	focusName           = "f0"   // the function that most of the scenario is about
)

// A function is a function being drawn. Its result depends only on its arguments, and it always
// terminates. It changes only registers that a call may clobber; rdx, r8 and the flags hold its
// own state.
type function struct {
	g       *maker
	at      arch.Addr
	code    []byte
	starts  []int // where instructions begin
	extable []int
	looping bool  // r8 is a counter, so nothing is called
	calm    bool  // a jump may replace its beginning: nothing faults or jumps through a register
	calls   int   // instructions that callees may still take
	depth   int   // nesting depth of branches and loops
	special []int // of starts: what a kernel does in place of the processor, or may refuse
}

func (f *function) put(b ...byte) {
	f.starts = append(f.starts, len(f.code))
	f.code = append(f.code, b...)
}

// relative adds an instruction that ends in a displacement to a place.
func (f *function) relative(to arch.Addr, op ...byte) {
	end := f.at + arch.Addr(len(f.code)+len(op)+4)
	f.put(binary.LittleEndian.AppendUint32(op, uint32(to-end))...)
}

// pool returns an address in the pool at which eight bytes can be read.
func (f *function) pool() arch.Addr { return poolAt + arch.Addr(f.g.rand.N(dataSize-8)) }

// plainInsns lists instructions of 1 to 10 bytes that compute with eax, ecx, rdi and rsi, several
// of each length. Zeros at the end are immediates to be drawn.
var plainInsns = [...][][]byte{
	1: {{0x90}, {0x99}, {0xf8}, {0xf5}}, // nop, cltd, clc, cmc
	// inc, add, xor, nop, shl, mov
	2:  {{0xff, 0xc0}, {0x01, 0xf8}, {0x31, 0xf0}, {0x66, 0x90}, {0xd1, 0xe0}, {0x89, 0xf9}},
	3:  {{0x48, 0x01, 0xf8}, {0x0f, 0x1f, 0x00}, {0x83, 0xc0, 0}, {0x8d, 0x04, 0x07}, {0x48, 0x89, 0xf8}},
	4:  {{0x48, 0x83, 0xc0, 0}, {0x48, 0x8d, 0x47, 0}, {0x0f, 0x1f, 0x40, 0x00}, {0x48, 0x0f, 0xaf, 0xc7}},
	5:  {{0x05, 0, 0, 0, 0}, {0xb9, 0, 0, 0, 0}, {0x0f, 0x1f, 0x44, 0x00, 0x00}},
	6:  {{0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00}, {0x81, 0xc1, 0, 0, 0, 0}, {0x48, 0x2d, 0, 0, 0, 0}},
	7:  {{0x48, 0xc7, 0xc1, 0, 0, 0, 0}, {0x48, 0x81, 0xc1, 0, 0, 0, 0}, {0x0f, 0x1f, 0x80, 0, 0, 0, 0}},
	8:  {{0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00}},
	9:  {{0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00}},
	10: {{0x48, 0xb9, 0, 0, 0, 0, 0, 0, 0, 0}},
}

// plain adds an instruction that touches neither memory nor control flow, mostly a short one.
func (f *function) plain() {
	n := 1 + f.g.rand.N(5)
	if f.g.one(4) {
		n = 1 + f.g.rand.N(len(plainInsns)-1)
	}
	f.plainOf(n)
}

// plainOf adds one of n bytes.
func (f *function) plainOf(n int) {
	list := by32(f.g, &plainInsns, &plainInsns32)[n]
	b := append([]byte(nil), list[f.g.rand.N(len(list))]...)
	if f.calm && len(f.code) < x86.JumpLen && unboosted(b) {
		b = []byte{0x99}
	}
	if b[0] != 0x0f && b[0] != 0x66 { // in a nop these bytes aren't an immediate
		for i := len(b) - 1; i > 1 && b[i] == 0; i-- {
			b[i] = byte(f.g.rand.N(128))
		}
	}
	f.put(b...)
}

// unboosted reports whether some edition doesn't boost an instruction: a shift, inc, or a nop of
// more than one byte.
func unboosted(b []byte) bool { return b[0] == 0x0f || b[0] == 0x66 || b[0] == 0xd1 || b[0] == 0xff }

// body adds some instructions.
func (f *function) body(n int) {
	for range n {
		f.item()
	}
}

// callee draws an earlier function to be called, unless that would take too long.
func (f *function) callee() (arch.Addr, bool) {
	if len(f.g.made) == 0 {
		return 0, false
	}
	i := f.g.rand.N(len(f.g.made))
	if f.calls+f.g.takes[i] > longest {
		return 0, false
	}
	f.calls += f.g.takes[i]
	return f.g.sc.Text(f.g.made[i]).At, true
}

// item adds an instruction, or a few that belong together.
func (f *function) item() {
	r := f.g.rand
	switch r.N(16) {
	case 0, 1: // relative to rip: mov, mov, add from the pool, lea, and a store
		switch r.N(6) {
		case 0:
			f.data(f.pool(), 0x48, 0x8b, 0x0d)
		case 1:
			f.data(f.pool(), 0x48, 0x8b, 0x05)
		case 2:
			f.data(f.pool(), 0x03, 0x05)
		case 3:
			f.data(f.pool(), 0x48, 0x8d, 0x15)
		case 4:
			f.data(noteAt+arch.Addr(r.N(dataSize-8)), 0x89, 0x3d)
		case 5: // mov from the pool into edx, in the exception table: there are no jumps then
			if !f.calm && f.g.one(3) {
				f.extable = append(f.extable, len(f.code))
			}
			f.data(f.pool(), 0x8b, 0x15)
		}
	case 2: // push, something, pop
		pair := [...][2]byte{{0x50, 0x58}, {0x57, 0x5f}, {0x56, 0x5e}, {0x51, 0x59}, {0x9c, 0x59}, {0x9c, 0x9d}}[r.N(6)]
		if pair[0] == 0x9c && f.g.one(4) { // pushfw, popfw
			f.put(0x66, 0x9c)
			f.put(0x66, 0x9d)
			return
		}
		if pair[0] == 0x57 && f.g.i386 { // pusha, popa
			pair = [2]byte{0x60, 0x61}
		}
		f.put(pair[0])
		if f.g.one(2) {
			f.plain()
		}
		f.put(pair[1])
	case 3, 4:
		f.branch()
	case 5:
		f.loop()
	case 6: // an earlier function
		if to, ok := f.callee(); ok && !f.looping {
			f.relative(to, 0xe8)
			return
		}
		f.plain()
	case 7: // a jump through a register to the next instruction; no jump may replace it
		if !f.calm && f.g.one(4) && !f.g.direct() {
			f.place(2)
			f.put(0xff, 0xe2)
			return
		}
		if !f.g.one(4) || !f.counts() {
			f.plain()
		}
	default:
		f.plain()
	}
}

// counts adds a read of the preemption count, or instructions during which no other task gets the CPU. No result
// depends on the count. It reports false on machines whose kernel counts otherwise, or elsewhere.
func (f *function) counts() bool {
	at, ok := scenario.KernelVariable("__preempt_count")
	if !ok || f.g.i386 || !ours(f.g) {
		return false
	}
	const gs = 0x65
	if f.g.one(2) {
		f.number(at, gs, 0x8b, 0x0c) // mov %gs:__preempt_count,%ecx
	} else {
		f.number(at, gs, 0xff, 0x04) // incl %gs:__preempt_count
		f.plain()
		f.number(at, gs, 0xff, 0x0c) // decl %gs:__preempt_count
	}
	f.put(0x31, 0xc9) // xor %ecx,%ecx
	return true
}

// nested adds some instructions inside a branch or loop, few enough for a short jump over them:
// two levels deep, 105 bytes.
func (f *function) nested() {
	f.depth++
	f.body(1 + f.g.rand.N(4-f.depth))
	f.depth--
}

// branch adds a test of the first argument and a jump over some code, so that something jumps to
// the code after it.
func (f *function) branch() {
	if f.depth == 2 {
		f.plain()
		return
	}
	f.put(0x85, by32(f.g, byte(0xff), 0xd2)) // test %edi,%edi, or %edx,%edx
	cc := [...]byte{0x4, 0x5, 0x8, 0x9, 0xc, 0xf}[f.g.rand.N(6)]
	at, far := len(f.code), f.g.one(3)
	if far {
		f.put(0x0f, 0x80|cc, 0, 0, 0, 0)
	} else {
		f.put(0x70|cc, 0)
	}
	from := len(f.code)
	f.nested()
	if n := len(f.code) - from; far {
		binary.LittleEndian.PutUint32(f.code[at+2:], uint32(n))
	} else {
		f.code[at+1] = byte(n)
	}
}

// loop adds a loop of two or three rounds, so that something jumps back, possibly near the
// function's first byte.
func (f *function) loop() {
	if f.looping || f.depth == 2 {
		f.plain()
		return
	}
	n := byte(2 + f.g.rand.N(2))
	f.put(by32(f.g, []byte{0x41, 0xb8, n, 0, 0, 0}, []byte{0x6a, n})...) // mov $n,%r8d, or push $n
	to := len(f.code)
	f.looping = true
	f.nested()
	f.looping = false
	f.put(by32(f.g, []byte{0x41, 0xff, 0xc8}, []byte{0xff, 0x0c, 0x24})...) // dec %r8d, or decl (%esp)
	f.put(0x75, byte(to-len(f.code)-2))
	if f.g.i386 {
		f.put(0x59) // pop %ecx
	}
}

// recursive adds a function that calls itself as often as its argument says, at most six times.
func (f *function) recursive() {
	if f.g.one(2) {
		f.put(0x55)
		f.put(f.frame()...)
		f.put(0x5d)
	}
	if !f.g.i386 {
		f.put(0x31, 0xc0)
	}
	var outs []int
	tests := [][]byte{{0x83, 0xff, 0x06, 0x77}, {0x85, 0xff, 0x74}} // cmp $6,%edi; ja; test %edi,%edi; je
	if f.g.i386 {
		tests = [][]byte{{0x83, 0xf8, 0x06, 0x77}, {0x85, 0xc0, 0x74}} // the same with %eax
	}
	for _, b := range tests {
		f.put(b[:len(b)-1]...)
		outs = append(outs, len(f.code))
		f.put(b[len(b)-1], 0)
	}
	f.put(by32(f.g, []byte{0xff, 0xcf}, []byte{0x48})...) // dec %edi, or %eax
	f.relative(f.at, 0xe8)
	f.calls = -1
	f.put(by32(f.g, []byte{0xff, 0xc0}, []byte{0x40})...) // inc %eax
	for _, at := range outs {
		f.code[at+1] = byte(len(f.code) - at - 2)
	}
	f.put(0xc3)
}

// begin adds a prologue that a jump may replace, and returns the epilogue that undoes it.
// Prologues have 1+3+1 bytes, 3+3, four of 1 and one of 7 relative to rip, or plain instructions
// of 1 to 4.
func (f *function) begin() (end []byte) {
	switch f.g.rand.N(5) {
	case 0, 1:
		f.put(0x55)
		f.put(f.frame()...)
		f.put(0x53)
		return []byte{0x5b, 0x5d}
	case 2:
		three := []byte{0x0f, 0x1f, 0x00}
		if f.calm { // a nop of this length isn't boosted, and so gets no jump
			three = by32(f.g, []byte{0x48, 0x01, 0xf8}, []byte{0x8d, 0x04, 0x02}) // add %rdi,%rax; lea (%edx,%eax),%eax
		}
		f.put(three...)
		f.put(three...)
	case 3:
		for range 4 {
			f.put(0x90)
		}
		f.data(f.pool(), 0x48, 0x8b, 0x05)
	case 4:
		for len(f.code) < x86.JumpLen {
			f.plain()
		}
	}
	return nil
}

// focused adds the function that the scenario is about. Some sleep: they give up the CPU where
// another task waits for it. On a kernel without preemption, that is the only place where a task
// can be inside a call while the machine is stopped.
func (f *function) focused() {
	f.calm = true
	end := f.begin()
	if f.g.sleeps {
		to, _ := scenario.KernelExport("cond_resched")
		if f.g.one(4) {
			to, _ = scenario.KernelExport("cond_resched_tasks_rcu_qs")
		}
		for range 2 + f.g.rand.N(2) {
			f.plain()
			f.relative(to, 0xe8)
		}
	}
	f.body(1 + f.g.rand.N(3))
	f.end(end)
}

// straight adds a function with one of the beginnings that make race windows wide or narrow:
// 1+3+1 bytes, 3+3, four of 1 and one of 7 relative to rip, a loop back to near its first byte, a
// site of ftrace, or nothing in particular.
func (f *function) straight() {
	r, end := f.g.rand, []byte(nil)
	switch r.N(8) {
	case 0, 1, 2, 3:
		end = f.begin()
	case 4:
		f.loop()
	case 5:
		if f.g.one(2) {
			f.endbr()
		}
		if f.g.sc.Machine.Kernel.Ftrace {
			f.g.sites = append(f.g.sites, scenario.Site{Func: f.g.next, Offset: len(f.code)})
		}
		f.put(x86.Nop5[:]...)
	}
	f.body(2 + r.N(4))
	for _, b := range end {
		f.put(b)
	}
	if f.g.one(6) {
		if to, ok := f.callee(); ok { // a tail call
			f.relative(to, 0xe9)
			return
		}
	}
	f.put(0xc3)
}

// drawDatas adds what drawn functions read and write.
func drawDatas(g *maker) {
	pool := make([]byte, dataSize)
	for i := range pool {
		pool[i] = byte(g.rand.N(256))
	}
	g.sc.Datas = append(g.sc.Datas, scenario.Data{Name: poolName, At: poolAt, Bytes: pool},
		scenario.Data{Name: noteName, At: noteAt, Bytes: make([]byte, dataSize)})
}

// texts draws the functions one after another, some without a gap between them.
func (g *maker) texts() {
	g.part("functions")
	drawDatas(g)
	at := textsAt + arch.Addr(g.rand.N(64))
	add := func(name string, make func(f *function)) {
		g.next = name
		f := &function{g: g, at: at}
		make(f)
		g.sc.Texts = append(g.sc.Texts, scenario.Text{Name: name, At: at, Code: f.code, Extable: f.extable})
		rounds := 3 // of a loop
		if f.calls < 0 {
			rounds = 7 // of a recursion
			f.calls = 0
		}
		g.made, g.takes = append(g.made, name), append(g.takes, f.calls+rounds*len(f.starts))
		if at += arch.Addr(len(f.code)); g.one(2) {
			at += arch.Addr(g.rand.N(16))
		}
	}
	add(zeroName, func(f *function) { f.put(0x31, 0xc0); f.put(0xc3) })
	m := &g.sc.Machine
	g.sleeps = m.Optimizes() && m.Patch == era.PatchStopMachine && m.Preempt < scenario.PreemptFull || g.one(6)
	if g.sleeps || g.one(2) {
		g.focus = focusName
	}
	for i := range 1 + g.rand.N(3) {
		kind := (*function).straight
		if i == 0 && g.focus != "" {
			kind = (*function).focused
		} else if g.one(6) {
			kind = (*function).recursive
		}
		g.numbered("f", i)
		add(fmt.Sprintf("f%d", i), kind)
	}
	g.sc.Sites = g.sites
}

// drew reports whether a function is a drawn one.
func (g *maker) drew(name string) bool {
	for _, f := range g.made {
		if f == name {
			return true
		}
	}
	return false
}
