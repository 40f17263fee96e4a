	.text
	.globl f
	.type f, @function
f:	inc %eax
	ret
	.size f, . - f
