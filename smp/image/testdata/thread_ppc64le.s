	.abiversion 2
	.text
	.globl f
	.type f, @function
f:	addis 3, 13, x@tprel@ha
	addi 3, 3, x@tprel@l
	blr
	.size f, .-f
	.section .tdata, "awT", @progbits
x:	.quad 1
