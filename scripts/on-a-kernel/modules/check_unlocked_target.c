// SPDX-License-Identifier: GPL-2.0
/* A module with a function in its init text, whose init takes a second. */
#include "on_a_kernel.h"

JUMPABLE_IN(".init.text", ",\"ax\",@progbits", check_unlocked_init_text);

static void step(const char *word)
{
}

static int __init check_unlocked_target_init(void)
{
	check_unlocked_init_text(1);
	msleep(1000);
	return 0;
}
module_init(check_unlocked_target_init);
