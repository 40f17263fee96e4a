package archtest

import (
	"debug/elf"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
)

// A Program is an executable file in memory, with a stack.
type Program struct {
	Symbols  map[string]arch.Addr
	segments []segment
}

type segment struct {
	at    arch.Addr
	bytes []byte
}

// Stack is the stack pointer at first. There are 256 bytes above it.
const Stack = 0x7000_0000

// Load reads a file.
func Load(t *testing.T, name string) *Program {
	t.Helper()
	f, err := elf.Open(name)
	require.NoError(t, err)
	defer f.Close()
	p := &Program{Symbols: make(map[string]arch.Addr)}
	for _, s := range f.Progs {
		if s.Type != elf.PT_LOAD {
			continue
		}
		b := make([]byte, s.Memsz)
		if s.Filesz > 0 {
			_, err := s.ReadAt(b[:s.Filesz], 0)
			require.NoError(t, err)
		}
		p.segments = append(p.segments, segment{arch.Addr(s.Vaddr), b})
	}
	p.segments = append(p.segments, segment{Stack - 0x10000, make([]byte, 0x10100)})
	list, err := f.Symbols()
	require.NoError(t, err)
	for _, s := range list {
		p.Symbols[s.Name] = arch.Addr(s.Value)
	}
	return p
}

// At returns the bytes at an address; nil if there are none.
func (p *Program) At(a arch.Addr, size int) []byte {
	for _, s := range p.segments {
		if a >= s.at && a+arch.Addr(size) <= s.at+arch.Addr(len(s.bytes)) {
			return s.bytes[a-s.at:][:size]
		}
	}
	return nil
}

// Load implements arch.Memory.
func (p *Program) Load(a arch.Addr, size int) (v uint64, ok bool) {
	var word [8]byte
	ok = copy(word[:], p.At(a, size)) == size
	return binary.LittleEndian.Uint64(word[:]), ok
}

// Store implements arch.Memory.
func (p *Program) Store(a arch.Addr, size int, v uint64) bool {
	return copy(p.At(a, size), binary.LittleEndian.AppendUint64(nil, v)) == size
}
