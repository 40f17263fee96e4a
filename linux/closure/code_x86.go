package closure

import (
	"encoding/binary"
	"fmt"
	"strings"

	"kpsim/smp/arch"
	"kpsim/smp/arch/x86"
)

// Paravirtual returns the name of the operation that an instruction calls through pv_ops:
// "pv_ops.irq.irq_disable".
func (c *Closure) Paravirtual(i arch.Inst) (name string, ok bool) {
	in, ok := i.(*x86.Inst)
	if !ok {
		return "", false
	}
	pv, ok := c.Image.Symbol("pv_ops")
	if !ok || in.Flow() != arch.FlowIndirectCall && in.Flow() != arch.FlowIndirectJump {
		return "", false
	}
	at, ok := c.operand(in)
	if !ok || at < pv.Addr || at >= pv.Addr+pv.Size {
		return "", false
	}
	off := int(at - pv.Addr)
	member, ok := c.Image.Types().Member("paravirt_patch_template", off)
	if !ok {
		member = fmt.Sprintf("%#x", off)
	}
	member = strings.TrimSuffix(strings.TrimSuffix(member, ".func"), "[0]")
	return "pv_ops." + member, true
}

// operand returns the address of a memory operand without registers.
func (c *Closure) operand(in *x86.Inst) (uint64, bool) {
	if at, ok := in.RIPOperand(); ok {
		return uint64(at), true
	}
	if _, ok := in.ModRM(); !ok || len(in.AddressRegs()) > 0 {
		return 0, false
	}
	disp, _ := in.DispAndImm()
	return c.number(in, disp)
}

// followX86 finds the address that an instruction may take: an immediate, or lea's operand.
func followX86(c *Closure, _ *Function) func(in arch.Inst) (arch.Inst, uint64) {
	return func(i arch.Inst) (arch.Inst, uint64) {
		in := i.(*x86.Inst)
		if in.Opcode() == 0x8d {
			at, _ := c.operand(in)
			return i, at
		}
		_, imm := in.DispAndImm()
		at, _ := c.number(in, imm)
		return i, at
	}
}

// number reads four bytes, sign-extended, or eight, at positions [from, to).
func (c *Closure) number(in *x86.Inst, at [2]int) (uint64, bool) {
	raw := in.Raw()
	switch b := raw[at[0]:at[1]]; len(b) {
	case 4:
		return c.Image.Number(int32(binary.LittleEndian.Uint32(b))), true
	case 8:
		return binary.LittleEndian.Uint64(b), true
	}
	return 0, false
}

// specialX86 reports whether an instruction concerns the machine: it halts, changes the interrupt
// flag or a system register, or does I/O.
func specialX86(i arch.Inst) bool {
	in := i.(*x86.Inst)
	if in.WritesIF() || in.Flow() == arch.FlowUndefined || in.Flow() == arch.FlowOther ||
		in.Flow() == arch.FlowHalt || in.Flow() == arch.FlowTrapReturn {
		return true
	}
	switch op := in.Opcode(); {
	case op == 0x90: // pause
		return in.Prefixes()&x86.PrefixRep != 0
	case op == 0x9c: // pushf
		return true
	case op >= 0xe4 && op <= 0xe7, op >= 0xec && op <= 0xef, op >= 0x6c && op <= 0x6f: // in, out
		return in.Encoding() == x86.Legacy
	// system registers
	case op == 0x0f00, op == 0x0f01, op >= 0x0f20 && op <= 0x0f23, op >= 0x0f30 && op <= 0x0f33, op == 0x0fa2:
		return true
	}
	return false
}
