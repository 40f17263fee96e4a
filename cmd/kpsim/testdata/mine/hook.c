typedef unsigned char byte;
int membarrier(int cmd, unsigned flags, int cpu);

static void tail(volatile byte *w, const byte *f, const byte *g)
{
	int by = g - (f + 5);
	for (int i = 0; i < 4; i++)
		w[1 + i] = by >> (8 * i);
}

void hook(volatile byte *w, const byte *f, const byte *g)
{
	w[0] = 0xe9;                    /* jmp */
	tail(w, f, g);
}

void hook_slowly(volatile byte *w, const byte *f, const byte *g)
{
	w[0] = 0xcc;                    /* int3 */
	membarrier(32, 0, 0);           /* ..._SYNC_CORE */
	tail(w, f, g);
	membarrier(32, 0, 0);
	w[0] = 0xe9;
	membarrier(32, 0, 0);
}
