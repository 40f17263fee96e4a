package riscv64_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kpsim/smp/arch"
	rv "kpsim/smp/arch/riscv64"
)

// TestFacts: what is asked of an instruction, by its text.
func TestFacts(t *testing.T) {
	for _, c := range []struct {
		b      []byte
		text   string
		flow   arch.Flow
		target arch.Addr
		is     string // n: nop, d: it drains, p: a pc-relative operand, t: of the task
		base   []arch.Reg
	}{
		{halfBytes(0x0001), "c.nop", arch.FlowNext, 0, "n", nil},
		{halfBytes(0x0005), "c.nop 1", arch.FlowNext, 0, "", nil},
		{wordBytes(rv.Nop), "nop", arch.FlowNext, 0, "n", nil},
		{wordBytes(0x00100013), "li zero,1", arch.FlowNext, 0, "", nil},
		{halfBytes(0x8082), "c.jr ra", arch.FlowRet, 0, "", nil},
		{halfBytes(0x8282), "c.jr t0", arch.FlowRet, 0, "", nil},
		{halfBytes(0x8302), "c.jr t1", arch.FlowIndirectJump, 0, "", nil},
		{halfBytes(0x9302), "c.jalr t1", arch.FlowIndirectCall, 0, "", nil},
		{wordBytes(rv.Ret), "ret", arch.FlowRet, 0, "", nil},
		{wordBytes(0x00808067), "jr 8(ra)", arch.FlowIndirectJump, 0, "", nil},
		{wordBytes(0x000282e7), "jalr t0,0(t0)", arch.FlowIndirectCall, 0, "", nil},
		{wordBytes(0x0080006f), "j 0x10008", arch.FlowJump, 0x10008, "", nil},
		{wordBytes(0xffdff0ef), "jal 0xfffc", arch.FlowCall, 0xfffc, "", nil},
		{wordBytes(0x008002ef), "jal t0,0x10008", arch.FlowCall, 0x10008, "", nil},
		{halfBytes(0xa001), "c.j 0x10000", arch.FlowJump, 0x10000, "", nil},
		{halfBytes(0xc111), "c.beqz a0,0x10004", arch.FlowCond, 0x10004, "", nil},
		{wordBytes(0xfeb50ee3), "beq a0,a1,0xfffc", arch.FlowCond, 0xfffc, "", nil},
		{wordBytes(0x00001297), "auipc t0,0x1 # 0x11000", arch.FlowNext, 0, "p", nil},
		{wordBytes(0x000012b7), "lui t0,0x1", arch.FlowNext, 0, "", nil},
		{wordBytes(0xff053683), "ld a3,-16(a0)", arch.FlowNext, 0, "", []arch.Reg{a0}},
		{wordBytes(0x02022503), "lw a0,32(tp)", arch.FlowNext, 0, "t", []arch.Reg{tp}},
		{wordBytes(0x02a22023), "sw a0,32(tp)", arch.FlowNext, 0, "t", []arch.Reg{tp}},
		{wordBytes(0x00420513), "addi a0,tp,4", arch.FlowNext, 0, "", nil},
		{halfBytes(0xe406), "c.sdsp ra,8(sp)", arch.FlowNext, 0, "", []arch.Reg{sp}},
		{wordBytes(0x1005252f), "lr.w a0,(a0)", arch.FlowNext, 0, "d", []arch.Reg{a0}},
		{wordBytes(0x1ab5352f), "sc.d.rl a0,a1,(a0)", arch.FlowNext, 0, "d", []arch.Reg{a0}},
		{wordBytes(0x06b5252f), "amoadd.w.aqrl a0,a1,(a0)", arch.FlowNext, 0, "d", []arch.Reg{a0}},
		{wordBytes(0x0ff0000f), "fence", arch.FlowNext, 0, "d", nil},
		{wordBytes(0x0330000f), "fence rw,rw", arch.FlowNext, 0, "d", nil},
		{wordBytes(0x0110000f), "fence w,w", arch.FlowNext, 0, "d", nil},
		{wordBytes(0x0230000f), "fence r,rw", arch.FlowNext, 0, "", nil},
		{wordBytes(0x0820000f), "fence i,r", arch.FlowNext, 0, "", nil},
		{wordBytes(0x0140000f), "fence w,o", arch.FlowNext, 0, "d", nil},
		{wordBytes(0x8330000f), "fence.tso", arch.FlowNext, 0, "d", nil},
		{wordBytes(rv.Pause), "pause", arch.FlowNext, 0, "", nil},
		{wordBytes(0x0000100f), "fence.i", arch.FlowNext, 0, "d", nil},
		{wordBytes(0x12000073), "sfence.vma", arch.FlowNext, 0, "d", nil},
		{wordBytes(0x12050073), "sfence.vma a0", arch.FlowNext, 0, "d", nil},
		{wordBytes(rv.Ebreak), "ebreak", arch.FlowBreakpoint, 0, "", nil},
		{halfBytes(rv.CEbreak), "c.ebreak", arch.FlowBreakpoint, 0, "", nil},
		{wordBytes(0x10500073), "wfi", arch.FlowHalt, 0, "", nil},
		{wordBytes(0x10200073), "sret", arch.FlowTrapReturn, 0, "", nil},
		{wordBytes(0x00000073), "ecall", arch.FlowOther, 0, "", nil},
		{halfBytes(0x0000), "c.unimp", arch.FlowUndefined, 0, "", nil},
		{wordBytes(0xc0001073), "unimp", arch.FlowUndefined, 0, "", nil},
		{wordBytes(0x30002573), "csrr a0,mstatus", arch.FlowUndefined, 0, "", nil},
		{wordBytes(0xc0002573), "rdcycle a0", arch.FlowNext, 0, "", nil},
		{wordBytes(0x10016073), "csrsi sstatus,2", arch.FlowNext, 0, "", nil},
	} {
		in := decode(t, c.b)
		assert.Equal(t, c.text, in.String())
		assert.Equal(t, c.flow, in.Flow(), c.text)
		to, _ := in.Target()
		assert.Equal(t, c.target, to, c.text)
		from, end, relative := in.IPRelative()
		if relative {
			assert.Equal(t, [2]int{1, 4}, [2]int{from, end})
		}
		is := ""
		for flag, yes := range map[string]bool{"n": in.IsNop(), "d": in.Drains, "p": relative, "t": in.PerTask()} {
			if yes {
				is += flag
			}
		}
		assert.Equal(t, c.is, is, c.text)
		assert.False(t, in.PerCPU())
		assert.Equal(t, c.base, in.AddressRegs(), c.text)
		assert.Same(t, in, in.Operation().Inst, "the whole instruction")
	}
}

