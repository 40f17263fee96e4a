/* Code of i386 that uses each relocation: a variable, a table, a call, a call of what is elsewhere. */
extern int elsewhere(int);
static int counter = 3;
static int zeroed[4];
const char *const names[] = {"a", "bc", "def"};

__attribute__((noinline)) int weigh(int a, int b)
{
	counter += a;
	return a * 3 + b + zeroed[a & 3];
}

int sum(int n)
{
	return weigh(n, counter) + elsewhere(n) + names[n & 1][0];
}
