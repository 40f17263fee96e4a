package ppc64

import (
	"fmt"
	"strings"
	"testing"

	"kpsim/internal/testkit/archtest"
	"kpsim/smp/arch"
)

// refNumber is how many cases there are of a form.
const refNumber = 1000

// TestReference compares what instructions do with what they did under qemu's user mode: for each mnemonic
// the digest of the results of all cases drawn. With -qemu it runs that, says which cases differ, and
// records. To make the program:
//
//	powerpc64le-linux-gnu-gcc -O1 -static -nostdlib -ffreestanding -fno-stack-protector -fno-pie -no-pie \
//	  -o reference testdata/reference.c
//	go test -run Reference -qemu 'qemu-ppc64le -cpu power10 ./reference'
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
	for n := range refNumber {
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
		name := in.mnemonic()
		record.Add(name, o.Memory[:], append(o.GPR[:], o.Signal, o.LR, o.CTR, o.XER, o.CR, o.NIP)...)
	}
	if len(cases) == 0 {
		return
	}
	bad := 0
	for i, o := range archtest.Emulate[refCase, refResult](t, *qemu, cases) {
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
