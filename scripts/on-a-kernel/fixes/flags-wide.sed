# arch/x86/kernel/kprobes/core.c: pushfw and popfw, which move two bytes, are refused.
/^static int prepare_emulation/,/^}/s/^	case 0x9d:		\/\* popf\/popfd \*\//&\
		for (int i = 0; i < insn->prefixes.nbytes; i++)\
			if (insn->prefixes.bytes[i] == 0x66)\
				return -EOPNOTSUPP;/
