// A program that prints what some algorithms compute, for TestProgram. It is freestanding:
//
//	riscv64-linux-gnu-gcc -O2 -march=rv64gc_zba_zbb -static -nostdlib -ffreestanding \
//		-mno-relax -fno-tree-loop-distribute-patterns -Wl,--build-id=none -s -o program program.c
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef unsigned __int128 u128;

static long system_call(long number, long a, long b, long c)
{
	register long a7 __asm__("a7") = number, a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c;
	__asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory");
	return a0;
}

static char line[80];

static __attribute__((noinline)) void say(const char *name, u64 v)
{
	int n = 0, i;
	while (*name)
		line[n++] = *name++;
	line[n++] = ' ';
	for (i = 60; i >= 0; i -= 4)
		line[n++] = "0123456789abcdef"[v >> i & 15];
	line[n++] = '\n';
	system_call(64, 1, (long)line, n);
}

static u64 seed = 1;

static u64 draw(void)
{
	u64 z = seed += 0x9e3779b97f4a7c15ul;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ul;
	z = (z ^ z >> 27) * 0x94d049bb133111ebul;
	return z ^ z >> 31;
}

// Words of 32 bits: rotations and additions.
static const u32 k[8] = { 0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5 };
static u32 ror(u32 x, int n) { return x >> n | x << (32 - n); }
static u32 rolv(u32 x, u32 n) { return x << (n & 31) | x >> (-n & 31); }
static u64 rorv(u64 x, u64 n) { return x >> (n & 63) | x << (-n & 63); }

