package x86_test

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/internal/testkit/thorough"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// bad reports whether objdump couldn't make anything of the bytes.
func bad(text string) bool {
	return strings.Contains(text, "(bad)") || strings.HasPrefix(text, ".byte")
}

// needObjdump skips the test where there is no objdump.
func needObjdump(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("objdump"); err != nil {
		t.Skip("SKIP: objdump (binutils) isn't installed: nothing was compared")
	}
}

// objdump runs objdump, and hands each instruction to line and the name of each
// section to section.
func objdump(t testing.TB, line func(at uint64, text string), section func(name string), args ...string) {
	t.Helper()
	cmd := exec.Command("objdump", append([]string{"-w", "-z", "--no-show-raw-insn"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	scanner := bufio.NewScanner(out)
	for scanner.Scan() {
		if name, ok := strings.CutPrefix(scanner.Text(), "Disassembly of section "); ok {
			section(strings.TrimSuffix(name, ":"))
			continue
		}
		addr, text, ok := strings.Cut(scanner.Text(), ":\t")
		if !ok {
			continue
		}
		if at, err := strconv.ParseUint(strings.TrimSpace(addr), 16, 64); err == nil {
			line(at, text)
		}
	}
	require.NoError(t, scanner.Err())
	require.NoError(t, cmd.Wait(), stderr.String())
}

// slot is what each form gets in the file that objdump is run on: more than
// its length, filled up with nops, so that a wrong length ends there.
const slot = 16

// opinions returns what objdump makes of each form, and how it writes it.
func opinions(t testing.TB, mode x86.Mode, forms []form) ([]opinion, []string) {
	file := bytes.Repeat([]byte{0x90}, slot*len(forms))
	for i := range forms {
		copy(file[slot*i:], forms[i].code)
	}
	name := filepath.Join(t.TempDir(), "forms.bin")
	require.NoError(t, os.WriteFile(name, file, 0o600))
	arch := "i386:x86-64"
	if mode == x86.Mode32 {
		arch = "i386"
	}
	all, texts := make([]opinion, len(forms)), make([]string, len(forms))
	last, lastText := uint64(0), ""
	objdump(t, func(at uint64, text string) {
		if last%slot == 0 && !bad(lastText) {
			all[last/slot], texts[last/slot] = opinion(at-last), lastText
		}
		last, lastText = at, text
	}, func(string) {}, "-D", "-b", "binary", "-m", arch, "-M", "intel64", name)
	return all, texts
}

// objdumpReasons are why objdump (binutils 2.40) differs, by opcode.
var objdumpReasons = map[string]string{
	"8c":    "objdump prints a segment register that doesn't exist",
	"8e":    "objdump prints a segment register that doesn't exist",
	"d6":    "salc: every processor has it, the SDM doesn't say so (AMD64 APM vol. 3, table A-1 does)",
	"d9":    "second encoding of fstp, which processors take",
	"db":    "frstpm is of the 80287",
	"dc":    "second encodings of fcom and fcomp, which processors take",
	"dd":    "second encoding of fxch, which processors take",
	"de":    "second encoding of fcomp, which processors take",
	"df":    "second encodings of fxch and fstp, which processors take",
	"0f 00": "lkgs is younger than this objdump",
	"0f 01": "pbndkb, rmpread, eretu, erets are younger than this objdump, and it lists instructions of which the " +
		"SDM says NP, or not in this mode",
	"0f 09":    "66 and f2 are ignored by wbinvd: the SDM doesn't say NP",
	"0f 1a":    "without MPX all forms are nops",
	"0f 1b":    "without MPX all forms are nops",
	"0f 24":    "test registers are of the 80386 and 80486",
	"0f 26":    "test registers are of the 80386 and 80486",
	"0f 78":    "extrq has a reg field of 0 (AMD64 APM vol. 4)",
	"0f ae":    "NP in the SDM, and rdfsbase and its like in 64-bit mode only",
	"0f bc":    "f2 is ignored by bsf: the SDM doesn't say NP",
	"0f bd":    "f2 is ignored by bsr: the SDM doesn't say NP",
	"0f c7":    "NP in the SDM, and senduipi in 64-bit mode only",
	"0f d7":    "NP and 66 only in the SDM",
	"0f 38 f8": "urdmsr, uwrmsr are younger than this objdump",
	"vex1 77":  "vzeroupper has pp 0",
	"vex1 ae":  "vldmxcsr, vstmxcsr have pp 0",
	"vex2 49":  "ldtilecfg, sttilecfg have a reg field of 0, tilezero a rm field of 0",
	"vex2 5c":  "objdump wants three different tiles",
	"vex2 5e":  "objdump wants three different tiles",
	"vex2 6c":  "AMX-COMPLEX is younger than this objdump",
	"vex2 cb":  "SHA512 is younger than this objdump",
	"vex2 cc":  "SHA512 is younger than this objdump",
	"vex2 cd":  "SHA512 is younger than this objdump",
	"vex2 d2":  "AVX-VNNI-INT16 is younger than this objdump",
	"vex2 d3":  "AVX-VNNI-INT16 is younger than this objdump",
	"vex2 da":  "SM3 and SM4 are younger than this objdump",
	"vex3 de":  "SM3 is younger than this objdump",
	"evex1 e7": "vmovntdq stores to memory",
	"evex2 29": "vpmovb2m, vpmovw2m read a register",
	"evex2 2a": "vmovntdqa loads from memory",
	"evex2 39": "vpmovd2m, vpmovq2m read a register",
	"evex2 4e": "vrsqrt14ps, vrsqrt14pd have pp 1",
	"evex3 42": "vdbpsadbw has pp 1",
	"evex3 70": "vpshldw has pp 1",
	"evex3 72": "vpshrdw has pp 1",
}

// TestObjdumpForms: existence and length of every form, in both modes, are what
// objdump says, but for what testdata/objdump.txt lists and objdumpReasons
// explains. VEX.W and VEX.L don't count for existence.
func TestObjdumpForms(t *testing.T) {
	thorough.Only(t, "10 s; TestSecondOpinion decodes the same")
	needObjdump(t)
	if slow > 1 {
		t.Skip("under the race detector TestSecondOpinion decodes the same")
	}
	var all differences
	names := map[string]bool{}
	for _, mode := range []x86.Mode{x86.Mode64, x86.Mode32} {
		forms := allForms(mode)
		there, texts := opinions(t, mode, forms)
		all.compare(mode, forms, there)
		compareNames(names, mode, forms, texts)
	}
	used := map[string]bool{}
	for _, d := range all.lines {
		used[d.opcode] = true
		if d.who == "length" || objdumpReasons[d.opcode] == "" {
			t.Errorf("%v: not explained", d)
		}
	}
	for opcode, why := range objdumpReasons {
		require.True(t, used[opcode], "%s: nothing to explain: %s", opcode, why)
	}
	frozen(t, "testdata/objdump.txt", all.String())
	frozen(t, "testdata/mnemonics.txt", strings.Join(slices.Sorted(maps.Keys(names)), "\n")+"\n")
}

// compareNames adds the mnemonics that aren't objdump's, of all instructions
// but those of VEX and EVEX: in mnemonics.txt another spelling may stand, or a
// vaguer name, but no other instruction.
func compareNames(names map[string]bool, mode x86.Mode, forms []form, texts []string) {
	for i, f := range forms {
		in, err := mode.Decode(padded(f.code), arch.Addr(slot*i))
		if err != nil || texts[i] == "" || in.Encoding() == x86.VEX || in.Encoding() == x86.EVEX {
			continue
		}
		if here, there := mnemonic(in.String()), mnemonic(texts[i]); here != there {
			names[fmt.Sprintf("%s: %s, objdump %s", f.opcode, here, there)] = true
		}
	}
}

// mnemonic is the first word that isn't a prefix, without the letter for the
// size of the operands.
func mnemonic(text string) string {
	for _, w := range strings.Fields(text) {
		if !strings.Contains(" rep repz repe repn repnz repne data16 data32 addr16 addr32 rex.W rex lock cs ds bnd ",
			" "+w+" ") {
			return strings.TrimRight(w, "bwlqs")
		}
	}
	return ""
}
