package smp_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kpsim/sim"
	"kpsim/smp"
	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
	"kpsim/smp/kapi"
	"kpsim/smp/smpev"
)

const (
	textBase32 arch.Addr = 0x81000000
	dataBase32 arch.Addr = 0x83000000
)

// newRig32 is a rig in 32-bit mode, with one text.
func newRig32(t *testing.T, cpus int, code string) (*rig, arch.Addr) {
	return newRigOf32(t, x86.I386Short, cpus, code)
}

func newRigOf32(t *testing.T, a *arch.Arch, cpus int, code string) (*rig, arch.Addr) {
	r := &rig{t: t}
	r.log.Store = true
	m, err := smp.New(smp.Config{CPUs: cpus, Arch: a}, &r.log)
	require.NoError(t, err)
	r.Machine = m
	t.Cleanup(m.Close)
	m.Memory().Map(dataBase32, make([]byte, 4096), smp.PermRead|smp.PermWrite)
	b, err := hex.DecodeString(strings.ReplaceAll(code, " ", ""))
	require.NoError(t, err)
	m.Memory().Map(textBase32, b, smp.PermRead|smp.PermExec)
	m.Names().AddSymbol("f", textBase32, len(b))
	return r, textBase32
}

// fill32 gives each register a value of its own.
func fill32(regs *arch.Regs) {
	for i := range regs.R[:8] {
		if arch.Reg(i) != x86.RSP {
			regs.R[i] = 0x1111_1111 * uint64(i)
		}
	}
	regs.Flags |= x86.CF | x86.ZF
}

// A trap frame of 32 bits ends where the stack pointer was, wherever that is:
// three words from the processor, the registers below. Nothing of what was
// interrupted changes.
func TestFrame32(t *testing.T) {
	for below := range uint64(0x20) {
		r, f := newRig32(t, 1, "8d a4 24 00 00 00 00 cc 8d a4 24 00 00 00 00 c3") // lea N(%esp),%esp; int3; lea -N
		lea := func(at int, n uint32) {
			r.Memory().Map(f+arch.Addr(at+3), []byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}, smp.PermRead|smp.PermExec)
		}
		lea(0, -uint32(below))
		lea(8, uint32(below))
		var sp uint64
		var before, after arch.Regs
		hits := 0
		r.Hooks().Trap[smpev.VecBP] = func(x *smp.Ctx, regs *arch.Regs) {
			hits++
			end := arch.Addr(sp - below)
			for off, want := range map[arch.Addr]uint64{4: regs.Flags, 8: 0x60, 12: uint64(f) + 8, 36: 0, 60: 0x3333_3333} {
				v, ok := x.Memory().Load(end-off, 4)
				require.True(t, ok)
				require.Equal(t, want, v, "%d below the end", off)
			}
			require.Equal(t, end-60, x86.SP(x.Regs()))
			require.Equal(t, sp-below, regs.R[x86.RSP])
		}
		r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
			fill32(x.Regs())
			before = *x.Regs()
			sp = before.R[x86.RSP]&^15 - 4
			x.Call(f)
			after = *x.Thread().Left()
		})
		r.want(smp.Passed, sim.Always0{})
		before.IP, before.R[x86.RSP], after.IP = 0, 0, 0
		require.Equal(t, 1, hits)
		require.Equal(t, before, after)
	}
}

