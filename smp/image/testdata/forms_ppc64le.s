	.machine power10
	.abiversion 2
	.text
	.globl f
	.type f, @function
f:	addis 11, 12, .TOC.-f@ha	# ld makes addis 2,12 a constant
	addi 11, 11, .TOC.-f@l
	.localentry f, .-f
	bl g
	nop
	bl h
	bc 12, 2, g
	bca 12, 2, low
	ba low
	addis 3, 2, v@toc@ha
	addi 3, 3, v@toc@l
	ld 4, w@toc@l(3)
	std 4, w+8@toc@l(3)
	addis 3, 2, v@toc@h
	lwz 5, v@toc@l(3)
	lis 6, v@highest
	ori 6, 6, v@higher
	oris 6, 6, v@high
	lis 6, v@highesta
	ori 6, 6, v@highera
	lis 6, v@higha
	lis 6, v@ha
	lis 6, v@h
	addi 6, 6, v@l
	ld 6, w@l(6)
	li 7, small
	ld 7, small(0)
	li 7, v-f
	addis 7, 12, v-f@ha
	addis 7, 12, v-f@h
	lis 7, v-f@high
	lis 7, v-f@higha
	lis 7, v-f@higher
	lis 7, v-f@highera
	lis 7, v-f@highest
	lis 7, v-f@highesta
	addi 7, 7, v-f@l
	blr
	.size f, .-f
	.globl g
	.type g, @function
g:	addis 11, 12, .TOC.-g@ha
	addi 11, 11, .TOC.-g@l
	.localentry g, .-g
	b f
	blr
	.size g, .-g
	.globl h
	.type h, @function
h:	.reloc ., R_PPC64_D34_LO, v
	pli 10, 0
	paddi 8, 0, v@pcrel, 1
	pld 9, w@pcrel
	pli 10, far
	bl h@notoc
	blr
	.size h, .-h
	.set low, 0x1230
	.set small, 0x7654
	.set far, 0x1234567
	.globl low, small, far
	.data
	.globl v
v:	.quad f, g+4
	.quad .TOC.@tocbase
	.long g-f, h-.
	.short small
	.balign 8
	.globl w
w:	.quad v
	.quad h-.
	.quad g@localentry
	.reloc ., R_PPC64_ADDR32, low
	.long 0
	.reloc ., R_PPC64_UADDR32, low
	.long 0
	.reloc ., R_PPC64_UADDR16, small
	.short 0
	.reloc ., R_PPC64_UADDR64, v
	.quad 0
