package kprobes

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/smp"
	"kpsim/smp/arch"
	processors "kpsim/smp/arch/target"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kernel"
)

// specArch is the processor that the benches of this process have: x86-64, unless
// TestSpec386 has started the process.
var specArch = processors.Processor(max(0, slices.Index(processors.Words, os.Getenv(specArchKey))))

const specArchKey = "KPSIM_SPEC_ARCH"

// Where functions and data of the tests lie.
var textBase, dataBase = row32.Addr(smp.TextBase), row32.Addr(smp.DataBase)

// row32 is the row of specArch with whole trap frames; what lies where is the same in all.
var row32 = specArch.Row(true)

// arg0 and result are the registers of a call. i386's code is x86-64's, which finds its argument in rdi.
var arg0, result = byWords(arch.Reg(x86.RDI), row32.Args[0]), row32.Result

// between is the register in which victim's first instruction leaves what the second one adds to.
var between = map[processors.Processor]arch.Reg{
	processors.X8664: result, processors.I386: result, processors.RISCV64: 15, processors.ARM64: 9,
	processors.PPC64LE: 9,
}[specArch]

// end returns where a function ends.
func (c code) end() arch.Addr { return c.at + arch.Addr(len(c.bytes)) }

// returns says where the nth call of a function returns to.
func (c code) returns(n int) arch.Addr {
	for at := c.at; ; {
		in, err := row32.Decode(c.bytes[at-c.at:], at)
		if err != nil {
			panic(err)
		}
		if at += arch.Addr(in.Size()); in.Flow() == arch.FlowCall {
			if n--; n < 0 {
				return at
			}
		}
	}
}

// insn returns where the nth instruction of a function begins.
func (c code) insn(n int) arch.Addr {
	at := 0
	for range n {
		in, err := row32.Decode(c.bytes[at:], c.at+arch.Addr(at))
		if err != nil {
			panic(err)
		}
		at += in.Size()
	}
	return c.at + arch.Addr(at)
}

// listed returns lines that begin with an address, of which the lower half is given.
func listed(lines ...string) []string {
	for i := range lines {
		lines[i] = by32("ffffffff", "") + lines[i]
	}
	return lines
}

// exported returns where text finds one of the kernel's functions.
func exported(name string) arch.Addr {
	at, _ := kernel.Export(name)
	return row32.Addr(at)
}

// by32 returns what of two values is specArch's.
func by32[T any](x8664, i386 T) T {
	if specArch == processors.I386 {
		return i386
	}
	return x8664
}

// byWords returns what of two values is specArch's: the second, where instructions are numbers.
func byWords[T any](x86, words T) T {
	if row32.BreakpointFirst {
		return x86
	}
	return words
}

// texts32 makes a module's functions those of specArch.
func texts32(list []kernel.ModuleText) []kernel.ModuleText {
	for _, t := range list {
		in32(t.Code, t.At)
	}
	return list
}

// twinned are the functions that in32 has changed, by their first bytes.
var twinned = make(map[*byte]bool)

// in32 makes code of 64 bits, where specArch is i386, code of 32 bits that does the same with
// the lower halves of registers, each instruction as long as it was and where it was:
//
//	REX.W                  a ds override, which changes nothing where segments are flat
//	an operand off rip     one at its address
//	movabs $n,%r           mov $n,%r with five overrides before it
//
// It reports whether there is such code: i386 lacks eight registers. The function is changed
// in place, for tests look at its bytes, too.
func in32(code []byte, at arch.Addr) (ok bool) {
	if specArch != processors.I386 || len(code) == 0 || twinned[&code[0]] {
		return true
	}
	twinned[&code[0]] = true
	const override = 0x3e
	for off := 0; off < len(code); {
		in, err := x86.Decode(code[off:], at+arch.Addr(off))
		if err != nil {
			off++
			continue
		}
		b := code[off : off+int(in.Len)]
		if pos, relative := in.RIPRelative(); relative {
			to, _ := in.RIPOperand()
			binary.LittleEndian.PutUint32(b[pos:], uint32(to))
		}
		for i := range b {
			if !bytes.Contains([]byte("\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3"), b[i:i+1]) { // those go before it
				switch {
				case b[i]&0xf0 != 0x40:
				case b[i]&7 != 0:
					return false
				case b[i+1]&0xf8 == 0xb8:
					mov := bytes.Clone(b[i+1 : i+6])
					copy(b[5:], mov)
					copy(b, bytes.Repeat([]byte{override}, 5))
				default:
					b[i] = override
				}
				break
			}
		}
		off += len(b)
	}
	return true
}

// TestSpecElsewhere: each rule holds on each other processor that has it, too, in each edition, and each mutant is
// noticed there. This program runs itself once more for each, with its benches of that processor.
func TestSpecElsewhere(t *testing.T) {
	if specArch != processors.X8664 {
		t.Skip("this is that process")
	}
	for p, name := range processors.Words[1:] {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, mutants := 0, 0
			for _, part := range spec {
				for i := range part {
					rows += len(part[i].editions(processors.Processor(p + 1)))
					for j := range part[i].mutants {
						mutants += len(part[i].mutants[j].editions(&part[i], processors.Processor(p+1)))
					}
				}
			}
			c := exec.Command(os.Args[0], "-test.run=^(TestSpec|TestSpecMutants)$", "-test.v")
			c.Env = append(os.Environ(), specArchKey+"="+name)
			out, err := c.CombinedOutput()
			require.NoError(t, err, "%s=%s go test ./kprobes -run 'TestSpec$|TestSpecMutants'\n%s", specArchKey,
				name, out)
			require.Equal(t, rows, bytes.Count(out, []byte("\n    --- PASS: TestSpec/")))
			require.Equal(t, mutants, bytes.Count(out, []byte("\n    --- PASS: TestSpecMutants/")))
			t.Logf("%d rows and editions, %d mutants", rows, mutants)
		})
	}
}
