package kprobes

import (
	_ "kpsim/kprobes/kpev"
	_ "kpsim/sim" // want layer
	_ "kpsim/smp/isa"
	_ "kpsim/smp/kapi"
	_ "kpsim/traces"
)
