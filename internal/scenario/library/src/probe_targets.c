/*
 * Small leaf functions of different shapes for scenarios to probe: straight
 * code, branches, loops that jump back near their first bytes, multiplication,
 * shifts, and loads and stores relative to rip (a copy of such an instruction
 * in a slot must have its displacement adjusted).
 */

unsigned long events = 3;   /* .data */
unsigned int last;          /* .bss */
static const unsigned long salt = 0x9e3779b97f4a7c15;
const unsigned long limit = 100; /* .rodata */

/* A conditional move instead of a branch. */
unsigned long clamp(unsigned long v)
{
	if (v > 4096)
		return 4096;
	return v + 1;
}

/* Conditions as values: setcc and a conditional move on one compare. */
long sign(long v)
{
	if (v < 0)
		return -1;
	return v > 0 ? 1 : 0;
}

/* A counted loop: a jump goes back near the function's start. */
unsigned long triangle(unsigned long n)
{
	unsigned long sum = 0;

	while (n) {
		sum += n ^ (sum >> 1);
		n--;
	}
	return sum;
}

/* Greatest common divisor without division. */
unsigned long gcd(unsigned long a, unsigned long b)
{
	while (a != b && a && b) {
		if (a > b)
			a -= b;
		else
			b -= a;
	}
	return a | b;
}

/* A multiplication by a 64-bit constant, and shifts: splitmix64's last steps. */
unsigned long scramble(unsigned long v)
{
	v ^= v >> 30;
	v *= salt;
	v ^= v >> 27;
	return v ^ (v >> 31);
}

/* A shift by a variable count, in cl. */
unsigned long field(unsigned long v, unsigned int at, unsigned int len)
{
	return (v >> (at & 63)) & ((1ul << (len & 63)) - 1);
}

/* Load and store of a global, relative to rip. */
unsigned long tally(unsigned long v)
{
	events += v;
	last = (unsigned int)v;
	return events;
}

/* A branch on a constant in read-only data (volatile, or gcc would not load it). */
unsigned long over(unsigned long v)
{
	unsigned long most = *(const volatile unsigned long *)&limit;

	if (v <= most)
		return 0;
	events++;
	return v - most;
}

/* Byte loads and stores through a pointer: the call's own buffer. */
unsigned long checksum(unsigned char *p, unsigned long n)
{
	unsigned long sum = 1;

	for (unsigned long i = 0; i < n; i++) {
		sum = sum * 31 + p[i];
		p[i] ^= (unsigned char)sum;
	}
	return sum;
}
