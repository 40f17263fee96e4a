/* A load that may fault, and its entry in the exception table. The fixup code
 * stands behind the ret, in no symbol's bytes. */
	.text
	.globl	peek
	.type	peek, @function
peek:
	push	%rbp
1:	mov	(%rdi), %rax
2:	pop	%rbp
	ret
	.size	peek, . - peek

3:	mov	$-14, %rax
	jmp	2b

	.globl	peek2
	.type	peek2, @function
peek2:
4:	mov	8(%rdi), %rax
5:	add	(%rdi), %rax
	ret
	.size	peek2, . - peek2

	.section __ex_table, "a"
	.balign	4
	.long	5b - ., 3b - ., 1
	.long	1b - ., 3b - ., 1
	.long	4b - ., 3b - ., 1

	.section .note.GNU-stack, "", @progbits
