/* Relocations of all sorts: to functions of this file, to externals, to each
 * kind of data, relative and absolute. */
extern unsigned long elsewhere(unsigned long v);
extern unsigned long far_away;

static const unsigned long weights[4] = {2, 3, 5, 7};
unsigned long counter = 1;
unsigned long total;
unsigned long (*hook)(unsigned long) = elsewhere;
unsigned long *where = &total;

__attribute__((noinline, section(".text.twice"))) unsigned long twice(unsigned long v)
{
	return v * 2 + counter;
}

__attribute__((noinline)) static unsigned long weigh(unsigned long v)
{
	return weights[v & 3] * v;
}

unsigned long sum(unsigned long v)
{
	total += weigh(v) + far_away;
	return twice(v) + elsewhere(v + 1);
}

unsigned long *address(void)
{
	return &total;
}
