package ppc64

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"kpsim/smp/arch"
)

// refNumber is how many cases there are of a form.
const refNumber = 1000

const refFile = "testdata/reference.txt"

// A refSum is what results of a mnemonic are recorded as.
type refSum struct {
	number int
	digest uint64
}

// add takes a result into the digest.
func (s *refSum) add(o *refResult) {
	s.number++
	mix := func(v uint64) {
		s.digest = (s.digest ^ v) * 0x100000001b3
		s.digest ^= s.digest >> 29
	}
	for _, v := range o.GPR {
		mix(v)
	}
	for _, v := range [...]uint64{o.Signal, o.LR, o.CTR, o.XER, o.CR, o.NIP} {
		mix(v)
	}
	for i := 0; i < len(o.Memory); i += 8 {
		mix(binary.LittleEndian.Uint64(o.Memory[i:]))
	}
}

// TestReference compares what instructions do with what they did under qemu's user mode: for each mnemonic
// the digest of the results of all cases drawn. With -qemu it runs that, says which cases differ, and
// records. To make the program:
//
//	powerpc64le-linux-gnu-gcc -O1 -static -nostdlib -ffreestanding -fno-stack-protector -fno-pie -no-pie \
//	  -o reference testdata/reference.c
//	go test -run Reference -qemu 'qemu-ppc64le -cpu power10 ./reference'
func TestReference(t *testing.T) {
	sums := make(map[string]*refSum)
	for _, table := range refTables {
		for i := range table {
			compareForm(t, &table[i], sums)
		}
	}
	var b strings.Builder
	total := 0
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&b, "%s %d %016x\n", name, sums[name].number, sums[name].digest)
		total += sums[name].number
	}
	t.Logf("%d cases of %d mnemonics", total, len(sums))
	if *qemu != "" {
		if t.Failed() {
			return
		}
		if err := os.WriteFile(refFile, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(refFile)
	if err != nil {
		t.Fatal(err)
	}
	was, now := strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")
	for i := range max(len(was), len(now)) {
		if i >= len(was) || i >= len(now) || was[i] != now[i] {
			t.Fatalf("%s: line %d isn't what it was (%d lines, now %d)", refFile, i+1, len(was), len(now))
		}
	}
}

// compareForm runs the cases of a form.
func compareForm(t *testing.T, f *form, sums map[string]*refSum) {
	var cases []refCase
	var results []refResult
	var insts []*Inst
	for n := range refNumber {
		c, in := drawCase(f, n)
		if in == nil {
			break
		}
		o, err := c.run(arch.Addr(refCode + n*refSlot))
		if err != nil {
			t.Errorf("%v (%08x): %v", in, in.word, err)
			return
		}
		if *qemu != "" {
			cases, insts, results = append(cases, c), append(insts, in), append(results, o)
		}
		name := in.mnemonic()
		s := sums[name]
		if s == nil {
			s = new(refSum)
			sums[name] = s
		}
		s.add(&o)
	}
	if len(cases) == 0 {
		return
	}
	bad := 0
	for i, o := range runQEMU(t, cases) {
		o.XER &= flagsXER
		if o != results[i] {
			if bad++; bad <= 3 {
				t.Errorf("%v (%08x): %s", insts[i], insts[i].word, o.differs(&results[i], &cases[i]))
			}
		}
	}
	if bad > 0 {
		t.Errorf("%s: %d of %d cases differ", f.name, bad, len(cases))
	}
}

func write(t *testing.T, to interface{ Write([]byte) (int, error) }, v any) {
	t.Helper()
	if err := binary.Write(to, binary.LittleEndian, v); err != nil {
		t.Fatal(err)
	}
}

func runQEMU(t *testing.T, cases []refCase) []refResult {
	t.Helper()
	var in bytes.Buffer
	write(t, &in, uint64(len(cases)))
	write(t, &in, cases)
	args := strings.Fields(*qemu)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	b, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	results := make([]refResult, len(cases))
	if err := binary.Read(bytes.NewReader(b), binary.LittleEndian, results); err != nil {
		t.Fatal(err)
	}
	return results
}

// differs says where a result isn't the other one, which is ours.
func (o *refResult) differs(ours *refResult, c *refCase) string {
	var b strings.Builder
	for i := range o.GPR {
		if o.GPR[i] != ours.GPR[i] {
			fmt.Fprintf(&b, " r%d %#x, ours %#x (was %#x)", i, o.GPR[i], ours.GPR[i], c.GPR[i])
		}
	}
	for _, v := range []struct {
		name string
		a, b uint64
	}{{"signal", o.Signal, ours.Signal}, {"lr", o.LR, ours.LR}, {"ctr", o.CTR, ours.CTR}, {"xer", o.XER, ours.XER},
		{"cr", o.CR, ours.CR}, {"nip", o.NIP, ours.NIP}} {
		if v.a != v.b {
			fmt.Fprintf(&b, " %s %#x, ours %#x", v.name, v.a, v.b)
		}
	}
	if o.Memory != ours.Memory {
		b.WriteString(" memory")
	}
	return b.String()
}
