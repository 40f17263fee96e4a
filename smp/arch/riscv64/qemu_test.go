package riscv64_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/archtest"
	"kpsim/smp/arch"
	rv "kpsim/smp/arch/riscv64"
)

var record = flag.Bool("record", false, "record what qemu and objdump say: they must be installed")

// Each form has perForm instances. A program of the emulator executes at most perBatch.
const (
	perForm  = 1000
	perBatch = 4000
)

const qemuGolden = "testdata/qemu.txt"

// TestQemu: what our instructions leave in registers and memory is what qemu's left, whose digests
// are recorded. With -record qemu executes them again, and each instance is compared.
func TestQemu(t *testing.T) {
	tallies := map[string]*tally{}
	var names []string
	var batch []*instance
	total, differ := 0, 0
	flush := func() {
		var theirs []byte
		if *record {
			theirs = emulate(t, batch)
		}
		for i, x := range batch {
			left := x.execute(t)
			if *record {
				them := theirs[i*recordSize:][:recordSize]
				if !bytes.Equal(left, them) {
					if differ++; differ < 20 {
						t.Errorf("%s: %s", x.name, x.difference(left, them))
					}
				}
				left = them
			}
			tallies[x.name].add(left)
		}
		total += len(batch)
		batch = batch[:0]
	}
	for i, form := range rv.Listing() {
		if notUser[form.Name] {
			continue
		}
		if tallies[form.Name] == nil {
			names, tallies[form.Name] = append(names, form.Name), new(tally)
		}
		d := drawer{archtest.Draw(i)}
		for range instances(form) {
			batch = append(batch, draw(&d, form, len(batch)))
			if len(batch) == perBatch {
				flush()
			}
		}
	}
	flush()
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "%s %d %016x\n", name, tallies[name].n, tallies[name].digest)
	}
	if *record {
		t.Logf("%d instances of %d forms, %d differ", total, len(names), differ)
		require.Zero(t, differ)
		require.NoError(t, os.WriteFile(qemuGolden, []byte(b.String()), 0o644))
		return
	}
	golden, err := os.ReadFile(qemuGolden)
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(golden), "\n"), strings.Split(b.String(), "\n"))
	require.Greater(t, total, 100_000)
}

// instances returns how often a form is drawn: without operands once is enough.
func instances(form rv.Listed) int {
	if ^form.Mask == 0 || form.Bytes == rv.HalfLen && form.Mask == 0xffff {
		return 10
	}
	return perForm
}

// difference says where two records differ.
func (x *instance) difference(ours, theirs []byte) string {
	in, _ := rv.Decode(x.code[x.entry-x.at:], x.entry)
	var b strings.Builder
	fmt.Fprintf(&b, "%v", in)
	for off := 0; off < recordSize; off += 8 {
		was, o, q := x.before()[off:], ours[off:], theirs[off:]
		if !bytes.Equal(o[:8], q[:8]) {
			fmt.Fprintf(&b, "\n\tat %d: was %x, ours %x, qemu's %x", off, binary.LittleEndian.Uint64(was),
				binary.LittleEndian.Uint64(o), binary.LittleEndian.Uint64(q))
		}
	}
	return b.String()
}

// emulate executes a batch with qemu's user mode, and returns the records.
func emulate(t *testing.T, batch []*instance) []byte {
	t.Helper()
	dir := t.TempDir()
	program, out := filepath.Join(dir, "program"), filepath.Join(dir, "out")
	require.NoError(t, os.WriteFile(program, executable(batch), 0o755))
	f, err := os.Create(out)
	require.NoError(t, err)
	cmd := exec.Command("qemu-riscv64", program)
	cmd.Stdout, cmd.Stderr = f, os.Stderr
	require.NoError(t, cmd.Run())
	require.NoError(t, f.Close())
	b, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Len(t, b, len(batch)*recordSize)
	return b
}

// executable is an ELF file: the blocks one after the other, a write of all records, an exit.
func executable(batch []*instance) []byte {
	const headers, page = 64 + 2*56, 0x1000
	var text, data []byte
	for _, x := range batch {
		text = append(append(text, x.code...), make([]byte, blockSize-len(x.code))...)
		data = append(data, x.before()...)
	}
	li := func(r, v uint32) {
		text = append(text, wordBytes(rv.UType(0x37, r, v+0x800))...)
		text = append(text, wordBytes(rv.IType(0x1b, 0, r, r, v))...)
	}
	const a0, a1, a2, a7, ecall = 10, 11, 12, 17, 0x73
	li(a0, 1)
	li(a1, uint32(dataAt))
	li(a2, uint32(len(data)))
	li(a7, 64) // write
	text = append(text, wordBytes(ecall)...)
	li(a0, 0)
	li(a7, 93) // exit
	text = append(text, wordBytes(ecall)...)

	le := binary.LittleEndian
	b := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 9)...)
	b = le.AppendUint16(b, 2)   // ET_EXEC
	b = le.AppendUint16(b, 243) // EM_RISCV
	b = le.AppendUint32(b, 1)
	for _, v := range []uint64{uint64(textAt), 64, 0} { // entry, program headers, no sections
		b = le.AppendUint64(b, v)
	}
	b = le.AppendUint32(b, 1) // compressed instructions
	for _, v := range []uint16{64, 56, 2, 64, 0, 0} {
		b = le.AppendUint16(b, v)
	}
	dataOff := (page + len(text) + page - 1) &^ (page - 1)
	for _, s := range []struct {
		flags uint32
		off   int
		at    arch.Addr
		n     int
	}{{5, page, textAt, len(text)}, {6, dataOff, dataAt, len(data)}} {
		b = le.AppendUint32(b, 1) // PT_LOAD
		b = le.AppendUint32(b, s.flags)
		for _, v := range []uint64{uint64(s.off), uint64(s.at), uint64(s.at), uint64(s.n), uint64(s.n), page} {
			b = le.AppendUint64(b, v)
		}
	}
	b = append(b, make([]byte, page-headers)...)
	b = append(b, text...)
	b = append(b, make([]byte, dataOff-len(b))...)
	return append(b, data...)
}