// TestOutcomes: what instructions ask of the machine.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		w    uint32
		want arch.Outcome
	}{
		{0x0ff0000f, arch.Next}, {0x0000100f, arch.Serialized}, {rv.Pause, arch.Relaxed}, {0x00d00073, arch.Relaxed},
		{0x01d00073, arch.Relaxed}, {0x10500073, arch.Halt}, {0x12000073, arch.Next},
	} {
		done(t, c.want, c.w, &arch.Regs{}, newFlat())
	}
	// A breakpoint leaves IP at it.
	for _, c := range []struct {
		w    uint32
		want arch.Outcome
	}{
		{rv.Ebreak, arch.Breakpoint}, {0xc0001073, arch.Undefined}, {0x10200073, arch.Unsupported},
		{0x00000073, arch.Unsupported}, {0x30200073, arch.Unsupported},
	} {
		fails(t, c.want, c.w, &arch.Regs{Flags: arch.IRQ}, newFlat())
	}
}

// TestAtomics: reservations, their failures, faults.
func TestAtomics(t *testing.T) {
	m := newFlat()
	r := arch.Regs{}
	r.R[a0], r.R[a1] = uint64(dataAt)+8, 0xdead_beef_8765_4321
	m.Store(dataAt+8, 8, 0xffff_fff0_8000_0000)

	done(t, arch.Next, r3(lrW, a2, a0, 0), &r, m)
	assert.EqualValues(t, uint64(0xffff_ffff_8000_0000), r.R[a2])
	done(t, arch.Next, r3(scW, a3, a0, a1), &r, m)
	assert.Zero(t, r.R[a3])
	v, _ := m.Load(dataAt+8, 8)
	assert.EqualValues(t, uint64(0xffff_fff0_8765_4321), v, "a word")
	done(t, arch.Relaxed, r3(scW, a3, a0, a1), &r, m)
	assert.EqualValues(t, 1, r.R[a3], "the reservation has ended")
	done(t, arch.Relaxed, r3(scW, zero, a0, a1), &r, m)

	done(t, arch.Next, r3(lrD, a2, a0, 0), &r, m)
	done(t, arch.Relaxed, r3(scW, a3, a0, a1), &r, m) // of another size
	done(t, arch.Next, r3(lrD, a2, a0, 0), &r, m)
	done(t, arch.Next, r3(scD, a0, a0, a1), &r, m) // rd is the address
	assert.Zero(t, r.R[a0])

	r.R[a0] = uint64(dataAt) + 4
	for _, w := range []uint32{r3(lrD, a2, a0, 0), r3(scD, a2, a0, a1), r3(amoswapD, a2, a0, a1)} {
		fails(t, arch.Protection, w, &r, m)
	}
	done(t, arch.Next, 0x00053603, &r, m) // ld a2,0(a0): a plain one may be misaligned
	r.R[a0] = 0x5000
	for _, w := range []uint32{r3(lrD, a2, a0, 0), r3(amoaddW, a2, a0, a1), 0x00053603, 0x00052603, 0x00b53023} {
		fails(t, arch.PageFault, w, &r, m)
	}
	done(t, arch.Relaxed, r3(scD, a2, a0, a1), &r, m) // one that fails accesses nothing
	r.R[a0] = uint64(dataAt)
	done(t, arch.Next, r3(lrD, a2, a0, 0), &r, m)
	m.readOnly = true
	fails(t, arch.PageFault, r3(scD, a2, a0, a1), &r, m)
	fails(t, arch.PageFault, r3(amoaddW, a2, a0, a1), &r, m)
}

