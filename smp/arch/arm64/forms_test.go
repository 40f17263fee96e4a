package arm64

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/arch/arm64/arm64asm"

	"kpsim/internal/testkit/archtest"
	"kpsim/smp/arch"
)

var (
	update  = flag.Bool("update", false, "write testdata anew")
	objdump = flag.String("objdump", "", "an objdump of arm64: record how it writes the forms")
)

// frozen compares with a file, or writes it.
func frozen(t *testing.T, path, now string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(now), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a, b := strings.Split(string(was), "\n"), strings.Split(now, "\n")
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			t.Fatalf("%s: line %d differs; go test -update writes it anew:\n%s", path, i+1, now)
		}
	}
}

func everyForm() (list []match) {
	for _, table := range append(slices.Clone(refTables), refusedForms) {
		for i := range table {
			list = append(list, table[i].match())
		}
	}
	return list
}

// TestForms: no word has two forms, and each form has some that are decoded.
func TestForms(t *testing.T) {
	list := everyForm()
	for i, a := range list {
		for _, b := range list[:i] {
			if (a.bits^b.bits)&a.mask&b.mask == 0 {
				t.Errorf("%s and %s overlap", a.form.name, b.form.name)
			}
		}
		d := draw{archtest.Draw(i)}
		found := false
		for range 1000 {
			in := decodeWord(word(d.Next())&^a.mask|a.bits, 0)
			found = found || in != nil && in.form == a.form
		}
		if !found {
			t.Errorf("%s: nothing is decoded", a.form.name)
		}
	}
	t.Log(len(list), "forms")
}

// TestSecondOpinion asks arm64asm about words drawn: half of them any, half of the forms that are executed.
// testdata/disagreements.txt has where the two differ, and how often:
//
//	theirs   they decode what we don't, and why we don't
//	ours     we execute what they don't know, by form
//	refused  they decode what we decode and don't execute, by form
//
// Theirs are wrong about add of an extended register shifted by more than four, about logical immediates of ones
// alone, and about fields that should be ones (TestObjdump has the right ones). The unpredictable we refuse by rule.
func TestSecondOpinion(t *testing.T) {
	const words = 300_000
	forms := everyForm()
	counts := make(map[string]int)
	d := draw{archtest.Draw(1)}
	both := 0
	for i := range words {
		w := word(d.Next())
		if i&1 != 0 {
			f := forms[d.Below(uint64(len(forms)))]
			w = w&^f.mask | f.bits
		}
		b := binary.LittleEndian.AppendUint32(nil, uint32(w))
		x, err := arm64asm.Decode(b)
		they := err == nil && x.Op != 0
		in, err := Decode(b, 0)
		switch {
		case they && err != nil:
			reason := "unknown"
			if errors.Is(err, ErrUnpredictable) {
				reason = "unpredictable"
			}
			counts[fmt.Sprintf("theirs %v: %s", x.Op, reason)]++
		case they && in.refused:
			counts["refused "+in.form.name]++
		case they:
			both++
		case err == nil && !in.refused:
			counts["ours "+in.form.name]++
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "words %d\nexecuted here and known there %d\n", words, both)
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&out, "%s %d\n", k, counts[k])
	}
	frozen(t, "testdata/disagreements.txt", out.String())
}

// objdumpAt is where the words of TestObjdump lie.
const objdumpAt = 0x40000000

