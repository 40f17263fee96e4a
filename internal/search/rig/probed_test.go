package rig_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"kpsim/internal/scenario/lang"
	"kpsim/internal/search/rig"
	"kpsim/kprobes/rules"
	"kpsim/sched"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/target"
)

// drawnCode draws a function of a processor without accesses to memory.
type drawnCode struct {
	arch string
	pre  []uint32                // begins each function: what it reads beside its argument
	word func(t *rapid.T) uint32 // a word that may be an instruction
	ret  uint32
	uses func(in arch.Inst) (reads, writes uint64) // sets of registers
	free uint64                                    // those that a call may change
}

var drawnCodes = []drawnCode{{
	arch: "riscv64", ret: 0x8067,
	word: func(t *rapid.T) uint32 {
		w := rapid.Uint32().Draw(t, "w")
		if rapid.Bool().Draw(t, "half") {
			return w&0xfffc | 1 // quadrant 1: arithmetic, jumps and branches
		}
		ops := []uint32{0x13, 0x33, 0x1b, 0x3b, 0x37, 0x17, 0x63, 0x6f}
		return w&^0x7f | ops[rapid.IntRange(0, len(ops)-1).Draw(t, "op")]
	},
	uses: func(in arch.Inst) (reads, writes uint64) {
		w := in.(interface{ Word() uint32 }).Word()
		reads, writes = 1<<(w>>15&31), 1<<(w>>7&31)
		switch op := w & 0x7f; {
		case op == 0x37, op == 0x17:
			reads = 0
		case op&0x20 != 0:
			reads |= 1 << (w >> 20 & 31)
		}
		return reads, writes
	},
	free: 0xf003fce1, // x0, t0 to t2, a0 to a7, t3 to t6
}, {
	arch: "arm64", ret: 0xd65f03c0,
	word: func(t *rapid.T) uint32 {
		w := rapid.Uint32().Draw(t, "w")
		ops := []uint32{0x11, 0x12, 0x13, 0x0a, 0x0b, 0x1b, 0x10} // arithmetic and logic, adr
		return w&^(0x1f<<24) | ops[rapid.IntRange(0, len(ops)-1).Draw(t, "op")]<<24
	},
	uses: func(in arch.Inst) (reads, writes uint64) {
		w := uint32(arch.Word(in.Bytes()))
		reads, writes = 1<<(w>>5&31), 1<<(w&31)
		switch w >> 24 & 0x1f {
		case 0x10: // adr, adrp
			reads = 0
		case 0x13:
			if w>>23&1 != 0 { // extr
				reads |= 1 << (w >> 16 & 31)
			}
			reads |= writes // bfm
		case 0x12:
			reads |= writes // movk
		case 0x0a, 0x0b:
			reads |= 1 << (w >> 16 & 31)
		case 0x1b:
			reads |= 1<<(w>>16&31) | 1<<(w>>10&31)
		}
		return reads, writes
	},
	free: 0x3ffff, // x0 to x17
}, {
	arch: "ppc64le", ret: 0x4e800020,
	pre: []uint32{0x38000000, 0x7c0ff120, 0x7c0103a6}, // li r0,0; mtcr r0; mtxer r0
	word: func(t *rapid.T) uint32 {
		w := rapid.Uint32().Draw(t, "w")
		// arithmetic and logic with immediates, rotations, and twice as much of the opcode with the most
		ops := []uint32{7, 8, 10, 11, 12, 13, 14, 15, 20, 21, 23, 24, 25, 26, 27, 28, 29, 30, 19, 4, 31, 31, 31, 31, 31}
		return w&0x03ffffff | ops[rapid.IntRange(0, len(ops)-1).Draw(t, "op")]<<26
	},
	uses: func(in arch.Inst) (reads, writes uint64) {
		w := uint32(arch.Word(in.Bytes()))
		s, a, b := uint64(1)<<(w>>21&31), uint64(1)<<(w>>16&31), uint64(1)<<(w>>11&31)
		switch op := w >> 26; {
		case op == 10, op == 11:
			return a, 0
		case op < 16 && op != 4:
			return a, s
		case op >= 20 && op <= 30:
			return s | a | b, a
		case op == 19: // of fields of CR, and isync
			return 0, s
		}
		switch w >> 1 & 0x3ff {
		case 83, 339, 371, 467: // MSR and special registers
			return 1 << 1, 0
		}
		return s | a | b | 1<<(w>>6&31), s | a
	},
	free: 0x1ff9, // r0, r3 to r12
}}

