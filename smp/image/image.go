package image

import "kpsim/smp/arch"

// A Func is a function with its code as linked at Addr.
type Func struct {
	Name    string
	Addr    arch.Addr
	Code    []byte
	Local   bool  // other objects can't refer to it by name
	Extable []int // offsets of its instructions that have an exception-table entry
	// Padding is the number of bytes of Code that fill the gap after the function, unless they
	// count as part of it: a kernel's symbol extends to the next one.
	Padding int
	// Blacklisted marks text that kprobes refuses, as in a Symbol.
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
	In    string // the name of the Func or Block
	Off   int    // offset in it, in bytes
	Local bool   // other objects can't refer to it by name
}

// An Image is code and data ready to be put in memory.
type Image struct {
	Funcs  []Func // by address
	Blocks []Block
	Labels []Label // in the order of the symbol table; none for a kernel module
	// Imports lists the symbols that a kernel module doesn't define, by address. There is no
	// memory there: an address only identifies the symbol that was called or read.
	Imports []Symbol
	Sites   []Site // named by the kernel's tables; by address, then kind
}
