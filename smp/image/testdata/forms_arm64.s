	.text
	.globl f
	.type f, %function
f:
	b.eq g
	cbz x0, g
	tbz x0, #3, g
	b g
	bl h
	ldr x1, lit
	adr x2, g
	adrp x3, v
	add x3, x3, :lo12:v
	adrp x4, w
	ldrb w5, [x4, :lo12:w]
	ldrh w5, [x4, :lo12:w]
	ldr w5, [x4, :lo12:w]
	ldr x5, [x4, :lo12:w]
	str x5, [x4, :lo12:w]
	movz x6, #:abs_g3:v
	movk x6, #:abs_g2_nc:v
	movk x6, #:abs_g1_nc:v
	movk x6, #:abs_g0_nc:v
	ret
	.size f, .-f
	.globl g
	.type g, %function
g:	tbnz x1, #40, f
	ret
	.size g, .-g
	.globl h
	.type h, %function
h:	ret
	.size h, .-h
	.globl lit
lit:	.quad 0x1122334455667788
	.data
	.globl v
v:	.quad f, g+4
	.word g-f, h-.
	.balign 8
	.globl w
w:	.quad v
	.quad h-.
