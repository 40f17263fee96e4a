package ppc64

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
)

// A program is an executable file in memory, with a stack. It is a CPU's own: reservations are kept.
type program struct {
	flat     // the reservation and the special registers
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
	p := &program{flat: *newFlat(), symbols: map[string]arch.Addr{}, decoded: map[arch.Addr]*arch.Op{}}
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
	p.segments = append(p.segments, segment{programStack - 0x10000, make([]byte, 0x10100)})
	list, err := f.Symbols()
	require.NoError(t, err)
	for _, s := range list {
		p.symbols[s.Name] = arch.Addr(s.Value)
	}
	return p
}

// bytesAt returns the bytes at an address; nil if there are none.
func (p *program) bytesAt(a arch.Addr, size int) []byte {
	for _, s := range p.segments {
		if a >= s.at && a+arch.Addr(size) <= s.at+arch.Addr(len(s.bytes)) {
			return s.bytes[a-s.at:][:size]
		}
	}
	return nil
}

func (p *program) Load(a arch.Addr, size int) (v uint64, ok bool) {
	var word [8]byte
	ok = copy(word[:], p.bytesAt(a, size)) == size
	return binary.LittleEndian.Uint64(word[:]), ok
}

func (p *program) Store(a arch.Addr, size int, v uint64) bool {
	return copy(p.bytesAt(a, size), binary.LittleEndian.AppendUint64(nil, v)) == size
}

// call calls a function at its global entry, which makes r2 of r12. It returns how many instructions it
// has executed, too.
func (p *program) call(name string, args ...uint64) (result uint64, n int, err error) {
	r := arch.Regs{IP: p.symbols[name], Flags: arch.IRQ}
	r.R[SP], r.R[LR], r.R[12] = programStack, programEnd, uint64(r.IP)
	copy(r.R[3:], args)
	for ; r.IP != programEnd; n++ {
		op := p.decoded[r.IP]
		if op == nil {
			in, err := Decode(p.bytesAt(r.IP, WordLen), r.IP)
			if err != nil {
				return 0, n, err
			}
			op = in.Operation()
			p.decoded[r.IP] = op
		}
		switch o := op.Run(op, &r, p); o {
		case arch.Next, arch.Relaxed, arch.Serialized:
		default:
			return 0, n, fmt.Errorf("%#x: %v: %v", uint64(op.Addr), op.Inst, o)
		}
		if n > 1e6 {
			return 0, n, fmt.Errorf("%#x: no end", uint64(r.IP))
		}
	}
	if r.R[SP] != programStack {
		err = fmt.Errorf("r1 is %#x", r.R[SP])
	}
	return r.R[3], n, err
}

// TestCompiled runs what a compiler made of functions.c of package arm64, for two versions of the
// manual, and compares what the functions return with what they did there under qemu. qemu-ppc64le
// prints the same. To make the files:
//
//	C="powerpc64le-linux-gnu-gcc -O2 -static -nostdlib -ffreestanding -mno-altivec -mno-vsx -msoft-float \
//	  -fno-stack-protector -fno-asynchronous-unwind-tables -fno-tree-loop-distribute-patterns -fno-pie \
//	  -no-pie -Wl,--build-id=none -Wl,-Ttext=0x400000 -Wl,-z,max-page-size=4096"
//	$C -mcpu=power8 -o functions-power8.elf ../../arm64/testdata/functions.c -lgcc
//	$C -mcpu=power9 -o functions-power9.elf ../../arm64/testdata/functions.c -lgcc
func TestCompiled(t *testing.T) {
	text, err := os.ReadFile("../arm64/testdata/functions.txt")
	require.NoError(t, err)
	for _, name := range []string{"functions-power8.elf", "functions-power9.elf"} {
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
