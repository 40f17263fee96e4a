/* A kernel module of i386 in miniature: each table that a kernel for i386 reads of a module,
 * with an entry or two. It is one of 6.1. */
	.macro	fentry
100:	call	__fentry__
	.pushsection __mcount_loc, "a"
	.long	100b
	.popsection
	.endm

	.macro	alternative at, n, with, withn, feature, not
	.pushsection .altinstructions, "a"
	.long	\at - ., \with - .
	.word	\feature + \not * 0x8000
	.byte	\n, \withn
	.popsection
	.endm

	.text
	.globl	sum
	.type	sum, @function
sum:	fentry
.Lbug:	ud2
.Llabel:	.byte	0x3e, 0x8d, 0x74, 0x26, 0
.Lshort:	xchg	%ax, %ax
.Llock:	lock incl counter
	incl	%fs:own
	call	__SCT__tp
	call	__x86_indirect_thunk_eax
.Lload:	mov	(%eax), %eax
1:	ret
	.size	sum, . - sum
	.balign	16, 0xcc

	.type	choose, @function
choose:	fentry
	/* A nop or not, by a feature; a jump out; a call .Lfast, of a feature. */
.Lstac:	.skip	3, 0x90
.Ljump:	.skip	5, 0x90
.Lcopy:	.skip	5, 0x90
.Lpv:	call	*pv_ops + 8
	ret
	.size	choose, . - choose

	.section .text.unlikely, "ax"
	.type	sum.cold, @function
sum.cold:
	mov	$-14, %eax
	jmp	1b
	.size	sum.cold, . - sum.cold

	.section .init.text, "ax"
	.globl	init_module
	.type	init_module, @function
init_module:
	fentry
	xor	%eax, %eax
	ret
	.size	init_module, . - init_module

	.section .altinstr_replacement, "ax"
.Lnew:	stac
.Lout:	jmp	sum.cold
.Lfast:	call	copy_fast

	.section .static_call.text, "ax"
	.globl	__SCT__tp
	.type	__SCT__tp, @function
__SCT__tp: ret
	nop
	nop
	nop
	nop
	.byte	0x0f, 0xb9, 0xcc
	.size	__SCT__tp, . - __SCT__tp

	.section .noinstr.text, "ax"
	.type	entry, @function
entry:	ret
	.size	entry, . - entry

	.section .data, "aw"
counter: .long	0
	.section .data..percpu, "aw"
own:	.long	0

	alternative .Lstac, 3, .Lnew, 3, 9*32+20, 0
	alternative .Ljump, 5, .Lout, 5, 3*32+21, 0
	alternative .Lcopy, 5, .Lfast, 5, 9*32+9, 1

	.section __bug_table, "aw"
	.long	.Lbug, 0
	.word	7, 1
	.section __jump_table, "aw"
	.long	.Llabel - ., 1b - ., key
	.long	.Lshort - ., 1b - ., key + 1
	.section .smp_locks, "a"
	.long	.Llock - .
	.section __ex_table, "a"
	.long	.Lload - ., sum.cold - ., 3
	.section .parainstructions, "a"
	.long	.Lpv
	.byte	0, 6
	.word	0
	.section _kprobe_blacklist, "aw"
	.long	choose
	.section .gnu.linkonce.this_module, "aw"
	.skip	64
	.section .modinfo, "a"
	.asciz	"vermagic=6.1.0-50-686 SMP preempt mod_unload modversions "
