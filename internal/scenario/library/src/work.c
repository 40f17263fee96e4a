/* Functions whose results everybody can look up, for function-at-work.star. */

/* CRC-32 as in Ethernet and zlib, half a byte at a time. */
static const unsigned int nibble[16] = {
	0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
	0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
};

unsigned int crc32(const unsigned char *p, unsigned long n)
{
	unsigned int crc = ~0u;

	for (; n; n--) {
		crc ^= *p++;
		crc = crc >> 4 ^ nibble[crc & 15];
		crc = crc >> 4 ^ nibble[crc & 15];
	}
	return ~crc;
}

/* A sorted copy, by insertion: signed comparisons, and a loop that an element
 * ends. Returns how many elements have made way. */
long sort(long *to, const long *from, long n)
{
	long moves = 0;

	for (long i = 0; i < n; i++) {
		long key = from[i], j = i;

		for (; j > 0 && to[j - 1] > key; j--, moves++)
			to[j] = to[j - 1];
		to[j] = key;
	}
	return moves;
}
