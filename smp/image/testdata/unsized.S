# Assembly without .size, some of it without .type or .globl.
	.globl first, second
first:	mov $3, %eax
loop:	dec %eax		# a place in first
	jnz loop
	ret
	.type same, @function
same:	mov $1, %eax
	ret
	.size same, . - same
local:	mov $2, %eax		# nothing is before it that isn't another's
	ret
second:	mov $4, %eax
	ret
	.type same2, @function	# becomes another same: two files with one static function
same2:	mov $5, %eax
	ret
	.size same2, . - same2
	.section .text.other, "ax"
	ret			# nobody's
third:	ret
	.globl alias, counter
	.set alias, second
	.data
	.quad 6
counter: .quad 7
	.section .note.GNU-stack, ""
