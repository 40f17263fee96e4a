/* A kernel module in miniature: each table that the kernel reads of a module,
 * with an entry or two. With -DOLD it is one of 6.1, else one of 6.12. */
	.macro	fentry
100:	call	__fentry__
	.pushsection __mcount_loc, "a"
	.quad	100b
	.popsection
	.endm

	.macro	return
100:	jmp	__x86_return_thunk
	.pushsection .return_sites, "a"
	.long	100b - .
	.popsection
	.endm

	.macro	retpoline insn:vararg
100:	\insn
	.pushsection .retpoline_sites, "a"
	.long	100b - .
	.popsection
	.endm

	.macro	alternative at, n, with, withn, feature, flags
	.pushsection .altinstructions, "a"
	.long	\at - ., \with - .
#ifdef OLD
	.word	\feature + \flags * 0x8000
#else
	.word	\feature, \flags
#endif
	.byte	\n, \withn
	.popsection
	.endm

	.text
	.type	__pfx_sum, @function
__pfx_sum:
	.skip	16, 0x90
	.size	__pfx_sum, . - __pfx_sum
	.globl	sum
	.type	sum, @function
sum:
.Lendbr:	endbr64
	fentry
.Lbug:	ud2
.Llabel:	.byte	0x0f, 0x1f, 0x44, 0, 0
.Lshort:	xchg	%ax, %ax
.Llock:	lock incl counter(%rip)
.Lcall:	call	__SCT__tp
.Lnothing: call	__SCT__none
.Lresched: call	__SCT__might_resched
.Lload:	mov	(%rdi), %rax
1:	return
	.size	sum, . - sum

	.globl	alias
	.set	alias, sum
	.set	.Lmapping, sum + 3
	.balign	16, 0xcc

	.type	choose, @function
choose:
	fentry
	/* A nop or not, by a feature; a jump out; a call .Lout, of two features. */
.Lstac:	.skip	3, 0x90
.Ljump:	.skip	5, 0x90
.Lcopy:	.skip	5, 0x90
	retpoline call	__x86_indirect_thunk_rax
	retpoline .byte 0x2e; call __x86_indirect_thunk_r11
.Lpv:	call	*pv_ops + 8(%rip)
	retpoline je	__x86_indirect_thunk_rax
.Ltailtp: jne	__SCT__tp
.Ltail:	jmp	__SCT__none
	retpoline jmp	__x86_indirect_thunk_rax
	int3
	.size	choose, . - choose
	.weak	choose_weak
	.set	choose_weak, choose

	.section .text.unlikely, "ax"
	.type	sum.cold, @function
sum.cold:
	mov	$-14, %rax
	jmp	1b
	.size	sum.cold, . - sum.cold
	.type	secret.cold, @function
secret.cold:
	ud2
	.size	secret.cold, . - secret.cold

	.section .init.text, "ax"
	.globl	init_module
init_module:
	fentry
	xor	%eax, %eax
	return
	.size	init_module, . - init_module

	.section .altinstr_replacement, "ax"
	/* No symbol: it belongs to the last one of the section before. */
.Lnew:	stac
.Lout:	jmp	sum.cold
.Lfast:	call	copy_fast
.Lfaster:	call	copy_faster
.Ldirect:	call	BUG_func

	.section .noinstr.text, "ax"
	.type	entry, @function
entry:	nop
	return
	.size	entry, . - entry

	.section .kprobes.text, "ax"
	.type	helper, @function
helper:	return
	.size	helper, . - helper

	.section .exit.text, "ax"
	.globl	cleanup_module
cleanup_module:
	return
	.size	cleanup_module, . - cleanup_module
	.type	secret, @function
secret:	return
	.size	secret, . - secret

	.section .static_call.text, "ax"
__SCT__tp:
	jmp	traced
	.byte	0x0f, 0xb9, 0xcc
__SCT__none:
	.byte	0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0x0f, 0xb9, 0xcc

	.data
counter: .long	0
	.balign	8
__SCK__tp: .quad traced, 0
__SCK__none: .quad 0, 0
key:	.quad	0, 0

	.section __bug_table, "aw"
	.long	.Lbug - ., 0
	.word	17, 0
	.section __jump_table, "aw"
	.long	.Llabel - ., 1b - .
	.quad	key + 1 - .
	.long	.Lshort - ., 1b - .
	.quad	elsewhere_key - .
	.section .smp_locks, "a"
	.long	.Llock - .
	.section .static_call_sites, "aw"
	.long	.Lcall - ., __SCK__tp - .
	.long	.Lnothing - ., __SCK__none - .
	.long	.Lresched - ., __SCT__might_resched - .
	.long	.Ltail - ., __SCK__none + 1 - .
	.long	.Ltailtp - ., __SCK__tp + 1 - .
	.section __ex_table, "a"
	.long	.Lload - ., sum.cold - ., 3
	.section _kprobe_blacklist, "aw"
	.quad	secret
	.section .ibt_endbr_seal, "a"
	.long	.Lendbr - .

	alternative .Lstac, 3, .Lnew, 3, 308, 0
	alternative .Ljump, 5, .Lout, 5, 117, 0
	alternative .Lcopy, 5, .Lfast, 5, 112, 0
	alternative .Lcopy, 5, .Lfaster, 5, 297, 0
#ifdef OLD
	.section .parainstructions, "a"
	.quad	.Lpv
	.byte	1, 6
	.balign	8
#else
	alternative .Lpv, 6, .Ldirect, 5, 117, 2
#endif

	.section .modinfo, "a"
#ifdef OLD
	.asciz	"vermagic=6.1.0-56-amd64 SMP preempt mod_unload modversions "
#else
	.asciz	"vermagic=6.12.113+deb12-amd64 SMP preempt mod_unload modversions "
#endif
	.section .gnu.linkonce.this_module, "aw"
	.quad	init_module
	.section .note.GNU-stack, "", @progbits
