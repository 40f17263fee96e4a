	.machine power10
	.abiversion 2
	.text
	.globl f
	.type f, @function
f:	addis 2, 12, .TOC.-f@ha
	addi 2, 2, .TOC.-f@l
	.localentry f, .-f
	blr
	.size f, .-f
	.globl g
	.type g, @function
g:	bl f@notoc
	blr
	.size g, .-g
