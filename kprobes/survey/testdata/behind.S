# f's last byte is a prefix of what g begins with: a jump over f would lie over
# g's fentry site too. as -o behind.o behind.S
	.text
	.type f, @function
f:	.byte 0x90, 0x90, 0x90, 0x90, 0x48
	.size f, . - f
	.globl g
	.type g, @function
g:
1:	call __fentry__
	ret
	.size g, . - g
	.section __mcount_loc, "a"
	.quad 1b
