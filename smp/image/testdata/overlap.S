	.text
	.globl	outer, inner
	.type	outer, @function
	.type	inner, @function
outer:	inc	%rax
inner:	inc	%rax
	ret
	.size	outer, . - outer
	.size	inner, . - inner