// draw draws some instructions, whose jumps lead to later ones, and a return.
func (d *drawnCode) draw(t *rapid.T, a *arch.Arch, at arch.Addr) (code []byte, begins []int) {
	n := rapid.IntRange(1, 12).Draw(t, "n")
	known := uint64(1 | 1<<a.Args[0])
	for _, w := range d.pre {
		begins = append(begins, len(code))
		code = binary.LittleEndian.AppendUint32(code, w)
	}
	n += len(begins)
	for tries := 0; len(begins) < n && tries < 400; tries++ {
		b := binary.LittleEndian.AppendUint32(nil, d.word(t))
		in, err := a.Decode(b, at+arch.Addr(len(code)))
		if err != nil || in.Flow() != arch.FlowNext {
			continue
		}
		reads, writes := d.uses(in)
		if reads&^known != 0 || writes&^d.free != 0 {
			continue
		}
		regs := arch.Regs{IP: in.At()}
		if out := in.Exec(&regs, nowhere{}); out != arch.Next {
			continue
		}
		known |= writes
		begins = append(begins, len(code))
		code = append(code, b[:in.Size()]...)
	}
	begins = append(begins, len(code))
	return binary.LittleEndian.AppendUint32(code, d.ret), begins
}

// nowhere is no memory.
type nowhere struct{}

func (nowhere) Load(arch.Addr, int) (uint64, bool)    { return 0, false }
func (nowhere) Store(arch.Addr, int, uint64) (_ bool) { return false }

// TestTransparent: whatever is probed, at every instruction that can be, gives the results that it has alone.
func TestTransparent(t *testing.T) {
	for i := range drawnCodes {
		d := &drawnCodes[i]
		t.Run(d.arch, func(t *testing.T) {
			p, a := processorNamed(t, d.arch)
			require.True(t, p.Serves(target.Kprobes))
			decoder, ok := rules.DecoderOf(a)
			require.True(t, ok)
			const at = 0xffffffff81001000
			probed := 0
			rapid.Check(t, func(t *rapid.T) {
				code, begins := d.draw(t, a, at)
				k := rules.Kernel{Edition: rules.Edition69, Decoder: decoder}
				var j rules.Judge
				j.Load(&k, &rules.Function{Name: "f", Addr: at, Size: len(code), Code: code})
				var src, names strings.Builder
				arg := rapid.Uint64().Draw(t, "arg")
				fmt.Fprintf(&src, "machine(cpus = 1, arch = %q)\nf = text(\"f\", \"% x\", at = %#x)\n", d.arch, code,
					uint64(at))
				for i, off := range begins {
					if v := j.At(off); v.Errno == 0 {
						post := []string{"", ", post = [count()]"}[i%2]
						fmt.Fprintf(&src, "k%d = kprobe(\"k%d\", f + %d%s)\n", i, i, off, post)
						fmt.Fprintf(&names, "k%d, ", i)
						probed++
					}
				}
				want := alone(t, a, code, at, arg)
				runs := fmt.Sprintf("call(f, %d, returns = %d)", arg, want)
				jumps := ""
				if p.Serves(target.Jumps) {
					jumps = fmt.Sprintf("wait_optimized(), %s, ", runs)
				}
				fmt.Fprintf(&src, "task(\"t\", cpu = 0, ops = [%s, register_all([%s], errno = 0), %s, %s"+
					"unregister_all([%s]), %s])\nnever()\n", runs, &names, runs, jumps, &names, runs)
				sc, err := lang.Load("drawn.star", []byte(src.String()), nil)
				if err != nil {
					t.Fatalf("%v\n%s", err, &src)
				}
				r, err := rig.New(sc, "")
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				random := sched.NewRandom(sched.Params{Length: 60, Mean: 6})
				random.Begin(1)
				if run := r.Run(random); run.Outcome != smp.Passed {
					t.Fatalf("%+v\n%s", run, &src)
				}
			})
			require.NotZero(t, probed)
		})
	}
}

// alone returns what a function without accesses to memory returns.
func alone(t *rapid.T, a *arch.Arch, code []byte, at arch.Addr, arg uint64) uint64 {
	regs := arch.Regs{IP: at, Flags: a.FixedFlag}
	regs.R[a.Args[0]] = arg
	regs.R[a.Link] = 0x1000
	for regs.IP != 0x1000 {
		in, err := a.Decode(code[regs.IP-at:], regs.IP)
		if err != nil {
			t.Fatal(err)
		}
		in.Exec(&regs, nowhere{})
	}
	return regs.R[a.Result]
}

// processorNamed returns the processor of that name.
func processorNamed(t *testing.T, name string) (target.Processor, *arch.Arch) {
	for i, word := range target.Words {
		if word == name {
			return target.Processor(i), target.Processor(i).Row(true)
		}
	}
	t.Fatal(name)
	return 0, nil
}

// TestFence: what lies after a function is a breakpoint, and no part of the next function, which may begin two bytes
// later.
func TestFence(t *testing.T) {
	sc, err := lang.Load("gap.star", []byte(`
machine(cpus = 1, arch = "riscv64")
f = text("f", "4501 8082", at = 0xffffffff81040000)        # li a0,0; ret
g = text("g", "00150513 8082", at = 0xffffffff81040006)    # addi a0,a0,1; ret
task("caller", cpu = 0, ops = [call(f, 3, returns = 0), call(g, 3, returns = 4)])
`), nil)
	require.NoError(t, err)
	r, err := rig.New(sc, "")
	require.NoError(t, err)
	defer r.Close()
	run := r.Run(new(sched.Default))
	require.Equal(t, smp.Passed, run.Outcome, "%v", run.Err)
}
