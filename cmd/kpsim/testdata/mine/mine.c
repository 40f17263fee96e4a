unsigned long checksum(unsigned long a, unsigned long b)
{
	unsigned long sum = a + b;

	for (int i = 0; i < 3; i++)
		sum = (sum << 5) ^ (sum >> 7) ^ b;
	return sum;
}
