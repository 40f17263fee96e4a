/* Code that refers to a section which isn't loaded. */
	.text
	.globl	f
	.type	f, @function
f:	mov	table(%rip), %rax
	ret
	.size	f, . - f
	.section .note.odd, "a"
table:	.quad	1
