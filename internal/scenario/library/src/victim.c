/*
 * victim is the function that the built-in scenarios probe. Its first three
 * instructions are 1 + 3 + 1 bytes long,
 *
 *	55        push %rbp
 *	48 89 e5  mov  %rsp,%rbp
 *	53        push %rbx
 *
 * so a 5-byte jump replaces all three, and a CPU that was interrupted before
 * the second or the third comes back into the middle of the jump. It is a
 * leaf, nothing in it jumps, and its result depends on both arguments.
 *
 * The values live at once are one more than the registers a call may clobber
 * (generate.go takes r8 to r11 away): that is what makes gcc save rbx first.
 */
unsigned long victim(unsigned long a, unsigned long b)
{
	unsigned long sum = a + b;
	unsigned long diff = a - b;
	unsigned long mix = a ^ b;

	return ((sum << 3) ^ (diff * mix)) + (a | sum) - (b & diff);
}
