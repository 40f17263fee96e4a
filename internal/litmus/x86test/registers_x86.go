package x86test

import (
	"fmt"
	"slices"
	"strings"
)

// A Reg is a register, by its number in the processor's encoding, and how many bytes of it.
type Reg struct {
	Num  int
	Size int
}

const (
	accumulator  = 0
	stackPointer = 4
)

var legacy = [...]string{"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"}

// registers has all by their names.
var registers = func() map[string]Reg {
	m := make(map[string]Reg)
	for n, s := range legacy {
		m["r"+s], m["e"+s], m[s] = Reg{n, 8}, Reg{n, 4}, Reg{n, 2}
		if n < 4 {
			m[s[:1]+"l"] = Reg{n, 1}
		} else {
			m[s+"l"] = Reg{n, 1}
		}
	}
	for n := 8; n < 16; n++ {
		s := fmt.Sprintf("r%d", n)
		m[s], m[s+"d"], m[s+"w"], m[s+"b"] = Reg{n, 8}, Reg{n, 4}, Reg{n, 2}, Reg{n, 1}
	}
	return m
}()

func registerNamed(name string) (Reg, bool) {
	r, ok := registers[strings.ToLower(name)]
	return r, ok
}

// registerName is how outcomes name a register.
func (t *Test) registerName(n int) string {
	switch {
	case n >= 8:
		return fmt.Sprintf("r%d", n)
	case t.Dialect == Intel:
		return "E" + strings.ToUpper(legacy[n])
	}
	return "r" + legacy[n]
}

// An Op is what an instruction does.
type Op uint8

// The operations.
const (
	opNop Op = iota
	opMov
	opAlu // add, or, and, sub, xor, cmp: Instr.Sub says which
	opTest
	opShift
	opInc
	opDec
	opXchg
	opCmpxchg
	opXadd
	opCmov
	opSet
	opJmp
	opJcc
	opFence
	opRet
)

// An op is a mnemonic: its operation, which of its family, and how many operands it has.
type op struct {
	op    Op
	sub   int // opAlu, opShift: the number in ModRM; opFence: the last byte; opCmov, opSet, opJcc: the condition
	n     int
	sized bool // it may end in b, w, l or q
	locks bool // lock may come before it, if it writes to memory
}

var ops = map[string]op{
	"mov":    {op: opMov, n: 2, sized: true},
	"add":    {op: opAlu, sub: 0, n: 2, sized: true, locks: true},
	"or":     {op: opAlu, sub: 1, n: 2, sized: true, locks: true},
	"and":    {op: opAlu, sub: 4, n: 2, sized: true, locks: true},
	"sub":    {op: opAlu, sub: 5, n: 2, sized: true, locks: true},
	"xor":    {op: opAlu, sub: 6, n: 2, sized: true, locks: true},
	"cmp":    {op: opAlu, sub: aluCmp, n: 2, sized: true},
	"test":   {op: opTest, n: 2, sized: true},
	"shl":    {op: opShift, sub: 4, n: 2, sized: true},
	"shr":    {op: opShift, sub: 5, n: 2, sized: true},
	"inc":    {op: opInc, n: 1, sized: true, locks: true},
	"dec":    {op: opDec, n: 1, sized: true, locks: true},
	"xchg":   {op: opXchg, n: 2, sized: true, locks: true},
	"xadd":   {op: opXadd, n: 2, sized: true, locks: true},
	"mfence": {op: opFence, sub: 0xf0}, "lfence": {op: opFence, sub: 0xe8}, "sfence": {op: opFence, sub: 0xf8},
	"cmpxchg": {op: opCmpxchg, n: 2, sized: true, locks: true},
	"cmovc":   {op: opCmov, sub: 2, n: 2, sized: true}, "setnb": {op: opSet, sub: 3, n: 1},
	"jmp": {op: opJmp, n: 1}, "je": {op: opJcc, sub: 4, n: 1}, "jne": {op: opJcc, sub: 5, n: 1},
	"jz": {op: opJcc, sub: 4, n: 1}, "jnz": {op: opJcc, sub: 5, n: 1},
	"jle": {op: opJcc, sub: 14, n: 1}, "jl": {op: opJcc, sub: 12, n: 1}, "jlt": {op: opJcc, sub: 12, n: 1},
	"jg": {op: opJcc, sub: 15, n: 1}, "jgt": {op: opJcc, sub: 15, n: 1}, "jge": {op: opJcc, sub: 13, n: 1},
	"js": {op: opJcc, sub: 8, n: 1}, "jns": {op: opJcc, sub: 9, n: 1},
	"ret": {op: opRet}, "retq": {op: opRet}, "nop": {op: opNop}, "endbr64": {op: opNop},
}

const aluCmp = 7

// refusals are instructions that the machine doesn't model, and why.
var refusals = map[string]string{
	"movnti":  "non-temporal stores aren't modelled; use mov",
	"movntil": "non-temporal stores aren't modelled; use movl",
	"movntiq": "non-temporal stores aren't modelled; use movq", "movt": "non-temporal stores aren't modelled; use MOV",
	"movntdqa": "vector registers aren't modelled; use mov", "movd": "vector registers aren't modelled; use mov",
	"movsd":   "string instructions aren't taken; use MOV",
	"clflush": "caches aren't modelled; leave it out", "clflushopt": "caches aren't modelled; leave it out",
	"uxch": "no processor exchanges without a lock; use xchg",
}

// operation finds a mnemonic, and the size that its last letter says, or 0.
func operation(name string) (o op, size int, ok bool) {
	name = strings.ToLower(name)
	if o, ok = ops[name]; ok {
		return o, 0, true
	}
	last := len(name) - 1
	if i := strings.IndexByte("bwlq", name[last]); i >= 0 {
		if o, ok = ops[name[:last]]; ok && o.sized {
			return o, 1 << i, true
		}
	}
	return op{}, 0, false
}

// words mean something else where a location's name may stand.
var words = []string{"volatile", "const", "static", "lock", "locations", "filter", "exists", "forall", "final", "with",
	"not", "true", "false"}

// IsWord reports whether a word means something in tests of x86, so that a location can't be
// called so: it is a register, an instruction, a type or a key word.
func IsWord(name string) bool {
	_, register := registerNamed(name)
	_, _, instruction := operation(name)
	_, is := typeNames[name]
	return register || instruction || is || refusals[name] != "" || slices.Contains(words, strings.ToLower(name))
}
