// What an object of another processor may have: data by address, calls, calls of what is outside, and a patcher
// that stores to text by an alias.

unsigned long table[4] = {1, 2, 3, 4};

extern unsigned long helper(unsigned long n);

__attribute__((noinline)) unsigned long sum(unsigned long n)
{
	unsigned long s = 0;

	for (unsigned long i = 0; i < n && i < 4; i++)
		s += table[i];
	return s;
}

unsigned long uses(unsigned long n)
{
	return helper(n) + sum(n);
}

void patch(unsigned int *text, unsigned int insn)
{
	*(volatile unsigned int *)text = insn;
}
