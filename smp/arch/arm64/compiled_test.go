package arm64_test

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/arch/arm64"
)

// A program is an executable file in memory, with a stack. It is a CPU's own: reservations are kept.
type program struct {
	flat     // the reservation and the system registers
	segments []segment
	symbols  map[string]arch.Addr
	decoded  map[arch.Addr]*arch.Op
}

type segment struct {
	at    arch.Addr
	bytes []byte
}

const (
	programStack = 0x7000_0000
	programEnd   = 0x10 // what functions return to
)

func load(t *testing.T, name string) *program {
	f, err := elf.Open(name)
	require.NoError(t, err)
	defer f.Close()
	p := &program{flat: *newFlat(), symbols: make(map[string]arch.Addr), decoded: make(map[arch.Addr]*arch.Op)}
	for _, s := range f.Progs {
		if s.Type != elf.PT_LOAD {
			continue
		}
		b := make([]byte, s.Memsz)
		_, err := s.ReadAt(b[:s.Filesz], 0)
		require.NoError(t, err)
		p.segments = append(p.segments, segment{arch.Addr(s.Vaddr), b})
	}
	p.segments = append(p.segments, segment{programStack - 0x10000, make([]byte, 0x10000)})
	list, err := f.Symbols()
	require.NoError(t, err)
	for _, s := range list {
		p.symbols[s.Name] = arch.Addr(s.Value)
	}
	return p
}

// at returns the bytes at an address; nil if there are none.
func (p *program) at(a arch.Addr, size int) []byte {
	for _, s := range p.segments {
		if a >= s.at && a+arch.Addr(size) <= s.at+arch.Addr(len(s.bytes)) {
			return s.bytes[a-s.at:][:size]
		}
	}
	return nil
}

func (p *program) Load(a arch.Addr, size int) (v uint64, ok bool) {
	var word [8]byte
	ok = copy(word[:], p.at(a, size)) == size
	return binary.LittleEndian.Uint64(word[:]), ok
}

func (p *program) Store(a arch.Addr, size int, v uint64) bool {
	return copy(p.at(a, size), binary.LittleEndian.AppendUint64(nil, v)) == size
}

// call calls a function, and returns how many instructions it has executed, too.
func (p *program) call(name string, args ...uint64) (result uint64, n int, err error) {
	r := arch.Regs{IP: p.symbols[name], Flags: arch.IRQ}
	r.R[arm64.SP], r.R[arm64.LR] = programStack, programEnd
	copy(r.R[:], args)
	for ; r.IP != programEnd; n++ {
		op := p.decoded[r.IP]
		if op == nil {
			in, err := arm64.Decode(p.at(r.IP, arm64.Len), r.IP)
			if err != nil {
				return 0, n, err
			}
			op = in.Operation()
			p.decoded[r.IP] = op
		}
		switch o := op.Run(op, &r, p); o {
		case arch.Next, arch.Relaxed:
		default:
			return 0, n, fmt.Errorf("%#x: %v: %v", uint64(op.Addr), op.Inst, o)
		}
		if n > 1e6 {
			return 0, n, fmt.Errorf("%#x: no end", uint64(r.IP))
		}
	}
	if r.R[arm64.SP] != programStack {
		err = fmt.Errorf("sp is %#x", r.R[arm64.SP])
	}
	return r.R[0], n, err
}

// TestCompiled runs what a compiler made of testdata/functions.c, once with reservations and once with
// atomic instructions and pointer authentication, and compares what the functions return with what they did under
// qemu.
func TestCompiled(t *testing.T) {
	text, err := os.ReadFile("testdata/functions.txt")
	require.NoError(t, err)
	for _, name := range []string{"functions.elf", "functions-lse.elf"} {
		t.Run(name, func(t *testing.T) {
			p := load(t, "testdata/"+name)
			total := 0
			for line := range strings.Lines(string(text)) {
				var f string
				var a, b, c, want uint64
				_, err := fmt.Sscanf(line, "%s %x %x %x %x", &f, &a, &b, &c, &want)
				require.NoError(t, err, line)
				got, n, err := p.call(f, a, b, c)
				require.NoError(t, err, line)
				require.Equal(t, want, got, line)
				total += n
			}
			t.Log(total, "instructions,", len(p.decoded), "of them different")
		})
	}
}
