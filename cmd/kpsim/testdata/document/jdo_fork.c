/* The entry of a jprobe on do_fork, as in the document of 2007. */
void jprobe_return(void);

extern unsigned long jdo_fork_saw[2]; /* clone_flags, stack_start */

long jdo_fork(unsigned long clone_flags, unsigned long stack_start)
{
	jdo_fork_saw[0] = clone_flags;
	jdo_fork_saw[1] = stack_start;
	jprobe_return();
	return 0; /* not reached */
}
