/*
 * Functions made of the instructions that a probe must emulate, and of those
 * whose copy must be changed to run elsewhere. Arguments in rdi and rsi, the
 * result in rax. Assembled by
 *
 *	as --64 -o instructions.o instructions.S
 */
	.text

	.macro	func name
	.balign	16
	.globl	\name
	.type	\name, @function
\name:
	.endm

	.macro	done name
	.size	\name, . - \name
	.endm

func helper
	lea	3(%rdi,%rdi), %rax
	ret
done helper

/* pops what its caller has pushed for it */
func helper_pops
	mov	8(%rsp), %rax
	xor	16(%rsp), %rax
	ret	$16
done helper_pops

func calls
	push	%rbx
	call	helper
	mov	%rax, %rbx
	lea	helper(%rip), %rcx
	call	*%rcx
	add	%rax, %rbx
	push	%rdi
	push	%rsi
	call	helper_pops
	add	%rbx, %rax
	lea	helper(%rip), %r11
	push	%rax
	call	*%r11
	pop	%rcx
	add	%rcx, %rax
	pop	%rbx
	ret
done calls

func jumps
	mov	%rdi, %rax
	jmp	1f
	ud2
1:	.byte	0xe9			/* jmp rel32 */
	.long	2f - . - 4
	ud2
2:	lea	3f(%rip), %rcx
	jmp	*%rcx
	ud2
3:	lea	4f(%rip), %r9
	jmp	*%r9
	ud2
4:	add	$7, %rax
	ret
done jumps

func conditions
	xor	%eax, %eax
	.irp	cc, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	cmp	%rsi, %rdi
	.byte	0x70 + \cc, 5		/* jcc rel8 */
	lea	\cc + 1(%rax,%rax), %rax
	cmp	%rsi, %rdi
	.byte	0x0f, 0x80 + \cc, 5, 0, 0, 0	/* jcc rel32 */
	lea	\cc + 2(%rax,%rax), %rax
	.endr
	ret
done conditions

func loops
	mov	%rdi, %rcx
	and	$3, %ecx
	inc	%ecx
	xor	%eax, %eax
1:	add	$5, %rax
	loop	1b
	mov	$6, %ecx
2:	inc	%rax
	cmp	$12, %rax
	loope	2b
	mov	$6, %ecx
3:	inc	%rax
	test	$7, %al
	loopne	3b
	jrcxz	4f
	inc	%rax
4:	xor	%ecx, %ecx
	jrcxz	5f
	ud2
5:	jecxz	6f
	ud2
6:	ret
done loops

func flags
	pushf
	pop	%rax
	xor	$0x8d5, %rax		/* CF PF AF ZF SF OF DF */
	and	$~0x400, %rax
	push	%rax
	popf
	setc	%cl
	cli
	pushf
	pop	%rdx
	sti
	cli
	pushf
	popf
	nop
	sti
	pushf
	pop	%r8
	pushfw
	pop	%r9w
	push	%r9w
	popfw
	cli
	push	%r8			/* IF is set in it */
	popf
	movzx	%cl, %eax
	xor	%rdx, %rax
	xor	%r8, %rax
	std
	cld
	lahf
	sahf
	ret
done flags

func relative
	mov	word(%rip), %rax
	add	%rdi, word(%rip)
	cmpb	$7, byte(%rip)
	setne	%cl
	movl	$0x12345678, long(%rip)
	imul	$3, long(%rip), %edx
	lea	word(%rip), %r8
	add	(%r8), %rax
	btl	$3, long(%rip)
	adc	$0, %rax
	cmpxchg	%rsi, word(%rip)
	xadd	%rsi, word(%rip)
	push	word(%rip)
	pop	byte+8(%rip)
	add	byte+8(%rip), %rax
	movzx	%cl, %ecx
	add	%rcx, %rax
	ret
done relative

func strings
	sub	$32, %rsp
	mov	%rsp, %rdi
	mov	%rsi, %rax
	mov	$32, %ecx
	rep stosb
	mov	%rsp, %rdi
	mov	$32, %ecx
	repe scasb
	sete	%dl
	mov	%rsp, %rsi
	lea	16(%rsp), %rdi
	mov	$16, %ecx
	rep movsb
	lodsb
	movzx	%dl, %edx
	add	%rdx, %rax
	add	$32, %rsp
	push	%rbp
	mov	%rsp, %rbp
	lea	-16(%rsp), %rsp
	mov	%rsp, %rcx
	leave
	push	%rsp
	pop	%rdx
	sub	%rcx, %rdx
	add	%rdx, %rax
	ret
done strings

	.data
	.balign	8
word:	.quad	41
byte:	.byte	7
	.balign	8
	.quad	0, 0
long:	.long	5

	.section .note.GNU-stack, "", @progbits