// TestObjdump: instructions of all forms that are executed are written as objdump does. testdata/objdump.txt
// has what that writes, by word.
func TestObjdump(t *testing.T) {
	const path = "testdata/objdump.txt"
	if *objdump != "" {
		recordObjdump(t, path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		hex, want, _ := strings.Cut(strings.TrimSpace(line), " ")
		w, err := strconv.ParseUint(hex, 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		in := decodeWord(word(w), objdumpAt+arch.Addr(4*n))
		n++
		if in == nil {
			t.Errorf("%s (%s) isn't decoded", hex, want)
			continue
		}
		if got := sameText(in.String()); got != sameText(want) {
			t.Errorf("%s: %s, and objdump has %s", hex, in, want)
		}
	}
	t.Log(n, "instructions")
}

var textNumber = regexp.MustCompile(`#(-?(0x)?[0-9a-f]+)`)

// sameText writes numbers in one way, and does without what objdump has its own name for.
func sameText(s string) string {
	s, _, _ = strings.Cut(strings.ToLower(s), "//")
	s = strings.TrimSpace(strings.ReplaceAll(s, ", ", ","))
	s = textNumber.ReplaceAllStringFunc(s, func(n string) string {
		v, err := strconv.ParseInt(n[1:], 0, 64)
		if err == nil {
			return fmt.Sprint("#", uint64(v))
		}
		u, err := strconv.ParseUint(n[1:], 0, 64)
		if err != nil {
			return n
		}
		return fmt.Sprint("#", u)
	})
	switch name, _, _ := strings.Cut(s, " "); {
	case name == "hint" && s == "hint #6":
		return "dgh"
	case name == "bfc" || name == "bfm":
		return "bfm" // of the zero register
	case strings.HasSuffix(s, ",nv"):
		return strings.TrimSuffix(s, "nv") + "al" // the same
	case name == "b.nv":
		return "b.al" + s[4:]
	}
	return s
}

// recordObjdump writes how objdump writes twelve instructions of each form that is executed, and all system
// registers and operations that have a name here.
func recordObjdump(t *testing.T, path string) {
	t.Helper()
	var words []uint32
	for i, f := range everyForm() {
		d := draw{archtest.Draw(i)}
		for n := 0; n < 12; {
			w := word(d.Next())&^f.mask | f.bits
			if f.form.name == "msr, immediate" {
				w &^= 14 << 8 // objdump knows no more than one bit
			}
			in := decodeWord(w, 0)
			if in != nil && in.refused {
				break
			}
			if in != nil {
				words = append(words, uint32(w))
				n++
			}
		}
	}
	for i := range sysregs {
		words = append(words, 0xd5300000|uint32(sysregs[i].code())<<5) // mrs x0
	}
	for _, code := range slices.Sorted(maps.Keys(sysOps)) {
		words = append(words, 0xd5080000|uint32(code)<<5)
	}
	file := filepath.Join(t.TempDir(), "words")
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(*objdump, "-D", "-z", "-b", "binary", "-m", "aarch64", "--no-show-raw-insn",
		fmt.Sprintf("--adjust-vma=%#x", objdumpAt), file).Output()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	n := 0
	for line := range strings.Lines(string(out)) {
		if _, s, ok := strings.Cut(line, ":\t"); ok {
			fmt.Fprintf(&text, "%08x %s\n", words[n], strings.ReplaceAll(strings.TrimSpace(s), "\t", " "))
			n++
		}
	}
	if n != len(words) {
		t.Fatalf("%d of %d words", n, len(words))
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

// FuzzDecode: nothing makes Decode or Exec panic. What decodes has one length and a text, and what executes
// says where it goes on.
func FuzzDecode(f *testing.F) {
	for _, w := range []uint32{wordNop, wordISB, wordRet, wordBRK, 0xf9400485, 0xc87f2288, 0x3821f2cb, 0} {
		f.Add(binary.LittleEndian.AppendUint32(nil, w), uint64(archtest.Code))
	}
	f.Fuzz(func(t *testing.T, b []byte, at uint64) {
		in, err := Decode(b, arch.Addr(at))
		if err != nil {
			if in != nil || len(b) >= Len && !strings.Contains(err.Error(), fmt.Sprintf("% x", b[:Len])) {
				t.Fatal(err)
			}
			return
		}
		if in.Size() != Len || in.Next() != in.At()+Len || !slices.Equal(in.Bytes(), b[:Len]) || in.String() == "" {
			t.Fatalf("%v: %d bytes", in, in.Size())
		}
		m := new(refCase).memory(0)
		r := arch.Regs{IP: arch.Addr(at), Flags: arch.IRQ}
		for i := range r.R[:ZR] {
			r.R[i] = at*uint64(i+1) | archtest.Data
		}
		was := r
		o := in.Exec(&r, m)
		if o.Faulted() && r != was || r.R[ZR] != 0 || o == arch.Unsupported != in.refused && in.reg == nil {
			t.Fatalf("%v: %v, %#x", in, o, r)
		}
		if in.flow == arch.FlowNext && !o.Faulted() && r.IP != in.Next() {
			t.Fatalf("%v goes to %#x", in, uint64(r.IP))
		}
	})
}
