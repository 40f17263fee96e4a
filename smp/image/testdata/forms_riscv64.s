	.option norelax
	.text
	.globl f
	.type f, @function
f:
	beq a0, a1, g
	bltu a0, a1, f
	c.beqz a0, g
	c.j g
	jal ra, g
	call g
	tail h
	la a0, v
	lla a1, w
1:	auipc a2, %pcrel_hi(v+8)
	ld a3, %pcrel_lo(1b)(a2)
	sd a3, %pcrel_lo(1b)(a2)
	ret
	.size f, .-f
	.balign 8
	.globl g
	.type g, @function
g:	c.nop
	beq a0, a1, f
	ret
	.size g, .-g
	.globl h
	.type h, @function
h:	ret
	.size h, .-h
	.data
	.globl v
v:	.quad f, g+4
	.word g-f, h-g
	.globl w
w:	.quad v
	.dword h-f
