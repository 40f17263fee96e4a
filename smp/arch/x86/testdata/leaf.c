/* Leaf functions for leaf_test.go: what gcc -O2 makes of everyday integer code.
   Tables are switched off, so that the text has no relocations into data. */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef long s64;
typedef int s32;

u64 sum_squares(u64 n) { u64 s = 0; for (u64 i = 1; i <= n; i++) s += i * i ^ (s >> 3); return s; }

u64 mul_high(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64) ^ a * b; }

s64 mul_high_signed(s64 a, s64 b) { return (s64)((__int128)a * b >> 64); }

u64 gcd(u64 a, u64 b) { while (b) { u64 t = a % b; a = b; b = t; } return a; }

s32 div_mix(s32 a, s32 b) { return b == 0 || (a == -2147483647 - 1 && b == -1) ? 7 : a / b * 3 + a % b + a / 10 + a % 7; }

u32 crc32(const u8 *p, u64 n)
{
	u32 c = ~0u;
	while (n--) {
		c ^= *p++;
		for (int i = 0; i < 8; i++) c = c >> 1 ^ (0xedb88320u & -(c & 1));
	}
	return ~c;
}

u64 fnv1a(const u8 *p, u64 n) { u64 h = 0xcbf29ce484222325ul; for (u64 i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3ul; return h; }

s64 bsearch32(const s32 *a, s64 n, s32 key)
{
	s64 lo = 0, hi = n - 1;
	while (lo <= hi) {
		s64 mid = lo + (hi - lo) / 2;
		if (a[mid] == key) return mid;
		if (a[mid] < key) lo = mid + 1; else hi = mid - 1;
	}
	return -lo - 1;
}

u64 length(const char *s) { const char *p = s; while (*p) p++; return p - s; }

u64 bit_reverse(u64 x) { u64 r = 0; for (int i = 0; i < 64; i++) { r = r << 1 | (x & 1); x >>= 1; } return r; }

u32 pop(u64 x) { u32 n = 0; while (x) { x &= x - 1; n++; } return n; }

u64 swar(u64 x)
{
	x -= x >> 1 & 0x5555555555555555ul;
	x = (x & 0x3333333333333333ul) + (x >> 2 & 0x3333333333333333ul);
	return (x + (x >> 4) & 0x0f0f0f0f0f0f0f0ful) * 0x0101010101010101ul >> 56;
}

void sort16(u16 *a, u64 n)
{
	for (u64 i = 1; i < n; i++) {
		u16 v = a[i];
		u64 j = i;
		while (j && a[j - 1] > v) { a[j] = a[j - 1]; j--; }
		a[j] = v;
	}
}

u64 fib(u32 n) { u64 a = 0, b = 1; while (n--) { u64 t = a + b; a = b; b = t; } return a; }

u32 collatz(u64 n) { u32 k = 0; while (n > 1 && k < 500) { n = n & 1 ? 3 * n + 1 : n / 2; k++; } return k; }

void copy(u8 *d, const u8 *s, u64 n) { for (u64 i = 0; i < n; i++) { d[i] = s[i]; __asm__ volatile("" ::: "memory"); } }

s64 classify(s64 x)
{
	switch (x) {
	case 0: return 11;
	case 1: return -3;
	case 2: return x * 9;
	case 7: return 100;
	case 8: return x << 40;
	case 100: return -x;
	case -5: return x ^ 0x55;
	default: return x < 0 ? ~x : x + 1;
	}
}

static __attribute__((noinline)) u64 mix(u64 x) { x ^= x >> 33; x *= 0xff51afd7ed558ccdul; x ^= x >> 29; return x; }

u64 chain(u64 a, u64 b, u64 c) { return mix(mix(a) + b) ^ mix(c - mix(b ^ a)); }

static __attribute__((noinline, regparm(0))) u64 ack(u64 m, u64 n)
{
	if (m == 0) return n + 1;
	if (n == 0) return ack(m - 1, 1);
	return ack(m - 1, ack(m, n - 1));
}

u64 ackermann(u64 m, u64 n) { return ack(m & 1, n & 15) + ack(2, n & 3); }

u64 rotate_mix(u64 x, u32 k)
{
	u32 y = x;
	u8 z = x >> 8;
	k &= 31;
	y = y << k | y >> (-k & 31);
	z = z << (k & 7) | z >> (-k & 7);
	return (x >> (k + 7 & 63) | x << (64 - 7 - k & 63)) + y + z;
}

s32 clamp_add(s32 a, s32 b) { s32 r; if (__builtin_add_overflow(a, b, &r)) return a < 0 ? -2147483647 - 1 : 2147483647; return r; }

u64 narrow(u64 x) { s64 a = (signed char)x, b = (short)(x >> 8), c = (int)(x >> 16); u64 d = (u8)(x >> 24), e = (u16)(x >> 40); return a * 3 + b * 5 + c * 7 + d * 11 + e * 13; }

u64 bits(u64 x) { return x == 0 ? 99 : __builtin_ctzl(x) * 1000 + __builtin_clzl(x) + __builtin_bswap64(x) % 1000 + __builtin_bswap32((u32)x); }

u64 isqrt(u64 x) { u64 r = 0, bit = 1ul << 62; while (bit > x) bit >>= 2; while (bit) { if (x >= r + bit) { x -= r + bit; r = (r >> 1) + bit; } else r >>= 1; bit >>= 2; } return r; }

u64 wide_shift(u64 hi, u64 lo, u32 n) { unsigned __int128 v = (unsigned __int128)hi << 64 | lo; v = v << (n & 127) ^ v >> (n / 2 & 127); v += (unsigned __int128)lo * 3; v -= hi; return (u64)(v >> 64) ^ (u64)v; }