// TestWordOfZeroes: ctzw of nothing, of which the emulator is wrong, and clzw.
func TestWordOfZeroes(t *testing.T) {
	for _, v := range []uint64{0, 1 << 32, 1 << 63} {
		r := arch.Regs{}
		r.R[a0] = v
		done(t, arch.Next, 0x6015151b, &r, nil)
		assert.EqualValues(t, 32, r.R[a0], "ctzw")
		r.R[a0] = v
		done(t, arch.Next, 0x6005159b, &r, nil)
		assert.EqualValues(t, 32, r.R[a1], "clzw")
	}
}

// x0 reads as zero whatever writes it, and a load into it accesses memory.
func TestZero(t *testing.T) {
	m := newFlat()
	m.Store(dataAt, 8, 7)
	r := arch.Regs{}
	r.R[a0], r.R[a1] = uint64(dataAt), 5
	for _, w := range []uint32{0x00b50033, 0x00053003, 0x00001037, 0x008000ef &^ (31 << 7), 0x00050067,
		r3(lrD, 0, a0, 0), r3(amoaddW, 0, a0, a1), csr(csrrs, 0, 0x100, 0), 0x02b50033} {
		require.Equal(t, arch.Next, step(t, w, &r, m), "%08x", w)
		require.Zero(t, r.R[0])
	}
	r.R[a0] = 0x5000
	fails(t, arch.PageFault, 0x00053003, &r, m)
}
