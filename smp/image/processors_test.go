package image_test

import (
	"debug/elf"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	"kpsim/smp/arch/ppc64"
	"kpsim/smp/image"
)

//go:generate riscv64-linux-gnu-as -march=rv64imac -o testdata/forms_riscv64.o testdata/forms_riscv64.s
//go:generate aarch64-linux-gnu-as -o testdata/forms_arm64.o testdata/forms_arm64.s
//go:generate powerpc64le-linux-gnu-as -o testdata/forms_ppc64le.o testdata/forms_ppc64le.s
//go:generate powerpc64le-linux-gnu-as -o testdata/stubs_ppc64le.o testdata/stubs_ppc64le.s
//go:generate powerpc64le-linux-gnu-as -o testdata/thread_ppc64le.o testdata/thread_ppc64le.s

// TestProcessors compares objects of other processors with what GNU ld has made of them at the same addresses:
// ld --no-relax -Ttext=0xffffffff81000000 -Tdata=0xffffffff81001000, for ppc64le with --no-toc-optimize instead of
// --no-relax, and .TOC. as image.TOC. The text and the data are recorded, one after the other.
func TestProcessors(t *testing.T) {
	const base arch.Addr = 0xffffffff81000000
	for name, machine := range map[string]elf.Machine{"riscv64": elf.EM_RISCV, "arm64": elf.EM_AARCH64,
		"ppc64le": elf.EM_PPC64} {
		t.Run(name, func(t *testing.T) {
			o := parse(t, "testdata/forms_"+name+".o")
			require.Equal(t, machine, o.Machine())
			img, err := o.Place(base, nil)
			require.NoError(t, err)
			recorded, err := os.ReadFile("testdata/forms_" + name + ".linked")
			require.NoError(t, err)
			want, err := hex.DecodeString(strings.ReplaceAll(string(recorded), "\n", ""))
			require.NoError(t, err)
			var got []byte
			for i := range img.Funcs {
				f := &img.Funcs[i]
				require.EqualValues(t, base+arch.Addr(len(got)), f.Addr, f.Name)
				got = append(got, f.Code...)
			}
			require.Len(t, img.Blocks, 1)
			require.Equal(t, base+0x1000, img.Blocks[0].Addr)
			got = append(got, img.Blocks[0].Bytes...)
			require.Equal(t, hex.Dump(want), hex.Dump(got))
		})
	}
}

// A call of another object's function leads to its local entry, and an address is its global one's. What a linker
// would make a stub for, and thread-local variables, are refused by name.
func TestEntries(t *testing.T) {
	const at, entry arch.Addr = 0xffffffff81002000, 0xffffffff81002008
	img, err := parse(t, "../../internal/scenario/testdata/elsewhere_ppc64le.o").Place(0xffffffff81000000,
		func(symbol string) (arch.Addr, arch.Addr, bool) { return at, entry, symbol == "helper" })
	require.NoError(t, err)
	var to []arch.Addr
	for i := range img.Funcs {
		f := &img.Funcs[i]
		for off := 0; off+4 <= len(f.Code); off += 4 {
			in, err := ppc64.Decode(f.Code[off:], f.Addr+arch.Addr(off))
			if err == nil && in.Flow() == arch.FlowCall {
				target, _ := in.Target()
				to = append(to, target)
			}
		}
	}
	require.Equal(t, []arch.Addr{entry, 0xffffffff81000008}, to) // helper, sum
	for name, want := range map[string]string{
		"stubs":  "g+0x0: one of the two uses a TOC, so that R_PPC64_REL24_NOTOC leads to f by a stub",
		"thread": "R_PPC64_TPREL16_HA isn't supported: there is no thread-local storage",
	} {
		raw, err := os.ReadFile("testdata/" + name + "_ppc64le.o")
		require.NoError(t, err)
		o, err := image.ParseELF(name, raw)
		if err == nil {
			_, err = o.Place(0xffffffff81000000, nowhere)
		}
		require.ErrorContains(t, err, want)
	}
}

// TestCodeAsWords reads code whose instructions are numbers.
func TestCodeAsWords(t *testing.T) {
	for _, c := range []struct {
		in   string
		unit int
		want string // "" if err isn't
		err  string
	}{
		{in: "d503201f d65f03c0", unit: 4, want: "1f2003d5c0035fd6"},
		{in: "1f 20 03 d5", unit: 4, want: "1f2003d5"},
		{in: "0xd503201f", unit: 4, want: "1f2003d5"},
		{in: "  10:\taa1e03ea \tmov\tx10, x30\n  14:\tb9400009 \tldr\tw9, [x0]", unit: 4, want: "ea031eaa090040b9"},
		{in: "8082 00000013", unit: 2, want: "828013000000"},
		{in: "  36:\t4505                \tli\ta0,1", unit: 2, want: "0545"},
		{in: "8082", unit: 4, err: "write an instruction as a number of 8 digits, and bytes as pairs, apart"},
		{in: "d503201fd65f03c0", unit: 4, err: "has 16 digits: write an instruction as a number of 8 digits"},
		{in: "828280", unit: 2, err: "has 6 digits: write an instruction as a number of 8 digits, or of 4"},
		{in: "4889e5", unit: 1, want: "4889e5"},
	} {
		b, err := image.ParseCode(c.in, c.unit)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, c.in)
			continue
		}
		require.NoError(t, err, c.in)
		require.Equal(t, c.want, hex.EncodeToString(b), c.in)
	}
}