static __attribute__((noinline)) u64 rounds(void)
{
	u32 s[8];
	int i;
	for (i = 0; i < 8; i++)
		s[i] = draw();
	for (i = 0; i < 200; i++) {
		u32 t1 = s[7] + (ror(s[4], 6) ^ ror(s[4], 11) ^ ror(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i & 7];
		u32 t2 = (ror(s[0], 2) ^ ror(s[0], 13) ^ ror(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
		s[7] = s[6], s[6] = s[5], s[5] = s[4], s[4] = s[3] + t1;
		s[3] = s[2], s[2] = s[1], s[1] = s[0], s[0] = rolv(t1 + t2, s[6]);
	}
	return ((u64)(s[0] ^ s[2]) << 32 | (s[4] ^ s[6])) + rorv(s[1], s[3]);
}

// Pointers, recursion, a comparison through a pointer to a function.
static int by_value(long a, long b) { return a < b; }
static int by_low_byte(long a, long b) { return (u8)a == (u8)b ? a < b : (u8)a < (u8)b; }

static __attribute__((noinline)) void sort(long *v, long n, int (*less)(long, long))
{
	long i = 0, j = n - 1, p = v[n / 2];
	if (n < 2)
		return;
	while (i <= j) {
		while (less(v[i], p))
			i++;
		while (less(p, v[j]))
			j--;
		if (i <= j) {
			long t = v[i];
			v[i++] = v[j], v[j--] = t;
		}
	}
	sort(v, j + 1, less);
	sort(v + i, n - i, less);
}

static __attribute__((noinline)) u64 sorted(int (*less)(long, long))
{
	static long v[300];
	u64 h = 0, i;
	for (i = 0; i < 300; i++)
		v[i] = (long)draw() >> (i & 31);
	sort(v, 300, less);
	for (i = 0; i < 300; i++)
		h = h * 31 + v[i];
	return h;
}

// Products and quotients of all kinds.
static __attribute__((noinline)) u64 division(void)
{
	u64 h = 0;
	int i;
	for (i = 0; i < 500; i++) {
		u64 a = draw() >> (i & 63), b = draw() >> (i * 7 & 63);
		long sa = a, sb = b;
		u32 wa = a, wb = b;
		int ia = a, ib = b;
		if (b && sb != -1)
			h += a / b ^ a % b ^ sa / sb ^ sa % sb;
		if (wb && ib != -1)
			h += wa / wb ^ wa % wb ^ (u64)(ia / ib) ^ (u64)(ia % ib);
		h ^= (u64)((u128)a * b >> 64) + (u64)((__int128)sa * sb >> 64);
		h = h * 3 + a / 1000003 + sa / 7;
	}
	return h;
}

// Counting and reversing bits, extremes, bytes.
static __attribute__((noinline)) u64 counts(void)
{
	u64 h = 0;
	int i;
	for (i = 0; i < 500; i++) {
		u64 a = draw() >> (i & 63) | 1;
		long b = draw();
		h = h * 5 + __builtin_popcountl(a) + __builtin_clzl(a) * 3 + __builtin_ctzl(a) * 7;
		h += __builtin_popcount((u32)b) + __builtin_bswap64(a) + __builtin_bswap32((u32)b);
		h ^= (b < (long)a ? b : a) + (a > (u64)b ? a : (u64)b) + (a & ~b) + (a | ~b) + ~(a ^ b);
		h += (signed char)b + (short)a + (u16)b;
	}
	return h;
}

// A table of jumps.
static __attribute__((noinline)) u64 machine(const u8 *code, int n)
{
	u64 a = 1, b = 2;
	int i;
	for (i = 0; i < n; i++)
		switch (code[i] & 15) {
		case 0: a += b; break;
		case 1: a -= b; break;
		case 2: a ^= b << 3; break;
		case 3: b = a >> 5; break;
		case 4: a *= 3; break;
		case 5: b ^= a; break;
		case 6: a = -a; break;
		case 7: b += 0x123456789ul; break;
		case 8: if (a & 1) i++; break;
		case 9: a = (a << 17) | (a >> 47); break;
		case 10: b = (long)b >> 1; break;
		case 11: b += (long)(int)a; break;
		default: a += code[i];
		}
	return a ^ b;
}

// Copies that overlap, and data that isn't aligned.
static u8 space[512];

static __attribute__((noinline)) void move(u8 *to, const u8 *from, u64 n)
{
	if (to < from)
		while (n--)
			*to++ = *from++;
	else
		while (n--)
			to[n] = from[n];
}

struct __attribute__((packed)) odd { u8 a; u64 b; u16 c; u32 d; };

static __attribute__((noinline)) u64 bytes(void)
{
	u64 h = 0, i;
	struct odd *o = (struct odd *)(space + 3);
	for (i = 0; i < sizeof space; i++)
		space[i] = draw();
	for (i = 0; i < 50; i++) {
		move(space + (draw() & 255), space + (draw() & 255), draw() & 127);
		o->b += o->c, o->d ^= (u32)o->b, o->c -= o->a;
		*(volatile u64 *)(space + 101 + i) += i;
	}
	for (i = 0; i < sizeof space; i++)
		h = (h ^ space[i]) * 0x100000001b3ul;
	return h;
}

// Atomic operations of all sizes, with loops of reservations for the small ones.
static __attribute__((noinline)) u64 atomics(void)
{
	static u64 q;
	static u32 w;
	static u8 b[4];
	static u16 s[2];
	u64 h = 0, i;
	for (i = 0; i < 100; i++) {
		u64 v = draw(), e = q;
		u32 x = w;
		u8 c = b[i & 3];
		h += __atomic_fetch_add(&q, v, __ATOMIC_SEQ_CST) ^ __atomic_exchange_n(&w, (u32)v, __ATOMIC_ACQ_REL);
		h += __atomic_fetch_or(&w, (u32)i, __ATOMIC_RELEASE) ^ __atomic_fetch_and(&q, ~i, __ATOMIC_ACQUIRE);
		h += __atomic_fetch_xor(&w, (u32)v, __ATOMIC_RELAXED);
		h += __atomic_compare_exchange_n(&q, &e, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
		h += __atomic_compare_exchange_n(&w, &x, (u32)v, 1, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
		e = q;
		h += __atomic_compare_exchange_n(&q, &e, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED) + e + x;
		*(volatile u32 *)&w;
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		b[i & 3] = c + 1, s[i & 1] += b[0];
		h = h * 31 + q + w + s[1];
	}
	return h;
}

static __attribute__((noinline)) u64 ackermann(u64 m, u64 n)
{
	return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

// Indexes of 32 bits into arrays of all sizes.
static __attribute__((noinline)) u64 indexes(void)
{
	static u16 h2[64];
	static u32 h4[64];
	static u64 h8[64];
	u64 h = 0;
	u32 i;
	for (i = 0; i < 400; i++) {
		u32 a = (u32)draw() % 64, b = (u32)(draw() >> 32) & 63;
		h2[a] += b, h4[b] += h2[a] + i, h8[a] ^= (u64)h4[b] << (a & 31);
		h += h8[b] + h2[b] + h4[a];
	}
	return h;
}

// The stack pointer is aligned at first, and there is nothing else to set up.
void _start(void)
{
	int i;
	for (i = 0; i < 5; i++) {
		say("rounds", rounds());
		say("sorted", sorted(by_value));
		say("by-byte", sorted(by_low_byte));
		say("division", division());
		say("counts", counts());
		say("bytes", bytes());
		say("machine", machine(space, sizeof space));
		say("atomics", atomics());
		say("indexes", indexes());
		say("ackermann", ackermann(2, i + 3));
	}
	system_call(93, 0, 0, 0);
	__builtin_unreachable();
}
