# arch/x86/kernel/kprobes/core.c: pushfw and popfw, which move two bytes, are refused.
/^static int prepare_emulation/,/^}/s/^	case 0x9d:		\/\* popf\/popfd \*\//&\
		if (insn->opnd_bytes == 2)\
			return -EOPNOTSUPP;/
