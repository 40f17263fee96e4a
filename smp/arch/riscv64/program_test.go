package riscv64_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	rv "kpsim/smp/arch/riscv64"
)

const programGolden = "testdata/program.txt"

// TestProgram: a program that a compiler made of C with -O2 prints what it printed under qemu. Its system
// calls are write and exit.
func TestProgram(t *testing.T) {
	m, entry := loadProgram(t)
	var r arch.Regs
	r.IP, r.R[sp] = entry, uint64(m.base)+uint64(len(m.b))-64
	text := map[arch.Addr]*arch.Op{}
	names := map[string]bool{}
	var printed []byte
	steps := 0
	for ; ; steps++ {
		if steps == 100_000_000 {
			t.Fatal("it doesn't end")
		}
		op := text[r.IP]
		if op == nil {
			in, err := rv.Decode(m.of(r.IP, 4), r.IP)
			require.NoError(t, err)
			op = in.(*rv.Inst).Operation()
			text[r.IP] = op
			names[in.(*rv.Inst).Name()] = true
		}
		out := op.Run(op, &r, m)
		if out == arch.Next {
			continue
		}
		require.Equal(t, "ecall", op.Inst.String(), "%v", out)
		const a7, write, exit = 17, 64, 93
		if r.R[a7] == exit {
			break
		}
		require.EqualValues(t, write, r.R[a7])
		printed = append(printed, m.of(arch.Addr(r.R[a1]), int(r.R[a2]))...)
		r.R[a0] = r.R[a2]
		r.IP = op.Inst.Next()
	}
	if *record {
		theirs, err := exec.Command("qemu-riscv64", "testdata/program").Output()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(programGolden, theirs, 0o644))
	}
	golden, err := os.ReadFile(programGolden)
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(golden), "\n"), strings.Split(string(printed), "\n"))
	t.Logf("%d instructions of %d forms", steps, len(names))
	require.Greater(t, steps, 500_000)
	require.Greater(t, len(names), 70)
}

// loadProgram returns memory with the program and a stack above it.
func loadProgram(t *testing.T) (m *flat, entry arch.Addr) {
	file, err := os.ReadFile("testdata/program")
	require.NoError(t, err)
	f, err := elf.NewFile(bytes.NewReader(file))
	require.NoError(t, err)
	require.Equal(t, binary.ByteOrder(binary.LittleEndian), f.ByteOrder)
	m = &flat{base: 0x10000, b: make([]byte, 1<<16), system: rv.NewSystem(0)}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			_, err := io.ReadFull(p.Open(), m.of(arch.Addr(p.Vaddr), int(p.Filesz)))
			require.NoError(t, err)
		}
	}
	return m, arch.Addr(f.Entry)
}
