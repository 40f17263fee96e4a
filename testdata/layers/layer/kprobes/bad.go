package kprobes

import (
	_ "kpsim/kprobes/kpev"
	_ "kpsim/sim" // want layer
	_ "kpsim/smp/arch/x86"
	_ "kpsim/smp/kapi"
	_ "kpsim/traces"
)
