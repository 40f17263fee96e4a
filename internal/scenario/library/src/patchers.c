/* Patchers as JITs and hooks have them: they store to text through a second mapping, w, of it. */

typedef unsigned char byte;

int membarrier(int cmd, unsigned int flags, int cpu);
void __clear_cache(void *begin, void *end);

enum { PRIVATE_EXPEDITED_SYNC_CORE = 32 };

static void sync(void)
{
	membarrier(PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
}

/* tail stores what follows the first byte of a jump from f to g. */
static void tail(volatile byte *w, const byte *f, const byte *g)
{
	int by = g - (f + 5);

	for (int i = 0; i < 4; i++)
		w[1 + i] = by >> (8 * i);
}

void hook_bytes(volatile byte *w, const byte *f, const byte *g)
{
	w[0] = 0xe9;
	tail(w, f, g);
}

void hook_unsynced(volatile byte *w, const byte *f, const byte *g)
{
	w[0] = 0xcc;
	sync();
	tail(w, f, g);
	w[0] = 0xe9;
	sync();
}

void hook_breakpoint(volatile byte *w, const byte *f, const byte *g)
{
	w[0] = 0xcc;
	sync();
	tail(w, f, g);
	sync();
	w[0] = 0xe9;
	sync();
}

/* hook_once stores all of the jump at once, and the three bytes after it again. f is aligned. */
void hook_once(volatile unsigned long *w, const byte *f, const byte *g)
{
	unsigned long by = (unsigned int)(g - (f + 5));

	*w = *w >> 40 << 40 | by << 8 | 0xe9;
}

/* link_block changes where the jump at offset 5 of a block leads. */
void link_block(byte *w, const byte *f, const byte *g)
{
	*(volatile int *)(w + 6) = g - (f + 10);
}

/* link_aligned is link_block where the jump is at offset 3, so that its displacement is aligned. */
void link_aligned(byte *w, const byte *f, const byte *g)
{
	*(volatile int *)(w + 4) = g - (f + 8);
}

/* move_pointer changes the pointer that the first instruction of f, at offset 0, has as an immediate. */
void move_pointer(byte *w, unsigned long to)
{
	*(volatile unsigned long *)(w + 2) = to;
}

/* compile_flushed and compile_synced change what a method returns, and set a flag that says so. */
void compile_flushed(byte *w, volatile int *flag)
{
	*(volatile int *)(w + 1) = 2;
	__clear_cache(w, w + 6);
	*flag = 1;
}

void compile_synced(byte *w, volatile int *flag)
{
	*(volatile int *)(w + 1) = 2;
	sync();
	*flag = 1;
}
