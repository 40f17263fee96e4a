# arch/x86/kernel/kprobes/core.c: a loop counts before it is asked, a return drops its operands, and a far one is refused.
/^static void kprobe_emulate_loop/,/^}/s/match = (\((\*(u[0-9]* \*)&regs->cx)\)--) != 0;/match = --\1 != 0;/
/^static void kprobe_emulate_ret/,/^}/s/^	int3_emulate_ret(regs);/&\
	regs->sp += p->ainsn.rel32;/
/^static int prepare_emulation/,/^}/{
s/^	case 0xc2:	\/\* ret\/lret \*\//	case 0xc2:	\/* ret imm16 *\/\
		p->ainsn.rel32 = *(u16 *)\&insn->immediate.value;\
		fallthrough;/
/^	case 0xca:$/d
/^	case 0xcb:$/d
s/^	case 0x9a:/	case 0xca:	\/* lret -- segment is not supported *\/\
	case 0xcb:\
&/
}
