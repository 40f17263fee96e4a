	.text
	.globl	f
	.type	f, @function
f:	mov	(%rdi), %rax
	ret
	.size	f, . - f
	.section __ex_table, "a"
	.long	f - ., f - .
