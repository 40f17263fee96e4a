package arm64

import (
	"fmt"
	"strings"
	"testing"

	"kpsim/internal/testkit/archtest"
	"kpsim/smp/arch"
)

// refNumber is how many cases there are of a form, refAtomics of the one with 128 mnemonics.
const (
	refNumber  = 4000
	refAtomics = 16000
)

// TestReference compares what instructions do with what they did under qemu's user mode: for each mnemonic
// the digest of the results of all cases drawn. With -qemu it runs that, says which cases differ, and
// records. To make the program:
//
//	aarch64-linux-gnu-gcc -O1 -static -o reference testdata/reference.c
//	go test -run Reference -qemu 'qemu-aarch64 -cpu max,pauth=off ./reference'
func TestReference(t *testing.T) {
	record := make(archtest.Record)
	for _, table := range refTables {
		for i := range table {
			compareForm(t, &table[i], record)
		}
	}
	record.Compare(t, "testdata/reference.txt", *qemu != "")
}

// compareForm runs the cases of a form.
func compareForm(t *testing.T, f *form, record archtest.Record) {
	var cases []refCase
	var results []refResult
	var insts []*Inst
	number := refNumber
	if f.name == "ldadd and the like" {
		number = refAtomics
	}
	for n := range number {
		c, in := drawCase(f, n)
		if in == nil {
			break
		}
		o, err := c.run(arch.Addr(archtest.Code + n*archtest.Slot))
		if err != nil {
			t.Errorf("%v (%08x): %v", in, in.word, err)
			return
		}
		if *qemu != "" {
			cases, insts, results = append(cases, c), append(insts, in), append(results, o)
		}
		name, _, _ := strings.Cut(in.String(), " ")
		record.Add(name, o.Memory[:], append(o.Regs[:], o.Signal, o.SP, o.PC, o.NZCV)...)
	}
	if len(cases) == 0 {
		return
	}
	bad := 0
	for i, o := range archtest.Emulate[refCase, refResult](t, *qemu, cases) {
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

// differs says where a result isn't the other one, which is ours.
func (o *refResult) differs(ours *refResult, c *refCase) string {
	var b strings.Builder
	for i := range o.Regs {
		if o.Regs[i] != ours.Regs[i] {
			fmt.Fprintf(&b, " x%d %#x, ours %#x (was %#x)", i, o.Regs[i], ours.Regs[i], c.Regs[i])
		}
	}
	for _, v := range []struct {
		name string
		a, b uint64
	}{{"signal", o.Signal, ours.Signal}, {"sp", o.SP, ours.SP}, {"pc", o.PC, ours.PC}, {"nzcv", o.NZCV, ours.NZCV}} {
		if v.a != v.b {
			fmt.Fprintf(&b, " %s %#x, ours %#x", v.name, v.a, v.b)
		}
	}
	if o.Memory != ours.Memory {
		b.WriteString(" memory")
	}
	return b.String()
}
