/*
 * Jump-label sites: a 5-byte nop that text patching turns into a jump to the
 * `on' path and back. Both functions are aligned to 16 bytes, so that the
 * offset of the site decides which 8-byte chunks of text it lies in:
 *
 *	labelled        03..07   inside one chunk
 *	labelled_cross  06..0a   two bytes in one chunk, three in the next
 *
 * The on path is a symbol of its own, so that a scenario can name it.
 */
	.text

	.balign	16
	.globl	labelled
	.type	labelled, @function
labelled:
	mov	%rdi, %rax
	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00	/* the site: labelled+0x3 */
	add	$1, %rax			/* off: a + 1 */
	ret
	.size	labelled, . - labelled

	.type	labelled_on, @function
labelled_on:
	add	$2, %rax			/* on: a + 2 */
	ret
	.size	labelled_on, . - labelled_on

	.balign	16
	.globl	labelled_cross
	.type	labelled_cross, @function
labelled_cross:
	mov	%rdi, %rax
	xor	%rsi, %rax
	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00	/* the site: labelled_cross+0x6 */
	add	$1, %rax			/* off: (a ^ b) + 1 */
	ret
	.size	labelled_cross, . - labelled_cross

	.type	labelled_cross_on, @function
labelled_cross_on:
	add	$2, %rax			/* on: (a ^ b) + 2 */
	ret
	.size	labelled_cross_on, . - labelled_cross_on

	.section .note.GNU-stack, "", @progbits