// What a breakpoint's handler executes instead of the breakpoint may move the stack, though a
// frame has no stack pointer, and store where the frame lies: pusha is longer than the gap.
func TestStepped32(t *testing.T) {
	for name, a := range map[string]*arch.Arch{"until 5.2": x86.I386Short, "from 5.3 on": x86.I386} {
		t.Run(name, func(t *testing.T) {
			// push %ebx; pusha; popa; enter $8,$0; leave; call g; pop %ebx; ret; g: ret
			text := "53 60 61 c8 08 00 00 c9 e8 02 00 00 00 5b c3 c3"
			code, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
			require.NoError(t, err)
			for _, off := range []int{0, 1, 2, 3, 7, 8, 13, 14, 15} {
				r, f := newRigOf32(t, a, 1, text)
				r.Memory().Map(f+arch.Addr(off), []byte{0xcc}, smp.PermRead|smp.PermExec)
				hits := 0
				r.Hooks().Trap[smpev.VecBP] = func(x *smp.Ctx, regs *arch.Regs) {
					hits++
					regs.IP = f + arch.Addr(off)
					in, err := r.Text().Decode(code[off:], regs.IP)
					require.NoError(t, err)
					require.False(t, in.Exec(regs, x.Memory()).Faulted())
					x.Stepped()
				}
				var before, after arch.Regs
				r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
					fill32(x.Regs())
					before = *x.Regs()
					x.Call(f)
					after = *x.Thread().Left()
				})
				r.want(smp.Passed, sim.Always0{})
				before.IP, before.R[x86.RSP], after.IP = 0, 0, 0
				require.Equal(t, 1, hits, "at +%d", off)
				require.Equal(t, before, after, "at +%d", off)
			}
		})
	}
}

// Text of 32 bits calls a routine, and returns from a frame that it made
// itself; interrupts come where they like.
func TestMode32(t *testing.T) {
	// push %ebx; 40 inc %eax; call *%edx; pushf; push %cs; push $after; iret; 0f 0b; after: pop %ebx; lock incl (%edi); ret
	r, f := newRig32(t, 2, "53 40 ff d2 9c 0e 68 0d 00 00 81 cf 0b 5b f0 ff 07 c3")
	entered := 0
	gate := r.Gates().Bind("routine", func(x kapi.Context, regs *arch.Regs) {
		entered++
		regs.R[x86.RAX] += 5
	})
	r.Hooks().Trap[smpev.VecTimer] = func(*smp.Ctx, *arch.Regs) {}
	for c := range 2 {
		r.source(smp.TimerSource, c, 1)
		r.Tasks().AddProgram("p", c, func(x *smp.Ctx) {
			fill32(x.Regs())
			x.Regs().R[x86.RAX], x.Regs().R[x86.RDX], x.Regs().R[x86.RDI] = 0xffff_ffff, uint64(gate), uint64(dataBase32)
			require.EqualValues(t, 5, x.Call(f))
			require.EqualValues(t, 0x3333_3333, x.Thread().Left().R[x86.RBX])
			require.Zero(t, x.Thread().Left().R[x86.RSP])
		})
	}
	for _, ch := range schedules(10) {
		entered = 0
		r.want(smp.Passed, ch)
		require.Equal(t, 2, entered)
		require.Equal(t, 20, int(r.Counts().Instructions))
	}
}

// What 64-bit mode has no use for any more raises its own exceptions.
func TestFaults32(t *testing.T) {
	for _, c := range []struct {
		code   string
		vector uint8
		saved  arch.Addr // from f
		skip   arch.Addr
	}{
		{"62 07", smpev.VecBR, 6, 2},                      // bound %eax,(%edi): 5 isn't 0 to 0
		{"04 7b ce", smpev.VecOF, 9, 0},                   // add $0x7b,%al; into
		{"d4 00", smpev.VecDE, 6, 2},                      // aam $0
		{"2e 89 07", smpev.VecGP, 6, 3},                   // mov %eax,%cs:(%edi)
		{"cd 40", 0x40, 8, 0},                             // int $0x40
		{"66 c7 05 00 00 00 00 01 00", smpev.VecPF, 6, 9}, // movw $1,0
	} {
		r, f := newRig32(t, 1, "b8 05 00 00 00 90 "+c.code+" c3")
		hits := 0
		r.Hooks().Trap[c.vector] = func(_ *smp.Ctx, regs *arch.Regs) {
			hits++
			require.Equal(t, f+c.saved, regs.IP, c.code)
			regs.IP += c.skip
		}
		r.Tasks().AddProgram("p", 0, func(x *smp.Ctx) {
			x.Regs().R[x86.RDI] = uint64(dataBase32)
			x.Call(f)
		})
		r.want(smp.Passed, sim.Always0{})
		require.Equal(t, 1, hits, c.code)
	}
}
