/* A global with a size and no type is a function; its alias is not another. */
	.text
	.globl	bare
bare:
	inc	%rax
	ret
	.size	bare, . - bare
	.local	same
	.set	same, bare
	.type	same, @function
	.size	same, 4
	.section .note.GNU-stack, "", @progbits
