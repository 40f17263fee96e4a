package image

import "kpsim/smp/arch"

// A Func is a function with its code as linked at Addr.
type Func struct {
	Name    string
	Addr    arch.Addr
	Code    []byte
	Local   bool  // no other object can refer to it by its name
	Extable []int // offsets of its instructions that have an exception-table entry
	// Padding is how many bytes of Code fill the gap after the function, as far as that
	// isn't counted to it: a kernel's symbol goes to the next one.
	Padding int
	// Blacklisted tells of text that kprobes refuses, as a Symbol's does.
	Blacklisted bool
}

// A Block is initialised data as linked at Addr.
type Block struct {
	Name  string
	Addr  arch.Addr
	Bytes []byte
}

// A Label is a variable in a Block, or another name of a Func.
type Label struct {
	Name  string
	In    string // of the Func or the Block
	Off   int    // from its beginning, in bytes
	Local bool   // no other object can refer to it by its name
}

// An Image is code and data ready to be put in memory.
type Image struct {
	Funcs  []Func // in the order of their addresses
	Blocks []Block
	Labels []Label // in the order of the symbol table; none of a kernel module
	// Imports are the symbols that a kernel module doesn't define, in the
	// order of their addresses. Nothing is in memory there: an address says
	// which symbol was called, or read, and no more.
	Imports []Symbol
	Sites   []Site // what the kernel's tables name, by address, then kind
}
